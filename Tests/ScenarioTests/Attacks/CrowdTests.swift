// More connections than `limits.connections`: who is closed, who waits, who gets no more.
import LupinIO
import LupinTestKit
import Testing

struct CrowdTests {
    /// A proxy with room for eight connections, of which one user may have four.
    private func run(
        _ rules: String = "limits: {connections: 8}",
        clock: VirtualClock? = nil,
        _ body: @Sendable @escaping (ProxyFixture, LocalUsers, ScriptedOrigin) throws -> Void
    ) async throws {
        let users = LocalUsers()
        try await ProxyFixture.run(rules, clock: clock, identify: users.identify) { proxy in
            let origin = try proxy.origin { connection in
                while let request = try connection.nextRequest() {
                    // What hangs is under way until the proxy is stopped.
                    if request.target == "/hang" { continue }
                    try connection.reply(body: "ok")
                }
            }
            try body(proxy, users, origin)
        }
    }

    /// Connections of `user` that say nothing, or these bytes.
    private func silent(
        _ count: Int,
        _ proxy: ProxyFixture,
        _ users: LocalUsers,
        of user: UInt32? = LocalUsers.stranger,
        saying text: String = ""
    ) throws -> [ScriptedClient] {
        try (0..<count).map { _ in
            let client = try users.client(proxy, of: user)
            if !text.isEmpty { try client.send(text) }
            try proxy.settle()
            return client
        }
    }

    @Test(arguments: ["", "GET / HT", "CONNECT origin.test:443 HTTP/1.1\r\nHost: orig"])
    func `a stranger's silent connections stop nobody`(text: String) async throws {
        try await run { proxy, users, origin in
            let crowd = try silent(12, proxy, users, saying: text)
            for _ in 0..<3 { #expect(try proxy.client().get(origin.url()).bodyText == "ok") }
            // The first went for the later ones.
            try eventually("the end of the first") { crowd[0].stream.socket.isClosedByPeer }
            #expect(!crowd[11].stream.socket.isClosedByPeer)
        }
    }

    @Test func `nor do connections that stop within TLS of an intercepted CONNECT`() async throws {
        let rules = "limits: {connections: 8}\n" + Inside.rule
        try await run(rules) { proxy, users, origin in
            var crowd: [ScriptedClient] = []
            for _ in 0..<12 {
                let client = try users.stranger(proxy)
                let head = "CONNECT origin.test:443 HTTP/1.1\r\nHost: origin.test:443\r\n\r\n"
                try client.send(head)
                _ = try? client.response(to: "CONNECT")
                try? client.send([0x16, 3, 1])
                crowd.append(client)
            }
            for _ in 0..<3 { #expect(try proxy.client().get(origin.url()).bodyText == "ok") }
        }
    }

    @Test func `the one that has been idle for longest goes first`() async throws {
        let clock = VirtualClock()
        try await run(clock: clock) { proxy, users, origin in
            var clients: [ScriptedClient] = []
            for _ in 0..<4 {
                let client = try proxy.client()
                #expect(try client.get(origin.url()).bodyText == "ok")
                clients.append(client)
                try clock.advance(by: .milliseconds(100))
            }
            // The first is no longer the one that has been idle for longest.
            #expect(try clients[0].get(origin.url()).bodyText == "ok")
            try clock.advance(by: .milliseconds(100))
            #expect(try proxy.client().get(origin.url()).bodyText == "ok")
            try eventually("the end of the second") { clients[1].stream.socket.isClosedByPeer }
            for i in [0, 2, 3] { #expect(!clients[i].stream.socket.isClosedByPeer) }
        }
    }

    @Test func `one user's busy connections leave half to others`() async throws {
        try await run { proxy, users, origin in
            let hogs = try (0..<4).map { _ in try users.stranger(proxy) }
            for hog in hogs { try hog.send("GET", origin.url("/hang")) }
            try proxy.settleWell()
            let refused = try users.stranger(proxy)
            let response = try refused.response()
            #expect(response.status == 429)
            #expect(response.bodyText.contains("limits.connections"))
            #expect(try refused.waitForEnd() == .finished)
            #expect(try proxy.client().get(origin.url()).bodyText == "ok")
            for hog in hogs { #expect(!hog.stream.socket.isClosedByPeer) }
        }
    }

    @Test func `every further user gets a part of what is left`() async throws {
        try await run { proxy, users, origin in
            // 4 + 2 + 1 + 1: all eight are busy.
            for (user, count) in [(1, 4), (2, 2), (3, 1), (4, 1)] {
                for _ in 0..<count {
                    let client = try users.client(proxy, of: 5_000_000 + UInt32(user))
                    try client.send("GET", origin.url("/hang"))
                }
                try proxy.settleWell()
                if count > 1 {
                    let more = try users.client(proxy, of: 5_000_000 + UInt32(user))
                    #expect(try more.response().status == 429)
                }
            }
            let late = try proxy.client()
            try late.send("GET", origin.url())
            try proxy.settleWell()
            // Nobody is dropped for it: it waits.
            #expect(!late.stream.socket.hasUnread && !late.stream.socket.isClosedByPeer)
        }
    }

    @Test func `a client that says nothing has as long as for a head`() async throws {
        let clock = VirtualClock()
        let rules = "timeouts: {client_header: 10s, client_idle: 75s}"
        try await run(rules, clock: clock) { proxy, _, origin in
            let (silent, used) = (try proxy.client(), try proxy.client())
            #expect(try used.get(origin.url()).bodyText == "ok")
            for _ in 0..<9 { try clock.advance(by: .seconds(1)) }
            #expect(!silent.stream.socket.isClosedByPeer)
            for _ in 0..<3 { try clock.advance(by: .seconds(1)) }
            try eventually("its end") { silent.stream.socket.isClosedByPeer }
            #expect(try used.get(origin.url()).bodyText == "ok")
        }
    }

    @Test func `it is said once a minute`() async throws {
        let clock = VirtualClock()
        try await run(clock: clock) { proxy, users, origin in
            _ = try silent(12, proxy, users)
            #expect(proxy.warnings.count == 1)
            let warning = try #require(proxy.warnings.first)
            #expect(warning.contains("limits.connections is 8"))
            #expect(warning.contains("of user \(LocalUsers.stranger)"))
            try clock.advance(by: .seconds(59))
            _ = try silent(6, proxy, users)
            #expect(proxy.warnings.count == 1)
            try clock.advance(by: .seconds(2))
            _ = try silent(6, proxy, users)
            #expect(proxy.warnings.count == 2)
        }
    }

    @Test func `HTTP 2 connections without a stream make room as well`() async throws {
        try await run { proxy, users, origin in
            var idle: [HTTP2Client] = []
            for _ in 0..<6 {
                idle.append(try HTTP2Client(inside: try users.stranger(proxy)))
                try proxy.settle()
            }
            #expect(try proxy.client().get(origin.url()).bodyText == "ok")
            _ = try idle[0].frames.waitForEnd()
            try idle[5].frames.expectAlive()
        }
    }
}
