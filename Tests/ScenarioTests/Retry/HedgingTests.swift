// A second attempt beside one that is slow: when it begins, who wins, and what becomes of the rest.
import LupinTestKit
import Testing

struct HedgingTests {
    private static func rules(_ hedge: String = "{after: 200ms}", _ more: String = "") -> String {
        everywhere("retry: {use: standard, backoff: none, hedge: \(hedge)\(more)}")
    }

    /// A request that was not answered for as long as a hedge waits, and both attempts.
    private static func raced(
        _ proxy: ProxyFixture,
        _ clock: VirtualClock,
        _ origin: PlayedOrigin
    ) throws -> (client: ScriptedClient, first: OriginConnection, second: OriginConnection) {
        let client = try proxy.client()
        try client.send("GET", origin.url("/slow"), ["X-One: 1"])
        let first = try origin.accept()
        try first.request()
        try clock.advance(by: .milliseconds(180))
        #expect(!origin.hasWaiting)
        try clock.advance(by: .milliseconds(30))
        let second = try origin.accept()
        let request = try second.request()
        #expect(request.target == "/slow")
        #expect(request["X-One"] == "1")
        return (client, first, second)
    }

    @Test func `the second attempt wins where the first says nothing`() async throws {
        let clock = VirtualClock()
        try await ProxyFixture.run(Self.rules(), clock: clock) { proxy in
            let origin = try PlayedOrigin()
            let (client, first, second) = try Self.raced(proxy, clock, origin)
            try second.reply(body: "quick")
            #expect(try client.response().bodyText == "quick")
            _ = try first.waitForEnd()
            // The winner's connection is as good as any.
            try client.send("GET", origin.url("/next"))
            #expect(try second.request().target == "/next")
            try second.reply(body: "next")
            #expect(try client.response().bodyText == "next")
            let record = try proxy.record()
            #expect(record["outcome"] == "ok")
            #expect(record.count("attempts") == 2)
            #expect(record["attempts.0.why"] == "first")
            #expect(record["attempts.0.decision"] == "give-up")
            #expect(record["attempts.0.reason"] == "another attempt answered first")
            #expect(record["attempts.1.why"] == "hedge")
            #expect(record["attempts.1.status"] == "200")
            #expect(record["attempts.1.decision"] == "deliver")
            #expect(record["attempts.1.n"] == "2")
            // A hedge begins with its wait, beside the first.
            #expect(record["attempts.0.start"] == nil)
            #expect(record.number("attempts.1.start").map { $0 < 20 } == true)
            #expect(record.number("attempts.1.timing.blocked").map { $0 >= 190 } == true)
            // Both heads went out.
            let sent = record.number("bytes.upstream_out") ?? 0
            #expect(sent == Double(first.receivedText.utf8.count * 2))
        }
    }

