// A client that is slow to begin inside a CONNECT: does it keep its rules?
import LupinIO
import LupinTestKit
import Testing

struct SlowStartTests {
    /// Longer than `timeouts.sniff`.
    private static let pause = Duration.milliseconds(200)

    @Test func `a client that begins TLS late is intercepted all the same`() async throws {
        let clock = VirtualClock()
        try await ProxyFixture.run(Inside.rule, clock: clock, resolve: ProxyFixture.here) { proxy in
            let origin = try PlayedOrigin()
            let authority = origin.authority("origin.test")
            let outer = try proxy.client()
            #expect(try outer.connect(authority).status == 200)
            try clock.advance(by: Self.pause)
            // Connected in case the target speaks first, and let go when the client does.
            let early = try origin.accept()
            let client = try outer.secure(SecureSocket.Client("origin.test"))
            #expect(try early.waitForEnd() == .reset)
            try client.send("GET / HTTP/1.1\r\nHost: \(authority)\r\n\r\n")
            let server = try proxy.authority.server("origin.test", ["http/1.1"])
            let far = try origin.acceptSecurely(server)
            #expect(try far.request()["X-Inside"] == "1")
            try far.reply()
            #expect(try client.response().status == 200)
            let record = try proxy.record()
            #expect(record["mode"] == "intercept")
            #expect(record["attempts.1.n"] == nil)
        }
    }

    @Test func `a client that begins late is told inside TLS of a target that can't be reached`()
        async throws
    {
        let clock = VirtualClock()
        try await ProxyFixture.run(Inside.rule, clock: clock, resolve: ProxyFixture.here) { proxy in
            let outer = try proxy.client()
            #expect(try outer.connect("origin.test:1").status == 200)
            try clock.advance(by: Self.pause)
            try proxy.settle()
            let client = try outer.secure(SecureSocket.Client("origin.test"))
            #expect(try client.get("https://origin.test:1/").status == 502)
        }
    }

    @Test func `a target that leaves without a word takes no rules from the client`()
        async throws
    {
        let clock = VirtualClock()
        try await ProxyFixture.run(Inside.rule, clock: clock, resolve: ProxyFixture.here) { proxy in
            let origin = try PlayedOrigin()
            let authority = origin.authority("origin.test")
            let outer = try proxy.client()
            #expect(try outer.connect(authority).status == 200)
            try clock.advance(by: Self.pause)
            let early = try origin.accept()
            early.close()
            try proxy.settle()
            let client = try outer.secure(SecureSocket.Client("origin.test"))
            try client.send("GET / HTTP/1.1\r\nHost: \(authority)\r\n\r\n")
            let server = try proxy.authority.server("origin.test", ["http/1.1"])
            let far = try origin.acceptSecurely(server)
            try far.request()
            try far.reply()
            #expect(try client.response().status == 200)
            #expect(try proxy.record()["mode"] == "intercept")
        }
    }

    @Test(arguments: [true, false])
    func `a client that leaves without a word lets the target go`(resets: Bool) async throws {
        let clock = VirtualClock()
        try await ProxyFixture.run(Inside.rule, clock: clock, resolve: ProxyFixture.here) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            #expect(try client.connect(origin.authority("origin.test")).status == 200)
            try clock.advance(by: Self.pause)
            let far = try origin.accept()
            if resets { client.reset() } else { client.close() }
            #expect(try far.waitForEnd() == .reset)
        }
    }

    @Test func `a tunnel whose client closes behind the target's end has ended well`()
        async throws
    {
        try await ProxyFixture.run(resolve: ProxyFixture.here) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            #expect(try client.connect(origin.authority("origin.test")).status == 200)
            try client.send("ping")
            let far = try origin.accept()
            #expect(try far.stream.text(4) == "ping")
            far.shutdownWrite()
            #expect(try client.waitForEnd() == .finished)
            client.reset()
            #expect(try far.waitForEnd() == .reset)
            #expect(try proxy.record()["outcome"] == "ok")
        }
    }
}
