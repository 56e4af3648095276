// That a store gives back what was put in, and forgets what it should.

import LupinStore
import Testing

struct DiskStoreTests {
    private let folder = StoreFolder()

    @Test(arguments: [0, 1, 999, 1000, 1001, 70_000])
    func `what was stored is found, now and after a restart`(count: Int) throws {
        let body = pattern(count)
        var id: Int64 = 0
        do {
            let store = try folder.open()
            #expect(!store.mayHold("GET a"))
            id = try store.put("GET a", body, url: "https://a/", facts: [1, 0, 255], at: 7)
            #expect(try store.body(id) == body)
            store.close()
        }
        let store = try folder.open()
        #expect(store.mayHold("GET a"))
        #expect(!store.mayHold("GET b"))
        let entry = DiskEntry(
            id: id,
            key: "GET a",
            url: "https://a/",
            facts: [1, 0, 255],
            length: UInt64(count),
            storedAtUs: 7,
            usedAtUs: 7,
            uses: 0
        )
        #expect(store.entries(for: "GET a") == [entry])
        #expect(store.entry(id) == entry)
        #expect(try store.body(id) == body)
        #expect(store.stats().entries == 1)
        #expect(store.stats().bytes == count + 3 + "GET ahttps://a/".utf8.count)
        #expect(store.takeNotices(nowUs: 0) == [])
    }

    enum Erasure: CaseIterable { case all, entries, url }

    @Test(arguments: Erasure.allCases)
    func `of what is cleared or purged no file keeps anything`(erasure: Erasure) throws {
        let store = try folder.open()
        var ids: [Int64] = []
        for i in 0..<50 {
            let url = "https://private.example/path-\(i)"
            ids.append(
                try store.put("GET \(url)", pattern(9), url: url, facts: Array("x-head-\(i)".utf8))
            )
        }
        #expect(try folder.holds("private.example") && folder.holds("x-head-"))
        let count =
            switch erasure {
            case .all: store.removeAll()
            case .entries: store.erase(ids)
            case .url:
                (0..<50).reduce(0) { count, i in
                    let url = "https://private.example/path-\(i)"
                    return count + store.remove(url: url, isErasing: true)
                }
            }
        #expect(count == 50)
        #expect(try !folder.holds("private.example") && !folder.holds("x-head-"))
        withExtendedLifetime(store) {}
    }

    @Test func `a store that nobody closed is as good after a restart`() throws {
        let store = try folder.open()
        let id = try store.put("a", pattern(5000), facts: [9])
        let copy = try folder.copy()
        let again = try copy.open()
        #expect(again.ids("a") == [id])
        #expect(try again.body(id) == pattern(5000))
        withExtendedLifetime(store) {}
    }

    @Test func `a body of many pieces is whole`() throws {
        let store = try folder.open()
        let draft = try store.begin()
        let body = pattern(300_000)
        for byte in stride(from: 0, to: body.count, by: 7) {
            try store.append(body.span.extracting(byte..<min(body.count, byte + 7)), to: draft)
        }
        let id = try store.commit(
            draft,
            key: "a",
            url: "",
            facts: [],
            replacing: [],
            variantsMax: 1,
            nowUs: 0
        )
        #expect(try store.body(id) == body)
        // The next run trusts nobody: the checksum says so too.
        store.close()
        let again = try folder.open()
        let opened = try #require(try again.open(id))
        #expect(again.check(opened, bytesMax: .max) == .ok)
    }

    // MARK: Replacing and removing

    @Test func `an entry goes for the one that replaces it, and an open body stays`() throws {
        let store = try folder.open()
        let old = try store.put("a", pattern(2000, seed: 1))
        let body = try #require(try store.open(old))
        let new = try store.put("a", pattern(3000, seed: 2), replacing: [old, 77])
        #expect(store.ids("a") == [new])
        #expect(try store.open(old) == nil)
        #expect(try body.all() == pattern(2000, seed: 1))
        #expect(try store.body(new) == pattern(3000, seed: 2))
        #expect(folder.names(in: "bodies").count == 1)
        #expect(store.stats().bytes == 3000 + StoreFolder.textBytes)
        #expect(store.stats().evicted == 0)
    }

