// Temporary folders that go away, and files that are whole or not there.
import Foundation
import LupinIO
import Testing

struct PrivateFolderTests {
    private let parent = FileManager.default.temporaryDirectory.path

    private func mode(of path: String) throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        return try #require(attributes[.posixPermissions] as? Int)
    }

    @Test func `a folder is its owner's alone and goes with all that is in it`() throws {
        let folder = try PrivateFolder(in: parent)
        let path = folder.path
        #expect(try mode(of: path) == 0o700)
        try WholeFile.makeDirectories("\(path)/a/b")
        try WholeFile.write([1], to: "\(path)/a/b/file")
        folder.remove()
        #expect(!FileManager.default.fileExists(atPath: path))
    }

    @Test func `none is made where another user could put one in its place`() throws {
        let place = try PrivateFolder(in: parent)
        for (mode, isSafe) in [(0o777, false), (0o1777, true), (0o707, false), (0o770, true)] {
            try FileManager.default.setAttributes(
                [.posixPermissions: mode],
                ofItemAtPath: place.path
            )
            if isSafe {
                #expect(throws: Never.self) { _ = try PrivateFolder(in: place.path) }
            } else {
                #expect(throws: SystemError.unsafeDirectory) {
                    _ = try PrivateFolder(in: place.path)
                }
            }
        }
    }

    @Test func `what a killed process left is removed, and nothing else`() throws {
        let place = try PrivateFolder(in: parent)
        let used = try PrivateFolder(in: place.path)
        for name in ["lupin-killed", "lupin-recent", "lupin-longer", "other-killed", "lupin-k"] {
            try WholeFile.makeDirectories("\(place.path)/\(name)/storage")
        }
        try FileManager.default.createSymbolicLink(
            atPath: "\(place.path)/lupin-linked",
            withDestinationPath: "other-killed"
        )
        let old: [FileAttributeKey: Any] = [.modificationDate: Date(timeIntervalSinceNow: -3600)]
        for path in ["lupin-killed", "other-killed", "lupin-k"].map({ "\(place.path)/\($0)" })
            + [used.path]
        {
            try FileManager.default.setAttributes(old, ofItemAtPath: path)
        }
        PrivateFolder.removeAbandoned(in: place.path)
        let left = try FileManager.default.contentsOfDirectory(atPath: place.path).filter {
            $0 != String(used.path.suffix(PrivateFolder.nameLength))
        }
        #expect(
            left.sorted() == [
                "lupin-k", "lupin-linked", "lupin-longer", "lupin-recent", "other-killed",
            ]
        )
        #expect(PublicFile.exists(used.path))
        used.remove()
        place.remove()
    }

    @Test func `what a link in it leads to stays`() throws {
        let other = try PrivateFolder(in: parent)
        try WholeFile.write([1], to: "\(other.path)/kept")
        let folder = try PrivateFolder(in: parent)
        try FileManager.default.createSymbolicLink(
            atPath: "\(folder.path)/link",
            withDestinationPath: other.path
        )
        folder.remove()
        #expect(WholeFile.content(of: "\(other.path)/kept") == [1])
        other.remove()
    }

    @Test func `a folder in a place that is not there is an error`() {
        #expect(throws: SystemError.self) { _ = try PrivateFolder(in: "/dev/null") }
    }

    @Test func `a file replaces another and is its owner's alone`() throws {
        let folder = try PrivateFolder(in: parent)
        let path = "\(folder.path)/file"
        try WholeFile.write([1, 2, 3], to: path)
        try WholeFile.write([4], to: path)
        #expect(WholeFile.content(of: path) == [4])
        #expect(try mode(of: path) == 0o600)
        try WholeFile.write([5], to: path, isExecutable: true)
        #expect(try mode(of: path) == 0o700)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["file"])
        folder.remove()
    }

    @Test func `what is no regular file has no content`() {
        #expect(WholeFile.content(of: "/dev/null") == nil)
        #expect(WholeFile.content(of: parent) == nil)
        #expect(WholeFile.content(of: "/dev/null/file") == nil)
    }

    @Test func `folders are made only where none are`() throws {
        let folder = try PrivateFolder(in: parent)
        try WholeFile.makeDirectories("\(folder.path)/a")
        try WholeFile.makeDirectories("\(folder.path)/a/b")
        #expect(try mode(of: "\(folder.path)/a/b") == 0o700)
        try WholeFile.write([], to: "\(folder.path)/file")
        #expect(throws: SystemError.self) {
            try WholeFile.makeDirectories("\(folder.path)/file/a")
        }
        folder.remove()
    }
}
