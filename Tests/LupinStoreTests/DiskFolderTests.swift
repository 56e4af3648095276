// Whose a store's folder is, who may look into it, and that only one store has it.

import Foundation
import Glibc
import LupinStore
import Testing

struct DiskFolderTests {
    private let folder = StoreFolder()

    @Test func `a folder is made with those above it, for us alone`() throws {
        let inner = "\(folder.path)/a/b"
        let store = try DiskStore(
            folder: inner,
            limits: DiskLimits(bytesMax: 1000, objectBytesMax: 1000, spareBytes: 0)
        )
        let draft = try store.begin()
        _ = try store.put("a", pattern(10))
        #expect(try folder.mode(of: inner) == 0o700)
        for name in ["drafts", "bodies"] {
            #expect(try folder.mode(of: "\(inner)/\(name)") == 0o700)
        }
        let files = folder.names(in: "a/b")
        #expect(files.contains("index.sqlite-wal"))
        for name in files { #expect(try folder.mode(of: "\(inner)/\(name)") == 0o600) }
        withExtendedLifetime(draft) {}
    }

    @Test func `a folder of ours that others may enter is closed to them`() throws {
        try FileManager.default.createDirectory(
            atPath: folder.path,
            withIntermediateDirectories: false
        )
        try folder.setMode(of: folder.path, to: 0o755)
        _ = try folder.open()
        #expect(try folder.mode(of: folder.path) == 0o700)
    }

    @Test func `an index that others may read is closed to them`() throws {
        try folder.open().close()
        try folder.setMode(of: folder.indexPath, to: 0o644)
        _ = try folder.open()
        #expect(try folder.mode(of: folder.indexPath) == 0o600)
    }

    @Test func `a second store is told who has the folder`() throws {
        let store = try folder.open()
        #expect(throws: DiskProblem.inUse(path: folder.path, pid: getpid())) {
            try folder.open()
        }
        let draft = try store.begin()
        store.close()
        // Whoever still reads keeps nobody out.
        let again = try folder.open()
        withExtendedLifetime((store, draft, again)) {}
    }

    @Test func `a store that nobody has lets go of its folder`() throws {
        do { _ = try folder.open() }
        _ = try folder.open()
    }

    @Test(.enabled(if: geteuid() == 0, "only root can make a folder of somebody else"))
    func `a folder of another user is refused`() throws {
        try folder.open().close()
        try folder.giveAway(folder.path)
        #expect(throws: DiskProblem.foreignFolder(path: folder.path)) { try folder.open() }
    }

    @Test(.enabled(if: geteuid() == 0, "only root can make a link of somebody else"))
    func `a link of another user is refused, one of ours is followed`() throws {
        try folder.open().close()
        let link = StoreFolder()
        try FileManager.default.createSymbolicLink(
            atPath: link.path,
            withDestinationPath: folder.path
        )
        _ = try link.open()
        try folder.giveAway(link.path)
        #expect(throws: DiskProblem.foreignFolder(path: link.path)) { try link.open() }
    }

    @Test(arguments: ["/dev/null", "/dev/null/a", "/proc/lupin/a"])
    func `what can't be a folder is named with the reason`(path: String) throws {
        let limits = DiskLimits(bytesMax: 1000, objectBytesMax: 1000)
        let problem = #expect(throws: DiskProblem.self) {
            try DiskStore(folder: path, limits: limits)
        }
        guard case .cannotOpen(path, let reason) = problem else {
            Issue.record("\(String(describing: problem))")
            return
        }
        #expect(!reason.isEmpty)
    }

    @Test func `folders inside that lead elsewhere are refused`() throws {
        try folder.open().close()
        let elsewhere = StoreFolder()
        try FileManager.default.createDirectory(
            atPath: elsewhere.path,
            withIntermediateDirectories: false
        )
        try folder.remove("\(folder.path)/drafts")
        try FileManager.default.createSymbolicLink(
            atPath: "\(folder.path)/drafts",
            withDestinationPath: elsewhere.path
        )
        #expect(throws: DiskProblem.self) { try folder.open() }
    }

    @Test(arguments: [
        (DiskProblem.inUse(path: "/a", pid: 7), "/a is in use by process 7"),
        (.inUse(path: "/a", pid: nil), "/a is in use by another process"),
        (.foreignFolder(path: "/a"), "/a belongs to another user"),
        (.cannotOpen(path: "/a", reason: "b"), "/a can't be used: b"),
        (.io(EACCES), "Permission denied"),
    ])
    func `a problem is said in words`(problem: DiskProblem, words: String) {
        #expect(problem.description == words)
    }
}
