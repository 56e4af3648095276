// That a refusal tells the real reason, and blames the certificate that is to blame.

import LupinCore
import LupinTLS
import LupinTestKit
import Testing

struct RefusalReasonTests {
    @Test(arguments: keys + versions + purposes)
    private func `a certificate that must not be used is refused for just that`(
        sample: ChainCase
    ) throws {
        try expectReason(sample)
    }

    @Test(arguments: authorities + constraints + policies)
    private func `the authority is blamed for what it may not do`(sample: ChainCase) throws {
        try expectReason(sample)
    }

    @Test(arguments: extensions + issuers)
    private func `an authority that is known is not called unknown`(sample: ChainCase) throws {
        try expectReason(sample)
    }

    private func expectReason(_ sample: ChainCase) throws {
        let problem = try #require(try sample.make().path().problem)
        #expect(problem.kind == sample.expected)
        #expect(problem.sentence.contains(sample.phrase), "\(problem.sentence)")
    }

    // MARK: Keys and versions

    /// A leaf whose RSA key has another public exponent than it was made with.
    private static func exponent(_ bytes: [UInt8]) -> ChainCase {
        ChainCase("exponent \(bytes)", .weak, says: "public exponent that is even or below 3") {
            let root = try MintedAuthority.root(now: trustNow)
            let leaf = try root.leaf("www.example.com", algorithm: .rsa2048)
            let changed = try leaf.certificate.rewritten(by: root.key) { fields in
                fields[6] = Self.publicKey(fields[6], exponent: bytes)
            }
            return TrustSample(MintedLeaf(certificate: changed, key: leaf.key, chain: []), root)
        }
    }

    private static func publicKey(_ encoding: [UInt8], exponent: [UInt8]) -> [UInt8] {
        var outer = DERReader(encoding)
        var fields = DERReader(outer.next(tag: 0x30) ?? [])
        let algorithm = DEREncoding.value(tag: 0x30, Array(fields.next(tag: 0x30) ?? []))
        var key = DERReader((fields.next(tag: 0x03) ?? []).dropFirst())
        var numbers = DERReader(key.next(tag: 0x30) ?? [])
        let modulus = DEREncoding.value(tag: 0x02, Array(numbers.next(tag: 0x02) ?? []))
        let bits = DEREncoding.sequence([modulus, DEREncoding.value(tag: 0x02, exponent)])
        return DEREncoding.sequence([algorithm, DEREncoding.value(tag: 0x03, [0] + bits)])
    }

    private static let keys = [exponent([1]), exponent([2]), exponent([1, 0, 0])]

    private static let versions = [
        ChainCase("version 258", .malformed, says: "is not of version 3") {
            let root = try MintedAuthority.root(now: trustNow)
            let leaf = try root.leaf("www.example.com")
            let changed = try leaf.certificate.rewritten(by: root.key) { fields in
                fields[0] = DEREncoding.value(tag: 0xA0, [2, 2, 1, 2])
            }
            return TrustSample(MintedLeaf(certificate: changed, key: leaf.key, chain: []), root)
        }
    ]

    // MARK: What a server's certificate is for

    private static let purposes: [ChainCase] = [
        .plain(
            "leaf for clients",
            .constraint,
            says: "is not for servers: its extendedKeyUsage lacks serverAuth",
            leaf: { $0.purposes = [CertificateBuilder.Purpose.client] }
        ),
        .plain(
            "leaf for Microsoft's server gated cryptography",
            .constraint,
            says: "lacks serverAuth",
            leaf: { $0.purposes = ["1.3.6.1.4.1.311.10.3.3"] }
        ),
        .plain(
            "leaf for Netscape's server gated cryptography",
            .constraint,
            says: "lacks serverAuth",
            leaf: { $0.purposes = ["2.16.840.1.113730.4.1"] }
        ),
        .plain(
            "leaf that may not sign",
            .constraint,
            says: "its keyUsage lacks digitalSignature",
            leaf: { $0.keyUsage = .keyEncipherment }
        ),
        .plain(
            "leaf for clients by Netscape's extension",
            .constraint,
            says: "Netscape certificate type",
            leaf: { $0.add("2.16.840.1.113730.1.1", [3, 2, 7, 0x80]) }
        ),
        ChainCase("authority in the place of the server", .constraint, says: "is that of a CA") {
            let root = try MintedAuthority.root(now: trustNow)
            var sample = TrustSample(try root.intermediate().leaf("www.example.com"), root)
            sample.presented.removeFirst()
            return sample
        },
        ChainCase("wrong order", .constraint, says: "in the wrong order") {
            let root = try MintedAuthority.root(now: trustNow)
            var sample = TrustSample(try root.intermediate().leaf("www.example.com"), root)
            sample.presented.swapAt(0, 1)
            return sample
        },
    ]

