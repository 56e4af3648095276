// Leaving a client of HTTP/2: first a word that no stream is lost by, then the last one's number.
import LupinTestKit
import Testing

struct TwoStepGoAwayTests {
    private static let rules =
        "rules: [{name: canned, match: {host: a.test}, respond: {status: 200, body: fine}}]"
    private static let farewell: UInt32 = 0x7FFF_FFFF

    /// A client that keeps its answer to a PING back, once the proxy is stopping.
    private static func leave(
        _ proxy: ProxyFixture
    ) throws -> (client: HTTP2Client, ping: [UInt8], stopping: Task<Void, Never>) {
        let client = try proxy.http2Client()
        #expect(try client.request(authority: "a.test").bodyText == "fine")
        client.frames.manners.answersPings = false
        let stopping = proxy.beginStopping()
        #expect(try client.frames.expectGoAway(.noError) == Self.farewell)
        let ping = try client.frames.first("a PING") { event in
            if case .ping(let octets) = event { octets } else { nil }
        }
        return (client, ping, stopping)
    }

    @Test func `what was on its way when lupin stopped is served`() async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let (client, ping, stopping) = try Self.leave(proxy)
            let stream = try client.send(.request(authority: "a.test"))
            #expect(try client.response(on: stream).bodyText == "fine")
            try client.frames.send(HTTP2Frame(.ping, .acknowledges, payload: ping))
            #expect(try client.frames.expectGoAway(.noError) == stream)
            #expect(try client.frames.waitForEnd() == .finished)
            await stopping.value
        }
    }

    @Test func `a client that answers no PING is left after a second`() async throws {
        let clock = VirtualClock()
        try await ProxyFixture.run(Self.rules, clock: clock) { proxy in
            let (client, _, stopping) = try Self.leave(proxy)
            try clock.advance(by: .milliseconds(900))
            #expect(!client.frames.socket.isClosedByPeer)
            clock.push(by: .milliseconds(1200))
            #expect(try client.frames.expectGoAway(.noError) == 1)
            #expect(try client.frames.waitForEnd() == .finished)
            await stopping.value
        }
    }
}