    @Test func `the first attempt may still win`() async throws {
        let clock = VirtualClock()
        try await ProxyFixture.run(Self.rules(), clock: clock) { proxy in
            let origin = try PlayedOrigin()
            let (client, first, second) = try Self.raced(proxy, clock, origin)
            try first.reply(body: "after all")
            #expect(try client.response().bodyText == "after all")
            _ = try second.waitForEnd()
            let record = try proxy.record()
            #expect(record.count("attempts") == 2)
            // In the order of their start, whichever ended first.
            #expect(record["attempts.0.why"] == "first")
            #expect(record["attempts.0.decision"] == "deliver")
            #expect(
                record["attempts.0.timing.receive"] != nil || record["attempts.0.status"] == "200"
            )
            #expect(record["attempts.1.why"] == "hedge")
            #expect(record["attempts.1.reason"] == "another attempt answered first")
            #expect(record["attempts.1.status"] == nil)
            #expect(record.number("attempts.1.timing.blocked").map { $0 >= 190 } == true)
            let sent = record.number("bytes.upstream_out") ?? 0
            #expect(sent == Double(first.receivedText.utf8.count * 2))
        }
    }

    @Test func `how long a loser waited is in the record`() async throws {
        let clock = VirtualClock()
        try await ProxyFixture.run(Self.rules(), clock: clock) { proxy in
            let origin = try PlayedOrigin()
            let (client, first, second) = try Self.raced(proxy, clock, origin)
            try clock.advance(by: .milliseconds(100))
            try first.reply(body: "after all")
            #expect(try client.response().bodyText == "after all")
            _ = try second.waitForEnd()
            let record = try proxy.record()
            #expect(record.number("attempts.0.timing.wait").map { $0 >= 300 } == true)
            #expect(record.number("attempts.1.timing.wait").map { 90..<200 ~= $0 } == true)
        }
    }

    /// `nc` and `cnonce` of a request's answer to a Digest challenge.
    private func uses(of request: ScriptedMessage) throws -> [Substring] {
        let field = try #require(request["authorization"])
        return field.split(separator: ", ").filter {
            $0.hasPrefix("nc=") || $0.hasPrefix("cnonce=")
        }
    }

    @Test(arguments: [true, false])
    func `a hedge is another use of a Digest nonce`(secondWins: Bool) async throws {
        let rules = """
            tokens: {me: {digest: {user: me, password: pw}}}
            rules:
              - match: {path: /**}
                request: [{auth: me}]
                retry: {use: standard, backoff: none, hedge: {after: 200ms}}
            """
        let clock = VirtualClock()
        try await ProxyFixture.run(rules, clock: clock) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            try client.send("GET", origin.url("/slow"))
            let first = try origin.accept()
            try first.request()
            try first.reply(401, "WWW-Authenticate: Digest realm=r, nonce=n, qop=auth", body: "no")
            let one = try uses(of: try first.request())
            try clock.advance(by: .milliseconds(220))
            let second = try origin.accept()
            let two = try uses(of: try second.request())
            #expect(one.first == "nc=00000001" && two.first == "nc=00000002")
            #expect(one.last != two.last)
            // What is challenged is the winner's answer: of a first use it would be final.
            let winner = secondWins ? second : first
            try winner.reply(401, "WWW-Authenticate: Digest realm=r, nonce=m, qop=auth", body: "no")
            if secondWins {
                let three = try uses(of: try second.request())
                #expect(three.first == "nc=00000001")
                try second.reply(body: "in")
                #expect(try client.response().bodyText == "in")
            } else {
                #expect(try client.response().status == 401)
            }
        }
    }

    @Test func `a client's own answer to a challenge is sent once`() async throws {
        let clock = VirtualClock()
        try await ProxyFixture.run(Self.rules(), clock: clock) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            let field = "Authorization: Digest username=a, nonce=n, nc=00000001, cnonce=c"
            try client.send("GET", origin.url("/slow"), [field])
            let first = try origin.accept()
            try first.request()
            try clock.advance(by: .seconds(1))
            #expect(!origin.hasWaiting)
            try first.reply(body: "in")
            #expect(try client.response().bodyText == "in")
        }
    }

    @Test func `an answer in time needs no second attempt`() async throws {
        let clock = VirtualClock()
        try await ProxyFixture.run(Self.rules(), clock: clock) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            try client.send("GET", origin.url())
            let first = try origin.accept()
            try first.request()
            try clock.advance(by: .milliseconds(150))
            try first.reply(body: "in time")
            #expect(try client.response().bodyText == "in time")
            try clock.advance(by: .seconds(2))
            #expect(!origin.hasWaiting)
            #expect(try proxy.record().count("attempts") == 1)
        }
    }

    @Test func `a bad answer does not win against a good one that comes later`() async throws {
        let clock = VirtualClock()
        try await ProxyFixture.run(Self.rules(), clock: clock) { proxy in
            let origin = try PlayedOrigin()
            let (client, first, second) = try Self.raced(proxy, clock, origin)
            try second.reply(503, body: "ill")
            try clock.advance(by: .milliseconds(100))
            #expect(!client.stream.socket.hasUnread)
            try first.reply(body: "good")
            #expect(try client.response().bodyText == "good")
            let record = try proxy.record()
            #expect(record["attempts.0.why"] == "first")
            #expect(record["attempts.1.status"] == "503")
            #expect(record["attempts.1.decision"] == "give-up")
        }
    }

    @Test func `a bad first answer waits for the second attempt`() async throws {
        let clock = VirtualClock()
        try await ProxyFixture.run(Self.rules(), clock: clock) { proxy in
            let origin = try PlayedOrigin()
            let (client, first, second) = try Self.raced(proxy, clock, origin)
            try first.reply(503, body: "ill")
            try clock.advance(by: .milliseconds(100))
            #expect(!client.stream.socket.hasUnread)
            try second.reply(body: "good")
            #expect(try client.response().bodyText == "good")
            #expect(try proxy.record()["attempts.0.status"] == "503")
        }
    }

    @Test func `of two bad answers one is delivered`() async throws {
        let clock = VirtualClock()
        try await ProxyFixture.run(Self.rules("{after: 200ms}", ", limit: 0"), clock: clock) {
            proxy in
            let origin = try PlayedOrigin()
            let (client, first, second) = try Self.raced(proxy, clock, origin)
            try second.reply(502, body: "two")
            try first.reply(503, body: "one")
            let response = try client.response()
            #expect(response.status == 503)
            #expect(response.bodyText == "one")
            #expect(try proxy.record().count("attempts") == 2)
        }
    }

    @Test func `a first attempt that breaks is no loss while the second runs`() async throws {
        let clock = VirtualClock()
        try await ProxyFixture.run(Self.rules(), clock: clock) { proxy in
            let origin = try PlayedOrigin()
            let (client, first, second) = try Self.raced(proxy, clock, origin)
            first.reset()
            try clock.advance(by: .milliseconds(100))
            try second.reply(body: "good")
            #expect(try client.response().bodyText == "good")
            #expect(!origin.hasWaiting)
            let record = try proxy.record()
            #expect(record.count("attempts") == 2)
            #expect(record["attempts.0.error.type"] == "connection_terminated")
        }
    }

    @Test func `both break, and the policy goes on`() async throws {
        let clock = VirtualClock()
        try await ProxyFixture.run(Self.rules(), clock: clock) { proxy in
            let origin = try PlayedOrigin()
            let (client, first, second) = try Self.raced(proxy, clock, origin)
            second.reset()
            first.reset()
            let third = try origin.accept()
            try third.request()
            try third.reply(body: "good")
            #expect(try client.response().bodyText == "good")
            #expect(try proxy.record().count("attempts") == 3)
        }
    }

    @Test func `two beside the first, one after the other`() async throws {
        let clock = VirtualClock()
        try await ProxyFixture.run(Self.rules("{after: 200ms, max: 2}"), clock: clock) { proxy in
            let origin = try PlayedOrigin()
            let (client, first, second) = try Self.raced(proxy, clock, origin)
            try clock.advance(by: .milliseconds(150))
            #expect(!origin.hasWaiting)
            try clock.advance(by: .milliseconds(60))
            let third = try origin.accept()
            try third.request()
            try clock.advance(by: .seconds(1))
            #expect(!origin.hasWaiting)
            try third.reply(body: "third")
            #expect(try client.response().bodyText == "third")
            _ = try first.waitForEnd()
            _ = try second.waitForEnd()
            #expect(try proxy.record().count("attempts") == 3)
        }
    }

    @Test func `nobody knows what slow is before twenty answers`() async throws {
        let clock = VirtualClock()
        try await ProxyFixture.run(Self.rules("{after: p95}"), clock: clock) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            try client.send("GET", origin.url())
            let first = try origin.accept()
            for _ in 0..<19 {
                try first.request()
                try first.reply()
                try client.response()
                try client.send("GET", origin.url())
            }
            try first.request()
            try clock.advance(by: .seconds(5))
            #expect(!origin.hasWaiting)
            try first.reply()
            try client.response()
            // The twentieth was slow, and is the slowest twentieth.
            try client.send("GET", origin.url())
            try first.request()
            try clock.advance(by: .milliseconds(40))
            #expect(origin.hasWaiting)
            try first.reply()
            try client.response()
        }
    }

    @Test(arguments: ["POST", "GET"])
    func `a POST or a body has no second attempt`(method: String) async throws {
        let clock = VirtualClock()
        try await ProxyFixture.run(Self.rules(), clock: clock) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            try client.send(method, origin.url(), body: method == "GET" ? "x" : "")
            let first = try origin.accept()
            try first.request()
            try clock.advance(by: .seconds(2))
            #expect(!origin.hasWaiting)
            try first.reply(body: "once")
            #expect(try client.response(to: method).bodyText == "once")
        }
    }

    @Test func `a client that leaves ends both`() async throws {
        let clock = VirtualClock()
        try await ProxyFixture.run(Self.rules(), clock: clock) { proxy in
            let origin = try PlayedOrigin()
            let (client, first, second) = try Self.raced(proxy, clock, origin)
            client.close()
            _ = try first.waitForEnd()
            _ = try second.waitForEnd()
            let record = try proxy.record()
            #expect(record["outcome"] == "aborted")
            #expect(record.count("attempts") == 2)
            try clock.advance(by: .seconds(2))
            #expect(!origin.hasWaiting)
        }
    }

    @Test func `the time of all of them is that of the exchange`() async throws {
        let clock = VirtualClock()
        let rules = Self.rules() + "\ntimeouts: {total: 1s}"
        try await ProxyFixture.run(rules, clock: clock) { proxy in
            let origin = try PlayedOrigin()
            let (client, first, second) = try Self.raced(proxy, clock, origin)
            try clock.advance(by: .seconds(1))
            #expect(try client.response().status == 504)
            _ = try first.waitForEnd()
            _ = try second.waitForEnd()
        }
    }

    @Test func `streams of one connection race, and the loser is cancelled`() async throws {
        let clock = VirtualClock()
        try await UpstreamStory.run(Self.rules(), clock: clock) { story in
            let client = try story.client()
            let (origin, first) = try story.asked(by: client)
            try clock.advance(by: .milliseconds(220))
            let second = try origin.request()
            #expect(second.stream != first.stream)
            try origin.reply(to: second.stream, body: "quick")
            #expect(try client.response().bodyText == "quick")
            try origin.frames.expectReset(first.stream, .cancel)
            let record = try story.proxy.record()
            #expect(record["attempts.1.stream"] == "\(second.stream)")
        }
    }

    @Test func `a handshake that stands still is hedged too`() async throws {
        let clock = VirtualClock()
        try await UpstreamStory.run(Self.rules(), clock: clock) { story in
            let client = try story.client()
            try client.send("GET", story.url())
            // Accepted, and never a word of TLS.
            let silent = try story.origin.accept()
            try clock.advance(by: .milliseconds(220))
            let second = try story.accept()
            try second.reply(to: try second.request().stream, body: "quick")
            #expect(try client.response().bodyText == "quick")
            _ = try silent.stream.untilEnd()
            #expect(try story.proxy.record().count("attempts") == 2)
        }
    }
}
