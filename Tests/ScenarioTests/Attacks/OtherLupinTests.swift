// `access.deny_targets: self`: no listener of any lupin of this user is reached through another.
import Foundation
import LupinCore
import LupinIO
import LupinProxy
import LupinTestKit
import Testing

struct OtherLupinTests {
    /// What a lupin listens for.
    enum Door: String, CaseIterable, Sendable { case proxy, admin, metrics, page }

    /// How a client or the file names this machine; `PORT` is the door's.
    static let spellings = [
        "127.0.0.1:PORT", "127.1:PORT", "2130706433:PORT", "0x7f.1:PORT", "0177.0.0.1:PORT",
        "localhost:PORT", "LOCALHOST.:PORT", "a.b.localhost:PORT", "0.0.0.0:PORT", "0:PORT",
        "[::ffff:127.0.0.1]:PORT", "[::ffff:7f00:1]:PORT", "[64:ff9b::7f00:1]:PORT",
        "elsewhere.test:PORT", "elsewhere.test.:PORT", "mapped.test:PORT", "nowhere.test:PORT",
    ]

    /// What a client may say to get there; `PLACE` is an authority.
    static let ways = [
        "GET http://PLACE/metrics HTTP/1.1\r\nHost: PLACE\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: PLACE\r\n\r\n",
        "POST http://PLACE/v1/reload HTTP/1.1\r\nHost: PLACE\r\nContent-Length: 0\r\n\r\n",
        "CONNECT PLACE HTTP/1.1\r\nHost: PLACE\r\n\r\n",
        "GET http://PLACE/ HTTP/1.1\r\nHost: PLACE\r\nUpgrade: websocket\r\n"
            + "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
            + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
        "OPTIONS http://PLACE HTTP/1.1\r\nHost: PLACE\r\n\r\n",
        "TRACE http://PLACE/ HTTP/1.1\r\nHost: PLACE\r\n\r\n",
    ]

    private static let token = "0123456789abcdef"

    /// Names that lead to this machine in several ways.
    private static let resolve: @Sendable (String) -> Resolver.Answer = { name in
        switch name {
        case "mapped.test": .success([.v6(high: 0, low: 0xFFFF_7F00_0001)])
        case "nowhere.test": .success([.v4(0)])
        default: .success([.v4(0x7F00_0001)])
        }
    }

    /// Runs a story with a keeper that has every door.
    private func run(
        areApart: Bool = false,
        way: @Sendable @escaping (Int) -> String = { _ in "" },
        door: Door,
        hooks: Hooks = Hooks(),
        _ body: @Sendable @escaping (LupinPair, Int) throws -> Void
    ) async throws {
        let (admin, metrics) = (try ReservedPort(), try ReservedPort())
        let keeper = """
            admin: {socket: DIR/admin, http: {address: 127.0.0.1:\(admin.number), \
            token: \(Self.token)}}
            telemetry: {prometheus: {listen: 127.0.0.1:\(metrics.number)}}
            """
        try await LupinPair.run(
            areApart: areApart,
            way: { address in
                let fixed: [Door: Int] = [
                    .proxy: Int(address.port), .admin: Int(admin.number),
                    .metrics: Int(metrics.number),
                ]
                return way(fixed[door] ?? 0)
            },
            keeper: keeper,
            resolve: Self.resolve,
            hooks: hooks
        ) { pair in
            let port =
                switch door {
                case .proxy: Int(pair.keeper.address.port)
                case .admin: Int(admin.number)
                case .metrics: Int(metrics.number)
                case .page: try Self.openPage(of: pair.keeper)
                }
            try body(pair, port)
        }
    }

    /// Has the keeper open the inspector's page; returns its port.
    private static func openPage(of keeper: ProxyFixture) throws -> Int {
        let answer = try keeper.admin("POST", "/v1/inspector")
        let url = try #require(RecordLine(answer.bodyText)?["url"], "\(answer.bodyText)")
        let found = try #require(url.firstMatch(of: /127\.0\.0\.1:(\d+)/))
        return try #require(Int(found.output.1))
    }

    /// An answer of lupin's own, that says nothing of what is behind the door.
    private func expectRefusal(_ response: ScriptedMessage, _ comment: String) {
        #expect([400, 403, 502].contains(response.status), "\(comment)")
        for word in ["lupin_exchanges", "lupin is a local", "Bearer realm", "<script", "by its ad"]
        {
            #expect(!response.bodyText.contains(word), "\(comment)")
        }
    }

