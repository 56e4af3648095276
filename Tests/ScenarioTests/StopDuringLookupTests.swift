// A stop that comes while a name is looked up: the client hears why.
import LupinIO
import LupinTestKit
import Testing

struct StopDuringLookupTests {
    @Test func `who waits for a name when the drain time ends gets 503`() async throws {
        let clock = VirtualClock()
        let gate = Bell()
        let resolve: @Sendable (String) -> Resolver.Answer = { _ in
            _ = gate.wait()
            return .failure(.notFound)
        }
        let rules = "timeouts: {drain: 1s, dns: 60s}"
        try await ProxyFixture.run(rules, clock: clock, resolve: resolve) { proxy in
            defer { gate.ring() }
            let client = try proxy.client()
            try client.send("GET", "http://slow.test/")
            try proxy.settle()
            try proxy.beginDraining()
            try proxy.advance(by: .milliseconds(500), until: "an answer") {
                client.stream.socket.hasUnread || client.stream.socket.isClosedByPeer
            }
            #expect(try client.response().status == 503)
        }
    }
}
