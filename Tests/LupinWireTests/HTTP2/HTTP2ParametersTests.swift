// Rates that a peer may not exceed: so many frames of no use, or resets, in so much time.
import LupinCore
import LupinWire
import Testing

struct HTTP2ParametersTests {
    private static let second: UInt64 = 1_000_000

    /// A server that puts up with three of each in 10 s.
    private func server() -> HTTP2Connection {
        var parameters = HTTP2Parameters.standard
        parameters.limits.control = RateLimit(count: 3, per: .seconds(10))
        parameters.limits.resets = RateLimit(count: 3, per: .seconds(10))
        return HTTP2Connection(.server, parameters)
    }

    /// How many rounds a server takes, one every `step`, of twelve.
    private func rounds(every step: UInt64, _ bytes: (HTTP2Connection) -> [UInt8]) -> Int {
        let (client, server) = (HTTP2Connection(.client, .standard), server())
        server.take(client.drained())
        for round in 0..<12 {
            _ = events(of: [bytes(client)[...]], at: server, now: UInt64(round) * step + 1)
            if server.isGoingAway { return round }
        }
        return 12
    }

    private let ping: (HTTP2Connection) -> [UInt8] = { client in
        client.ping()
        return client.drained()
    }

    @Test func `as many as the limit are put up with in one stretch of time`() {
        // The SETTINGS of the beginning count too.
        #expect(rounds(every: 0, ping) == 2)
        #expect(rounds(every: Self.second, ping) == 2)
    }

    @Test func `the count begins anew when the time is over`() {
        #expect(rounds(every: 5 * Self.second, ping) == 12)
        #expect(rounds(every: 11 * Self.second, ping) == 12)
    }

    @Test func `resets are counted by themselves`() {
        let reset: (HTTP2Connection) -> [UInt8] = { client in
            let stream = client.ask(RequestHead(.get, "/"))
            let wire = client.drained()
            client.reset(stream, .cancel)
            return wire + client.drained()
        }
        #expect(rounds(every: Self.second, reset) == 3)
        #expect(rounds(every: 4 * Self.second, reset) == 12)
    }

    @Test func `answers to our own PINGs are no flood`() {
        let (client, server) = (HTTP2Connection(.client, .standard), server())
        server.take(client.drained())
        for _ in 0..<10 {
            server.ping()
            client.take(server.drained())
            let events = events(of: [client.drained()[...]], at: server)
            #expect(events.contains("pong"))
        }
        #expect(!server.isGoingAway)
    }
}
