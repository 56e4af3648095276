// Who may have a socket's path, who is at its other end, and what is left of it.
import Foundation
import Glibc
import LupinIO
import LupinTestKit
import Testing

struct LocalSocketTests {
    private func inFolder(
        _ body: @Sendable @escaping (isolated LoopFixture, String) async throws -> Void
    ) async throws {
        let folder = NSTemporaryDirectory() + "lupin-socket-\(UUID().uuidString.prefix(8))"
        try FileManager.default.createDirectory(
            atPath: folder,
            withIntermediateDirectories: false,
            attributes: [.posixPermissions: 0o700]
        )
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try await LoopFixture.run { try await body($0, folder) }
    }

    private func mode(_ path: String) throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        return try #require(attributes[.posixPermissions] as? Int)
    }

    @Test func `names without a file are counted once, however many connections have them`() {
        let head = "Num       RefCount Protocol Flags    Type St Inode Path\n"
        let line = { (name: String) in "0: 00000002 00000000 00010000 0001 01 1 \(name)\n" }
        func names(_ lines: [String]) -> Set<String>? {
            let table = Array((head + lines.joined()).utf8)
            return LocalSocket.names(withPrefix: "lupin.7.", countMax: 2, in: table)
        }
        let one = [line("@lupin.7.a"), line("/lupin.7.c"), line("@other"), line("@lupin.70.a")]
        #expect(names(one) == ["lupin.7.a"])
        let crowd = Array(repeating: line("@lupin.7.a"), count: 1000) + [line("@lupin.7.b")]
        #expect(names(crowd) == ["lupin.7.a", "lupin.7.b"])
        #expect(names(crowd + [line("@lupin.7.c")]) == nil)
        #expect(names([]) == [])
    }

    @Test func `a client's user is known and both sides hear each other`() async throws {
        try await inFolder { fixture, folder in
            let slot = ParkingSlot(on: fixture.loop)
            let path = "\(folder)/s"
            let listener = try LocalListener(path: path, on: fixture.loop, slot: slot)
            let near = try LocalSocket.connect(to: path, on: fixture.loop)
            guard case .connection(let far, let client) = try listener.accept() else {
                Issue.record("nobody came")
                return
            }
            #expect(client.user == geteuid() && client.isOwner)
            #expect(client.network == .own)
            near.stage { $0.append(contentsOf: "hi".utf8) }
            #expect(try near.flush())
            #expect(try far.receive() == .bytes)
            #expect(far.input.count == 2)
            guard case .blocked = try listener.accept() else {
                Issue.record("somebody else came")
                return
            }
            #expect(LocalSocket.process(at: path) == getpid())
            near.close()
            far.close()
            listener.close()
            #expect(LocalSocket.process(at: path) == nil)
            #expect(!FileManager.default.fileExists(atPath: path))
        }
    }

    @Test func `the socket and directories that are made are for us alone`() async throws {
        try await inFolder { fixture, folder in
            let path = "\(folder)/a/b/s"
            #expect(throws: LocalSocketProblem.system(SystemError(code: ENOENT))) {
                try LocalListener(path: path, on: fixture.loop, slot: ParkingSlot(on: fixture.loop))
            }
            let listener = try LocalListener(
                path: path,
                makingDirectory: true,
                on: fixture.loop,
                slot: ParkingSlot(on: fixture.loop)
            )
            #expect(try mode(path) == 0o600)
            #expect(try mode("\(folder)/a/b") == 0o700)
            #expect(try mode("\(folder)/a") == 0o700)
            listener.close()
        }
    }

    @Test func `only a dead socket of ours gives way`() async throws {
        try await inFolder { fixture, folder in
            let slot = ParkingSlot(on: fixture.loop)
            let path = "\(folder)/s"
            let first = try LocalListener(path: path, on: fixture.loop, slot: slot)
            #expect(throws: LocalSocketProblem.inUse) {
                try LocalListener(path: path, on: fixture.loop, slot: slot)
            }
            // As it is left by a process that was killed: the file under another name stays.
            try FileRename.rename(path, to: "\(folder)/dead")
            first.close()
            let second = try LocalListener(path: "\(folder)/dead", on: fixture.loop, slot: slot)
            second.close()
            try Data("mine".utf8).write(to: URL(fileURLWithPath: path))
            #expect(throws: LocalSocketProblem.occupied) {
                try LocalListener(path: path, on: fixture.loop, slot: slot)
            }
            #expect(try String(contentsOfFile: path, encoding: .utf8) == "mine")
        }
    }

    @Test func `a listener removes its own file and nobody else's`() async throws {
        try await inFolder { fixture, folder in
            let slot = ParkingSlot(on: fixture.loop)
            let path = "\(folder)/s"
            let first = try LocalListener(path: path, on: fixture.loop, slot: slot)
            try FileManager.default.removeItem(atPath: path)
            let second = try LocalListener(path: path, on: fixture.loop, slot: slot)
            first.close()
            #expect(FileManager.default.fileExists(atPath: path))
            second.close()
            #expect(!FileManager.default.fileExists(atPath: path))
        }
    }

    @Test func `what cannot be is said`() async throws {
        try await inFolder { fixture, folder in
            let slot = ParkingSlot(on: fixture.loop)
            let long = "\(folder)/\(String(repeating: "a", count: 120))"
            #expect(throws: LocalSocketProblem.system(SystemError(code: ENAMETOOLONG))) {
                try LocalListener(path: long, on: fixture.loop, slot: slot)
            }
            #expect(throws: SystemError(code: ENOENT)) {
                try LocalSocket.connect(to: "\(folder)/none", on: fixture.loop).close()
            }
            try FileManager.default.setAttributes(
                [.posixPermissions: 0o777],
                ofItemAtPath: folder
            )
            #expect(throws: LocalSocketProblem.unsafeDirectory) {
                try LocalListener(path: "\(folder)/s", on: fixture.loop, slot: slot)
            }
        }
    }
}
