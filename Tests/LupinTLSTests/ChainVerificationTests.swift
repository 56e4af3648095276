// That a path is found where there is a good one, and none where there is not.

import LupinCore
import LupinTLS
import LupinTestKit
import Testing

struct ChainVerificationTests {
    /// A server that shows a path to an anchor that is of no use, then one to a good anchor.
    private static func badAnchor(
        _ flaw: String,
        _ spoil: @escaping @Sendable (inout CertificateBuilder) -> Void
    ) -> ChainCase {
        ChainCase("below an anchor \(flaw), and below a good one") {
            let bad = try MintedAuthority.root("Bad root", now: trustNow, adjust: spoil)
            let good = try MintedAuthority.root("Good root", now: trustNow)
            let first = try bad.intermediate("Twin")
            let second = try good.intermediate("Twin", key: first.key)
            var sample = TrustSample(try first.leaf("www.example.com"), bad, good)
            sample.presented.append(second.certificate.der)
            return sample
        }
    }

    /// A leaf without key identifiers below one of two anchors with the same name.
    private static func twoAnchors(
        isIssuerFirst: Bool,
        hasIntermediate: Bool = false
    ) -> ChainCase {
        ChainCase(
            "below one of two anchors of a name (\(isIssuerFirst), \(hasIntermediate))"
        ) {
            let hide: (inout CertificateBuilder) -> Void = {
                $0.hasSubjectKeyIdentifier = false
                $0.hasAuthorityKeyIdentifier = false
            }
            let roots = try (0..<2).map { _ in
                try MintedAuthority.root(now: trustNow) { $0.hasSubjectKeyIdentifier = false }
            }
            let issuer = roots[isIssuerFirst ? 0 : 1]
            let leaf =
                hasIntermediate
                ? try issuer.intermediate(adjust: hide).leaf("www.example.com", adjust: hide)
                : try issuer.leaf("www.example.com", adjust: hide)
            var sample = TrustSample(leaf, roots[0], roots[1])
            sample.anchors = .only(roots.map(\.certificate.der))
            return sample
        }
    }

