// That trust anchors are found where settings and environment say.

import LupinCore
import LupinTLS
import LupinTestKit
import Testing

struct TrustAnchorsTests {
    private struct Server {
        let root: MintedAuthority
        let leaf: MintedLeaf
        let files: MintedFiles

        init() throws {
            root = try MintedAuthority.root(now: trustNow)
            leaf = try root.leaf("www.example.com")
            files = try MintedFiles()
        }

        func isTrusted(by anchors: TrustAnchors) throws -> Bool {
            let certificates = try #require(PeerCertificates(encodings: leaf.presented))
            let host = try #require(Host("www.example.com"))
            let trust = PeerTrust(certificates, host: host, anchors: anchors, now: trustNow)
            return trust.path(to: .configured).problem == nil
        }

        func anchors(
            usesSystem: Bool,
            files: [String] = [],
            _ environment: [String: String] = [:]
        ) throws -> TrustAnchors {
            var settings = TrustAnchorSettings()
            settings.usesSystem = usesSystem
            settings.files = files
            return try TrustAnchors.load(settings, environment: environment)
        }
    }

    @Test func `SSL_CERT_FILE takes the place of the system's file`() throws {
        let server = try Server()
        let file = try server.files.write(server.root.certificate.pem, "root.pem")
        let environment = ["SSL_CERT_FILE": file, "SSL_CERT_DIR": server.files.path]
        #expect(try server.isTrusted(by: server.anchors(usesSystem: true, environment)))
        #expect(try server.isTrusted(by: server.anchors(usesSystem: false, files: [file])))
        // Another root does not do.
        let other = try MintedAuthority.root("Other", now: trustNow)
        let otherFile = try server.files.write(other.certificate.pem, "other.pem")
        let otherEnvironment = ["SSL_CERT_FILE": otherFile, "SSL_CERT_DIR": server.files.path]
        #expect(try !server.isTrusted(by: server.anchors(usesSystem: true, otherEnvironment)))
        // A file beside the system's does.
        let both = try server.anchors(usesSystem: true, files: [file], otherEnvironment)
        #expect(try server.isTrusted(by: both))
    }

    @Test func `SSL_CERT_DIR is a directory of hashed names`() throws {
        let server = try Server()
        let hash = try server.root.certificate.subjectHash
        _ = try server.files.write(server.root.certificate.pem, "\(hash).0")
        let environment = ["SSL_CERT_DIR": server.files.path]
        #expect(try server.isTrusted(by: server.anchors(usesSystem: true, environment)))
        #expect(try !server.isTrusted(by: server.anchors(usesSystem: true)))
    }

    @Test func `the process's own environment is not looked at`() throws {
        let server = try Server()
        #expect(try !server.isTrusted(by: server.anchors(usesSystem: true)))
    }

    @Test(arguments: ["", "no certificate", "-----BEGIN CERTIFICATE-----\nAAAA\n"])
    func `a file without usable certificates is an error that names it`(text: String) throws {
        let server = try Server()
        let file = try server.files.write(Array(text.utf8), "bad.pem")
        let failure = try #require(throws: TLSFailure.self) {
            try server.anchors(usesSystem: false, files: [file])
        }
        #expect(failure.kind == .badSetting && failure.reason.contains(file))
        #expect(throws: TLSFailure.self) {
            try server.anchors(usesSystem: true, ["SSL_CERT_FILE": file])
        }
    }

    @Test func `a file that is missing is an error, and so are no anchors at all`() throws {
        let server = try Server()
        #expect(throws: TLSFailure.self) {
            try server.anchors(usesSystem: false, files: ["/nowhere/roots.pem"])
        }
        #expect(throws: TLSFailure.self) { try server.anchors(usesSystem: false) }
    }

    @Test func `given certificates must be readable, and there must be one`() throws {
        #expect(TrustAnchors.only([]) == nil)
        #expect(TrustAnchors.only([[1, 2, 3]]) == nil)
        #expect(TrustAnchors.only([try Server().root.certificate.der]) != nil)
    }

    /// Certificates without extendedKeyUsage, as `openssl x509 -req` makes them.
    @Test func `a file's owner need not say what certificates below it are for`() throws {
        let files = try MintedFiles()
        let system = try MintedAuthority.root("System", now: trustNow)
        let own = try MintedAuthority.root("Own", now: trustNow)
        let systemFile = try files.write(system.certificate.pem, "system.pem")
        let ownFile = try files.write(own.certificate.pem, "own.pem")
        let environment = ["SSL_CERT_FILE": systemFile, "SSL_CERT_DIR": "/nonexistent"]
        func problem(_ root: MintedAuthority, _ more: String...) throws -> TrustProblem? {
            let leaf = try root.intermediate().leaf("www.example.com") { $0.purposes = [] }
            var settings = TrustAnchorSettings()
            settings.usesSystem = !more.contains("alone")
            settings.files = more.filter { $0 != "alone" }
            return PeerTrust(
                try #require(PeerCertificates(encodings: leaf.presented)),
                host: try #require(Host("www.example.com")),
                anchors: try TrustAnchors.load(settings, environment: environment),
                now: trustNow
            ).path(to: .configured).problem
        }
        #expect(try problem(system)?.kind == .malformed)
        #expect(try problem(own, ownFile, "alone") == nil)
        #expect(try problem(own, ownFile) == nil)
        #expect(try problem(system, ownFile)?.kind == .malformed)
        #expect(try problem(system, ownFile, systemFile) == nil)
        #expect(try problem(own, systemFile)?.kind == .chain)
    }

    @Test func `the owner of a policy's certificates need not say it either`() throws {
        let root = try MintedAuthority.root(now: trustNow)
        let leaf = try root.leaf("www.example.com") { $0.purposes = [] }
        let other = try MintedAuthority.root("Other", now: trustNow)
        var sample = TrustSample(leaf, root)
        sample.roots = [other.certificate]
        let own = TrustPathDemand(.only([root.certificate.der]))
        #expect(try sample.trust().path(to: own).problem == nil)
    }

    @Test func `an anchor that a directory of the system has is one of the system`() throws {
        let server = try Server()
        let leaf = try server.root.leaf("www.example.com") { $0.purposes = [] }
        let hash = try server.root.certificate.subjectHash
        _ = try server.files.write(server.root.certificate.pem, "\(hash).0")
        let other = try MintedAuthority.root("Other", now: trustNow)
        let file = try server.files.write(other.certificate.pem, "other.pem")
        let anchors = try server.anchors(
            usesSystem: true,
            files: [file],
            ["SSL_CERT_DIR": server.files.path]
        )
        let certificates = try #require(PeerCertificates(encodings: leaf.presented))
        let host = try #require(Host("www.example.com"))
        let trust = PeerTrust(certificates, host: host, anchors: anchors, now: trustNow)
        #expect(trust.path(to: .configured).problem?.kind == .malformed)
    }

    @Test func `many threads may use the same anchors`() async throws {
        let server = try Server()
        let anchors = try configuredAnchors([server.root.certificate])
        let presented = server.leaf.presented
        await withTaskGroup { group in
            for _ in 0..<8 {
                group.addTask {
                    guard let certificates = PeerCertificates(encodings: presented),
                        let host = Host("www.example.com")
                    else { return false }
                    return (0..<20).allSatisfy { _ in
                        PeerTrust(certificates, host: host, anchors: anchors, now: trustNow)
                            .path(to: .configured).problem == nil
                    }
                }
            }
            for await isTrusted in group { #expect(isTrusted) }
        }
    }
}
