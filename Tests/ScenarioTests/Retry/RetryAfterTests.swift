// A response that says when to come back: it is waited for so long, and no longer than is allowed.
import Foundation
import LupinTestKit
import Testing

struct RetryAfterTests {
    private static let rules = everywhere("retry: standard")

    /// A request whose first answer has these fields, and the connection that it came over.
    private func answered(
        _ status: Int,
        _ field: String,
        _ proxy: ProxyFixture,
        _ origin: PlayedOrigin
    ) throws -> (client: ScriptedClient, connection: OriginConnection) {
        let client = try proxy.client()
        try client.send("GET", origin.url())
        let connection = try origin.accept()
        try connection.request()
        try connection.reply(status, field, body: "later")
        return (client, connection)
    }

    @Test(arguments: [503, 429])
    func `seconds are waited for, whatever the back-off would be`(status: Int) async throws {
        let clock = VirtualClock()
        try await ProxyFixture.run(Self.rules, clock: clock) { proxy in
            let origin = try PlayedOrigin()
            let (client, connection) = try answered(status, "Retry-After: 7", proxy, origin)
            try clock.advance(by: .milliseconds(6960))
            #expect(!connection.stream.socket.hasInput)
            #expect(!origin.hasWaiting)
            try clock.advance(by: .milliseconds(60))
            // The connection was free meanwhile, and is used again.
            try connection.request()
            try connection.reply(body: "good")
            #expect(try client.response().bodyText == "good")
            let record = try proxy.record()
            #expect(record["attempts.0.status"] == "\(status)")
            #expect(record["attempts.0.reason"] == "status \(status) with Retry-After")
            #expect(record.number("attempts.0.delay") == 7000)
        }
    }

    @Test func `a date is waited for`() async throws {
        let clock = VirtualClock()
        try await ProxyFixture.run(Self.rules, clock: clock) { proxy in
            let origin = try PlayedOrigin()
            // Has the exchange look at the wall clock anew, not before the date is made of it.
            try clock.advance(by: .seconds(1))
            let format = DateFormatter()
            format.locale = Locale(identifier: "en_US_POSIX")
            format.timeZone = TimeZone(secondsFromGMT: 0)
            format.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
            let date = format.string(from: Date(timeIntervalSinceNow: 28))
            let (client, connection) = try answered(503, "Retry-After: \(date)", proxy, origin)
            // A date follows the wall clock, on which the machine may take its time.
            try clock.advance(by: .seconds(8))
            #expect(!connection.stream.socket.hasInput)
            try clock.advance(by: .milliseconds(20_200))
            try connection.request()
            try connection.reply()
            #expect(try client.response().status == 200)
            let delay = try proxy.record().number("attempts.0.delay") ?? 0
            #expect(delay > 8000 && delay <= 28_000)
        }
    }

    @Test(arguments: ["31", "99999999999999999999", "Fri, 31 Dec 2100 23:59:59 GMT"])
    func `more than is allowed is not waited for`(value: String) async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let (flaky, origin) = try proxy.flaky(
                .status(503, "Retry-After: \(value)", body: "later")
            )
            let response = try proxy.client().get(origin.url())
            #expect(response.status == 503)
            #expect(response["Retry-After"] == value)
            #expect(response.bodyText == "later")
            #expect(flaky.asked == 1)
            let record = try proxy.record()
            #expect(record["attempts.0.decision"] == "deliver")
            #expect(record["attempts.0.reason"]?.contains("more than 30s") == true)
        }
    }

    @Test(arguments: ["", "Retry-After: soon", "Retry-After: -1"])
    func `429 that names no time is delivered`(field: String) async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let (flaky, origin) = try proxy.flaky(
                field.isEmpty ? .status(429) : .status(429, field)
            )
            #expect(try proxy.client().get(origin.url()).status == 429)
            #expect(flaky.asked == 1)
        }
    }

    @Test func `what is not honoured changes nothing`() async throws {
        let rules = everywhere(
            "retry: {use: standard, backoff: none, retry_after: {honour: false}}"
        )
        try await ProxyFixture.run(rules) { proxy in
            let (flaky, origin) = try proxy.flaky(.status(503, "Retry-After: 31"), .good)
            #expect(try proxy.client().get(origin.url()).status == 200)
            #expect(flaky.asked == 2)
            let (other, second) = try proxy.flaky(.status(429, "Retry-After: 1"), .good)
            #expect(try proxy.client().get(second.url()).status == 429)
            #expect(other.asked == 1)
        }
    }
}