    private static let accepted: [ChainCase] = [
        .plain("as it should be"),
        ChainCase("below the root itself") {
            let root = try MintedAuthority.root(now: trustNow)
            return TrustSample(try root.leaf("www.example.com"), root)
        },
        ChainCase("an RSA root, a P-384 authority and an Ed25519 leaf") {
            let root = try MintedAuthority.root("R", .rsa2048, now: trustNow)
            let intermediate = try root.intermediate("I", .p384)
            return TrustSample(try intermediate.leaf("www.example.com", algorithm: .ed25519), root)
        },
        ChainCase("seven intermediates") {
            let root = try MintedAuthority.root(now: trustNow)
            var last = root
            for i in 0..<7 { last = try last.intermediate("Intermediate \(i)") }
            return TrustSample(try last.leaf("www.example.com"), root)
        },
        ChainCase("out of order, with strangers between") {
            let root = try MintedAuthority.root(now: trustNow)
            let stranger = try MintedAuthority.root("Stranger", now: trustNow)
            let outer = try root.intermediate("Outer")
            let inner = try outer.intermediate("Inner")
            var sample = TrustSample(try inner.leaf("www.example.com"), root)
            sample.presented.swapAt(1, 2)
            sample.presented.insert(stranger.certificate.der, at: 1)
            return sample
        },
        ChainCase("with the root, which need not be sent") {
            let root = try MintedAuthority.root(now: trustNow)
            var sample = TrustSample(try root.intermediate().leaf("www.example.com"), root)
            sample.presented.append(root.certificate.der)
            return sample
        },
        ChainCase("an intermediate that is named as an anchor") {
            let root = try MintedAuthority.root(now: trustNow)
            let intermediate = try root.intermediate()
            return TrustSample(try intermediate.leaf("www.example.com"), intermediate)
        },
        ChainCase("an expired twin of the intermediate beside a good one") {
            let root = try MintedAuthority.root(now: trustNow)
            let good = try root.intermediate()
            let old = try root.intermediate(key: good.key) { $0.notAfter = trustNow - 1 }
            var sample = TrustSample(try good.leaf("www.example.com"), root)
            sample.presented.insert(old.certificate.der, at: 1)
            return sample
        },
        ChainCase("cross-signed by a root that is expired and unknown") {
            let old = try MintedAuthority.root("Old root", now: trustNow) {
                $0.notAfter = trustNow - 1
            }
            let root = try MintedAuthority.root("New root", now: trustNow)
            let cross = try old.intermediate("New root", key: root.key)
            var sample = TrustSample(try root.intermediate().leaf("www.example.com"), root)
            sample.presented += [cross.certificate.der, old.certificate.der]
            return sample
        },
        ChainCase("a twin of the intermediate below nobody known") {
            let unknown = try MintedAuthority.root("Unknown", now: trustNow)
            let root = try MintedAuthority.root(now: trustNow)
            let good = try root.intermediate("Twin")
            let bad = try unknown.intermediate("Twin", key: good.key)
            var sample = TrustSample(try good.leaf("www.example.com"), root)
            sample.presented.insert(bad.certificate.der, at: 1)
            return sample
        },
        ChainCase("a twin of the intermediate that its constraints spoil") {
            let root = try MintedAuthority.root(now: trustNow)
            let good = try root.intermediate("Twin")
            let bad = try root.intermediate("Twin", key: good.key) {
                $0.nameConstraints = names(excluded: "example.com")
            }
            var sample = TrustSample(try good.leaf("www.example.com"), root)
            sample.presented.insert(bad.certificate.der, at: 1)
            return sample
        },
        badAnchor("expired") { $0.notAfter = trustNow - 1 },
        badAnchor("constrained") { $0.nameConstraints = names("example.org") },
        badAnchor("with too short a path") { $0.basicConstraints?.pathLength = 0 },
        badAnchor("that may not sign certificates") { $0.keyUsage = .digitalSignature },
        badAnchor("with a critical extension") {
            $0.add("1.3.6.1.4.1.55738.1", isCritical: true, [5, 0])
        },
        twoAnchors(isIssuerFirst: true),
        twoAnchors(isIssuerFirst: false),
        twoAnchors(isIssuerFirst: true, hasIntermediate: true),
        twoAnchors(isIssuerFirst: false, hasIntermediate: true),
        ChainCase("eight unusable twins of the intermediate") {
            let unknown = try MintedAuthority.root("Unknown", now: trustNow)
            let root = try MintedAuthority.root(now: trustNow)
            let good = try root.intermediate("Twin")
            var sample = TrustSample(try good.leaf("www.example.com"), root)
            for _ in 0..<8 {
                let bad = try unknown.intermediate("Twin", key: good.key)
                sample.presented.insert(bad.certificate.der, at: 1)
            }
            return sample
        },
        ChainCase("a twin of the intermediate with a bad signature") {
            let root = try MintedAuthority.root(now: trustNow)
            let good = try root.intermediate("Twin")
            let bad = try good.certificate.rewritten(by: PrivateKey.generate(.p256)) { _ in }
            var sample = TrustSample(try good.leaf("www.example.com"), root)
            sample.presented.insert(bad.der, at: 1)
            return sample
        },
        .plain(
            "an intermediate for any purpose",
            intermediate: { $0.purposes = [CertificateBuilder.Purpose.any] }
        ),
        .plain("permitted by name", intermediate: { $0.nameConstraints = names("example.com") }),
        .plain(
            "constrained in names of another kind",
            intermediate: {
                $0.nameConstraints = .init(permitted: [
                    .addresses(CIDR(.v4(0x0A00_0000), prefix: 8))
                ])
            }
        ),
        .plain(
            "constraints that are not critical, with leading dot, as in use",
            intermediate: {
                $0.nameConstraints = .init(permitted: [.dns(".example.com")], isCritical: false)
            }
        ),
        .plain(
            "a root in the old form",
            root: {
                $0.basicConstraints = .init(isAuthority: true, isCritical: false)
                $0.keyUsage = nil
                $0.hasSubjectKeyIdentifier = false
                $0.serial = [0]
                $0.digest = .sha1
            },
            intermediate: { $0.hasAuthorityKeyIdentifier = true }
        ),
        .plain("path length that is just enough", root: { $0.basicConstraints?.pathLength = 1 }),
        .plain("without keyUsage and basicConstraints", leaf: { $0.keyUsage = nil }),
        .plain("without extendedKeyUsage, below a file's root", leaf: { $0.purposes = [] }),
        .plain(
            "for clients too",
            leaf: { $0.purposes.append(CertificateBuilder.Purpose.client) }
        ),
        .plain("in its first second", leaf: { $0.notBefore = trustNow }),
        .plain("in its last second", leaf: { $0.notAfter = trustNow }),
        .plain("without subject", leaf: { $0.commonName = nil }),
        .plain("another common name", leaf: { $0.commonName = "Some server" }),
        .plain("an underscore", leaf: { $0.alternativeNames.append(.dns("my_host.example.com")) }),
        .plain(
            "an unknown extension that is not critical",
            leaf: { $0.extensions = [.init(identifier: "1.3.6.1.4.1.55738.1", der: [5, 0])] }
        ),
        .plain("valid beyond 2050", root: { $0.notAfter = 2_600_000_000 }),
    ]

