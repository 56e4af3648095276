// A tunnel's first bytes are read without holding up anybody, however late they come.
import LupinIO
import LupinTLS
import LupinTestKit
import Testing

struct TunnelBeginningTests {
    private static let list = """
        rules:
          - name: list
            match: {not: {host: origin.test}}
            respond: {status: 403}
        """

    @Test(arguments: [list, "", "access: {ech: refuse}"])
    func `a whole session goes through, and the record has what it asked for`(
        rules: String
    ) async throws {
        try await ProxyFixture.run(rules, resolve: ProxyFixture.here) { proxy in
            let origin = try proxy.secureOrigin(name: "origin.test") { connection in
                while try connection.nextRequest() != nil { try connection.reply(body: "inside") }
            }
            var tls = SecureSocket.Client("origin.test")
            tls.protocols = ["x/1", "http/1.1"]
            let client = try proxy.client()
                .connectSecurely(origin.authority("origin.test"), tls)
            #expect(try client.get("https://origin.test/").bodyText == "inside")
            #expect(try client.get("https://origin.test/").bodyText == "inside")
            client.close()
            let record = try proxy.record()
            #expect(record["outcome"] == "ok")
            #expect(record["mode"] == "tunnel")
            #expect(record["tunnel.sni"] == "origin.test")
            #expect(record.list("tunnel.alpn") == ["x/1", "http/1.1"])
            #expect(record["tunnel.ech"] == nil)
        }
    }

