// Whether others can write to a file and to the directories that it lies in.

import Foundation
import Glibc
import LupinRules
import Testing

struct FileStandingTests {
    private let files = FileManager.default

    /// A new folder with `lupin.yaml` in it, taken away afterwards.
    private func withFolder(_ body: (String) throws -> Void) throws {
        let folder = "/tmp/lupin-standing-\(UInt64.random(in: 0...UInt64.max))"
        let path = folder + "/lupin.yaml"
        try files.createDirectory(atPath: folder, withIntermediateDirectories: false)
        defer { try? files.removeItem(atPath: folder) }
        try #require(files.createFile(atPath: path, contents: Data()))
        try set(0o700, folder)
        try set(0o600, path)
        try body(folder)
    }

    private func set(_ mode: Int, _ path: String) throws {
        try files.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
    }

    @Test func `a pipe to which nobody writes is empty`() throws {
        try withFolder { folder in
            let path = folder + "/pipe"
            // Safety: the path is NUL-terminated for the call.
            try #require(unsafe mkfifo(path, 0o600) == 0)
            #expect(try FileAccess.read(path).bytes == [])
        }
    }

    @Test func `a file says who can write to it`() throws {
        try withFolder { folder in
            let path = folder + "/lupin.yaml"
            #expect(FileAccess.openWay(to: path) == [])
            try set(0o602, path)
            var open = FileStanding(path: path, isDirectory: false)
            open.isWritableByOthers = true
            #expect(FileAccess.openWay(to: path) == [open])
        }
    }

    @Test func `its directory is looked at, and that of a link's target`() throws {
        try withFolder { folder in
            let path = folder + "/lupin.yaml"
            #expect(FileAccess.openWay(to: path) == [])
            try withFolder { other in
                try set(0o777, other)
                let link = folder + "/link.yaml"
                try files.createSymbolicLink(
                    atPath: link,
                    withDestinationPath: other + "/lupin.yaml"
                )
                var open = FileStanding(path: other, isDirectory: true)
                open.isWritableByOthers = true
                #expect(FileAccess.openWay(to: link) == [open])
            }
        }
    }

    @Test(arguments: [0o777, 0o1777])
    func `so does a folder, to which others can add files`(mode: Int) throws {
        try withFolder { folder in
            #expect(FileAccess.openWay(to: folder) == [])
            try set(mode, folder)
            var open = FileStanding(path: folder, isDirectory: true)
            open.isWritableByOthers = true
            #expect(FileAccess.openWay(to: folder) == [open])
        }
    }

    @Test func `in a sticky directory one's own files stay one's own`() throws {
        try withFolder { folder in
            try set(0o1777, folder)
            #expect(FileAccess.openWay(to: folder + "/lupin.yaml") == [])
            try set(0o777, folder)
            let found = FileAccess.openWay(to: folder + "/lupin.yaml")
            #expect(found.map(\.path) == [folder])
        }
    }
}
