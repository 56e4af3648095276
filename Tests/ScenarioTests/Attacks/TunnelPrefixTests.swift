// Bytes in a tunnel to an allowed host that a lenient server may understand, though no rule sees
// which host they name.
import LupinIO
import LupinTestKit
import Testing

struct TunnelPrefixTests {
    private static let list = """
        rules:
          - {name: list, match: {not: {host: origin.test}}, respond: {status: 403}}
        """
    private static let blocked = """
        rules:
          - {name: blocked, match: {host: evil.test}, respond: {status: 403}}
        """

    /// What a client sends.
    struct Row: Sendable, CustomStringConvertible {
        let description: String
        let bytes: [UInt8]
        /// Whether the client ends behind it.
        var ends = false

        init(_ what: String, _ bytes: [UInt8], ends: Bool = false) {
            description = what
            self.bytes = bytes
            self.ends = ends
        }

        init(_ what: String, _ text: String, _ rest: [UInt8] = evil, ends: Bool = false) {
            self.init(what, Array(text.utf8) + rest, ends: ends)
        }
    }

    private static let evil = Array(head("GET / HTTP/1.1", "Host: evil.test").utf8)
    private static let hello = ScriptedHello(name: "evil.test").bytes
    private static let signature: [UInt8] = Array("\r\n\r\n\0\r\nQUIT\n".utf8)
    private static let long = String(repeating: "a", count: 1000)

    /// What lenient servers take for HTTP: refused under every list.
    private static let requests = [
        Row("a blank", " "), Row("a tab", "\t"), Row("blanks and empty lines", "  \r\n \n\t"),
        Row("a vertical tab", "\u{B}"), Row("a form feed", "\u{C}"), Row("a CR", "\r"),
        Row("HTTP/0.9", "GET /\r\n", []), Row("HTTP/0.9 with LF", "get /\n", []),
        Row("HTTP/0.9 with a URL", "GET http://evil.test/\r\n", []),
        Row("HTTP/0.9 behind a blank", " GET /\r\n", []),
        Row("HTTP/0.9 before a request", "GET /\r\n"),
        Row("PROXY TCP4", "PROXY TCP4 192.0.2.1 192.0.2.2 1 80\r\n"),
        Row("PROXY TCP6", "PROXY TCP6 2001:db8::1 2001:db8::2 1 80\r\n"),
        Row("PROXY UNKNOWN", "PROXY UNKNOWN\r\n"), Row("PROXY in lower case", "proxy unknown\r\n"),
        Row("PROXY before TLS", "PROXY TCP4 192.0.2.1 192.0.2.2 1 443\r\n", hello),
        Row("PROXY 2 LOCAL", signature + [0x20, 0, 0, 0] + evil),
        Row("PROXY 2", signature + [0x21, 0x11, 0, 12] + [UInt8](repeating: 9, count: 12) + evil),
        Row("PROXY 2 before TLS", signature + [0x20, 0, 0, 0] + hello),
        Row("a method in lower case", "get / http/1.1\r\nHost: evil.test\r\n\r\n", []),
        Row("a tab in the line", "GET\t/\tHTTP/1.1\r\nHost: evil.test\r\n\r\n", []),
        Row("a folded Host", "GET / HTTP/1.1\r\nHost:\r\n evil.test\r\n\r\n", []),
        Row("two Hosts", "GET / HTTP/1.1\r\nHost: origin.test\r\nHost: evil.test\r\n\r\n", []),
        Row("a URL", "GET http://evil.test/ HTTP/1.1\r\nHost: origin.test\r\n\r\n", []),
        Row(
            "a Host behind much",
            "GET / HTTP/1.1\r\n"
                + (0..<70).map { "A\($0): \(long)\r\n" }
                .joined() + "Host: evil.test\r\n\r\n",
            []
        ),
        Row("the preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", []),
        Row("a line of 10,000 bytes", "GET /" + String(repeating: "a", count: 10_000)),
    ]