    @Test(arguments: accepted)
    private func `a good path is found`(sample: ChainCase) throws {
        let path = try sample.make().path()
        #expect(path.problem == nil)
        #expect(try path.get().count >= 2)
    }

    private static let refused: [ChainCase] = [
        .plain("expired leaf", .expired, leaf: { $0.notAfter = trustNow - 1 }),
        .plain("expired intermediate", .expired, intermediate: { $0.notAfter = trustNow - 1 }),
        .plain("expired root", .expired, root: { $0.notAfter = trustNow - 1 }),
        .plain("leaf of tomorrow", .notYetValid, leaf: { $0.notBefore = trustNow + 1 }),
        ChainCase("root that nobody trusts", .chain) {
            let root = try MintedAuthority.root(now: trustNow)
            let other = try MintedAuthority.root("Other", now: trustNow)
            var sample = TrustSample(try root.intermediate().leaf("www.example.com"), other)
            sample.presented.append(root.certificate.der)
            return sample
        },
        ChainCase("root of the same name with another key", .chain) {
            let root = try MintedAuthority.root(now: trustNow)
            let other = try MintedAuthority.root(now: trustNow)
            return TrustSample(try root.leaf("www.example.com"), other)
        },
        ChainCase("intermediate left out", .chain) {
            let root = try MintedAuthority.root(now: trustNow)
            var sample = TrustSample(try root.intermediate().leaf("www.example.com"), root)
            sample.presented.removeLast()
            return sample
        },
        ChainCase("self-signed", .selfSigned) {
            let root = try MintedAuthority.root(now: trustNow)
            let leaf = try root.leaf("www.example.com") { $0.issuer = .itself }
            return TrustSample(leaf, root)
        },
        ChainCase("nine intermediates", .chain) {
            let root = try MintedAuthority.root(now: trustNow)
            var last = root
            for i in 0..<9 { last = try last.intermediate("Intermediate \(i)") }
            return TrustSample(try last.leaf("www.example.com"), root)
        },
        .plain(
            "path length exceeded",
            .constraint,
            root: { $0.basicConstraints?.pathLength = 0 }
        ),
        .plain(
            "intermediate that is no authority",
            .constraint,
            intermediate: {
                $0.basicConstraints = .init(isAuthority: false)
                $0.keyUsage = .digitalSignature
            }
        ),
        .plain(
            "intermediate without basicConstraints",
            .constraint,
            intermediate: { $0.basicConstraints = nil }
        ),
        .plain(
            "intermediate that may not sign certificates",
            .constraint,
            intermediate: { $0.keyUsage = .listSigning }
        ),
        .plain(
            "intermediate for code signing",
            .constraint,
            intermediate: { $0.purposes = [CertificateBuilder.Purpose.code] }
        ),
        .plain(
            "leaf that may sign certificates",
            .constraint,
            leaf: { $0.keyUsage = [.certificateSigning, .digitalSignature] }
        ),
        .plain(
            "leaf whose key is for nothing of TLS",
            .constraint,
            leaf: { $0.keyUsage = .listSigning }
        ),
        .plain(
            "leaf for clients only",
            .constraint,
            leaf: { $0.purposes = [CertificateBuilder.Purpose.client] }
        ),
        .plain(
            "leaf for any purpose",
            .constraint,
            leaf: { $0.purposes = [CertificateBuilder.Purpose.any] }
        ),
        .plain(
            "name that is not permitted",
            .constraint,
            intermediate: { $0.nameConstraints = names("example.org") }
        ),
        .plain(
            "name that is excluded",
            .constraint,
            root: { $0.nameConstraints = names(excluded: "example.com") }
        ),
        .plain(
            "second name that is excluded",
            .constraint,
            root: { $0.nameConstraints = names(excluded: "secret.example.com") },
            leaf: { $0.alternativeNames.append(.dns("secret.example.com")) }
        ),
        .plain(
            "address that is not permitted",
            .constraint,
            intermediate: {
                $0.nameConstraints = .init(
                    permitted: [.addresses(CIDR(.v4(0xC000_0200), prefix: 24))]
                )
            },
            leaf: { $0.alternativeNames.append(.address(.v4(0xC000_0301))) }
        ),
        .plain(
            "address that is excluded",
            .constraint,
            intermediate: {
                $0.nameConstraints = .init(
                    excluded: [.addresses(CIDR(.v6(high: 0, low: 0), prefix: 64))]
                )
            },
            leaf: { $0.alternativeNames.append(.address(.v6(high: 0, low: 1))) }
        ),
        .plain("leaf signed over SHA-1", .weak, leaf: { $0.digest = .sha1 }),
        .plain("intermediate signed over SHA-1", .weak, intermediate: { $0.digest = .sha1 }),
        ChainCase("leaf of RSA with 1024 bits", .weak) {
            let root = try MintedAuthority.root(now: trustNow)
            let leaf = try root.leaf("www.example.com", algorithm: .rsa(bits: 1024))
            return TrustSample(leaf, root)
        },
        ChainCase("root of RSA with 1024 bits", .weak) {
            let root = try MintedAuthority.root("R", .rsa(bits: 1024), now: trustNow)
            return TrustSample(try root.leaf("www.example.com"), root)
        },
        .plain(
            "unknown critical extension",
            .constraint,
            leaf: {
                $0.extensions = [
                    .init(identifier: "1.3.6.1.4.1.55738.1", isCritical: true, der: [5, 0])
                ]
            }
        ),
        .plain(
            "unknown critical extension of the root",
            .constraint,
            root: {
                $0.extensions = [
                    .init(identifier: "1.3.6.1.4.1.55738.1", isCritical: true, der: [5, 0])
                ]
            }
        ),
    ]