    @Test(arguments: Door.allCases)
    func `no spelling of a door of another lupin is a way to it`(door: Door) async throws {
        try await run(door: door) { pair, port in
            for place in Self.spellings.map({ $0.replacing("PORT", with: "\(port)") }) {
                for user in [geteuid(), LocalUsers.stranger, nil] {
                    let client = try pair.users.client(pair.way, of: user)
                    try client.send("CONNECT \(place) HTTP/1.1\r\nHost: \(place)\r\n\r\n")
                    expectRefusal(try client.response(to: "CONNECT"), "CONNECT \(place)")
                }
                let client = try pair.way.client()
                try client.send(
                    "GET http://\(place)/metrics HTTP/1.1\r\nHost: \(place)\r\n\r\n"
                )
                expectRefusal(try client.response(), "GET \(place)")
            }
        }
    }

    @Test(arguments: Door.allCases)
    func `nor is one that keeps its marks elsewhere`(door: Door) async throws {
        try await run(areApart: true, door: door) { pair, port in
            let place = "127.0.0.1:\(port)"
            let client = try pair.way.client()
            try client.send("CONNECT \(place) HTTP/1.1\r\nHost: \(place)\r\n\r\n")
            expectRefusal(try client.response(to: "CONNECT"), "CONNECT \(place)")
        }
    }

    @Test(arguments: Door.allCases)
    func `nor is any kind of request`(door: Door) async throws {
        try await run(door: door) { pair, port in
            for way in Self.ways {
                let request = way.replacing("PLACE", with: "127.0.0.1:\(port)")
                let client = try pair.way.client()
                try client.send(request)
                let method = String(request.prefix { $0 != " " })
                expectRefusal(try client.response(to: method), request)
            }
        }
    }

    @Test(arguments: Door.allCases)
    func `a redirect that lupin follows leads to none`(door: Door) async throws {
        try await run(way: { _ in everywhere("redirect: {follow: true}") }, door: door) {
            pair,
            port in
            let origin = try pair.way.origin(
                answering: head(
                    "HTTP/1.1 302 Go",
                    "Location: http://localhost:\(port)/",
                    "Content-Length: 0"
                )
            )
            expectRefusal(try pair.way.client().get(origin.url()), "redirect")
        }
    }

    @Test(arguments: [Door.proxy, .admin, .metrics])
    func `a step that writes another URL leads to none`(door: Door) async throws {
        let way: @Sendable (Int) -> String = {
            everywhere(
                "request: [{url: {scheme: http, host: 127.0.0.1, port: \($0), path: /metrics}}]"
            )
        }
        try await run(way: way, door: door) { pair, port in
            expectRefusal(try pair.way.client().get("http://origin.test/"), "url")
        }
    }

    @Test(arguments: Door.allCases)
    func `a stream of HTTP 2 leads to none`(door: Door) async throws {
        try await run(door: door) { pair, port in
            let client = try HTTP2Client(to: pair.way.address)
            defer { client.close() }
            let place = "127.0.0.1:\(port)"
            let stream = try client.open([":method": "CONNECT", ":authority": place])
            #expect(try client.response(on: stream, to: "CONNECT").status == 502)
            #expect(try client.request(authority: place, path: "/metrics").status == 502)
        }
    }