    @Test func `of too many variants the oldest go`() throws {
        let store = try folder.open()
        let first = try store.put("a", pattern(10), variantsMax: 3, at: 30)
        let second = try store.put("a", pattern(11), variantsMax: 3, at: 10)
        let third = try store.put("a", pattern(12), variantsMax: 3, at: 20)
        let other = try store.put("b", pattern(13), at: 0)
        #expect(store.ids("a") == [first, third, second])
        let fourth = try store.put("a", pattern(14), variantsMax: 3, at: 40)
        #expect(store.ids("a") == [fourth, first, third])
        let last = try store.put("a", pattern(15), variantsMax: 1, at: 50)
        #expect(store.ids("a") == [last])
        #expect(store.ids("b") == [other])
        #expect(folder.names(in: "bodies").count == 2)
    }

    @Test func `entries are removed by id, by URL and all at once`() throws {
        let store = try folder.open()
        let ids = try (0..<6).map { number in
            try store.put("k\(number)", pattern(10), url: "https://\(number % 2)/")
        }
        #expect(store.remove([ids[0], ids[0], 99]) == 1)
        #expect(!store.mayHold("k0"))
        #expect(store.remove(url: "https://1/") == 3)
        #expect(store.remove(url: "https://1/") == 0)
        #expect(store.all.map(\.id) == [ids[2], ids[4]])
        #expect(folder.names(in: "bodies").count == 2)
        #expect(store.removeAll() == 2)
        #expect(store.all == [])
        #expect(!store.mayHold("k2"))
        #expect(store.stats().bytes == 0)
        #expect(store.stats().entries == 0)
        #expect(folder.names(in: "bodies") == [])
        // An id is never given again, not even by the next run.
        store.close()
        #expect(try folder.open().put("a", []) > ids[5])
    }

    @Test func `the keys of a URL are told, the last stored first`() throws {
        let store = try folder.open()
        let ids = try (0..<6).map { number in
            try store.put("k\(number)", pattern(10), url: "https://\(number % 2)/")
        }
        #expect(store.keys(url: "https://1/").map(\.key) == ["k5", "k3", "k1"])
        #expect(store.keys(url: "https://1/").map(\.id) == [ids[5], ids[3], ids[1]])
        #expect(store.keys(url: "https://1/", limit: 2).map(\.key) == ["k5", "k3"])
        #expect(store.keys(url: "https://2/").isEmpty)
        store.close()
        #expect(store.keys(url: "https://1/").isEmpty)
        #expect(try folder.open().keys(url: "https://0/").map(\.key) == ["k4", "k2", "k0"])
    }

    @Test func `a list goes on where the last one ended`() throws {
        let store = try folder.open()
        let ids = try (0..<5).map { try store.put("k\($0)", []) }
        #expect(store.list(after: nil, limit: 2).map(\.id) == Array(ids[0..<2]))
        #expect(store.list(after: ids[1], limit: 2).map(\.id) == Array(ids[2..<4]))
        #expect(store.list(after: ids[3], limit: 2).map(\.id) == [ids[4]])
        #expect(store.list(after: ids[4], limit: 2) == [])
    }

    @Test func `facts are renewed`() throws {
        let store = try folder.open()
        let id = try store.put("a", pattern(100), facts: [1], at: 5)
        #expect(store.update(id, facts: [2, 3, 4], nowUs: 9))
        let entry = try #require(store.entry(id))
        #expect(entry.facts == [2, 3, 4])
        #expect(entry.usedAtUs == 9)
        #expect(entry.storedAtUs == 5)
        #expect(store.stats().bytes == 103 + StoreFolder.textBytes)
        #expect(!store.update(id + 1, facts: [], nowUs: 9))
        let tooMany = [UInt8](repeating: 0, count: DiskStore.factsBytesMax + 1)
        #expect(!store.update(id, facts: tooMany, nowUs: 9))
        #expect(store.entry(id)?.facts == [2, 3, 4])
        #expect(store.stats().refused == 1)
    }

