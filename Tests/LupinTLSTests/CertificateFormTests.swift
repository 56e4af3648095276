// That certificates which no certificate of the Web is like are refused.

import LupinCore
import LupinTLS
import LupinTestKit
import Testing

struct CertificateFormTests {
    private static let refused: [ChainCase] = [
        .plain(
            "path length of a leaf",
            .malformed,
            leaf: { $0.basicConstraints = .init(isAuthority: false, pathLength: 0) }
        ),
        .plain(
            "intermediate whose basicConstraints are not critical",
            .malformed,
            intermediate: { $0.basicConstraints = .init(isAuthority: true, isCritical: false) }
        ),
        .plain(
            "intermediate without subjectKeyIdentifier",
            .malformed,
            intermediate: { $0.hasSubjectKeyIdentifier = false }
        ),
        .plain(
            "leaf without authorityKeyIdentifier",
            .malformed,
            leaf: { $0.hasAuthorityKeyIdentifier = false }
        ),
        .plain(
            "leaf that is an authority",
            .constraint,
            leaf: {
                $0.basicConstraints = .init(isAuthority: true)
                $0.keyUsage = [.certificateSigning, .digitalSignature]
            }
        ),
        .plain(
            "leaf that says CA:TRUE without the keyUsage",
            .constraint,
            leaf: { $0.basicConstraints = .init(isAuthority: true) }
        ),
        .plain(
            "leaf whose extendedKeyUsage names nothing",
            .constraint,
            leaf: {
                $0.purposes = []
                $0.extensions = [.init(identifier: "2.5.29.37", der: [0x30, 0])]
            }
        ),
        .plain(
            "leaf for servers and any purpose",
            .malformed,
            leaf: { $0.purposes.append(CertificateBuilder.Purpose.any) }
        ),
        .plain(
            "leaf for servers and code",
            .malformed,
            leaf: { $0.purposes.append(CertificateBuilder.Purpose.code) }
        ),
        .plain("no alternative name", .malformed, leaf: { $0.alternativeNames = [] }),
        .plain(
            "empty alternative names",
            .malformed,
            leaf: {
                $0.alternativeNames = []
                $0.extensions = [.init(identifier: "2.5.29.17", der: [0x30, 0])]
            }
        ),
        .plain(
            "alternative name with NUL",
            .malformed,
            leaf: { $0.alternativeNames.append(.dns("www.example.com\0.evil.example")) }
        ),
        .plain(
            "alternative name with a leading dot",
            .malformed,
            leaf: { $0.alternativeNames.append(.dns(".example.com")) }
        ),
        .plain(
            "alternative name in Unicode",
            .malformed,
            leaf: { $0.alternativeNames.append(.dns("bücher.example")) }
        ),
        .plain(
            "address with a mask",
            .malformed,
            leaf: {
                let contents: [UInt8] = [192, 0, 2, 0, 255, 255, 255, 0]
                $0.alternativeNames.append(.other(tag: 7, contents: contents))
            }
        ),
        .plain(
            "critical alternative names beside a subject",
            .malformed,
            leaf: {
                let name = DEREncoding.value(tag: 0x82, Array("www.example.com".utf8))
                $0.alternativeNames = []
                $0.extensions = [
                    .init(
                        identifier: "2.5.29.17",
                        isCritical: true,
                        der: DEREncoding.sequence([name])
                    )
                ]
            }
        ),
        .plain(
            "constraint with an asterisk",
            .constraint,
            intermediate: { $0.nameConstraints = names("*.example.com") }
        ),
        .plain(
            "constraint that is an address without mask",
            .constraint,
            intermediate: {
                $0.nameConstraints = .init(permitted: [.other(tag: 7, contents: [127, 0, 0, 1])])
            }
        ),
        .plain(
            "leaf with name constraints",
            .constraint,
            leaf: { $0.nameConstraints = names("example.com") }
        ),
        ChainCase("leaf on a curve of 192 bits", .weak) {
            let root = try MintedAuthority.root(now: trustNow)
            let leaf = try root.leaf("www.example.com", algorithm: .curve("prime192v1"))
            return TrustSample(leaf, root)
        },
        ChainCase("leaf on a curve of others", .weak) {
            let root = try MintedAuthority.root(now: trustNow)
            let leaf = try root.leaf("www.example.com", algorithm: .curve("secp256k1"))
            return TrustSample(leaf, root)
        },
        ChainCase("leaf of RSA with 2052 bits", .malformed) {
            let root = try MintedAuthority.root(now: trustNow)
            let leaf = try root.leaf("www.example.com", algorithm: .rsa(bits: 2052))
            return TrustSample(leaf, root)
        },
        ChainCase("authority of RSA with 2050 bits", .malformed) {
            let root = try MintedAuthority.root(now: trustNow)
            let intermediate = try root.intermediate("I", .rsa(bits: 2050))
            return TrustSample(try intermediate.leaf("www.example.com"), root)
        },
        ChainCase("root of RSA with 2054 bits", .malformed) {
            let root = try MintedAuthority.root("R", .rsa(bits: 2054), now: trustNow)
            return TrustSample(try root.leaf("www.example.com"), root)
        },
        .plain("serial number zero", .malformed, leaf: { $0.serial = [0] }),
        .plain("serial number below zero", .malformed, leaf: { $0.serial = [0x80] }),
        .plain(
            "serial number of 22 octets",
            .malformed,
            leaf: { $0.serial = [UInt8](repeating: 1, count: 22) }
        ),
        .plain(
            "GeneralizedTime before 2050",
            .malformed,
            leaf: { $0.usesGeneralizedTime = true }
        ),
        .plain(
            "extension twice",
            .malformed,
            leaf: {
                let part = CertificateBuilder.Extension(
                    identifier: "1.3.6.1.4.1.55738.1",
                    der: [5, 0]
                )
                $0.extensions = [part, part]
            }
        ),
        .plain(
            "malformed authorityInfoAccess",
            .malformed,
            leaf: { $0.extensions = [.init(identifier: "1.3.6.1.5.5.7.1.1", der: [1, 2, 3])] }
        ),
        .plain(
            "policy constraints that are not critical",
            .malformed,
            intermediate: {
                $0.extensions = [.init(identifier: "2.5.29.36", der: [0x30, 3, 0x80, 1, 3])]
            }
        ),
        ChainCase("version 1", .malformed) {
            let root = try MintedAuthority.root(now: trustNow)
            let leaf = try root.leaf("www.example.com") {
                $0.version = 1
                $0.keyUsage = nil
                $0.purposes = []
                $0.alternativeNames = []
                $0.hasSubjectKeyIdentifier = false
                $0.hasAuthorityKeyIdentifier = false
            }
            return TrustSample(leaf, root)
        },
    ]

    @Test func `RSA of each size that is whole octets is accepted`() throws {
        let root = try MintedAuthority.root("R", .rsa(bits: 2056), now: trustNow)
        #expect(try TrustSample(try root.leaf("www.example.com"), root).path().problem == nil)
    }

    @Test(arguments: refused)
    private func `a bad form is refused, and the reason is told`(sample: ChainCase) throws {
        let problem = try #require(try sample.make().path().problem)
        #expect(problem.kind == sample.expected)
        #expect(problem.sentence.hasSuffix(".") && problem.sentence.utf8.count > 20)
    }
}
