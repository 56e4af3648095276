// That no kill, no missing file and no damage leaves more than a miss.

import Foundation
import Glibc
import LupinStore
import Testing

struct DiskContentsTests {
    private let folder = StoreFolder()

    /// Sweeps to the end, a few files at a time.
    private func sweep(_ store: DiskStore) {
        for _ in 0..<1000 where store.sweep(filesMax: 7) { return }
        Issue.record("the sweep doesn't end")
    }

    // MARK: Kills

    @Test func `a kill before the rename leaves the old`() throws {
        let store = try folder.open()
        let old = try store.put("a", pattern(10))
        let draft = try store.begin()
        try store.add(pattern(20), to: draft)
        let again = try folder.copy()
        let opened = try again.open()
        #expect(opened.ids("a") == [old])
        #expect(try opened.body(old) == pattern(10))
        #expect(again.names(in: "drafts") == [])
        withExtendedLifetime(draft) {}
    }

    @Test func `a kill between the rename and the row leaves the old, and a file`() throws {
        let store = try folder.open()
        let old = try store.put("a", pattern(10))
        let killed = try folder.copy()
        // The next body has its place, and no row yet.
        let next = try store.put("a", pattern(20), replacing: [old])
        let orphan = killed.bodyPath(next)
        try FileManager.default.createDirectory(
            atPath: (orphan as NSString).deletingLastPathComponent,
            withIntermediateDirectories: true
        )
        try FileManager.default.copyItem(atPath: folder.bodyPath(next), toPath: orphan)
        let again = try killed.open()
        #expect(again.ids("a") == [old])
        #expect(try again.body(old) == pattern(10))
        #expect(try again.open(next) == nil)
        // The id is given to somebody else, over the file that has its name.
        #expect(try again.put("b", pattern(30)) == next)
        #expect(try again.body(next) == pattern(30))
        sweep(again)
        #expect(killed.names(in: "bodies").count == 2)
        #expect(again.stats().damaged == 0)
    }

    @Test func `a kill between the row and the end of the old file leaves the new`() throws {
        let store = try folder.open()
        let old = try store.put("a", pattern(10))
        let oldPath = folder.bodyPath(old)
        let bytes = try folder.bytes(of: oldPath)
        let new = try store.put("a", pattern(20), replacing: [old])
        let killed = try folder.copy()
        try killed.write(bytes, to: killed.bodyPath(old))
        let again = try killed.open()
        #expect(again.ids("a") == [new])
        #expect(try again.body(new) == pattern(20))
        #expect(killed.names(in: "bodies").count == 2)
        sweep(again)
        #expect(killed.names(in: "bodies").count == 1)
        #expect(try again.body(new) == pattern(20))
    }

    @Test func `a journal that breaks off anywhere leaves the old or the new`() throws {
        let store = try folder.open()
        let old = try store.put("a", pattern(10))
        let journal = "\(folder.path)/index.sqlite-wal"
        let before = try folder.bytes(of: journal).count
        let killed = try folder.copy()
        let new = try store.put("a", pattern(20), replacing: [old])
        let after = try folder.bytes(of: journal)
        try #require(after.count > before)
        let oldBody = try killed.bytes(of: killed.bodyPath(old))
        for end in Array(stride(from: before, to: after.count, by: 997)) + [after.count] {
            let copy = try folder.copy()
            try copy.write(Array(after[..<end]), to: "\(copy.path)/index.sqlite-wal")
            // After a kill both files would be there: the old goes only behind the row.
            try copy.write(oldBody, to: copy.bodyPath(old))
            let again = try copy.open()
            let id = try #require(again.ids("a").first)
            #expect(again.ids("a").count == 1)
            #expect(id == (end == after.count ? new : old))
            #expect(try again.body(id) == pattern(id == new ? 20 : 10))
            #expect(again.takeNotices(nowUs: 0) == [])
        }
    }

    // MARK: Bodies

    enum Spoil: CaseIterable {
        case missing, short, long, folder, link, pipe
    }

    @Test(arguments: Spoil.allCases)
    func `a body that is none is a miss, and its entry goes`(spoil: Spoil) throws {
        let store = try folder.open()
        let other = try store.put("a", pattern(50), at: 1)
        let id = try store.put("a", pattern(100), at: 2)
        let path = folder.bodyPath(id)
        let elsewhere = "\(folder.path)/elsewhere"
        try folder.write(pattern(100), to: elsewhere)
        if spoil != .short, spoil != .long { try folder.remove(path) }
        switch spoil {
        case .missing: break
        case .short: try folder.write(pattern(99), to: path)
        case .long: try folder.write(pattern(101), to: path)
        case .folder:
            try FileManager.default.createDirectory(
                atPath: path,
                withIntermediateDirectories: false
            )
        case .link:
            try FileManager.default.createSymbolicLink(
                atPath: path,
                withDestinationPath: elsewhere
            )
        case .pipe:
            // Safety: the path is NUL-terminated for the call.
            let result = unsafe mkfifo(path, 0o600)
            try #require(result == 0)
        }
        #expect(store.ids("a") == [id, other])
        #expect(try store.open(id) == nil)
        #expect(store.ids("a") == [other])
        #expect(store.stats().damaged == 1)
        #expect(store.stats().bytes == 50 + StoreFolder.textBytes)
        #expect(store.takeNotices(nowUs: 0).count == 1)
        #expect(try store.body(other) == pattern(50))
        #expect(try folder.bytes(of: elsewhere) == pattern(100))
    }