    @Test(arguments: [SecureSocket.Client.Flight.whole, .bytewise, .recordPerByte])
    func `a client that asks for another name gets an alert`(
        flight: SecureSocket.Client.Flight
    ) async throws {
        try await ProxyFixture.run(Self.list, resolve: ProxyFixture.here) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            #expect(try client.connect(origin.authority("origin.test")).status == 200)
            var tls = SecureSocket.Client("evil.test")
            tls.flight = flight
            let failure = #expect(throws: TLSFailure.self) { try client.secure(tls) }
            #expect("\(try #require(failure))".contains("unrecognized_name"))
            #expect(try origin.accept().stream.untilEnd().bytes == [])
            #expect(try proxy.record()["tunnel.sni"] == "evil.test")
        }
    }

    @Test(arguments: [list, ""])
    func `a server that speaks first waits for nobody`(rules: String) async throws {
        let clock = VirtualClock()
        try await ProxyFixture.run(rules, clock: clock, resolve: ProxyFixture.here) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            #expect(try client.connect(origin.authority("origin.test")).status == 200)
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
            #expect(record["outcome"] == "ok")
            #expect(record["tunnel.sni"] == nil)
        }
    }

    @Test(arguments: [true, false])
    func `who waits before TLS is judged all the same`(serverSpeaks: Bool) async throws {
        let clock = VirtualClock()
        try await ProxyFixture.run(Self.list, clock: clock, resolve: ProxyFixture.here) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            #expect(try client.connect(origin.authority("origin.test")).status == 200)
            let far = try origin.accept()
            if serverSpeaks {
                try far.send("hello")
                #expect(try client.stream.text(5) == "hello")
            }
            try clock.advance(by: .seconds(60))
            try client.send(ScriptedHello(name: "evil.test").bytes)
            #expect(try client.stream.untilEnd().bytes == [21, 3, 3, 0, 2, 2, 112])
            #expect(try far.stream.untilEnd().bytes == [])
            #expect(try proxy.record()["outcome"] == "denied")
        }
    }

    @Test(arguments: ["\u{16}\u{3}\u{1}\u{1}", "GET / HT"])
    func `what is never complete goes nowhere`(beginning: String) async throws {
        let clock = VirtualClock()
        try await ProxyFixture.run(Self.list, clock: clock, resolve: ProxyFixture.here) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            #expect(try client.connect(origin.authority("origin.test")).status == 200)
            let far = try origin.accept()
            try client.send(beginning)
            try clock.advance(by: .milliseconds(14_900))
            #expect(!client.stream.socket.isClosedByPeer)
            try clock.advance(by: .milliseconds(200))
            let alert: [UInt8] = beginning.hasPrefix("G") ? [] : [21, 3, 3, 0, 2, 2, 50]
            #expect(try client.stream.untilEnd().bytes == alert)
            #expect(try far.stream.untilEnd().bytes == [])
            #expect(try proxy.record()["error.type"] == "tunnel_name_denied")
        }
    }

    @Test func `where nothing is refused it waits for timeouts_sniff alone`() async throws {
        let clock = VirtualClock()
        try await ProxyFixture.run("", clock: clock, resolve: ProxyFixture.here) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            #expect(try client.connect(origin.authority("origin.test")).status == 200)
            let far = try origin.accept()
            try client.send([22, 3, 1, 1])
            try clock.advance(by: .milliseconds(190))
            #expect(!far.stream.socket.hasInput)
            try clock.advance(by: .milliseconds(20))
            #expect(try far.stream.bytes(4) == [22, 3, 1, 1])
            try client.send("more")
            #expect(try far.stream.text(4) == "more")
        }
    }

    @Test(arguments: [(list, ""), (list, "\u{16}\u{3}\u{1}"), ("", "ping")])
    func `a client that ends in its first bytes is passed on`(
        rules: String,
        bytes: String
    ) async throws {
        try await ProxyFixture.run(rules, resolve: ProxyFixture.here) { proxy in
            let origin = try PlayedOrigin()
            do {
                let client = try proxy.client()
                #expect(try client.connect(origin.authority("origin.test")).status == 200)
                let far = try origin.accept()
                try client.send(bytes)
                client.shutdownWrite()
                let (passed, end) = try far.stream.untilEnd()
                #expect(passed == Array(bytes.utf8))
                #expect(end == .finished)
                try far.send("pong")
                far.close()
                #expect(try client.stream.text(4) == "pong")
            }
        }
    }

    @Test(arguments: [list, ""])
    func `much behind a hello goes both ways at once`(rules: String) async throws {
        try await ProxyFixture.run(rules, resolve: ProxyFixture.here) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            #expect(try client.connect(origin.authority("origin.test")).status == 200)
            let far = try origin.accept()
            let hello = ScriptedHello(name: "origin.test").bytes
            try client.send(Array(hello.prefix(20)))
            try proxy.settle()
            try client.send(Array(hello.dropFirst(20)))
            #expect(try far.stream.bytes(hello.count) == hello)
            // Behind so much, nothing is looked at any more.
            let piece: [UInt8] = [23, 3, 3, 0x40, 0] + [UInt8](repeating: 7, count: 16384)
            for _ in 0..<17 {
                try client.send(piece)
                #expect(try far.stream.bytes(piece.count) == piece)
            }
            let (near, other) = (client.stream.socket, far.stream.socket)
            let count = 8 << 20
            let sends = [(near, UInt64(1)), (other, UInt64(2))].map { socket, seed in
                TestThread {
                    try socket.send(pattern: seed, count: count)
                    socket.shutdownWrite()
                }
            }
            let upward = TestThread { try other.receive(pattern: 1, count: count) }
            try near.receive(pattern: 2, count: count)
            for thread in sends + [upward] { try thread.join() }
            let record = try proxy.record()
            #expect(record["tunnel.sent"] == "\(count + hello.count + 17 * piece.count)")
            #expect(record["outcome"] == "ok")
        }
    }

    @Test func `behind a parent proxy a name is judged before it`() async throws {
        let parent = try PlayedOrigin()
        let rules = Self.list + "\nupstream: {proxy: \"http://\(parent.authority)\", no_proxy: []}"
        try await ProxyFixture.run(rules) { proxy in
            let client = try proxy.client()
            try client.send("CONNECT", "origin.test:443")
            let far = try parent.accept()
            _ = try far.requestHead()
            try far.send(head("HTTP/1.1 200 OK"))
            #expect(try client.response(to: "CONNECT").status == 200)
            try client.send(ScriptedHello(name: "evil.test").bytes)
            #expect(try client.stream.untilEnd().bytes == [21, 3, 3, 0, 2, 2, 112])
            #expect(try far.stream.untilEnd().bytes == [])
        }
    }

    @Test func `who may go around interception is judged by the name`() async throws {
        let rules = """
            rules:
              - {match: {host: origin.test}, request: [{set: {A: b}}]}
              - {match: {not: {host: origin.test}}, respond: {status: 403}}
            """
        try await ProxyFixture.run(rules, resolve: ProxyFixture.here) { proxy in
            let origin = try PlayedOrigin()
            for name in ["origin.test", "evil.test"] {
                let client = try proxy.client()
                #expect(try client.connect(origin.authority("origin.test")).status == 200)
                var tls = SecureSocket.Client(name)
                // Nothing that lupin speaks, so it doesn't end this TLS.
                tls.protocols = ["imap"]
                let hello = try SecureSocket.clientHello(tls)
                try client.send(hello)
                let far = try origin.accept()
                if name == "origin.test" {
                    #expect(try far.stream.bytes(hello.count) == hello)
                } else {
                    #expect(try client.stream.untilEnd().bytes == [21, 3, 3, 0, 2, 2, 112])
                    #expect(try far.stream.untilEnd().bytes == [])
                }
            }
        }
    }
}