    /// What isn't TLS and begins like nothing that was judged: refused under an allow list.
    private static let others = [
        Row("zero", "\0"), Row("a byte order mark", "\u{FEFF}"), Row("0x80", [0x80] + evil),
        Row("a colon", ":"), Row("a quote", "\""), Row("a control character", "\u{1}"),
        Row("a response", "HTTP/1.1 200 OK\r\n\r\n"), Row("a chunk", "0\r\n\r\n"),
        Row("zero before TLS", "\0", hello), Row("a letter before TLS", "x", hello),
        Row("an empty line before TLS", "\r\n", hello), Row("STARTTLS", "STARTTLS\r\n", hello),
        Row("EHLO and STARTTLS", "EHLO a\r\nSTARTTLS\r\n", hello),
        Row("SSL 2", [0x80, 0x2E, 1, 3, 1, 0, 21, 0, 0, 0, 16] + hello),
        Row("SOCKS 5", [5, 1, 0, 5, 1, 0, 3, 9] + Array("evil.test".utf8) + [0, 80]),
        Row("SOCKS 4", [4, 1, 0, 80, 0, 0, 0, 1, 0] + Array("evil.test".utf8) + [0]),
        Row("FastCGI", [1, 1, 0, 1, 0, 8, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0]),
        Row("AJP", [0x12, 0x34, 0, 9, 2, 2] + Array("evil.test".utf8)),
        Row("uwsgi", [0, 20, 0, 0, 9, 0] + Array("HTTP_HOST".utf8) + [9, 0]),
        Row("memcached", "get evil\r\n", []), Row("SSH to a silent server", "SSH-2.0-x\r\n", []),
        Row("a part of a line", "GET / HT", [], ends: true),
        Row("a part of TLS behind zero", "\0", Array(hello.prefix(40)), ends: true),
    ]

    @Test(arguments: [(list, requests + others), (blocked, requests)])
    func `no byte reaches the server of another host`(rules: String, rows: [Row]) async throws {
        let clock = VirtualClock()
        let runs = rows.flatMap { row in
            (row.bytes.count < 100 ? [false, true] : [false]).map { (row, $0) }
        }
        try await ProxyFixture.run(rules, clock: clock, resolve: ProxyFixture.here) { proxy in
            for (row, isBytewise) in runs {
                let origin = try PlayedOrigin()
                let client = try proxy.client()
                #expect(try client.connect(origin.authority("origin.test")).status == 200)
                let far = try origin.accept()
                for piece in isBytewise ? row.bytes.map({ [$0] }) : [row.bytes] {
                    // Whoever is refused may be gone before all was sent.
                    try? client.send(piece)
                    if isBytewise { try proxy.settle() }
                }
                if row.ends { client.shutdownWrite() }
                try proxy.settle()
                try clock.advance(by: .seconds(20))
                #expect(try far.stream.untilEnd().bytes == [], "\(row)")
                client.close()
                #expect(!origin.hasWaiting, "\(row)")
            }
        }
    }

    @Test func `nor by a stream of HTTP 2`() async throws {
        let clock = VirtualClock()
        try await ProxyFixture.run(Self.list, clock: clock, resolve: ProxyFixture.here) { proxy in
            for row in Self.requests + Self.others {
                let origin = try PlayedOrigin()
                let client = try proxy.http2Client()
                let stream = try client.open(.connect(origin.authority("origin.test")))
                let far = try origin.accept()
                #expect(try client.frames.head(on: stream)[":status"] == "200")
                for start in stride(from: 0, to: row.bytes.count, by: 16_000) {
                    let piece = Array(row.bytes[start...].prefix(16_000))
                    let isLast = start + piece.count == row.bytes.count
                    try? client.frames.send(.data(stream, piece, end: row.ends && isLast))
                }
                try proxy.settle()
                try clock.advance(by: .seconds(20))
                #expect(try far.stream.untilEnd().bytes == [], "\(row)")
                #expect(!origin.hasWaiting, "\(row)")
                client.close()
            }
        }
    }