    // MARK: What an authority may do

    private static let authorities: [ChainCase] = [
        .plain(
            "intermediate without basicConstraints",
            .constraint,
            says: "is no CA's: it has no basicConstraints",
            intermediate: { $0.basicConstraints = nil }
        ),
        .plain(
            "intermediate that says CA:FALSE",
            .constraint,
            says: "is no CA's: its basicConstraints say CA:FALSE",
            intermediate: {
                $0.basicConstraints = .init(isAuthority: false)
                $0.keyUsage = .digitalSignature
            }
        ),
        .plain(
            "intermediate that may not sign certificates",
            .constraint,
            says: "may not sign certificates: its keyUsage lacks keyCertSign",
            intermediate: { $0.keyUsage = .listSigning }
        ),
        .plain(
            "root that may not sign certificates",
            .constraint,
            says: "may not sign certificates: its keyUsage lacks keyCertSign",
            root: { $0.keyUsage = .listSigning }
        ),
        ChainCase("intermediate of version 1", .constraint, says: "it is of version 1") {
            let root = try MintedAuthority.root(now: trustNow)
            let intermediate = try root.intermediate { builder in
                builder.version = 1
                builder.basicConstraints = nil
                builder.keyUsage = nil
                builder.hasSubjectKeyIdentifier = false
                builder.hasAuthorityKeyIdentifier = false
            }
            return TrustSample(try intermediate.leaf("www.example.com"), root)
        },
        .plain(
            "intermediate for code",
            .constraint,
            says: "may not issue for servers: its extendedKeyUsage lacks serverAuth",
            intermediate: { $0.purposes = [CertificateBuilder.Purpose.code] }
        ),
        .plain(
            "intermediate for server gated cryptography",
            .constraint,
            says: "may not issue for servers",
            intermediate: { $0.purposes = ["1.3.6.1.4.1.311.10.3.3"] }
        ),
        .plain(
            "root without a name",
            .malformed,
            says: "The CA of the certificate “CN=Intermediate of a test” has no name",
            root: { $0.commonName = nil }
        ),
    ]

    // MARK: Constraints and policies

