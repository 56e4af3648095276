// Two lupins of one user: whose a client is that comes to one of them through the other.
import Foundation
import LupinCore
import LupinIO
import LupinProxy
import LupinTestKit
import Testing

struct SecondLupinTests {
    /// Anybody may ask a lupin there, and say nothing.
    @Test func `who keeps the public questions busy keeps no lupin from its user's`() async throws {
        try await LupinPair.run { pair in
            let circle = NetworkNames(of: "", in: [pair.folder]).prefix
            let names = LocalSocket.names(withPrefix: circle, of: geteuid(), countMax: 2)
            var idle: [PlainSocket] = []
            for name in try #require(names) {
                for _ in 0..<70 {
                    guard let socket = try? LocalSocket.open(name, isAbstract: true) else { break }
                    idle.append(PlainSocket(owning: socket))
                }
            }
            #expect(idle.count >= 140)
            let origin = try PlayedOrigin()
            try pair.expectToken(from: pair.tunnelled(of: geteuid()), at: origin)
            try pair.expectRefusal(of: pair.tunnelled(of: LocalUsers.stranger), at: origin)
        }
    }

    @Test func `a lupin is this user's by the kernel's word, whatever number its name has`()
        async throws
    {
        try await LoopFixture.run { fixture in
            let names = NetworkNames(of: "lupin-own", in: ["/none/\(UUID().uuidString)"])
            let user = ProcessOwner.userNumber
            let all = ["\(user).lupin-own", "\(user).lupin-a", "\(user &+ 1).lupin-b", "0.lupin-c"]
            let listeners = try all.map { name in
                try LocalListener(
                    name: names.prefix + name,
                    on: fixture.loop,
                    slot: ParkingSlot(on: fixture.loop)
                )
            }
            defer { for listener in listeners { listener.close() } }
            func found(besides sockets: [String]) -> Set<String>? {
                let found = names.ofThisUser(besides: sockets)
                return found.map { Set($0.map { String($0.dropFirst(names.prefix.count)) }) }
            }
            #expect(found(besides: []) == Set(all.dropFirst()))
            let socket = "/folder/\(SiblingFolder.socketName(of: "lupin-a.0c2f", process: 7))"
            #expect(found(besides: [socket]) == Set(all.dropFirst(2)))
        }
    }

    private static let parent: @Sendable (SocketAddress) -> String = {
        "upstream: {proxy: \"http://\($0)\", no_proxy: []}"
    }

    @Test(arguments: [false, true])
    func `a stranger in a tunnel of one gets no credentials of the other`(
        areApart: Bool
    ) async throws {
        try await LupinPair.run(areApart: areApart) { pair in
            let origin = try PlayedOrigin()
            let client = try pair.tunnelled(of: LocalUsers.stranger)
            for _ in 0..<3 {
                let response = try client.get(origin.url())
                #expect(response.status == 403)
                #expect(response.bodyText.contains("another lupin"))
            }
            #expect(!origin.hasWaiting)
        }
    }

    @Test(arguments: [false, true])
    func `an unknown client in a tunnel gets none either`(areApart: Bool) async throws {
        try await LupinPair.run(areApart: areApart) { pair in
            let origin = try PlayedOrigin()
            let client = try pair.tunnelled(of: nil)
            #expect(try client.get(origin.url()).status == 403)
        }
    }

    @Test(arguments: [false, true])
    func `the owner in a tunnel of one is the owner at the other`(areApart: Bool) async throws {
        try await LupinPair.run(areApart: areApart) { pair in
            let origin = try PlayedOrigin()
            let client = try pair.tunnelled(of: geteuid())
            try client.send("GET", origin.url())
            let far = try origin.accept()
            #expect(try far.request()["Authorization"] == "Bearer owner-token")
            try far.reply(body: "mine")
            #expect(try client.response().bodyText == "mine")
        }
    }

    @Test(arguments: [false, true])
    func `a client that comes straight is who the kernel says`(areApart: Bool) async throws {
        try await LupinPair.run(areApart: areApart) { pair in
            let origin = try PlayedOrigin()
            try pair.expectToken(from: try pair.keeper.client(), at: origin)
        }
    }

    @Test(arguments: [false, true])
    func `one connection between both is each request's own`(areApart: Bool) async throws {
        try await LupinPair.run(areApart: areApart, way: Self.parent) { pair in
            let origin = try PlayedOrigin()
            let owner = try pair.way.client()
            try owner.send("GET", origin.url())
            let far = try origin.accept()
            #expect(try far.request()["Authorization"] == "Bearer owner-token")
            try far.reply(204)
            #expect(try owner.response().status == 204)
            // The same connection between the two carries the stranger's request.
            let stranger = try pair.users.stranger(pair.way)
            #expect(try stranger.get(origin.url()).status == 403)
            try owner.send("GET", origin.url())
            #expect(try far.request()["Authorization"] == "Bearer owner-token")
            try far.reply(204)
            #expect(try owner.response().status == 204)
        }
    }

    @Test(arguments: [false, true])
    func `inside a CONNECT by way of both a stranger is one`(areApart: Bool) async throws {
        try await LupinPair.run(areApart: areApart, way: Self.parent) { pair in
            let origin = try PlayedOrigin()
            let client = try pair.users.stranger(pair.way)
            try client.send("CONNECT", origin.authority("origin.test"))
            #expect(try client.response(to: "CONNECT").status == 200)
            let tls = SecureSocket.Client("origin.test")
            let inside = try client.secure(tls)
            #expect(try inside.get("https://\(origin.authority("origin.test"))/").status == 403)
            #expect(!origin.hasWaiting)
        }
    }

    @Test func `a lupin that says nothing speaks for nobody`() async throws {
        try await LupinPair.run { pair in
            // It is there, and hangs.
            let silent = try LocalAnswer(
                at: "\(pair.folder)/\(SiblingFolder.socketName(of: "silent", process: 4711))",
                answer: nil
            )
            let origin = try PlayedOrigin()
            let response = try pair.keeper.client().get(origin.url())
            #expect(response.status == 403)
            #expect(response.bodyText.contains("another lupin"))
            #expect(!origin.hasWaiting)
            withExtendedLifetime(silent) {}
        }
    }

    @Test func `one that has ended is not asked`() async throws {
        try await LupinPair.run { pair in
            let name = SiblingFolder.socketName(of: "dead", process: 4711)
            try AbandonedSocket.leave(at: "\(pair.folder)/\(name)")
            let origin = try PlayedOrigin()
            try pair.expectToken(from: try pair.keeper.client(), at: origin)
        }
    }

    @Test func `what a private cache has of one is not another one's`() async throws {
        try await LupinPair.run(keeper: everywhere("cache: {mode: private}")) { pair in
            let origin = try PlayedOrigin()
            // Each gets their own response; the last two are not known, and share with nobody.
            let users = [LocalUsers.stranger, LocalUsers.stranger &+ 1, nil, nil]
            for (i, user) in users.enumerated() {
                let client = try pair.tunnelled(of: user)
                try client.send("GET", origin.url())
                let connection = try origin.accept()
                try connection.request()
                let lifetime = "Cache-Control: private, max-age=600"
                try connection.reply(200, lifetime, "Connection: close", body: "of \(i)")
                #expect(try client.response().bodyText == "of \(i)")
            }
        }
    }

    @Test(arguments: ["test.yaml", "other.yaml"])
    func `what a sibling leaves behind that crashed is cleared away, and said of one's own`(
        rulesFile: String
    ) async throws {
        let folder = NSTemporaryDirectory() + "lupin-siblings-\(UUID().uuidString)"
        let manager = FileManager.default
        try manager.createDirectory(
            atPath: folder,
            withIntermediateDirectories: false,
            attributes: [.posixPermissions: 0o700]
        )
        defer { try? manager.removeItem(atPath: folder) }
        let sibling = SiblingFolder.name(
            of: "lupin-00000000",
            rulesFile: rulesFile,
            environment: [:]
        )
        let name = SiblingFolder.socketName(of: sibling, process: 4711)
        let dead = "\(folder)/\(name)"
        try AbandonedSocket.leave(at: dead)
        try await ProxyFixture.run(siblings: folder) { proxy in
            #expect(!manager.fileExists(atPath: dead))
            let sockets = try manager.contentsOfDirectory(atPath: folder)
            #expect(sockets.count { $0.hasSuffix(".sock") } == 1)
            let isOwn = rulesFile == "test.yaml"
            #expect(proxy.warnings.contains { $0.contains("process 4711") } == isOwn)
            guard isOwn else { return }
            let line = try proxy.record()
            #expect(line["event"] == "crash")
            #expect(line["process.pid"] == "4711")
        }
        // One that stops takes its socket with it.
        #expect(try manager.contentsOfDirectory(atPath: folder).isEmpty)
    }
}
