// Names that lead elsewhere each time: what was checked is what is connected to (DNS rebinding).
import LupinCore
import LupinIO
import LupinTestKit
import Synchronization
import Testing

/// A name server that gives one answer after the other, the last one for ever.
private final class FickleResolver: Sendable {
    private struct State {
        var answers: [[IPAddress]]
        var asked = 0
    }

    private let state: Mutex<State>

    init(_ answers: [IPAddress]...) { state = Mutex(State(answers: answers)) }

    var asked: Int { state.withLock { $0.asked } }

    var ask: @Sendable (String) -> Resolver.Answer {
        { [self] _ in
            state.withLock { state in
                state.asked += 1
                guard let answer = state.answers.first else { return .failure(.notFound) }
                if state.answers.count > 1 { state.answers.removeFirst() }
                return .success(answer)
            }
        }
    }
}

struct HostileResolverTests {
    private static let here = IPAddress.v4(0x7F00_0001)

    /// What a page would like to reach, as lupin's resolver may get it.
    static let denied: [IPAddress] = [
        .v4(0xA9FE_A9FE),
        .v6(high: 0, low: 0xFFFF_A9FE_A9FE),
        .v6(high: 0x0064_FF9B_0000_0000, low: 0xA9FE_A9FE),
        .v4(0x7F00_0003),
        .v6(high: 0, low: 0xFFFF_7F00_0003),
        .v4(0),
        .v6(high: 0, low: 0),
        .v6(high: 0, low: 1),
    ]

    private static let rules = """
        upstream: {dns: {ttl: 0s}}
        access: {deny_targets: [link-local, self, "127.0.0.3", "0.0.0.0/8", "::/128", "::1/128"]}
        """

    @Test(arguments: denied, ["GET", "CONNECT"])
    func `a name that is bound anew is judged anew`(
        second: IPAddress,
        method: String
    ) async throws {
        let resolver = FickleResolver([Self.here], [second])
        try await ProxyFixture.run(Self.rules, resolve: resolver.ask) { proxy in
            let origin = try proxy.origin { connection in
                try connection.request()
                try connection.reply(200, "Connection: close", body: "first")
                connection.close()
            }
            let name = origin.authority("rebound.test")
            #expect(try proxy.client().get("http://\(name)/").bodyText == "first")
            _ = try proxy.record()
            let client = try proxy.client()
            try client.send(method, method == "GET" ? "http://\(name)/" : name)
            let refused = try client.response(to: method)
            #expect(refused.status == 502)
            #expect(refused["Proxy-Status"]?.contains("destination_ip_prohibited") == true)
            #expect(try proxy.records(2)[1]["outcome"] == "denied")
            #expect(resolver.asked == 2)
        }
    }

    @Test func `an exchange asks once, and connects to what it was told`() async throws {
        let resolver = FickleResolver([Self.here], [Self.denied[0]])
        try await ProxyFixture.run(Self.rules, resolve: resolver.ask) { proxy in
            let origin = try proxy.origin(answering: head("HTTP/1.1 204 None"))
            let url = "http://\(origin.authority("rebound.test"))/"
            #expect(try proxy.client().get(url).status == 204)
            #expect(try proxy.record()["attempts.0.peer"] == origin.authority)
            #expect(resolver.asked == 1)
        }
    }

    @Test func `an attempt that is made again is judged again`() async throws {
        let resolver = FickleResolver([Self.here], [Self.denied[0]])
        let rules = Self.rules + "\nrules: [{match: {}, retry: standard}]"
        let clock = VirtualClock()
        try await ProxyFixture.run(rules, clock: clock, resolve: resolver.ask) { proxy in
            let (flaky, origin) = try proxy.flaky(.reset)
            let client = try proxy.client()
            try client.send("GET", "http://\(origin.authority("rebound.test"))/")
            try proxy.advance(by: .milliseconds(200), until: "a response") {
                client.stream.socket.hasUnread
            }
            let response = try client.response()
            #expect(response.status == 502)
            #expect(response["Proxy-Status"]?.contains("destination_ip_prohibited") == true)
            #expect(flaky.resetCount == 1)
            #expect(try proxy.record().count("attempts") == 2)
        }
    }

