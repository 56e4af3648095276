// That a growing log is read to its end, through rotation and truncation.

import Glibc
import LupinIO
import Testing

struct TailedFileTests {
    private let folder = Folder()

    @Test func `what is appended later is read later`() throws {
        var log = try AppendFile(.file(folder.path("log")))
        write("a\n", to: &log)
        var tail = try TailedFile(path: folder.path("log"))
        #expect(try text(&tail) == "a\n")
        #expect(try text(&tail) == "")
        expectRotated(tail, false)
        write("b\n", to: &log)
        #expect(try text(&tail) == "b\n")
        #expect(log.size == 4)
    }

    @Test func `a file that was moved aside is followed by the new one`() throws {
        var log = try AppendFile(.file(folder.path("log")))
        write("a\n", to: &log)
        var tail = try TailedFile(path: folder.path("log"))
        #expect(try text(&tail) == "a\n")
        try FileRename.rename(folder.path("log"), to: folder.path("log.1"))
        expectRotated(tail, false)
        write("last\n", to: &log)
        log = try AppendFile(.file(folder.path("log")))
        write("new\n", to: &log)
        #expect(try text(&tail) == "last\n")
        expectRotated(tail, true)
        try tail.reopen()
        #expect(try text(&tail) == "new\n")
        expectRotated(tail, false)
    }

    @Test func `a truncated file is read from its start`() throws {
        var log = try AppendFile(.file(folder.path("log")))
        write("aaaa\n", to: &log)
        var tail = try TailedFile(path: folder.path("log"))
        #expect(try text(&tail) == "aaaa\n")
        try #require(unsafe truncate(folder.path("log"), 0) == 0)
        write("b\n", to: &log)
        expectRotated(tail, true)
        try tail.reopen()
        #expect(try text(&tail) == "b\n")
    }

    @Test func `a missing file says so`() {
        #expect(throws: SystemError(code: ENOENT)) {
            _ = try TailedFile(path: folder.path("missing"))
        }
    }

    @Test func `a pipe whose reader reads no more is given up on`() throws {
        let path = folder.path("log")
        try #require(unsafe mkfifo(path, 0o600) == 0)
        let reader = Descriptor(owning: unsafe open(path, O_RDONLY | O_NONBLOCK))
        try #require(reader.raw >= 0)
        var log = try AppendFile(.file(path))
        let bytes = [UInt8](repeating: 0x61, count: 2 << 20)
        var questions = 0
        let result = log.write(bytes.span) {
            questions += 1
            return false
        }
        #expect(result.error == .wouldBlock)
        #expect(result.written > 0 && result.written < bytes.count)
        #expect(questions == 1)
    }

    @Test func `a FIFO without a reader can't be opened, and nothing hangs`() throws {
        try #require(unsafe mkfifo(folder.path("log"), 0o600) == 0)
        #expect(throws: SystemError(code: ENXIO)) {
            _ = try AppendFile(.file(folder.path("log")))
        }
    }

    private func write(_ text: String, to log: inout AppendFile) {
        let result = log.write(text.utf8Span.span) { false }
        #expect(result.written == text.utf8.count)
        #expect(result.error == nil)
    }

    /// A noncopyable value can't pass through `#expect`.
    private func expectRotated(_ tail: borrowing TailedFile, _ expected: Bool) {
        let hasRotated = tail.hasRotated
        #expect(hasRotated == expected)
    }

    private func text(_ tail: inout TailedFile) throws -> String {
        var bytes: [UInt8] = []
        while try tail.read(into: &bytes) {}
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// A folder that goes away with the test.
private final class Folder: Sendable {
    private let root: String

    init() {
        root = "/tmp/lupin-tail-\(UInt64.random(in: 0...(.max)))"
        unsafe mkdir(root, 0o700)
    }

    deinit {
        for name in ["log", "log.1"] { unsafe unlink(path(name)) }
        unsafe rmdir(root)
    }

    func path(_ name: String) -> String { "\(root)/\(name)" }
}
