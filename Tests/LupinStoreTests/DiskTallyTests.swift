// That what is in memory agrees with the disk, and that notices come once.

import LupinStore
import Testing

struct DiskTallyTests {
    private let folder = StoreFolder()

    @Test func `a key is held as long as one of its entries is`() throws {
        let store = try folder.open()
        let first = try store.put("a", [])
        let second = try store.put("a", [])
        store.remove([first])
        #expect(store.mayHold("a"))
        store.remove([second])
        #expect(!store.mayHold("a"))
    }

    @Test func `another thread asks while one stores`() async throws {
        let store = try folder.open()
        async let isSteady = Task.detached {
            var seen = 0
            for _ in 0..<2000 {
                let now = store.stats().entries
                // Keys come in order and none goes.
                guard now >= seen, now == 0 || store.mayHold("k\(now - 1)") else { return false }
                seen = now
            }
            return true
        }.value
        for number in 0..<50 { _ = try store.put("k\(number)", []) }
        #expect(await isSteady)
    }

    @Test func `a kind of notice is told once a minute, with how many there were`() throws {
        let store = try folder.open(spareBytes: .max)
        let minute: Int64 = 60_000_000
        func refuse() { _ = try? store.begin() }
        refuse()
        let first = store.takeNotices(nowUs: 5)
        #expect(first.count == 1)
        #expect(store.takeNotices(nowUs: 6) == [])
        refuse()
        refuse()
        #expect(store.takeNotices(nowUs: 4 + minute) == [])
        #expect(store.takeNotices(nowUs: 5 + minute) == first.map { "\($0) (2 times)" })
        // A clock that is set back silences nothing.
        refuse()
        #expect(store.takeNotices(nowUs: 1) == first)
    }

    @Test func `as many as 100,000 entries are known when the store is open`() throws {
        try folder.fill(100_000)
        let clock = ContinuousClock()
        var opened: DiskStore?
        let time = try clock.measure { opened = try folder.open() }
        print("opening a store of 100,000 entries took \(time)")
        let store = try #require(opened)
        #expect(store.stats().entries == 100_000)
        #expect(store.stats().bytes == 2_000_000)
        #expect(store.list(after: 99_999, limit: 10).map(\.key) == ["k100000"])
        #expect(try store.put("a", []) == 100_001)
    }
}