    // MARK: Refusing

    @Test func `facts of more than a mebibyte are refused`() throws {
        let store = try folder.open()
        let most = [UInt8](repeating: 1, count: DiskStore.factsBytesMax)
        let id = try store.put("a", [], facts: most)
        #expect(store.entry(id)?.facts == most)
        #expect(throws: DiskProblem.tooLarge) { try store.put("b", [], facts: most + [1]) }
        #expect(!store.mayHold("b"))
        #expect(folder.names(in: "drafts") == [])
        #expect(folder.names(in: "bodies").count == 1)
    }

    @Test func `a body larger than one may be is refused, and its draft is dead`() throws {
        let store = try folder.open(objectBytesMax: 100)
        let draft = try store.begin()
        try store.add(pattern(100), to: draft)
        #expect(throws: DiskProblem.tooLarge) { try store.add([1], to: draft) }
        #expect(throws: DiskProblem.closed) { try store.add([], to: draft) }
        #expect(folder.names(in: "drafts") == [])
        #expect(draft.count == 100)
        #expect(store.stats().refused == 2)
        // It is the caller's size, and nothing for the log.
        #expect(store.takeNotices(nowUs: 0) == [])
    }

    @Test func `a body larger than the store may be evicts nothing`() throws {
        let store = try folder.open(bytesMax: 1000)
        let id = try store.put("a", pattern(900))
        #expect(throws: DiskProblem.tooLarge) {
            try store.put("b", pattern(990), facts: pattern(11))
        }
        #expect(store.ids("a") == [id])
        #expect(store.all.count == 1)
    }

    @Test func `without room to spare nothing is written, and one notice says so`() throws {
        let id = try folder.open().put("a", pattern(10))
        let store = try folder.open(spareBytes: .max)
        for _ in 0..<3 {
            #expect(throws: DiskProblem.full) { try store.begin() }
        }
        #expect(store.stats().refused == 3)
        #expect(try store.body(id) == pattern(10))
        let notices = store.takeNotices(nowUs: 0)
        #expect(notices.count == 1)
        #expect(notices.first?.contains("no room") == true)
        #expect(notices.first?.contains("3 times") == true)
    }

    @Test func `a draft stops growing where the room runs out`() throws {
        let store = try folder.open()
        let draft = try store.begin()
        let mebibyte = pattern(1 << 20)
        try store.add(mebibyte, to: draft)
        let limits = DiskLimits(bytesMax: 1 << 30, objectBytesMax: 1 << 24, spareBytes: .max)
        store.change(limits: limits)
        #expect(throws: DiskProblem.full) { try store.add(mebibyte, to: draft) }
        #expect(draft.count == 1 << 20)
        #expect(folder.names(in: "drafts") == [])
    }

    @Test func `a closed store misses and refuses`() throws {
        let store = try folder.open()
        let id = try store.put("a", pattern(10))
        let body = try #require(try store.open(id))
        let draft = try store.begin()
        store.close()
        store.close()
        #expect(!store.mayHold("a"))
        #expect(store.entries(for: "a") == [])
        #expect(try store.open(id) == nil)
        #expect(store.removeAll() == 0)
        #expect(store.sweep(filesMax: 1))
        store.touch(id, nowUs: 0)
        #expect(throws: DiskProblem.closed) { try store.begin() }
        #expect(throws: DiskProblem.closed) { try store.add([1], to: draft) }
        #expect(try body.all() == pattern(10))
        #expect(try folder.open().ids("a") == [id])
    }
}
