// That names, pins and paths of a server are told as they are, and policies judge by them.

import LupinCore
import LupinTLS
import LupinTestKit
import Testing

struct PeerTrustTests {
    @Test func `a certificate without a name is one where no name is demanded`() throws {
        let root = try MintedAuthority.root(now: trustNow)
        let leaf = try root.leaf("www.example.com") { $0.alternativeNames = [] }
        let sample = TrustSample(leaf, root)
        #expect(TrustPolicy.system(host: false).evaluate(try sample.trust()).passed)
        #expect(!TrustPolicy.system(host: true).evaluate(try sample.trust()).passed)
    }

    @Test func `a certificate may have no subject below a CA of a file`() throws {
        let root = try MintedAuthority.root(now: trustNow)
        let leaf = try root.leaf("www.example.com") { builder in
            builder.commonName = nil
            builder.alternativeNames = []
            builder.add("2.5.29.17", [0x30, 0x11, 0x82, 0x0F] + "www.example.com".utf8)
        }
        let sample = TrustSample(leaf, root)
        #expect(try sample.path().problem == nil)
        // Not where the system has the CA.
        let files = try MintedFiles()
        let file = try files.write(root.certificate.pem, "system.pem")
        var settings = TrustAnchorSettings()
        settings.usesSystem = true
        let system = try TrustAnchors.load(settings, environment: ["SSL_CERT_FILE": file])
        let certificates = try #require(PeerCertificates(encodings: leaf.presented))
        let host = try #require(Host("www.example.com"))
        let trust = PeerTrust(certificates, host: host, anchors: system, now: trustNow)
        #expect(trust.path(to: .configured).problem?.kind == .malformed)
    }

    private static let matching: [(name: String, host: String)] = [
        ("www.example.com", "www.example.com"), ("WWW.Example.COM", "www.example.com"),
        ("*.example.com", "www.example.com"), ("*.example.com", "xn--bcher-kva.example.com"),
        ("my_host.example.com", "my_host.example.com"), ("localhost", "localhost"),
        ("192.0.2.1", "192.0.2.1"), ("2001:db8::1", "2001:db8::1"),
        ("*.b.example.com", "a.b.example.com"),
    ]

    @Test(arguments: matching)
    func `a name matches its host`(sample: (name: String, host: String)) throws {
        #expect(try nameProblem(sample.name, sample.host) == nil)
    }

    private static let differing: [(name: String, host: String)] = [
        ("example.com", "www.example.com"), ("www.example.com", "example.com"),
        ("example2.com", "example.com"), ("*.example.com", "example.com"),
        ("*.example.com", "a.b.example.com"), ("*.com", "example.com"), ("*", "localhost"),
        ("ba*.example.com", "baz.example.com"), ("foo.*.example.com", "foo.bar.example.com"),
        ("*.*.example.com", "a.b.example.com"),
        ("xn--*-1b3c148a.example.com", "xn--bliss-1b3c148a.example.com"),
        ("www.example.com.", "www.example.com"), ("www.example.com\0", "www.example.com"),
        ("www.example.com\0.evil.example", "www.example.com"),
        ("\u{212A}.example.com", "k.example.com"), ("192.0.2.2", "192.0.2.1"),
        ("2001:db8::2", "2001:db8::1"), ("::ffff:192.0.2.1", "192.0.2.1"),
        ("*.0.2.1", "192.0.2.1"),
    ]

    @Test(arguments: differing)
    func `a name matches no other host`(sample: (name: String, host: String)) throws {
        let problem = try #require(try nameProblem(sample.name, sample.host))
        #expect(problem.kind == .host)
        #expect(problem.sentence.hasSuffix("not for \(sample.host)."))
    }

    private func nameProblem(_ name: String, _ host: String) throws -> TrustProblem? {
        let root = try MintedAuthority.root(now: trustNow)
        var sample = TrustSample(try root.leaf("other.example", name), root)
        sample.host = host
        return try sample.trust().nameProblem()
    }

    @Test func `an address written as a name matches no address`() throws {
        let root = try MintedAuthority.root(now: trustNow)
        let leaf = try root.leaf("192.0.2.1") { $0.alternativeNames = [.dns("192.0.2.1")] }
        var sample = TrustSample(leaf, root)
        sample.host = "192.0.2.1"
        let problem = try #require(try sample.trust().nameProblem())
        #expect(problem.kind == .host)
        #expect(
            problem.sentence
                == "The server's certificate has 192.0.2.1 as a host name (dNSName), which is no"
                + " address (iPAddress), so it is not for 192.0.2.1."
        )
    }

    @Test func `the common name is no name of the server`() throws {
        let root = try MintedAuthority.root(now: trustNow)
        let leaf = try root.leaf("www.example.com") { $0.alternativeNames = [.dns("a.example")] }
        let problem = try #require(try TrustSample(leaf, root).trust().nameProblem())
        #expect(
            problem.sentence
                == "The server's certificate is for a.example, not for www.example.com."
        )
        let bare = try root.leaf("www.example.com") { $0.alternativeNames = [] }
        let lack = try #require(try TrustSample(bare, root).trust().nameProblem())
        #expect(
            lack.sentence
                == "The server's certificate has no subjectAltName, so it is not for"
                + " www.example.com. Where its name does not matter, `host: false` accepts it, as"
                + " in `trust: {system: {host: false}}`."
        )
    }

    @Test func `facts are those of the certificate`() throws {
        let root = try MintedAuthority.root(now: trustNow)
        let leaf = try root.leaf("www.example.com")
        let facts = try #require(try TrustSample(leaf, root).trust().presented.first)
        #expect(facts.encoding == leaf.certificate.der)
        #expect(facts.keyDigest == leaf.key.publicKeyDigest)
        #expect(facts.notAfter == trustNow + 86_400)
        #expect(facts.subject == "CN=www.example.com")
    }
}

