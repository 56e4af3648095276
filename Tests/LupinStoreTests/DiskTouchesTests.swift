// That uses are written together, and that what was used lately outlives what was not.

import LupinStore
import Testing

struct DiskTouchesTests {
    private let folder = StoreFolder()
    private let second: Int64 = 1_000_000

    /// The uses of an entry as the next run would see them, if this one were killed now.
    private func written(_ id: Int64) throws -> Int? { try folder.copy().open().entry(id)?.uses }

    @Test func `uses show at once and are written after a second`() throws {
        let store = try folder.open()
        let id = try store.put("a", [], at: 0)
        store.touch(id, nowUs: 10)
        store.touch(id, nowUs: 10)
        #expect(store.entry(id)?.uses == 2)
        #expect(store.entries(for: "a").first?.usedAtUs == 10)
        #expect(store.list(after: nil, limit: 1).first?.uses == 2)
        #expect(try written(id) == 0)
        store.touch(id, nowUs: 9 + second)
        #expect(try written(id) == 0)
        store.touch(id, nowUs: 10 + second)
        #expect(try written(id) == 4)
        #expect(store.entry(id)?.uses == 4)
    }

    @Test func `a clock that is set back keeps no use waiting`() throws {
        let store = try folder.open()
        let id = try store.put("a", [], at: 0)
        store.touch(id, nowUs: 10)
        store.touch(id, nowUs: 5)
        #expect(try written(id) == 2)
        #expect(store.entry(id)?.usedAtUs == 10)
    }

    @Test func `uses of 256 entries are written without waiting`() throws {
        try folder.fill(256)
        let store = try folder.open()
        for id in 1...255 { store.touch(Int64(id), nowUs: 1000) }
        #expect(try written(1) == 0)
        store.touch(256, nowUs: 1000)
        #expect(try written(1) == 1)
        #expect(try written(256) == 1)
    }

    @Test func `storing, sweeping and closing write them too`() throws {
        let store = try folder.open()
        let id = try store.put("a", [])
        store.touch(id, nowUs: 1)
        _ = try store.put("b", [])
        #expect(try written(id) == 1)
        store.touch(id, nowUs: 2)
        _ = store.sweep(filesMax: 1)
        #expect(try written(id) == 2)
        store.touch(id, nowUs: 3)
        store.close()
        #expect(try written(id) == 3)
    }

    /// Each has 250 bytes of a body, and 22 of texts.
    @Test func `what was used longest ago gives way`() throws {
        let store = try folder.open(bytesMax: 4 * 272)
        let ids = try (0..<4).map { try store.put("k\($0)", pattern(250), at: Int64($0)) }
        store.touch(ids[0], nowUs: 10)
        #expect(store.update(ids[1], facts: [], nowUs: 11))
        let last = try store.put("last", pattern(300), at: 12)
        #expect(store.all.map(\.id) == [ids[0], ids[1], last])
        #expect(store.stats().evicted == 2)
        #expect(store.stats().bytes == 2 * 272 + 324)
        #expect(!store.mayHold("k2"))
        #expect(folder.names(in: "bodies").count == 3)
    }

    @Test func `a restart remembers what was used`() throws {
        let store = try folder.open(bytesMax: 4 * 272)
        let ids = try (0..<4).map { try store.put("k\($0)", pattern(250), at: Int64($0)) }
        store.touch(ids[0], nowUs: 10)
        store.close()
        let again = try folder.open(bytesMax: 4 * 272)
        _ = try again.put("last", pattern(10), at: 12)
        #expect(again.ids("k0") == [ids[0]])
        #expect(again.ids("k1") == [])
    }

    @Test func `long URLs take room, too`() throws {
        let store = try folder.open(bytesMax: 100_000)
        for number in 0..<10 {
            let url = String(repeating: "u", count: 30_000)
            _ = try store.put("k\(number)", [], url: url, at: Int64(number))
        }
        #expect(store.all.map(\.key) == ["k7", "k8", "k9"])
    }

    @Test func `larger facts make room for themselves`() throws {
        let store = try folder.open(bytesMax: 1000)
        let old = try store.put("old", pattern(500), at: 0)
        let new = try store.put("new", pattern(400), at: 1)
        #expect(store.update(new, facts: pattern(150), nowUs: 2))
        #expect(store.all.map(\.id) == [new])
        #expect(!store.update(new, facts: pattern(601), nowUs: 3))
        #expect(store.entry(new)?.facts == pattern(150))
        #expect(try store.open(old) == nil)
    }

    @Test func `a smaller limit holds at once, and at the next start`() throws {
        try folder.fill(1200)
        let store = try folder.open()
        store.change(limits: DiskLimits(bytesMax: 1000, objectBytesMax: 100, spareBytes: 0))
        #expect(store.all.map(\.id) == Array(1151...1200))
        #expect(store.stats().bytes == 1000)
        #expect(store.stats().bytesMax == 1000)
        #expect(store.stats().evicted == 1150)
        let id = try store.put("last", pattern(100), at: 2000)
        store.close()
        let again = try folder.open(bytesMax: 150)
        #expect(again.all.map(\.id) == [1200, id])
        #expect(again.stats().bytes == 20 + 124)
        again.change(limits: DiskLimits(bytesMax: 0, objectBytesMax: 100, spareBytes: 0))
        #expect(again.all == [])
        #expect(folder.names(in: "bodies") == [])
    }
}