    private static let constraints: [ChainCase] = [
        .plain(
            "a name that is not permitted",
            .constraint,
            says: "“CN=Intermediate of a test” constrains names, and does not permit"
                + " www.example.com",
            intermediate: { $0.nameConstraints = names("example.org") }
        ),
        .plain(
            "a second name that is excluded",
            .constraint,
            says: "“CN=Root of a test” constrains names, and excludes secret.example.com",
            root: { $0.nameConstraints = names(excluded: "secret.example.com") },
            leaf: { $0.alternativeNames.append(.dns("secret.example.com")) }
        ),
        .plain(
            "a second address that is excluded",
            .constraint,
            says: "“CN=Root of a test” constrains names, and excludes 192.0.2.7",
            root: {
                $0.nameConstraints = .init(
                    excluded: [.addresses(CIDR(.v4(0xC000_0200), prefix: 24))]
                )
            },
            leaf: { $0.alternativeNames.append(.address(.v4(0xC000_0207))) }
        ),
        .plain(
            "a mailbox that is not permitted",
            .constraint,
            says: "“CN=Intermediate of a test” constrains names, and does not permit a name in the"
                + " server's certificate that is no host",
            intermediate: {
                let contents = Array("example.org".utf8)
                $0.nameConstraints = .init(permitted: [.other(tag: 1, contents: contents)])
            },
            leaf: {
                let contents = Array("me@example.com".utf8)
                $0.alternativeNames.append(.other(tag: 1, contents: contents))
            }
        ),
        .plain(
            "constraints that are malformed",
            .constraint,
            says: "“CN=Root of a test” has name constraints that are malformed",
            root: {
                $0.nameConstraints = .init(permitted: [.other(tag: 7, contents: [127, 0, 0, 1])])
            },
            leaf: { $0.alternativeNames.append(.address(.v4(0x7F00_0001))) }
        ),
        .plain(
            "constraints of a kind that is not understood",
            .constraint,
            says: "“CN=Root of a test” constrains names of a kind that lupin does not understand",
            root: {
                $0.nameConstraints = .init(permitted: [.other(tag: 8, contents: [0x2A, 3])])
            },
            leaf: { $0.alternativeNames.append(.other(tag: 8, contents: [0x2A, 3])) }
        ),
        .plain(
            "too many constraints for the names",
            .constraint,
            says: "“CN=Intermediate of a test” has too many name constraints",
            intermediate: { builder in
                builder.nameConstraints = .init(excluded: (0..<1020).map { .dns("x\($0).example") })
            },
            leaf: { builder in
                builder.alternativeNames += (0..<1200).map { .dns("h\($0).example.com") }
            }
        ),
    ]

    /// certificatePolicies with one policy each (RFC 5280 §4.2.1.4).
    private static func policy(_ identifier: [UInt8]) -> [UInt8] {
        DEREncoding.sequence([DEREncoding.sequence([DEREncoding.value(tag: 6, identifier)])])
    }

    private static let ownPolicy: [UInt8] = [0x2A, 3, 4]
    private static let anyPolicy: [UInt8] = [0x55, 0x1D, 0x20, 0]

    private static let policies: [ChainCase] = [
        .plain(
            "a policy that is demanded and missing",
            .constraint,
            says: "“CN=Intermediate of a test” demands certificate policies",
            intermediate: { $0.add("2.5.29.36", isCritical: true, [0x30, 3, 0x80, 1, 0]) }
        ),
        .plain(
            "any policy where that is inhibited",
            .constraint,
            says: "“CN=Intermediate of a test” demands certificate policies",
            intermediate: {
                $0.add("2.5.29.32", policy(ownPolicy))
                $0.add("2.5.29.36", isCritical: true, [0x30, 3, 0x80, 1, 0])
                $0.add("2.5.29.54", isCritical: true, [2, 1, 0])
            },
            leaf: { $0.add("2.5.29.32", policy(anyPolicy)) }
        ),
        .plain(
            "malformed policies",
            .malformed,
            says: "The server's certificate has malformed certificate policies",
            leaf: { $0.add("2.5.29.32", [0x30, 2, 5, 0]) }
        ),
    ]

    private static let kept: [ChainCase] = [
        .plain(
            "a policy that is demanded and there",
            intermediate: {
                $0.add("2.5.29.32", policy(ownPolicy))
                $0.add("2.5.29.36", isCritical: true, [0x30, 3, 0x80, 1, 0])
            },
            leaf: { $0.add("2.5.29.32", policy(ownPolicy)) }
        ),
        .plain(
            "other policies than those of the authority, and none demanded",
            intermediate: { $0.add("2.5.29.32", policy(ownPolicy)) },
            leaf: { $0.add("2.5.29.32", policy([0x2A, 3, 5])) }
        ),
        .plain(
            "a policy demanded only further below",
            intermediate: { $0.add("2.5.29.36", isCritical: true, [0x30, 3, 0x80, 1, 3]) }
        ),
        .plain(
            "any policy from the authority, and one of its own",
            intermediate: { $0.add("2.5.29.32", policy(anyPolicy)) },
            leaf: { $0.add("2.5.29.32", isCritical: true, policy(ownPolicy)) }
        ),
    ]