/// A policy in the middle of real handshakes.
struct TrustedHandshakeTests {
    private static func pair(
        _ version: TLSVersion,
        _ policy: TrustPolicy,
        host: String = "www.example.com",
        algorithm: PrivateKey.Algorithm = .p256,
        verdicts: @escaping (TrustVerdict) -> Void = { _ in },
        leaf adjust: (inout CertificateBuilder) -> Void = { _ in }
    ) throws -> JoinedPair {
        let root = try MintedAuthority.root(now: trustNow)
        let leaf = try root.intermediate().leaf(
            "www.example.com",
            algorithm: algorithm,
            adjust: adjust
        )
        let anchors = try configuredAnchors([root.certificate])
        let name = try #require(Host(host))
        var options = PairOptions(version)
        options.host = name
        options.clientCheck = { certificates in
            let trust = PeerTrust(certificates, host: name, anchors: anchors, now: trustNow)
            let verdict = policy.evaluate(trust)
            verdicts(verdict)
            if verdict.awaitsStaple { return .awaitsStaple }
            return verdict.passed
                ? .accepted : .refused(verdict.problem?.refusal ?? .badCertificate)
        }
        let pair = try JoinedPair(options, identity: leaf.identity)
        pair.run()
        return pair
    }

    @Test(arguments: [TLSVersion.tls12, .tls13])
    func `the chain of a connection is judged as it came`(version: TLSVersion) throws {
        let good = try Self.pair(version, .system(host: true))
        #expect(good.isComplete == [.client: true, .server: true])
        let bad = try Self.pair(version, .system(host: true), host: "other.example.com")
        #expect(bad.failures[.client]?.kind == .certificateRefused(.badName))
    }

    /// RFC 8446 §4.4.2.2 demands digitalSignature; RFC 5246 §7.4.2 has keys that encrypt.
    @Test(arguments: [TLSVersion.tls12, .tls13])
    func `a key that must not sign is for TLS 1.2 only`(version: TLSVersion) throws {
        let pair = try Self.pair(
            version,
            .system(host: true),
            algorithm: .rsa2048,
            leaf: { $0.keyUsage = .keyEncipherment }
        )
        #expect(pair.isComplete[.client] == (version == .tls12))
        if version == .tls13 {
            #expect(pair.failures[.client]?.kind == .certificateRefused(.badPurpose))
        }
    }

    @Test(arguments: [TLSVersion.tls12, .tls13], [true, false])
    func `the staple of TLS 1.2 is awaited before a demand for it fails`(
        version: TLSVersion,
        isRequired: Bool
    ) throws {
        var demand = RevocationDemand()
        demand.usesNetwork = false
        demand.isRequired = isRequired
        var verdicts: [TrustVerdict] = []
        let pair = try Self.pair(version, .revocation(demand)) { verdicts.append($0) }
        #expect(verdicts.map(\.awaitsStaple) == (version == .tls12 ? [true, false] : [false]))
        #expect(pair.isComplete[.client] == !isRequired)
        if isRequired {
            #expect(pair.failures[.client]?.kind == .certificateRefused(.badCertificate))
        }
    }
}

struct OwnAuthorityTests {
    @Test(arguments: ["api.example.com", "10.0.0.1", "2001:db8::1", "bücher.example", "localhost"])
    func `what lupin's own authority issues stands every check`(text: String) throws {
        let authority = try CertificateAuthority.make(
            key: PrivateKey.generate(.p256),
            owner: "me@host",
            now: trustNow
        )
        let host = try #require(Host(text))
        let leaves = try LeafCertificates(authority, lifetime: .seconds(86_400), countMax: 8)
        let leaf = try leaves.certificate(for: host, now: trustNow)
        let certificates = try #require(PeerCertificates(encodings: [leaf.der]))
        let trust = PeerTrust(
            certificates,
            host: host,
            anchors: try configuredAnchors([authority.certificate]),
            now: trustNow
        )
        #expect(TrustPolicy.system(host: true).evaluate(trust).problem == nil)
    }
}