    @Test(arguments: refused)
    private func `a bad path is refused, and the reason is told`(sample: ChainCase) throws {
        let problem = try #require(try sample.make().path().problem)
        #expect(problem.kind == sample.expected)
        #expect(problem.sentence.hasSuffix(".") && problem.sentence.utf8.count > 20)
    }

    @Test func `a policy's limit counts certificates between the server's and the anchor`() throws {
        let root = try MintedAuthority.root(now: trustNow)
        var last = root
        for count in 0...3 {
            if count > 0 { last = try last.intermediate("Intermediate \(count)") }
            var sample = TrustSample(try last.leaf("www.example.com"), root)
            // The root need not be sent, and does not count.
            if count == 2 { sample.presented.append(root.certificate.der) }
            let trust = try sample.trust()
            for limit in 0...4 {
                let policy = TrustPolicy.limited(.system(host: true), intermediatesMax: limit)
                let problem = policy.evaluate(trust).problem
                #expect((problem == nil) == (count <= limit), "\(count) of \(limit)")
                guard let problem else { continue }
                #expect(problem.kind == .chain)
                #expect(problem.sentence.contains("longer than max_depth (\(limit))"))
            }
        }
    }

    @Test func `a limit can't be raised above that of every path`() throws {
        let root = try MintedAuthority.root(now: trustNow)
        var last = root
        for i in 0..<9 { last = try last.intermediate("Intermediate \(i)") }
        let trust = try TrustSample(try last.leaf("www.example.com"), root).trust()
        let path = TrustPathDemand(.configured, limit: .max)
        #expect(trust.path(to: path).problem?.kind == .chain)
        #expect(trust.path(to: TrustPathDemand(.configured, limit: .min)).problem != nil)
    }