    @Test func `the record of a refusal says what to write`() async throws {
        let clock = VirtualClock()
        try await ProxyFixture.run(Self.list, clock: clock, resolve: ProxyFixture.here) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            #expect(try client.connect(origin.authority("origin.test")).status == 200)
            try client.send("\0")
            try proxy.settle()
            try clock.advance(by: .seconds(20))
            #expect(try client.stream.untilEnd().bytes == [])
            let record = try proxy.record()
            #expect(record["outcome"] == "denied")
            #expect(record["error.type"] == "tunnel_name_denied")
            let detail = try #require(record["error.detail"])
            #expect(detail.contains("list port \(origin.address.port) in access.opaque_ports"))
        }
    }

    // MARK: What goes on working

    /// The server's first words, and what its client says, at once or as an answer.
    @Test(
        arguments: [
            ("SSH-2.0-server\r\n", "SSH-2.0-client\r\n"), ("220 smtp\r\n", "EHLO here\r\n"),
            ("* OK imap\r\n", "a1 STARTTLS\r\n"), ("\u{4A}\0\0\0\u{A}8.4", "\u{20}\0\0\u{1}"),
        ],
        [false, true]
    )
    func `a protocol whose server speaks first passes`(
        words: (server: String, client: String),
        clientIsFirst: Bool
    ) async throws {
        let clock = VirtualClock()
        try await ProxyFixture.run(Self.list, clock: clock, resolve: ProxyFixture.here) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            #expect(try client.connect(origin.authority("origin.test")).status == 200)
            let far = try origin.accept()
            if clientIsFirst {
                try client.send(words.client)
                try proxy.settle()
                #expect(!far.stream.socket.hasInput)
            }
            try far.send(words.server)
            #expect(try client.stream.text(words.server.utf8.count) == words.server)
            if !clientIsFirst { try client.send(words.client) }
            #expect(try far.stream.text(words.client.utf8.count) == words.client)
            try client.send("more")
            client.shutdownWrite()
            #expect(try far.stream.text(4) == "more")
            #expect(try far.waitForEnd() == .finished)
        }
    }

    @Test func `a client that has ended waits for the server's word, too`() async throws {
        let clock = VirtualClock()
        try await ProxyFixture.run(Self.list, clock: clock, resolve: ProxyFixture.here) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            #expect(try client.connect(origin.authority("origin.test")).status == 200)
            let far = try origin.accept()
            try client.send("QUIT\r\n")
            client.shutdownWrite()
            try proxy.settle()
            try far.send("220 smtp\r\n")
            #expect(try client.stream.line() == "220 smtp")
            #expect(try far.stream.untilEnd().bytes == Array("QUIT\r\n".utf8))
        }
    }

    /// No name is refused there but those that are listed, and none can be read in these bytes.
    @Test(arguments: [
        blocked, "", "access: {opaque_ports: any}\n" + list,
        "access: {opaque_ports: [1-65535]}\n" + list,
    ])
    func `a client that speaks first passes where no list forbids it`(
        rules: String
    ) async throws {
        let clock = VirtualClock()
        try await ProxyFixture.run(rules, clock: clock, resolve: ProxyFixture.here) { proxy in
            for words in ["*1\r\n$4\r\nPING\r\n", "\0\0\0\u{8}\u{4}\u{D2}\u{16}\u{2F}"] {
                let origin = try PlayedOrigin()
                let client = try proxy.client()
                #expect(try client.connect(origin.authority("origin.test")).status == 200)
                let far = try origin.accept()
                try client.send(words)
                #expect(try far.stream.text(words.utf8.count) == words)
            }
        }
    }

    @Test func `another port stays judged`() async throws {
        let clock = VirtualClock()
        let rules = "access: {opaque_ports: [1]}\n" + Self.list
        try await ProxyFixture.run(rules, clock: clock, resolve: ProxyFixture.here) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            #expect(try client.connect(origin.authority("origin.test")).status == 200)
            let far = try origin.accept()
            try client.send("PING\r\n")
            try proxy.settle()
            try clock.advance(by: .seconds(20))
            #expect(try far.stream.untilEnd().bytes == [])
        }
    }
}