    @Test func `a name that leads to lupin itself is refused`() async throws {
        try await ProxyFixture.run(resolve: ProxyFixture.here) { proxy in
            let name = "self.test:\(proxy.address.port)"
            for method in ["GET", "CONNECT"] {
                let client = try proxy.client()
                try client.send(method, method == "GET" ? "http://\(name)/" : name)
                let response = try client.response(to: method)
                #expect(response.status == 502)
                #expect(response["Proxy-Status"]?.contains("destination_ip_prohibited") == true)
            }
        }
    }

    @Test(arguments: [IPAddress.v4(0), .v6(high: 0, low: 0xFFFF_7F00_0001), .v6(high: 0, low: 0)])
    func `nor is lupin's listener reached by an address that means this machine`(
        address: IPAddress
    ) async throws {
        try await ProxyFixture.run(
            "upstream: {via: false}",
            resolve: { _ in .success([address]) }
        ) { proxy in
            let client = try proxy.client()
            let response = try client.get("http://self.test:\(proxy.address.port)/")
            #expect(response.status == 502)
            // By itself or by way of itself: it ends at once.
            #expect(try proxy.records(1).count == 1)
            #expect(proxy.recordsSoFar().count == 1)
        }
    }

    @Test func `what is in the pool is judged again under new rules`() async throws {
        let resolver = FickleResolver([Self.here])
        try await ProxyFixture.run("rules: []", resolve: resolver.ask) { proxy in
            let origin = try proxy.origin { connection in
                while try connection.nextRequest() != nil { try connection.reply(body: "in") }
            }
            let url = "http://\(origin.authority("rebound.test"))/"
            let client = try proxy.client()
            for _ in 0..<6 { #expect(try client.get(url).bodyText == "in") }
            _ = try await proxy.reload("access: {deny_targets: [loopback]}")
            for _ in 0..<2 { #expect(try client.get(url).status == 502) }
            #expect(origin.connections.count == 1)
        }
    }

    @Test func `one allowed address is found among hundreds, and no other is asked`()
        async throws
    {
        let answer = (0..<500).map { IPAddress.v4(0xA9FE_0000 | UInt32($0)) } + [Self.here]
        try await ProxyFixture.run(resolve: { _ in .success(answer) }) { proxy in
            let origin = try proxy.origin(answering: head("HTTP/1.1 204 None"))
            let url = "http://\(origin.authority("crowd.test"))/"
            #expect(try proxy.client().get(url).status == 204)
            #expect(try proxy.record()["attempts.0.peer"] == origin.authority)
        }
    }

    @Test func `hundreds of addresses that refuse come to an end`() async throws {
        let closed = try PlayedOrigin()
        closed.close()
        let answer = (1...250).map { IPAddress.v4(0x7F00_0100 | UInt32($0)) }
        try await ProxyFixture.run(resolve: { _ in .success(answer) }) { proxy in
            let client = try proxy.client()
            let response = try client.get("http://\(closed.authority("crowd.test"))/")
            #expect(response.status == 502)
            #expect(response["Proxy-Status"]?.contains("connection_refused") == true)
        }
    }

    @Test func `an empty answer is no address`() async throws {
        try await ProxyFixture.run(resolve: { _ in .success([]) }) { proxy in
            let client = try proxy.client()
            #expect(try client.get("http://empty.test/").status == 503)
            #expect(try proxy.client().connect("empty.test:443").status == 503)
        }
    }

    @Test func `answers that never come end in time, and leave addresses reachable`()
        async throws
    {
        let (clock, asked, over) = (VirtualClock(), Bell(), Bell())
        let resolve: @Sendable (String) -> Resolver.Answer = { _ in
            asked.ring()
            _ = over.wait()
            return .failure(.notFound)
        }
        try await ProxyFixture.run("timeouts: {dns: 3s}", clock: clock, resolve: resolve) { proxy in
            let count = 40
            defer { for _ in 0..<count { over.ring() } }
            let origin = try proxy.origin(answering: head("HTTP/1.1 204 None"))
            let waiting = try (0..<count).map { i in
                let client = try proxy.client()
                try client.send("GET", "http://never\(i).test/")
                return client
            }
            #expect(asked.wait())
            #expect(try proxy.client().get(origin.url()).status == 204)
            try proxy.settleWell()
            try clock.advance(by: .seconds(4))
            for client in waiting {
                let status = try client.response().status
                #expect(status == 504 || status == 502)
            }
        }
    }
}
