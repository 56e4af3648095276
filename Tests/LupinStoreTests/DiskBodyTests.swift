// That a body is read as it was stored, and that one which is not is found out.

import Foundation
import Glibc
import LupinStore
import Testing

struct DiskBodyTests {
    private let folder = StoreFolder()

    @Test(arguments: [true, false])
    func `any part of a body can be read`(onlyIfCached: Bool) throws {
        let store = try folder.open()
        let all = pattern(200_001)
        let body = try #require(try store.open(try store.put("a", all)))
        #expect(body.length == 200_001)
        for (offset, room) in [(0, 65_536), (65_535, 3), (1, 300_000), (200_000, 10)] {
            var bytes = [UInt8](repeating: 0xEE, count: room)
            var span = bytes.mutableSpan
            // What was just written is cached, so nil is no answer here.
            let count = try #require(
                try body.read(at: UInt64(offset), into: &span, onlyIfCached: onlyIfCached)
            )
            #expect(count == min(room, all.count - offset))
            #expect(bytes[..<count] == all[offset..<offset + count])
            #expect(bytes[count...].allSatisfy { $0 == 0xEE })
        }
        var rest: [UInt8] = [1]
        for offset in [200_001, UInt64.max] {
            var room = rest.mutableSpan
            #expect(try body.read(at: offset, into: &room, onlyIfCached: onlyIfCached) == 0)
        }
        #expect(rest == [1])
    }

    @Test func `the descriptor is for reading and closed on exec`() throws {
        let store = try folder.open()
        let body = try #require(try store.open(try store.put("a", pattern(10))))
        #expect(fcntl(body.file.descriptor, F_GETFD) == FD_CLOEXEC)
        #expect(fcntl(body.file.descriptor, F_GETFL) & O_ACCMODE == O_RDONLY)
    }

    @Test(arguments: [true, false])
    func `a body that is cut while it is read is damaged`(onlyIfCached: Bool) throws {
        let store = try folder.open()
        let id = try store.put("a", pattern(100))
        let body = try #require(try store.open(id))
        // Safety: the path is NUL-terminated for the call.
        let result = unsafe truncate(folder.bodyPath(id), 60)
        try #require(result == 0)
        #expect(throws: DiskProblem.damaged) {
            var bytes = [UInt8](repeating: 0, count: 100)
            var room = bytes.mutableSpan
            _ = try body.read(at: 60, into: &room, onlyIfCached: onlyIfCached)
        }
    }

    // MARK: Checking

    @Test func `a body of this run is known to be whole, an older one after a check`() throws {
        let store = try folder.open()
        let id = try store.put("a", pattern(100_000))
        #expect(store.isChecked(id))
        store.close()
        let again = try folder.open()
        #expect(!again.isChecked(id))
        let body = try #require(try again.open(id))
        #expect(again.check(body, bytesMax: 0) == .more)
        #expect(again.check(body, bytesMax: 99_999) == .more)
        #expect(!again.isChecked(id))
        #expect(again.check(body, bytesMax: 1) == .ok)
        #expect(again.isChecked(id))
        // Once is enough: what happens to the file later is not looked at.
        try folder.write(pattern(100_000, seed: 1), to: folder.bodyPath(id))
        #expect(again.check(try #require(try again.open(id)), bytesMax: 1) == .ok)
    }

    @Test func `a body without bytes needs no reading`() throws {
        let store = try folder.open()
        let id = try store.put("a", [])
        store.close()
        let again = try folder.open()
        #expect(again.check(try #require(try again.open(id)), bytesMax: 0) == .ok)
    }

    @Test(arguments: [0, 65_536, 99_999])
    func `one bit that flipped is found`(index: Int) throws {
        let store = try folder.open()
        let id = try store.put("a", pattern(100_000))
        let other = try store.put("a", pattern(10))
        store.close()
        var bytes = pattern(100_000)
        bytes[index] ^= 4
        try folder.write(bytes, to: folder.bodyPath(id))
        let again = try folder.open()
        let body = try #require(try again.open(id))
        var verdict = DiskCheck.more
        for _ in 0..<10 where verdict == .more { verdict = again.check(body, bytesMax: 30_000) }
        #expect(verdict == .damaged)
        #expect(again.ids("a") == [other])
        #expect(again.stats().damaged == 1)
        #expect(again.takeNotices(nowUs: 0).count == 1)
        #expect(folder.names(in: "bodies").count == 1)
    }

    @Test func `a check of an entry that is gone marks nothing`() throws {
        let store = try folder.open()
        let id = try store.put("a", pattern(10))
        store.close()
        let again = try folder.open()
        let body = try #require(try again.open(id))
        again.remove([id])
        #expect(again.check(body, bytesMax: .max) == .ok)
        #expect(!again.isChecked(id))
    }
}
