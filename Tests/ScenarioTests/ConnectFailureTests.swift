// What the client hears when there is no way to the origin: names, addresses, time.
import LupinCore
import LupinIO
import LupinTestKit
import Testing

struct ConnectFailureTests {
    @Test func `a refused connection is told in words`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            origin.close()
            let client = try proxy.client()
            let response = try client.get(origin.url())
            #expect(response.status == 502)
            #expect(response["Proxy-Status"]?.contains("error=connection_refused") == true)
            #expect(response.bodyText.contains(origin.authority))
            #expect(response.bodyText.contains("refused"))
            // The failure is the origin's: the client's connection lives on.
            #expect(try client.get(origin.url()).status == 502)
            let record = try proxy.record()
            #expect(record["outcome"] == "error")
            #expect(record["error.side"] == "upstream")
            #expect(record.count("attempts") == 1)
            #expect(record["attempts.0.reason"] == "every address refused the connection")
        }
    }

    /// An origin whose port refuses in the other family, and what holds that port.
    private static func originOfOneFamily(
        isV6: Bool
    ) throws -> (origin: PlayedOrigin, refusing: PlainListener) {
        var taken: [PlayedOrigin] = []
        while taken.count < 50 {
            let origin = try PlayedOrigin(at: isV6 ? .loopback6(port: 0) : .loopback(port: 0))
            let port = origin.address.port
            let other = isV6 ? SocketAddress.loopback(port: port) : .loopback6(port: port)
            if let refusing = try? PlainListener(at: other) {
                refusing.close()
                return (origin, refusing)
            }
            taken.append(origin)
        }
        throw SocketFailure("every port is taken in the other family")
    }

    /// One family listens, the other one refuses, and the resolver names the refusing one first.
    @Test(arguments: [true, false])
    func `the second address is tried when the first one refuses`(isV6First: Bool) async throws {
        let v4 = SocketAddress.loopback(port: 0).address
        let v6 = SocketAddress.loopback6(port: 0).address
        let resolve: @Sendable (String) -> Resolver.Answer = { name in
            name == "two.test" ? .success(isV6First ? [v6, v4] : [v4, v6]) : .failure(.notFound)
        }
        try await ProxyFixture.run(resolve: resolve) { proxy in
            let (origin, refusing) = try Self.originOfOneFamily(isV6: !isV6First)
            defer { refusing.close() }
            let client = try proxy.client()
            try client.send("GET", "http://two.test:\(origin.address.port)/")
            let connection = try origin.accept()
            #expect(try connection.request()["Host"] == "two.test:\(origin.address.port)")
            try connection.reply(body: "second")
            #expect(try client.response().bodyText == "second")
            let record = try proxy.record()
            #expect(record.count("attempts") == 1)
            #expect(record["attempts.0.peer"] == origin.authority)
            #expect(record.number("attempts.0.timing.dns") != nil)
        }
    }

    @Test(arguments: [
        (ResolveFailure.notFound, "No such host: gone.test."),
        (.failed(reason: "server failure"), "server failure"),
    ])
    func `a name without an address is a 502`(failure: ResolveFailure, words: String) async throws {
        try await ProxyFixture.run(resolve: { _ in .failure(failure) }) { proxy in
            let client = try proxy.client()
            let response = try client.get("http://gone.test/")
            #expect(response.status == 502)
            #expect(response["Proxy-Status"]?.contains("error=dns_error") == true)
            #expect(response.bodyText.contains("gone.test"))
            let record = try proxy.record()
            #expect(record["error.detail"] == words)
            #expect(try client.connect("gone.test:443").status == 502)
        }
    }

    @Test func `a name server that says nothing is a 504`() async throws {
        let clock = VirtualClock()
        let asked = Bell()
        let over = Bell()
        let resolve: @Sendable (String) -> Resolver.Answer = { _ in
            asked.ring()
            _ = over.wait()
            return .failure(.notFound)
        }
        try await ProxyFixture.run("timeouts: {dns: 3s}", clock: clock, resolve: resolve) { proxy in
            defer { over.ring() }
            let client = try proxy.client()
            try client.send("GET", "http://slow.test/")
            #expect(asked.wait())
            try clock.advance(by: .milliseconds(2900))
            #expect(!client.stream.socket.hasUnread)
            try clock.advance(by: .milliseconds(100))
            let response = try client.response()
            #expect(response.status == 504)
            #expect(response["Proxy-Status"]?.contains("error=dns_timeout") == true)
            #expect(try proxy.record()["attempts.0.decision"] == "give-up")
        }
    }

    @Test(arguments: ["GET", "CONNECT"])
    func `an origin that does not answer the connect is a 504`(method: String) async throws {
        let clock = VirtualClock()
        try await ProxyFixture.run("timeouts: {connect: 4s}", clock: clock) { proxy in
            // With a full queue the kernel leaves later connects unanswered.
            let origin = try PlayedOrigin(backlog: 0)
            let filler = try PlainSocket.connect(to: origin.address)
            let client = try proxy.client()
            let isTunnel = method == "CONNECT"
            try client.send(method, isTunnel ? origin.authority : origin.url())
            // `safe` tries a second time.
            try proxy.advance(by: .seconds(1), until: "a response") {
                client.stream.socket.hasUnread
            }
            let response = try client.response(to: "GET")
            #expect(response.status == 504)
            #expect(response["Proxy-Status"]?.contains("error=connection_timeout") == true)
            let record = try proxy.record()
            #expect(record.count("attempts") == 2)
            #expect(record["attempts.1.reason"] == "limit of 1 reached")
            filler.close()
        }
    }

    @Test func `a client that leaves while lupin connects ends the attempt`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin(backlog: 0)
            let filler = try PlainSocket.connect(to: origin.address)
            let client = try proxy.client()
            try client.send("GET", origin.url())
            client.close()
            let record = try proxy.record()
            #expect(record["outcome"] == "aborted")
            filler.close()
        }
    }

    @Test func `a client that leaves while a name is looked up ends the wait`() async throws {
        let asked = Bell()
        let over = Bell()
        let resolve: @Sendable (String) -> Resolver.Answer = { _ in
            asked.ring()
            _ = over.wait()
            return .failure(.notFound)
        }
        try await ProxyFixture.run(resolve: resolve) { proxy in
            defer { over.ring() }
            let client = try proxy.client()
            try client.send("GET", "http://slow.test/")
            #expect(asked.wait())
            client.close()
            #expect(try proxy.record()["outcome"] == "aborted")
        }
    }
}
