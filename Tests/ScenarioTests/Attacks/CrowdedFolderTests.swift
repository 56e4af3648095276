// Who a client is where other lupins are many, hang, can't be asked, or serve somebody confined.
import Foundation
import LupinCore
import LupinIO
import LupinProxy
import LupinTestKit
import Synchronization
import Testing

struct CrowdedFolderTests {
    /// Sockets of lupins that have nothing to do with a connection, before that of the way.
    private func crowd(_ count: Int, in folder: String) throws -> [LocalAnswer] {
        try (0..<count).map { index in
            let name = SiblingFolder.socketName(of: "lupin-\(index)", process: 1)
            return try LocalAnswer(
                at: "\(folder)/\(name)",
                answer: Array("other\n".utf8),
                after: "\n"
            )
        }
    }

    @Test(arguments: [63, 64, 65, 130])
    func `a stranger who comes by one of many lupins is a stranger`(count: Int) async throws {
        try await LupinPair.run { pair in
            let others = try crowd(count, in: pair.folder)
            let origin = try PlayedOrigin()
            try pair.expectRefusal(of: pair.tunnelled(of: LocalUsers.stranger), at: origin)
            withExtendedLifetime(others) {}
        }
    }

    @Test func `the owner who comes by one of many is the owner`() async throws {
        try await LupinPair.run { pair in
            let others = try crowd(80, in: pair.folder)
            let origin = try PlayedOrigin()
            try pair.expectToken(from: pair.tunnelled(of: geteuid()), at: origin)
            withExtendedLifetime(others) {}
        }
    }

    @Test(arguments: [0o777, 0o770, 0o707, 0o1777])
    func `a folder that others may change makes nobody the owner`(mode: Int) async throws {
        try await LupinPair.run(way: { _ in "" }) { pair in
            let manager = FileManager.default
            try manager.setAttributes([.posixPermissions: mode], ofItemAtPath: pair.folder)
            let origin = try PlayedOrigin()
            try pair.expectRefusal(of: pair.keeper.client(), at: origin)
            // Whether the keeper's port is another lupin's can't be told, so it is taken for one.
            let refusal = try pair.way.client().connect("127.0.0.1:\(pair.keeper.address.port)")
            #expect(refusal.status == 502)
            #expect(refusal.bodyText.contains("can't be read"), "\(refusal.bodyText)")
        }
    }

    @Test func `a folder that can't be read makes nobody the owner`() async throws {
        // Nothing keeps root from reading.
        if geteuid() == 0 { return }
        try await LupinPair.run { pair in
            let manager = FileManager.default
            try manager.setAttributes([.posixPermissions: 0], ofItemAtPath: pair.folder)
            let origin = try PlayedOrigin()
            try pair.expectRefusal(of: pair.keeper.client(), at: origin)
            try manager.setAttributes([.posixPermissions: 0o700], ofItemAtPath: pair.folder)
        }
    }

    @Test func `one that hangs opens no door`() async throws {
        try await LupinPair.run(way: { _ in "" }) { pair in
            let name = SiblingFolder.socketName(of: "silent", process: 4711)
            let silent = try LocalAnswer(at: "\(pair.folder)/\(name)", answer: nil)
            let place = "127.0.0.1:\(pair.keeper.address.port)"
            #expect(try pair.way.client().connect(place).status == 502)
            // Nor does it close the doors of what is no lupin.
            let origin = try pair.way.origin(answering: head("HTTP/1.1 204 None"))
            #expect(try pair.way.client().get(origin.url()).status == 204)
            withExtendedLifetime(silent) {}
        }
    }

    /// As from a container that shares the home: what it asks about is of its own network.
    @Test func `one of another network is told that its clients are none of this one's, and files`()
        async throws
    {
        try await LupinPair.run(way: { _ in "" }) { pair in
            let sockets = try SiblingFolder.sockets(in: pair.folder)
            #expect(sockets.count == 2)
            let told = Mutex<[String]>([])
            let canLeave = Mutex(false)
            let elsewhere = TestThread {
                guard TestThread.leaveNetwork() else { return }
                canLeave.withLock { $0 = true }
                for socket in sockets {
                    let answer = try LocalSocket.ask(
                        "127.0.0.1:40000 127.0.0.1:8080\n",
                        at: socket,
                        timeout: .seconds(10)
                    )
                    let text = answer.map { String(decoding: $0, as: UTF8.self) }
                    told.withLock { $0.append(text ?? "nobody") }
                    if case .belongings? = Belonging.ask(at: socket) {
                        told.withLock { $0.append("files") }
                    }
                }
            }
            try elsewhere.join()
            guard canLeave.withLock({ $0 }) else { return }
            #expect(told.withLock { $0 } == ["other\n", "files", "other\n", "files"])
        }
    }

    // MARK: Confined commands

    private static let confined: Hooks = {
        var hooks = Hooks()
        hooks.redirected = Redirected([])
        return hooks
    }()

    @Test func `a confined command is nobody at another lupin of its user`() async throws {
        try await LupinPair.run(hooks: Self.confined) { pair in
            let origin = try PlayedOrigin()
            try pair.expectRefusal(of: pair.tunnelled(of: geteuid()), at: origin)
        }
    }

    @Test func `nor is it anybody where the file names that one as parent`() async throws {
        try await LupinPair.run(
            way: { "upstream: {proxy: \"http://\($0)\", no_proxy: []}" },
            hooks: Self.confined
        ) { pair in
            let origin = try PlayedOrigin()
            try pair.expectRefusal(of: pair.way.client(), at: origin)
            let client = try pair.way.client()
            try client.send("CONNECT", origin.authority("origin.test"))
            #expect(try client.response(to: "CONNECT").status == 200)
            let inside = try client.secure(SecureSocket.Client("origin.test"))
            #expect(try inside.get("https://\(origin.authority("origin.test"))/").status == 403)
        }
    }

    @Test func `what the parent attaches for nobody is there for it, too`() async throws {
        let keeper = everywhere("request: [{set: {X-Parent: here}}]")
        try await LupinPair.run(
            way: { "upstream: {proxy: \"http://\($0)\", no_proxy: []}" },
            keeper: keeper,
            hooks: Self.confined
        ) { pair in
            let origin = try PlayedOrigin()
            let client = try pair.way.client()
            try client.send("GET", origin.url())
            let far = try origin.accept()
            #expect(try far.request()["X-Parent"] == "here")
            try far.reply(204)
            #expect(try client.response().status == 204)
        }
    }
}
