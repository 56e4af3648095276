// That a draft can be read while it grows, and leaves nothing behind when nobody wants it.

import LupinStore
import Testing

struct DiskDraftTests {
    private let folder = StoreFolder()

    private func read(_ draft: DiskDraft, at offset: UInt64, room count: Int) throws -> [UInt8] {
        var bytes = [UInt8](repeating: 0xEE, count: count)
        var room = bytes.mutableSpan
        let done = try draft.read(at: offset, into: &room)
        #expect(bytes[done...].allSatisfy { $0 == 0xEE })
        return Array(bytes.prefix(done))
    }

    @Test func `what was appended can be read at once`() throws {
        let store = try folder.open()
        let draft = try store.begin()
        #expect(draft.count == 0)
        #expect(try read(draft, at: 0, room: 10) == [])
        try store.add(pattern(100), to: draft)
        #expect(draft.count == 100)
        #expect(try read(draft, at: 90, room: 50) == Array(pattern(100)[90...]))
        #expect(try read(draft, at: 100, room: 50) == [])
        #expect(try read(draft, at: .max, room: 50) == [])
        #expect(try read(draft, at: 3, room: 0) == [])
    }

    @Test func `another thread reads along and sees no byte too early`() async throws {
        let store = try folder.open()
        let draft = try store.begin()
        let body = pattern(200_000)
        let (counts, told) = AsyncStream.makeStream(of: Int.self)
        async let seen = Task.detached {
            var bytes: [UInt8] = []
            for await end in counts {
                var piece = [UInt8](repeating: 0xEE, count: 4096)
                while bytes.count < end {
                    var room = piece.mutableSpan
                    let count = try draft.read(at: UInt64(bytes.count), into: &room)
                    bytes += piece.prefix(count)
                }
            }
            return bytes
        }.value
        for start in stride(from: 0, to: body.count, by: 500) {
            try store.append(body.span.extracting(start..<start + 500), to: draft)
            told.yield(start + 500)
        }
        told.finish()
        #expect(try await seen == body)
    }

    @Test func `a draft can be read after it was committed, replaced or given up`() throws {
        let store = try folder.open()
        let draft = try store.begin()
        try store.add(pattern(10), to: draft)
        let id = try store.commit(
            draft,
            key: "a",
            url: "",
            facts: [],
            replacing: [],
            variantsMax: 1,
            nowUs: 0
        )
        store.abort(draft)
        #expect(try store.body(id) == pattern(10))
        store.remove([id])
        #expect(try read(draft, at: 0, room: 10) == pattern(10))
        #expect(throws: DiskProblem.closed) { try store.add([1], to: draft) }
        let other = try store.begin()
        try store.add(pattern(20), to: other)
        store.abort(other)
        #expect(folder.names(in: "drafts") == [])
        #expect(try read(other, at: 0, room: 20) == pattern(20))
    }

    @Test func `a draft that nobody has goes`() throws {
        let store = try folder.open()
        do {
            let draft = try store.begin()
            try store.add(pattern(20), to: draft)
            #expect(folder.names(in: "drafts").count == 1)
        }
        #expect(folder.names(in: "drafts") == [])
    }

    @Test func `a draft that a kill left goes with the next start`() throws {
        let store = try folder.open()
        let draft = try store.begin()
        try store.add(pattern(20), to: draft)
        let copy = try folder.copy()
        #expect(copy.names(in: "drafts").count == 1)
        let again = try copy.open()
        #expect(copy.names(in: "drafts") == [])
        withExtendedLifetime((store, draft, again)) {}
    }
}