    @Test func `within a limit a shorter path is found beside a longer one`() throws {
        let root = try MintedAuthority.root(now: trustNow)
        let short = try root.intermediate("Twin")
        let outer = try root.intermediate("Outer")
        let long = try outer.intermediate("Twin", key: short.key)
        var sample = TrustSample(try short.leaf("www.example.com"), root)
        sample.presented.insert(long.certificate.der, at: 1)
        sample.presented.append(outer.certificate.der)
        let path = TrustPathDemand(.configured, limit: 1)
        #expect(try sample.trust().path(to: path).get().count == 3)
    }

    @Test func `each other key and signature that may be used is accepted`() throws {
        for algorithm in [PrivateKey.Algorithm.p384, .p521, .rsa2048, .ed25519] {
            let root = try MintedAuthority.root("R", algorithm, now: trustNow)
            let sample = TrustSample(try root.leaf("www.example.com"), root)
            #expect(try sample.path().problem == nil)
        }
    }
}

struct HostileChainTests {
    @Test func `mutated certificates are refused or unreadable, and do no harm`() throws {
        let root = try MintedAuthority.root(now: trustNow)
        let intermediate = try root.intermediate {
            $0.nameConstraints = names("example.com")
        }
        let leaf = try intermediate.leaf("www.example.com") { $0.ocspURL = "http://o.example/" }
        let sample = TrustSample(leaf, root)
        let anchors = try configuredAnchors(sample.roots)
        let host = try #require(Host(sample.host))
        for which in sample.presented.indices {
            for i in stride(from: which, to: sample.presented[which].count, by: 9) {
                var presented = sample.presented
                presented[which][i] ^= UInt8(truncatingIfNeeded: 1 << (i % 8))
                guard let certificates = PeerCertificates(encodings: presented) else { continue }
                let trust = PeerTrust(certificates, host: host, anchors: anchors, now: trustNow)
                #expect(trust.path(to: .configured).problem != nil)
                _ = trust.nameProblem()
                _ = trust.signedPath
                _ = trust.revocation(RevocationDemand(), along: [.configured])
            }
        }
    }

    @Test func `a hundred certificates of one name take no long time`() throws {
        let root = try MintedAuthority.root(now: trustNow)
        let intermediate = try root.intermediate("Same")
        var sample = TrustSample(try intermediate.leaf("www.example.com"), root)
        for _ in 0..<100 {
            sample.presented.insert(try root.intermediate("Same").certificate.der, at: 1)
        }
        let trust = try sample.trust()
        let time = processorTime {
            _ = trust.path(to: .configured)
            _ = trust.signedPath
        }
        #expect(time < .seconds(1))
    }
}
