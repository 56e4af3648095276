// That a small file is read whole within its bound, and that every change of it shows.

import Foundation
import LupinIO
import Testing

struct FileContentTests {
    private let path = NSTemporaryDirectory() + "lupin-file-\(UUID().uuidString)"

    private func write(_ text: String, atomically: Bool = true) throws {
        try text.write(toFile: path, atomically: atomically, encoding: .utf8)
    }

    private func remove() { try? FileManager.default.removeItem(atPath: path) }

    @Test func `a file is read whole, one byte beyond the bound at most`() throws {
        defer { remove() }
        try write(String(repeating: "a", count: 40_000))
        #expect(try FileContent(path: path, bytesMax: 50_000).bytes.count == 40_000)
        #expect(try FileContent(path: path, bytesMax: 40_000).bytes.count == 40_000)
        #expect(try FileContent(path: path, bytesMax: 39_999).bytes.count == 40_000)
        #expect(try FileContent(path: path, bytesMax: 10).bytes.count == 11)
    }

    @Test func `what is no file is an error`() {
        #expect(throws: SystemError.self) { try FileContent(path: path, bytesMax: 10) }
        let folder = NSTemporaryDirectory()
        #expect(throws: SystemError.self) { try FileContent(path: folder, bytesMax: 10) }
        #expect(FileVersion(path: path) == nil)
    }

    @Test func `a version stays until the file is replaced or written to`() throws {
        defer { remove() }
        try write("one")
        let first = try FileContent(path: path, bytesMax: 10).version
        #expect(first != nil)
        #expect(FileVersion(path: path) == first)
        try write("two")
        let second = FileVersion(path: path)
        #expect(second != first)
        try write("longer", atomically: false)
        #expect(FileVersion(path: path) != second)
    }

    @Test func `a file that was just written may change without a trace`() throws {
        defer { remove() }
        try write("one")
        let version = try #require(try FileContent(path: path, bytesMax: 10).version)
        #expect(!version.isSettled())
        #expect(version.isSettled(at: SystemCall.wallMicroseconds() + 3_000_000))
    }
}
