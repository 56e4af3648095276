// What the policy `standard` repairs, how long it waits, and what the record says of it.
import LupinTestKit
import Testing

struct StandardPolicyTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let deed: FlakyOrigin.Deed
        let reason: String
        var error: String?
        var status: Int?

        var testDescription: String { deed.testDescription }
    }

    static let rows =
        [
            Row(deed: .reset, reason: "reset", error: "connection_terminated"),
            Row(deed: .close, reason: "reset", error: "connection_terminated"),
            Row(
                deed: .breakOff("HTTP/1.1 200 OK\r\nContent-Le"),
                reason: "reset",
                error: "http_response_incomplete"
            ),
        ]
        + [408, 500, 502, 503, 504].map {
            Row(deed: .status($0, body: "bad"), reason: "status \($0)", status: $0)
        }

    private static let atOnce = everywhere("retry: {use: standard, backoff: none}")

    @Test(arguments: rows)
    func `a failure is repaired, and the record tells how`(row: Row) async throws {
        try await ProxyFixture.run(Self.atOnce) { proxy in
            let (flaky, origin) = try proxy.flaky(row.deed, .good)
            let response = try proxy.client().get(origin.url("/x"))
            #expect(response.status == 200)
            #expect(response.bodyText == "good")
            #expect(flaky.asked == 2)
            let record = try proxy.record()
            #expect(record["outcome"] == "ok")
            #expect(record["error.type"] == nil)
            #expect(record["http.request.resend_count"] == "1")
            #expect(record.count("attempts") == 2)
            #expect(record["attempts.0.n"] == "1")
            #expect(record["attempts.0.why"] == "first")
            #expect(record["attempts.0.decision"] == "retry")
            #expect(record["attempts.0.reason"] == row.reason)
            #expect(record["attempts.0.status"] == row.status.map { "\($0)" })
            #expect(record["attempts.0.error.type"] == row.error)
            #expect(record["attempts.0.delay"] == nil)
            #expect(record["attempts.0.replayable"] == nil)
            #expect(record["attempts.1.n"] == "2")
            #expect(record["attempts.1.why"] == "retry")
            #expect(record["attempts.1.status"] == "200")
            #expect(record["attempts.1.decision"] == "deliver")
            #expect(record["attempts.1.error.type"] == nil)
        }
    }

    @Test(arguments: [501, 404, 429, 409])
    func `other statuses are delivered`(status: Int) async throws {
        try await ProxyFixture.run(Self.atOnce) { proxy in
            let (flaky, origin) = try proxy.flaky(.status(status, body: "so"), .good)
            let response = try proxy.client().get(origin.url())
            #expect(response.status == status)
            #expect(response.bodyText == "so")
            #expect(flaky.asked == 1)
            #expect(try proxy.record()["attempts.0.decision"] == "deliver")
        }
    }

    @Test func `an origin that breaks off always is asked three times`() async throws {
        try await ProxyFixture.run(Self.atOnce) { proxy in
            let (flaky, origin) = try proxy.flaky(.reset)
            let response = try proxy.client().get(origin.url())
            #expect(response.status == 502)
            #expect(response["Proxy-Status"]?.contains("error=connection_terminated") == true)
            #expect(flaky.asked == 3)
            let record = try proxy.record()
            #expect(record["outcome"] == "error")
            #expect(record.count("attempts") == 3)
            #expect(record["attempts.1.decision"] == "retry")
            #expect(record["attempts.2.decision"] == "give-up")
            #expect(record["attempts.2.reason"] == "limit of 2 reached")
        }
    }

    @Test func `the last of three bad responses is delivered`() async throws {
        try await ProxyFixture.run(Self.atOnce) { proxy in
            let (flaky, origin) = try proxy.flaky(
                .status(503, body: "one"),
                .status(502, body: "two"),
                .status(503, "X-Last: yes", body: "three")
            )
            let response = try proxy.client().get(origin.url())
            #expect(response.status == 503)
            #expect(response.bodyText == "three")
            #expect(response["X-Last"] == "yes")
            #expect(flaky.asked == 3)
            // All three went over one connection.
            #expect(origin.connections.count == 1)
            let record = try proxy.record()
            #expect(record["outcome"] == "ok")
            #expect(record["attempts.2.decision"] == "deliver")
            #expect(record["attempts.2.reason"] == "limit of 2 reached")
            #expect(record["attempts.2.reused"] == "1")
        }
    }

    @Test func `the waits double, and hold no connection`() async throws {
        let clock = VirtualClock()
        let rules = everywhere("retry: {use: standard, backoff: {jitter: none}}")
        try await ProxyFixture.run(rules, clock: clock) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            try client.send("GET", origin.url())
            for wait in [500, 1000] {
                let connection = try origin.accept()
                try connection.request()
                connection.reset()
                try clock.advance(by: .milliseconds(wait - 20))
                #expect(!origin.hasWaiting)
                try clock.advance(by: .milliseconds(40))
            }
            let last = try origin.accept()
            try last.request()
            try last.reply(body: "good")
            #expect(try client.response().bodyText == "good")
            let record = try proxy.record()
            #expect(record.number("attempts.0.delay") == 500)
            #expect(record.number("attempts.1.delay") == 1000)
            #expect((record.number("attempts.1.timing.blocked") ?? 0) >= 480)
        }
    }

    @Test func `with jitter a wait is never longer than without`() async throws {
        let clock = VirtualClock()
        try await ProxyFixture.run(everywhere("retry: standard"), clock: clock) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            try client.send("GET", origin.url())
            let connection = try origin.accept()
            try connection.request()
            connection.reset()
            try clock.advance(by: .milliseconds(501))
            let second = try origin.accept()
            try second.request()
            try second.reply()
            #expect(try client.response().status == 200)
            #expect((try proxy.record().number("attempts.0.delay") ?? 0) <= 500)
        }
    }

    @Test func `an origin that is not there yet is waited for, whatever the method`() async throws {
        let clock = VirtualClock()
        try await ProxyFixture.run(everywhere("retry: standard"), clock: clock) { proxy in
            let absent = try PlayedOrigin(at: .loopback(port: 0, host: 61))
            absent.close()
            let client = try proxy.client()
            try client.send("POST", absent.url(), body: "one lamp")
            // The refusal comes at once, without a word from anybody.
            for _ in 0..<50 { try proxy.settle() }
            let origin = try PlayedOrigin(at: absent.address)
            try proxy.advance(by: .milliseconds(100), until: "a connection") { origin.hasWaiting }
            let connection = try origin.accept()
            #expect(try connection.request().bodyText == "one lamp")
            try connection.reply(201)
            #expect(try client.response(to: "POST").status == 201)
            let record = try proxy.record()
            #expect(record["attempts.0.error.type"] == "connection_refused")
            #expect(record["attempts.0.reason"] == "connect, nothing was sent")
            #expect(record["attempts.0.decision"] == "retry")
        }
    }

    @Test func `an attempt that takes longer than per_try makes room for the next`() async throws {
        let clock = VirtualClock()
        let rules = everywhere("retry: {use: standard, per_try: 1s, backoff: none}")
        try await ProxyFixture.run(rules, clock: clock) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            try client.send("GET", origin.url())
            let stalling = try origin.accept()
            try stalling.request()
            try clock.advance(by: .milliseconds(980))
            #expect(!origin.hasWaiting)
            try clock.advance(by: .milliseconds(30))
            let second = try origin.accept()
            _ = try stalling.waitForEnd()
            try second.request()
            try second.reply(body: "good")
            #expect(try client.response().bodyText == "good")
            let record = try proxy.record()
            #expect(record["attempts.0.error.type"] == "http_response_timeout")
            #expect(record["attempts.0.reason"] == "timeout")
            #expect(record["attempts.0.error.detail"]?.contains("per_try") ?? true)
            #expect(record.number("attempts.0.timing.wait").map { 950..<1100 ~= $0 } == true)
        }
    }
}