    // MARK: The index

    enum Index: CaseIterable {
        case garbled, cut, foreignVersion, foreignTables, folder, link, rootPage
    }

    @Test(arguments: Index.allCases)
    func `an index that is no good is begun anew`(kind: Index) throws {
        do {
            let store = try folder.open()
            for number in 0..<100 { _ = try store.put("k\(number)", pattern(10)) }
            store.close()
        }
        try spoil(kind)
        let store = try folder.open()
        #expect(store.stats().entries == 0)
        #expect(!store.mayHold("k1"))
        #expect(store.all == [])
        #expect(store.takeNotices(nowUs: 0).count == 1)
        let id = try store.put("k1", pattern(30))
        #expect(try store.body(id) == pattern(30))
        sweep(store)
        #expect(folder.names(in: "bodies").count == 1)
        store.close()
        let again = try folder.open()
        #expect(again.ids("k1") == [id])
        #expect(again.takeNotices(nowUs: 0) == [])
    }

    private func spoil(_ kind: Index) throws {
        let path = folder.indexPath
        var bytes = try folder.bytes(of: path)
        switch kind {
        case .garbled: try folder.write(pattern(bytes.count), to: path)
        case .cut: try folder.write(Array(bytes.prefix(5000)), to: path)
        case .foreignVersion:
            try Database(path: path).execute("PRAGMA user_version = 2")
        case .foreignTables:
            try folder.remove(path)
            try Database(path: path).execute("CREATE TABLE a (b)")
        case .folder:
            try folder.remove(path)
            try FileManager.default.createDirectory(
                atPath: path,
                withIntermediateDirectories: false
            )
        case .link:
            try FileManager.default.moveItem(atPath: path, toPath: "\(folder.path)/elsewhere")
            try FileManager.default.createSymbolicLink(
                atPath: path,
                withDestinationPath: "\(folder.path)/elsewhere"
            )
        case .rootPage:
            for index in 100..<4096 { bytes[index] = 0xA5 }
            try folder.write(bytes, to: path)
        }
    }

    @Test func `a page that is garbled is never worse than a miss`() throws {
        let keys = (0..<40).map { "key \($0)" }
        do {
            let store = try folder.open()
            for key in keys { _ = try store.put(key, pattern(10), facts: pattern(900)) }
            store.close()
        }
        let whole = try folder.bytes(of: folder.indexPath)
        let pages = whole.count / 4096
        #expect(pages > 12)
        for page in 1..<pages {
            var bytes = whole
            for index in page * 4096..<(page + 1) * 4096 where index % 3 != 0 {
                bytes[index] ^= 0x5A
            }
            let copy = StoreFolder()
            try copy.open().close()
            try copy.write(bytes, to: copy.indexPath)
            let store = try copy.open()
            for key in keys {
                for entry in store.entries(for: key) {
                    _ = store.update(entry.id, facts: [1], nowUs: 1)
                    _ = try store.open(entry.id)
                }
            }
            _ = try? store.put("new", pattern(10))
            store.remove(url: "https://example.org/")
            _ = store.removeAll()
            sweep(store)
            // Whatever happened, it goes on.
            let id = try store.put("last", pattern(5))
            #expect(try store.body(id) == pattern(5))
        }
    }

    @Test(arguments: ["bytes", "length", "checksum", "key_hash", "uses", "stored", "facts", "key"])
    func `a value that no run has written is never worse than a miss`(column: String) throws {
        do {
            let store = try folder.open()
            _ = try store.put("a", pattern(10))
            store.close()
        }
        for value in ["-1", "'text'", "9223372036854775807"] {
            let copy = try folder.copy()
            try Database(path: copy.indexPath)
                .execute("UPDATE entry SET \(column) = \(value)")
            let store = try copy.open()
            _ = store.entries(for: "a")
            _ = store.all
            store.touch(1, nowUs: 1)
            store.remove([1])
            let id = try? store.put("a", pattern(20))
            store.close()
            // Whoever was told that it was stored finds it.
            if let id { #expect(try copy.open().body(id) == pattern(20)) }
        }
    }

    // MARK: Sweeping

    @Test func `a sweep removes what belongs to no entry, a few files at a time`() throws {
        let store = try folder.open()
        let ids = try (0..<20).map { try store.put("k\($0)", pattern(10)) }
        for id in ids { try folder.write([1], to: folder.bodyPath(id + 256)) }
        // Names that no body has, and a body where it doesn't belong.
        try folder.write([1], to: folder.bodyPath(ids[0]) + "x")
        try folder.write([1], to: "\(folder.path)/bodies/01/0\(ids[0])")
        try folder.write([1], to: "\(folder.path)/bodies/01/\(ids[1])")
        #expect(folder.names(in: "bodies").count == 43)
        #expect(!store.sweep(filesMax: 1))
        #expect(folder.names(in: "bodies").count == 43)
        sweep(store)
        #expect(folder.names(in: "bodies").count == 20)
        for id in ids { #expect(try store.body(id) == pattern(10)) }
        #expect(store.sweep(filesMax: 1))
    }
}