    @Test(arguments: Door.allCases)
    func `inside a tunnel to a door there is none`(door: Door) async throws {
        try await run(door: door) { pair, port in
            let client = try pair.way.client()
            let response = try client.connect("127.0.0.1:\(port)")
            #expect(response.status == 502)
            #expect(
                response["Proxy-Status"]?.contains("destination_ip_prohibited") == true
            )
            #expect(response.bodyText.contains("another lupin of user"), "\(response.bodyText)")
            #expect(response.bodyText.contains("upstream.proxy"))
        }
    }

    @Test func `the file may open the doors, but none to the owner's things`() async throws {
        try await LupinPair.run { pair in
            let origin = try PlayedOrigin()
            try pair.expectRefusal(of: pair.tunnelled(of: LocalUsers.stranger), at: origin)
            try pair.expectToken(from: pair.tunnelled(of: geteuid()), at: origin)
        }
    }

    @Test(arguments: ["127.0.0.1", "127.0.0.2", "127.255.0.9", "0.0.0.0", "[::ffff:127.0.0.7]"])
    func `a listener for every address is another lupin's at each`(
        address: String
    ) async throws {
        let keeper = "listen: [{address: 0.0.0.0:0, auth: none}]"
        try await LupinPair.run(way: { _ in "" }, keeper: keeper) { pair in
            let place = "\(address):\(pair.keeper.address.port)"
            let client = try pair.way.client()
            #expect(try client.connect(place).status == 502, "\(place)")
        }
    }

    @Test func `own doors are lupin's own, the one for metrics too`() async throws {
        let metrics = try ReservedPort()
        let rules = """
            telemetry: {prometheus: {listen: 127.0.0.1:\(metrics.number)}}
            listen: [{address: 0.0.0.0:0, auth: none}]
            """
        try await ProxyFixture.run(rules, resolve: Self.resolve) { proxy in
            for port in [metrics.number, proxy.address.port] {
                for host in ["127.0.0.1", "127.9.0.1", "0.0.0.0", "mapped.test", "[::ffff:7f00:1]"]
                {
                    // At other addresses the port may be another program's.
                    if port == metrics.number, host == "127.9.0.1" { continue }
                    let client = try ScriptedClient(to: .loopback(port: proxy.address.port))
                    defer { client.close() }
                    let response = try client.connect("\(host):\(port)")
                    #expect(response.status == 502, "\(host):\(port)")
                    #expect(response["Proxy-Status"]?.contains("destination_ip_prohibited") == true)
                }
            }
        }
    }

    @Test func `what else listens on this machine is reached as ever`() async throws {
        try await LupinPair.run(way: { _ in "" }) { pair in
            let origin = try pair.way.origin(answering: head("HTTP/1.1 204 None"))
            #expect(try pair.way.client().get(origin.url()).status == 204)
            let client = try pair.way.client()
            #expect(try client.connect("127.0.0.1:\(origin.address.port)").status == 200)
        }
    }

    @Test func `a parent proxy that the file names stays one`() async throws {
        let way: @Sendable (SocketAddress) -> String = {
            "upstream: {proxy: \"http://\($0)\", no_proxy: []}"
        }
        try await LupinPair.run(way: way) { pair in
            let origin = try PlayedOrigin()
            try pair.expectToken(from: pair.way.client(), at: origin)
            // Yet nobody asks for it as a target.
            let client = try pair.way.client()
            let place = "127.0.0.1:\(pair.keeper.address.port)"
            #expect(try client.get("http://\(place)/").status == 502)
        }
    }

    @Test func `a door that a reload opens is one at once, and one that closed is none`()
        async throws
    {
        let one = "listen: [{address: 127.0.0.1:0}]"
        let two = "listen: [{address: 127.0.0.1:0}, {address: 127.0.0.2:0}]"
        try await LupinPair.run(way: { _ in "" }, keeper: one) { pair in
            func marks() throws -> Int {
                try FileManager.default.contentsOfDirectory(atPath: pair.folder)
                    .count { $0.contains(".listener-") }
            }
            #expect(try marks() == 2)
            _ = try await pair.keeper.reload(two)
            #expect(try marks() == 3)
            let place = pair.keeper.proxy.addresses[1]
            #expect(try pair.way.client().connect("\(place)").status == 502)
            _ = try await pair.keeper.reload(one)
            #expect(try marks() == 2)
        }
    }

    @Test func `an idle connection to a door is of no use once a reload denies it`()
        async throws
    {
        try await LupinPair.run { pair in
            let url = "http://127.0.0.1:\(pair.keeper.address.port)/"
            let client = try pair.way.client()
            let refusal = "is another lupin of user"
            // The keeper answers, and keeps the connection.
            for _ in 0..<2 { #expect(try !client.get(url).bodyText.contains(refusal)) }
            let origin = try PlayedOrigin()
            func ask(_ far: OriginConnection? = nil) throws -> OriginConnection {
                try client.send("GET", origin.url())
                let far = try far ?? origin.accept()
                try far.request()
                try far.reply(204)
                #expect(try client.response().status == 204)
                return far
            }
            _ = try ask()
            _ = try await pair.way.reload("")
            #expect(try client.get(url).bodyText.contains(refusal))
            // What else there is gets one more connection, which is kept.
            _ = try ask(ask())
            _ = try await pair.way.reload(LupinPair.open)
            #expect(try !client.get(url).bodyText.contains(refusal))
        }
    }

    @Test func `marks go with their lupin, and those of one that crashed with the next`()
        async throws
    {
        let folder = try Folder()
        let socket = SiblingFolder.socketName(of: "lupin-00000000", process: 4711)
        try AbandonedSocket.leave(at: "\(folder.path)/\(socket)")
        let mark = socket.replacing(".sock", with: ".listener-4711")
        _ = try folder.write(mark, "")
        try await ProxyFixture.run(siblings: folder.path) { _ in
            let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
            #expect(names.count == 2, "\(names)")
            #expect(!names.contains(mark))
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
    }
}
