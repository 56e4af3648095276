// What happens while nothing does: `total` runs out, the client leaves, the connection is free.
import LupinTestKit
import Testing

struct BackoffTests {
    private static let late =
        "retry: {use: standard, backoff: {scale: 3s, max: 10s, jitter: none}}"
    private static let rules = everywhere(late, "timeouts: {total: 2s}")

    @Test func `a response is delivered at once where there is no time for another`() async throws {
        try await ProxyFixture.run(Self.rules, clock: VirtualClock()) { proxy in
            let (flaky, origin) = try proxy.flaky(.status(503, body: "ill"))
            let response = try proxy.client().get(origin.url())
            #expect(response.status == 503)
            #expect(response.bodyText == "ill")
            #expect(flaky.asked == 1)
            let record = try proxy.record()
            #expect(record["outcome"] == "ok")
            #expect(record["attempts.0.decision"] == "deliver")
            #expect(
                record["attempts.0.reason"]
                    == "timeouts.total would be over before the next attempt"
            )
        }
    }

    @Test func `an error becomes 504 at once`() async throws {
        try await ProxyFixture.run(Self.rules, clock: VirtualClock()) { proxy in
            let (flaky, origin) = try proxy.flaky(.reset)
            let response = try proxy.client().get(origin.url())
            #expect(response.status == 504)
            #expect(response.bodyText.contains("timeouts.total"))
            #expect(flaky.asked == 1)
            let record = try proxy.record()
            #expect(record["attempts.0.decision"] == "give-up")
            #expect(record["attempts.0.error.type"] == "connection_terminated")
            #expect(
                record["attempts.0.reason"]
                    == "timeouts.total would be over before the next attempt"
            )
        }
    }

    @Test func `an attempt behind a wait tells when it began`() async throws {
        let clock = VirtualClock()
        try await ProxyFixture.run(everywhere(Self.late), clock: clock) { proxy in
            let (flaky, origin) = try proxy.flaky(.reset, .good)
            let client = try proxy.client()
            try client.send("GET", origin.url())
            try eventually("the first attempt") { flaky.resetCount == 1 }
            try proxy.settle()
            try clock.advance(by: .seconds(4))
            #expect(try client.response().bodyText == "good")
            let record = try proxy.record()
            #expect(record["attempts.0.start"] == nil)
            let start = try #require(record.number("attempts.1.start"))
            // It begins with the wait.
            let wait = try #require(record.number("attempts.1.timing.blocked"))
            #expect(start < 100 && wait >= 3000 && start + wait < 4100, "\(start), \(wait)")
        }
    }

    @Test func `a client that leaves is waited for no longer`() async throws {
        let clock = VirtualClock()
        try await ProxyFixture.run(everywhere(Self.late), clock: clock) { proxy in
            let (flaky, origin) = try proxy.flaky(.reset)
            let client = try proxy.client()
            try client.send("GET", origin.url())
            try eventually("the first attempt") { flaky.resetCount == 1 }
            try proxy.settle()
            try clock.advance(by: .seconds(1))
            client.close()
            let record = try proxy.record()
            #expect(record["outcome"] == "aborted")
            #expect(record.count("attempts") == 1)
            #expect(record["attempts.0.decision"] == "retry")
            try clock.advance(by: .seconds(10))
            #expect(flaky.asked == 1)
        }
    }

    @Test func `a stream that is cancelled is waited for no longer`() async throws {
        let clock = VirtualClock()
        try await ProxyFixture.run(everywhere(Self.late), clock: clock) { proxy in
            let (flaky, origin) = try proxy.flaky(.status(503))
            let client = try proxy.http2Client()
            let stream = try client.send(.request(authority: origin.authority))
            try eventually("the first attempt") { flaky.asked == 1 }
            try clock.advance(by: .seconds(1))
            try client.frames.send(.resetStream(stream, .cancel))
            try client.frames.expectAlive()
            #expect(try proxy.record()["outcome"] == "aborted")
            try clock.advance(by: .seconds(10))
            #expect(flaky.asked == 1)
        }
    }

    @Test func `a short answer's connection serves others meanwhile`() async throws {
        let clock = VirtualClock()
        try await ProxyFixture.run(everywhere(Self.late), clock: clock) { proxy in
            let origin = try PlayedOrigin()
            let waiting = try proxy.client()
            try waiting.send("GET", origin.url("/waits"))
            let connection = try origin.accept()
            try connection.request()
            try connection.reply(503, body: "ill")
            try clock.advance(by: .seconds(1))
            let other = try proxy.client()
            try other.send("GET", origin.url("/other"))
            #expect(try connection.request().target == "/other")
            try connection.reply(body: "other")
            #expect(try other.response().bodyText == "other")
            try clock.advance(by: .milliseconds(2100))
            #expect(try connection.request().target == "/waits")
            try connection.reply(body: "good")
            #expect(try waiting.response().bodyText == "good")
            #expect(!origin.hasWaiting)
        }
    }

    @Test(arguments: ["Content-Length: 100000", "Transfer-Encoding: chunked"])
    func `a long or endless answer is not read to its end`(framing: String) async throws {
        let clock = VirtualClock()
        try await ProxyFixture.run(everywhere(Self.late), clock: clock) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            try client.send("GET", origin.url())
            let connection = try origin.accept()
            try connection.request()
            try connection.send(head("HTTP/1.1 503 No", framing) + "5\r\nabcde\r\n")
            try clock.advance(by: .milliseconds(200))
            _ = try connection.waitForEnd()
            #expect(!origin.hasWaiting)
            try clock.advance(by: .seconds(3))
            let second = try origin.accept()
            try second.request()
            try second.reply(body: "good")
            #expect(try client.response().bodyText == "good")
        }
    }
}
