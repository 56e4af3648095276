// That files with secrets are written whole or not at all, for us alone, and read with care.

import CLinux
import Foundation
import Glibc
import LupinIO
import Testing

struct ProtectedFileTests {
    private let folder = SecretFolder()

    private func write(
        _ text: String,
        _ name: String,
        replacing: Bool = false
    ) throws(ProtectedFileProblem) {
        let bytes = Array(text.utf8)
        try ProtectedFile.write(bytes.span, to: folder.path(name), replacing: replacing)
    }

    private func read(_ name: String, bytesMax: Int = 100) throws(ProtectedFileProblem) -> String {
        let contents = try ProtectedFile.read(folder.path(name), bytesMax: bytesMax)
        var text: [UInt8] = []
        for i in contents.bytes.indices { text.append(contents.bytes[i]) }
        return String(decoding: text, as: UTF8.self)
    }

    @Test(arguments: ["", "secret", "100 bytes" + String(repeating: ".", count: 91)])
    func `what was written is read`(text: String) throws {
        try write(text, "key")
        #expect(try read("key") == text)
        #expect(try folder.names() == ["key"])
    }

    @Test func `a file is for us alone, whatever the umask, and so are directories made for it`()
        throws
    {
        try write("a", "deep/deeper/key")
        #expect(try folder.mode("deep/deeper/key") == 0o600)
        #expect(try folder.mode("deep/deeper") == 0o700)
        #expect(try folder.mode("deep") == 0o700)
        let contents = try ProtectedFile.read(folder.path("deep/deeper/key"))
        let (isOpen, owner) = (contents.isOpenToOthers, contents.owner)
        #expect(!isOpen)
        #expect(owner == .ourselves)
    }

    @Test func `a file that is there stays unless it is to be replaced`() throws {
        try write("old", "key")
        #expect(throws: ProtectedFileProblem.exists) { try write("new", "key") }
        #expect(try read("key") == "old")
        try write("new", "key", replacing: true)
        #expect(try read("key") == "new")
        #expect(try folder.names() == ["key"])
    }

    @Test func `a link in the file's place is replaced, not followed`() throws {
        try write("theirs", "other")
        unsafe symlink("other", folder.path("key"))
        #expect(throws: ProtectedFileProblem.exists) { try write("new", "key") }
        try write("new", "key", replacing: true)
        #expect(try read("other") == "theirs")
        #expect(try read("key") == "new")
    }

    @Test(arguments: [(0o600, false), (0o400, false), (0o640, true), (0o604, true), (0o644, true)])
    func `who else may read is told`(sample: (mode: UInt32, isOpen: Bool)) throws {
        try write("a", "key")
        unsafe chmod(folder.path("key"), sample.mode)
        let contents = try ProtectedFile.read(folder.path("key"))
        let isOpen = contents.isOpenToOthers
        #expect(isOpen == sample.isOpen)
    }

    @Test(.enabled(if: geteuid() == 0)) func `another owner is told`() throws {
        try write("a", "key")
        unsafe chown(folder.path("key"), 12_345, 12_345)
        let contents = try ProtectedFile.read(folder.path("key"))
        let owner = contents.owner
        #expect(owner == .somebodyElse)
    }

    @Test func `what is no file, too long or absent is told apart`() throws {
        #expect(throws: ProtectedFileProblem.notRegular) { try read("") }
        unsafe mkfifo(folder.path("pipe"), 0o600)
        #expect(throws: ProtectedFileProblem.notRegular) { try read("pipe") }
        try write(String(repeating: "a", count: 101), "key")
        #expect(throws: ProtectedFileProblem.tooLong(100)) { try read("key") }
        #expect(try read("key", bytesMax: 101).utf8.count == 101)
        let absence = #expect(throws: ProtectedFileProblem.self) { try read("nothing") }
        #expect(absence?.isAbsence == true)
        #expect(absence?.description == "No such file or directory")
    }

