// That lists of withdrawn certificates are read right, and that bad ones say nothing.

import LupinCore
import LupinTLS
import LupinTestKit
import Testing

struct RevocationListTests {
    @Test func `who is not on the list is good, and who is on it is withdrawn`() throws {
        let server = try RevocableServer()
        var list = server.list
        list.revoked = [try server.root.leaf("other.example.com").certificate]
        #expect(try server.finding(list) == .good)
        list.revoked.append(server.leaf.certificate)
        #expect(try server.finding(list).outline == "revoked revoked")
    }

    @Test func `a list of the place that the certificate names is the whole list for it`() throws {
        let server = try RevocableServer()
        var list = server.list
        list.extensions = [scope(location: RevocableServer.listURL)]
        #expect(try server.finding(list) == .good)
        list.extensions = [scope(location: "http://crl.example/2.crl")]
        #expect(try server.finding(list).outline == "unknown")
    }

    private func scope(location: String) -> CertificateBuilder.Extension {
        let name = DEREncoding.value(tag: 0x86, Array(location.utf8))
        let point = DEREncoding.value(tag: 0xA0, DEREncoding.value(tag: 0xA0, name))
        return .init(identifier: "2.5.29.28", isCritical: true, der: DEREncoding.sequence([point]))
    }

    /// Contents of the scope extension, and whether they leave the list useful for a server.
    private static let scopes: [(contents: [UInt8], isUseful: Bool)] = [
        ([], true), ([0x81, 1, 0xFF], true), ([0x82, 1, 0xFF], false), ([0x84, 1, 0xFF], false),
        ([0x85, 1, 0xFF], false), ([0x83, 2, 1, 6], false), ([0x84, 1, 0], true),
        ([0x84, 9, 0xFF], false),
    ]

    @Test(arguments: scopes)
    func `a list of narrower scope says nothing`(
        sample: (contents: [UInt8], isUseful: Bool)
    ) throws {
        let server = try RevocableServer()
        var list = server.list
        list.extensions = [
            .init(
                identifier: "2.5.29.28",
                isCritical: true,
                der: DEREncoding.value(tag: 0x30, sample.contents)
            )
        ]
        #expect(try server.finding(list).outline == (sample.isUseful ? "good" : "unknown"))
    }

    private static let useless: [(String, @Sendable (inout MintedRevocationList) throws -> Void)] =
        [
            ("stale", { $0.nextUpdate = trustNow - 301 }),
            ("without end", { $0.nextUpdate = nil }),
            (
                "of the future",
                {
                    $0.thisUpdate = trustNow + 301
                    $0.nextUpdate = trustNow + 900
                }
            ),
            ("of a stranger", { $0.issuer = try .root("Stranger", now: trustNow) }),
            ("of a stranger with the issuer's name", { $0.issuer = try .root(now: trustNow) }),
            (
                "with a delta indicator",
                {
                    $0.extensions = [
                        .init(identifier: "2.5.29.27", isCritical: true, der: [2, 1, 1])
                    ]
                }
            ),
        ]

    @Test(arguments: useless.indices)
    func `a list that proves nothing says nothing`(index: Int) throws {
        let (name, spoil) = Self.useless[index]
        let server = try RevocableServer()
        var list = server.list
        list.revoked = [server.leaf.certificate]
        try spoil(&list)
        #expect(try server.finding(list).outline == "unknown", "\(name)")
    }

    /// An entry's extension, whether it is critical, and whether the list is of use with it.
    private static let entries: [(identifier: String, isCritical: Bool, isUseful: Bool)] = [
        ("2.5.29.21", false, true), ("1.3.6.1.4.1.55738.1", false, true),
        ("2.5.29.21", true, true), ("1.3.6.1.4.1.55738.1", true, false),
        ("2.5.29.29", true, false),
    ]

    @Test(arguments: entries)
    func `a list with an entry that is not understood says nothing of any certificate`(
        entry: (identifier: String, isCritical: Bool, isUseful: Bool)
    ) throws {
        let server = try RevocableServer()
        var list = server.list
        list.fillers = 3
        list.revoked = [try server.root.leaf("other.example.com").certificate]
        list.entryExtensions = [
            .init(identifier: entry.identifier, isCritical: entry.isCritical, der: [10, 1, 1])
        ]
        #expect(try server.finding(list).outline == (entry.isUseful ? "good" : "unknown"))
        list.revoked = [server.leaf.certificate]
        let outline = entry.isUseful ? "revoked revoked" : "unknown"
        #expect(try server.finding(list).outline == outline)
    }

    @Test func `an issuer that may sign no lists is not believed`() throws {
        let root = try MintedAuthority.root(now: trustNow) { $0.keyUsage = .certificateSigning }
        let leaf = try root.leaf("www.example.com") {
            $0.revocationListURL = RevocableServer.listURL
        }
        var sample = TrustSample(leaf, root)
        let query = RevocationQuery(kind: .crl, url: RevocableServer.listURL)
        let list = MintedRevocationList(root, now: trustNow)
        sample.evidence.answers[query] = RevocationAnswer(encoding: try list.encoding())
        let finding = try sample.trust().revocation(RevocationDemand(), along: [.configured])
        #expect(finding.outline == "unknown")
    }

    @Test func `garbage, cut off and mutated lists say nothing and do no harm`() throws {
        let server = try RevocableServer()
        var minted = server.list
        minted.revoked = [server.leaf.certificate]
        let good = try minted.encoding()
        var demand = RevocationDemand()
        demand.method = .crl
        for i in stride(from: 0, to: good.count, by: 9) {
            var mutated = good
            mutated[i] ^= 0x41
            for sample in [mutated, Array(good.prefix(i))] {
                let finding = try server.finding(demand, list: sample).0
                #expect(finding.outline == "unknown" || finding.outline == "revoked revoked")
            }
        }
    }
}
