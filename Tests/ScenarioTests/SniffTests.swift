// What a client sends first inside a CONNECT that is to be intercepted: TLS, HTTP or neither.
import LupinIO
import LupinTestKit
import Testing

struct SniffTests {
    /// A rule that a client may not get around.
    private static let demand = """
        rules:
          - {match: {host: origin.test}, intercept: true, respond: {status: 418}}
        """

    @Test func `a target that speaks first is reached by a tunnel after a while`() async throws {
        let clock = VirtualClock()
        try await ProxyFixture.run(Inside.rule, clock: clock, resolve: ProxyFixture.here) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            #expect(try client.connect(origin.authority("origin.test")).status == 200)
            try clock.advance(by: .milliseconds(190))
            #expect(!origin.hasWaiting)
            try clock.advance(by: .milliseconds(10))
            let far = try origin.accept()
            try far.send("220 smtp.test\r\n")
            #expect(try client.stream.line() == "220 smtp.test")
            try client.send("EHLO here\r\n")
            #expect(try far.stream.line() == "EHLO here")
            client.shutdownWrite()
            #expect(try far.waitForEnd() == .finished)
            far.shutdownWrite()
            #expect(try client.waitForEnd() == .finished)
            let record = try proxy.record()
            #expect(record["mode"] == "tunnel")
            #expect(record["outcome"] == "ok")
        }
    }

    /// Bytes of other protocols, and some that only begin like TLS or HTTP.
    private static let foreign: [[UInt8]] = [
        Array("SSH-2.0-OpenSSH_9.6p1 Ubuntu-3ubuntu13\r\n".utf8),
        Array("NICK harry\r\nUSER h 0 * :Harry\r\n".utf8),
        Array("PRI*".utf8) + [0, 1, 2],
        Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8),
        [0x16, 0x03, 0x01, 0x00, 0x04, 0xDE, 0xAD, 0xBE, 0xEF],
        [0x16, 0x03, 0x01, 0x00, 0x08, 0x01, 0x00, 0x00, 0x04, 0x03, 0x03, 0x00, 0x00],
        [0x15, 0x03, 0x03, 0x00, 0x02, 0x02, 0x28],
        [0x00, 0x00, 0x00, 0x05, 0xFF],
    ]

    @Test(arguments: foreign)
    func `what is neither TLS nor HTTP goes through unchanged`(bytes: [UInt8]) async throws {
        try await ProxyFixture.run(Inside.rule, resolve: ProxyFixture.here) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            #expect(try client.connect(origin.authority("origin.test")).status == 200)
            try client.send(bytes)
            let far = try origin.accept()
            #expect(try far.stream.bytes(bytes.count) == bytes)
            try far.send("answer")
            #expect(try client.stream.text(6) == "answer")
        }
    }

    @Test func `who speaks no HTTP inside TLS gets a tunnel, where it may`() async throws {
        for (rule, isTunnel) in [(Inside.rule, true), (Self.demand, false)] {
            try await ProxyFixture.run(rule, resolve: ProxyFixture.here) { proxy in
                let origin = try PlayedOrigin()
                let client = try proxy.client()
                #expect(try client.connect(origin.authority("origin.test")).status == 200)
                var tls = SecureSocket.Client("origin.test")
                tls.protocols = ["imap"]
                let hello = try SecureSocket.clientHello(tls)
                try client.send(hello)
                if isTunnel {
                    #expect(try origin.accept().stream.bytes(hello.count) == hello)
                } else {
                    // The alert is no_application_protocol.
                    #expect(try client.stream.untilEnd().bytes.suffix(2) == [2, 120])
                    #expect(!origin.hasWaiting)
                }
            }
        }
    }

    @Test(arguments: foreign)
    func `it does not where a rule must not be got around`(bytes: [UInt8]) async throws {
        try await ProxyFixture.run(Self.demand, resolve: ProxyFixture.here) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            #expect(try client.connect(origin.authority("origin.test")).status == 200)
            try client.send(bytes)
            #expect(try client.stream.untilEnd().bytes == [])
            #expect(!origin.hasWaiting)
            let record = try proxy.record()
            #expect(record["outcome"] == "denied")
            #expect(record["error.type"] == "http_request_denied")
        }
    }

    @Test func `silence does not get around a rule either`() async throws {
        let clock = VirtualClock()
        try await ProxyFixture.run(Self.demand, clock: clock, resolve: ProxyFixture.here) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            #expect(try client.connect(origin.authority("origin.test")).status == 200)
            try clock.advance(by: .milliseconds(14_900))
            #expect(!client.stream.socket.isClosedByPeer)
            try clock.advance(by: .milliseconds(200))
            #expect(try client.stream.untilEnd().bytes == [])
            #expect(!origin.hasWaiting)
        }
    }

    @Test func `a stop does not wait for a client that says nothing`() async throws {
        try await ProxyFixture.run(Self.demand) { proxy in
            let client = try proxy.client()
            #expect(try client.connect("origin.test:443").status == 200)
            try proxy.settle()
            proxy.beginStopping()
            try client.stream.socket.waitUntilClosedByPeer()
        }
    }

    @Test(arguments: [SecureSocket.Client.Flight.bytewise, .recordPerByte])
    func `a ClientHello in many pieces is one`(flight: SecureSocket.Client.Flight) async throws {
        try await ProxyFixture.run(Self.demand) { proxy in
            var tls = SecureSocket.Client("origin.test")
            tls.flight = flight
            let client = try proxy.client().connectSecurely("origin.test:443", tls)
            #expect(try client.get("https://origin.test/").status == 418)
        }
    }

    @Test func `a request in clear in many pieces is one`() async throws {
        try await ProxyFixture.run(Self.demand) { proxy in
            let client = try proxy.client()
            #expect(try client.connect("origin.test:80").status == 200)
            for piece in ["G", "ET", " ", "ht", "tp://origin.test/ HTTP/1.1\r\n"] {
                try client.send(piece)
                try proxy.settle()
            }
            try client.send("Host: origin.test\r\n\r\n")
            #expect(try client.response().status == 418)
        }
    }

    @Test func `TLS right behind the CONNECT is not lost`() async throws {
        try await ProxyFixture.run(Self.demand) { proxy in
            let client = try proxy.client()
            let connect = "CONNECT origin.test:443 HTTP/1.1\r\nHost: origin.test:443\r\n\r\n"
            try client.send(Array(connect.utf8) + SecureSocket.clientHello())
            #expect(try client.response(to: "CONNECT").status == 200)
            // The server's first flight begins with a handshake record.
            #expect(try client.stream.bytes(1) == [0x16])
        }
    }

    @Test func `a handshake that stands still ends after timeouts_tls`() async throws {
        let clock = VirtualClock()
        try await ProxyFixture.run(Self.demand, clock: clock) { proxy in
            let client = try proxy.client()
            #expect(try client.connect("origin.test:443").status == 200)
            try client.send(SecureSocket.clientHello())
            #expect(try client.stream.bytes(1) == [0x16])
            try clock.advance(by: .milliseconds(15_100))
            _ = try client.stream.untilEnd()
            #expect(try proxy.record()["outcome"] == "aborted")
        }
    }

    /// How far a client gets before it leaves.
    enum Stage: CaseIterable { case granted, byte, hello, flight, secured, head, asked }

    @Test(arguments: Stage.allCases, [true, false])
    func `a client that leaves at any stage leaves nothing behind`(
        stage: Stage,
        resets: Bool
    ) async throws {
        try await ProxyFixture.run(Inside.rule, resolve: ProxyFixture.here) { proxy in
            let origin = try PlayedOrigin()
            let authority = origin.authority("origin.test")
            let outer = try proxy.client()
            #expect(try outer.connect(authority).status == 200)
            var client = outer
            switch stage {
            case .granted: break
            case .byte: try outer.send([0x16])
            case .hello: try outer.send(SecureSocket.clientHello())
            case .flight:
                try outer.send(SecureSocket.clientHello())
                _ = try outer.stream.bytes(1)
            case .secured: client = try outer.secure(SecureSocket.Client("origin.test"))
            case .head:
                client = try outer.secure(SecureSocket.Client("origin.test"))
                try client.send("GET / HTTP/1.1\r\nHo")
            case .asked:
                client = try outer.secure(SecureSocket.Client("origin.test"))
                try client.send("GET / HTTP/1.1\r\nHost: \(authority)\r\n\r\n")
                _ = try origin.accept()
            }
            try proxy.settle()
            if resets { client.reset() } else { client.close() }
            try eventually("the proxy to let go") {
                OpenSocket.all { $0.localHost == 0x7F00_0001 && $0.local == proxy.address.port }
                    .allSatisfy(\.isListening)
            }
        }
    }
}