    @Test func `a directory in which anybody may rename is refused, unless it is sticky`() throws {
        unsafe mkdir(folder.path("open"), 0o700)
        unsafe chmod(folder.path("open"), 0o777)
        #expect(throws: ProtectedFileProblem.unsafeDirectory) { try write("a", "open/key") }
        unsafe chmod(folder.path("open"), 0o1777)
        try write("a", "open/key")
        #expect(try read("open/key") == "a")
    }

    @Test func `a path through a file is an error, and leaves nothing behind`() throws {
        try write("a", "file")
        #expect(throws: ProtectedFileProblem.system(SystemError(code: ENOTDIR))) {
            try write("b", "file/key")
        }
        #expect(try folder.names() == ["file"])
    }

    @Test func `a name that is taken by a directory is an error, and leaves nothing behind`() throws
    {
        unsafe mkdir(folder.path("key"), 0o700)
        #expect(throws: ProtectedFileProblem.self) { try write("b", "key", replacing: true) }
        #expect(try folder.names() == ["key"])
    }

    @Test func `what a killed process left is removed once it is old`() throws {
        for name in [".key.new-1", ".key.new-2", ".other.new-3"] {
            try Data("secret".utf8).write(to: URL(fileURLWithPath: folder.path(name)))
        }
        for name in [".key.new-1", ".other.new-3"] {
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSince1970: 1_000_000_000)],
                ofItemAtPath: folder.path(name)
            )
        }
        try write("a", "key")
        #expect(try folder.names() == [".key.new-2", ".other.new-3", "key"])
    }

    @Test func `readers see old or new content while it is replaced again and again`() async throws
    {
        let texts = ["old", String(repeating: "n", count: 70_000)]
        let path = folder.path("key")
        try write(texts[0], "key")
        let seen = try await withThrowingTaskGroup(of: Set<Int>.self) { group in
            group.addTask {
                for i in 0..<40 {
                    let bytes = Array(texts[i % 2].utf8)
                    try ProtectedFile.write(bytes.span, to: path, replacing: true)
                }
                return []
            }
            group.addTask {
                var lengths: Set<Int> = []
                for _ in 0..<400 { lengths.insert(try ProtectedFile.read(path).bytes.count) }
                return lengths
            }
            return try await group.reduce(into: Set()) { $0.formUnion($1) }
        }
        #expect(seen.isSubset(of: [3, 70_000]))
        #expect(!seen.isEmpty)
    }

    @Test func `of many that create a file at once one does`() async throws {
        let path = folder.path("key")
        let winners: [String] = await withTaskGroup(of: String?.self) { group in
            for i in 0..<8 {
                group.addTask {
                    let bytes = Array("\(i)".utf8)
                    do throws(ProtectedFileProblem) {
                        try ProtectedFile.write(bytes.span, to: path, replacing: false)
                        return "\(i)"
                    } catch {
                        return error == .exists ? nil : error.description
                    }
                }
            }
            return await group.reduce(into: []) { if let text = $1 { $0.append(text) } }
        }
        #expect(winners.count == 1)
        #expect(try read("key") == winners.first)
        #expect(try folder.names() == ["key"])
    }

    @Test func `a lock is held until the end of its life`() throws {
        let path = folder.path("a/key.lock")
        let other: Int32
        do {
            let lock = try ProtectedFile.lock(path)
            other = unsafe open(path, O_RDWR | O_CLOEXEC)
            #expect(flock(other, LOCK_EX | LOCK_NB) == -1)
            lock.close()
        }
        #expect(flock(other, LOCK_EX | LOCK_NB) == 0)
        #expect(try folder.mode("a/key.lock") == 0o600)
        close(other)
    }
}

/// A directory of one test.
private final class SecretFolder: Sendable {
    private let root = "/tmp/lupin-secret-\(UInt64.random(in: 0...(.max)))"

    init() { unsafe mkdir(root, 0o700) }

    deinit { try? FileManager.default.removeItem(atPath: root) }

    func path(_ name: String) -> String { "\(root)/\(name)" }

    func names() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: root).sorted()
    }

    func mode(_ name: String) throws -> UInt32 {
        var status = stat()
        try #require(unsafe lstat(path(name), &status) == 0)
        return status.st_mode & 0o7777
    }
}
