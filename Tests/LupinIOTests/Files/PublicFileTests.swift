// Files for everybody to read: their mode, what is left when writing fails, and where things lie.
import Foundation
import LupinIO
import Testing

final class PublicFileTests {
    private let folder: String

    init() throws {
        folder = FileManager.default.temporaryDirectory.path + "/lupin-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    private func mode(_ path: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    }

    @Test func `a file is there for all to read, in folders made for it`() throws {
        let path = "\(folder)/a/b/c"
        try PublicFile.write([1, 2], to: path)
        try PublicFile.write([3], to: path)
        #expect(FileManager.default.contents(atPath: path) == Data([3]))
        #expect(try mode(path) == 0o644)
        #expect(PublicFile.names(in: "\(folder)/a/b") == ["c"])
    }

    @Test func `nothing is left where writing fails`() throws {
        let path = "\(folder)/taken"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        #expect(throws: SystemError.self) { try PublicFile.write([1], to: path) }
        #expect(PublicFile.names(in: folder) == ["taken"])
        #expect(throws: SystemError.self) { try PublicFile.write([1], to: "/proc/none/a") }
    }

    @Test func `a folder may be written to when it could be made`() {
        #expect(PublicFile.mayWrite(to: folder))
        #expect(PublicFile.mayWrite(to: "\(folder)/a/b"))
    }

    @Test func `links are followed to their end`() throws {
        let path = "\(folder)/file"
        try PublicFile.write([1], to: path)
        try FileManager.default.createSymbolicLink(
            atPath: "\(folder)/link",
            withDestinationPath: "file"
        )
        #expect(PublicFile.target(of: "\(folder)/link") == PublicFile.target(of: path))
        #expect(PublicFile.target(of: "\(folder)/none") == nil)
        #expect(PublicFile.exists("\(folder)/link") && !PublicFile.exists("\(folder)/none"))
    }

    @Test func `a program is an executable file in an absolute folder of the path`() throws {
        try PublicFile.write([1], to: "\(folder)/plain")
        try PublicFile.write([1], to: "\(folder)/program")
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o755],
            ofItemAtPath: "\(folder)/program"
        )
        let path = "relative::/nonexistent:\(folder)"
        #expect(PublicFile.program("program", in: path) == "\(folder)/program")
        #expect(PublicFile.program("plain", in: path) == nil)
        #expect(PublicFile.program("none", in: path) == nil)
    }
}
