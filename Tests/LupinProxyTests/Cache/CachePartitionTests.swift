// Who finds whose stored responses.
import LupinCaching
import LupinCore
import LupinPolicy
import LupinProxy
import LupinTLS
import LupinUpstream
import Testing

struct CachePartitionTests {
    private static let key = KeyedDigest(key: [1, 2, 3])
    private static let here = IPAddress.v4(0x7F00_0001)
    private static let there = IPAddress.v4(0x0A00_0001)

    /// The name of the partition of one request.
    private static func name(
        _ number: UInt64 = 1,
        parts: [CacheSeparation] = [],
        of user: ClientUser = .unknown,
        at address: IPAddress = here,
        isThroughSibling: Bool = false,
        pages: [ForeignPage] = [],
        content: String? = nil
    ) -> String {
        var partition = CachePartition(of: ExchangeID(high: 0, low: number), Attachments([]))
        partition.separate(
            by: parts,
            of: user,
            at: address,
            isThroughSibling: isThroughSibling
        )
        partition.separate(by: pages)
        if let content { partition.separate(byContent: content) }
        return partition.name(by: key)
    }

    @Test func `what nothing separates is for all`() {
        #expect(Self.name().isEmpty && Self.name(2, of: .named("ada")).isEmpty)
    }

    @Test func `each user has a partition, wherever they are`() {
        let ada = Self.name(parts: [.user], of: .named("ada"))
        #expect(ada == Self.name(2, parts: [.user], of: .named("ada"), at: Self.there))
        let names = [
            ada, Self.name(parts: [.user], of: .named("bob")),
            Self.name(parts: [.user], of: .number(1000)),
            Self.name(parts: [.user], of: .number(1001)),
            Self.name(parts: [.user]), Self.name(parts: [.user], at: Self.there),
        ]
        #expect(Set(names).count == names.count && !names.contains(""))
    }

    @Test func `an unknown client shares by its address, and through a sibling with nobody`() {
        #expect(Self.name(1, parts: [.user]) == Self.name(2, parts: [.user]))
        let first = Self.name(1, parts: [.user], isThroughSibling: true)
        #expect(first != Self.name(2, parts: [.user], isThroughSibling: true))
        #expect(first != Self.name(1, parts: [.user]))
    }

    @Test func `credentials, cookies and contents are apart, and from each other`() {
        let names = [
            Self.name(parts: [.authorization(["a"])]), Self.name(parts: [.authorization(["b"])]),
            Self.name(parts: [.cookie(["a"])]), Self.name(content: "a"),
            Self.name(parts: [.authorization(["a"]), .cookie(["a"])]),
        ]
        #expect(Set(names).count == names.count && !names.contains(""))
        #expect(names[0] == Self.name(2, parts: [.authorization(["a"])]))
    }

    @Test func `a page that can't be told from others shares with none`() {
        let first = Self.name(1, pages: [.unnamed])
        #expect(!first.isEmpty && first == Self.name(1, pages: [.unnamed]))
        #expect(first != Self.name(2, pages: [.unnamed]))
    }
}