    @Test(arguments: kept)
    private func `policies that are kept are no reason`(sample: ChainCase) throws {
        #expect(try sample.make().path().problem == nil)
    }

    // MARK: Authorities that are known

    private static func spoiled(
        _ description: String,
        says phrase: String,
        _ spoil: @escaping @Sendable (inout CertificateBuilder) -> Void
    ) -> ChainCase {
        .plain(
            description,
            .malformed,
            says: "The server's certificate \(phrase)",
            leaf: spoil
        )
    }

    private static let extensions: [ChainCase] = [
        spoiled("the same twice", says: "has an extension twice") {
            $0.add("2.5.29.15", isCritical: true, [3, 2, 7, 0x80])
        },
        spoiled("alternative names", says: "has a malformed subjectAltName") {
            $0.alternativeNames = []
            $0.add("2.5.29.17", [1, 2, 3])
        },
        spoiled("extendedKeyUsage", says: "has a malformed extendedKeyUsage") {
            $0.purposes = []
            $0.add("2.5.29.37", [1, 2, 3])
        },
        spoiled("keyUsage", says: "has a malformed or empty keyUsage") {
            $0.keyUsage = nil
            $0.add("2.5.29.15", [1, 2, 3])
        },
        spoiled("basicConstraints", says: "has malformed basicConstraints") {
            $0.add("2.5.29.19", isCritical: true, [1, 2, 3])
        },
        spoiled("cRLDistributionPoints", says: "has malformed cRLDistributionPoints") {
            $0.add("2.5.29.31", [1, 2, 3])
        },
        spoiled("authorityKeyIdentifier", says: "has a malformed authorityKeyIdentifier") {
            $0.hasAuthorityKeyIdentifier = false
            $0.add("2.5.29.35", [1, 2, 3])
        },
        spoiled("a proxy's certificate", says: "is a proxy certificate (RFC 3820)") {
            let unlimited: [UInt8] = [0x30, 10, 6, 8, 0x2B, 6, 1, 5, 5, 7, 0x15, 1]
            $0.add("1.3.6.1.5.5.7.1.14", isCritical: true, [0x30, 12] + unlimited)
        },
        .plain(
            "name constraints of the root",
            .constraint,
            says: "“CN=Root of a test” has name constraints that are malformed",
            root: { $0.add("2.5.29.30", isCritical: true, [1, 2, 3]) }
        ),
        .plain(
            "empty keyUsage of the root",
            .malformed,
            says: "“CN=Root of a test” has a malformed or empty keyUsage",
            root: { $0.keyUsage = [] }
        ),
        .plain(
            "empty keyUsage of the intermediate",
            .malformed,
            says: "“CN=Intermediate of a test” has a malformed or empty keyUsage",
            intermediate: { $0.keyUsage = [] }
        ),
    ]

    private static let issuers: [ChainCase] = [
        ChainCase("another key", .chain, says: "names another key of “CN=Root of a test”") {
            let root = try MintedAuthority.root(now: trustNow)
            let other = try MintedAuthority.root(now: trustNow)
            return TrustSample(try root.leaf("www.example.com"), other)
        },
        ChainCase("too many certificates", .chain, says: "reads the first 16 certificates") {
            let root = try MintedAuthority.root(now: trustNow)
            let intermediate = try root.intermediate()
            var sample = TrustSample(try intermediate.leaf("www.example.com"), root)
            for i in 0..<16 {
                let stranger = try MintedAuthority.root("Stranger \(i)", now: trustNow)
                sample.presented.insert(stranger.certificate.der, at: 1)
            }
            return sample
        },
    ]

    @Test func `an authority that nobody knows is called unknown`() throws {
        let root = try MintedAuthority.root(now: trustNow)
        let other = try MintedAuthority.root("Other", now: trustNow)
        let sample = TrustSample(try root.leaf("www.example.com"), other)
        #expect(
            try sample.path().problem?.sentence
                == "The server's certificate is not signed by a trusted authority:"
                + " “CN=Root of a test” is unknown, or the server left out a certificate between."
        )
    }
}
