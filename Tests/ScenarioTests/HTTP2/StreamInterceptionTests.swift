// A CONNECT on a stream that a rule needs in clear: TLS inside the stream, and requests inside it.
import LupinIO
import LupinTestKit
import Testing

struct StreamInterceptionTests {
    private static let rules = """
        rules:
          - {name: inside, match: {host: origin.test}, request: [{set: {X-Added: "yes"}}]}
        """

    /// A client whose TLS runs on a CONNECT stream to `authority`.
    private static func client(
        _ proxy: ProxyFixture,
        _ authority: String,
        _ protocols: [String]
    ) throws -> StreamClient {
        let outer = try proxy.http2Client()
        let stream = try outer.open(.connect(authority))
        let response = try outer.frames.head(on: stream)
        guard response[":status"] == "200" else { throw SocketFailure("\(response.lines)") }
        var tls = SecureSocket.Client("origin.test")
        tls.protocols = protocols
        return try StreamClient(on: stream, of: outer, tls)
    }

    private static func answering(_ proxy: ProxyFixture) throws -> ScriptedOrigin {
        try proxy.secureOrigin(name: "origin.test") { connection in
            while let request = try connection.nextRequest() {
                let added = request["X-Added"] ?? "nothing"
                try connection.reply(body: "\(request.target) \(added)")
            }
        }
    }

    @Test func `HTTP 1 inside is served`() async throws {
        try await ProxyFixture.run(Self.rules, resolve: ProxyFixture.here) { proxy in
            let origin = try Self.answering(proxy)
            let authority = origin.authority("origin.test")
            let inside = try Self.client(proxy, authority, ["http/1.1"])
            #expect(inside.secured.facts.chosenProtocol == "http/1.1")
            let client = MessageStream(inside.secured.plain)
            for path in ["/a", "/b"] {
                try client.socket.send(head("GET \(path) HTTP/1.1", "Host: \(authority)"))
                #expect(try client.response().bodyText == "\(path) yes")
            }
            let records = try proxy.records(2)
            #expect(records.map { $0["mode"] } == ["intercept", "intercept"])
            #expect(records.map { $0["network.protocol.version"] } == ["1.1", "1.1"])
            client.socket.shutdownWrite()
            #expect(try client.untilEnd().end == .finished)
            try inside.finish()
        }
    }

    @Test func `HTTP 2 inside HTTP 2 is served`() async throws {
        try await ProxyFixture.run(Self.rules, resolve: ProxyFixture.here) { proxy in
            let origin = try Self.answering(proxy)
            let authority = origin.authority("origin.test")
            let inside = try Self.client(proxy, authority, ["h2", "http/1.1"])
            #expect(inside.secured.facts.chosenProtocol == "h2")
            let client = try HTTP2Client(over: inside.secured.plain)
            let head = HTTP2Fields.request(scheme: "https", authority: authority)
            let streams = try ["/a", "/b"].map { try client.send(head.with(":path", $0)) }
            #expect(try client.response(on: streams[1]).bodyText == "/b yes")
            #expect(try client.response(on: streams[0]).bodyText == "/a yes")
            let other = head.with(":authority", "other.test")
            #expect(try client.request(other).status == 421)
            let records = try proxy.records(3)
            #expect(records.allSatisfy { $0["network.protocol.version"] == "2" })
            #expect(records.allSatisfy { $0["mode"] == "intercept" })
            // A FIN of ours behind it could meet a closed connection, which answers with RST.
            try client.frames.send(.goAway())
            #expect(try client.frames.waitForEnd() == .finished)
            try inside.finish()
        }
    }

    @Test func `a reset of the stream ends what is inside`() async throws {
        try await ProxyFixture.run(Self.rules, resolve: ProxyFixture.here) { proxy in
            let origin = try PlayedOrigin()
            let authority = origin.authority("origin.test")
            let inside = try Self.client(proxy, authority, ["http/1.1"])
            let client = MessageStream(inside.secured.plain)
            try client.socket.send(head("GET / HTTP/1.1", "Host: \(authority)"))
            let server = try proxy.authority.server("origin.test", ["http/1.1"])
            let far = try origin.acceptSecurely(server)
            try far.request()
            try inside.outer.frames.send(.resetStream(inside.stream))
            _ = try far.waitForEnd()
            #expect(try proxy.record()["outcome"] == "aborted")
            inside.outer.frames.shutdownWrite()
            try inside.finish()
        }
    }
}

/// TLS of a client over a stream: a thread each way moves its bytes.
private final class StreamClient: Sendable {
    let outer: HTTP2Client
    let stream: UInt32
    let secured: SecureSocket
    private let wire: PlainSocket
    private let threads: [TestThread]

    init(on stream: UInt32, of outer: HTTP2Client, _ tls: SecureSocket.Client) throws {
        self.outer = outer
        self.stream = stream
        let listener = try PlainListener()
        let near = try PlainSocket.connect(to: listener.address)
        let wire = try listener.accept()
        self.wire = wire
        threads = [
            TestThread {
                while let bytes = try? wire.receiveSome() {
                    outer.frames.sendAnyway(.data(stream, bytes))
                }
                outer.frames.sendAnyway(.data(stream, end: true))
            },
            TestThread {
                while case .data(_, let bytes, let ends)? = try? outer.frames.part(of: stream) {
                    if !bytes.isEmpty { try? wire.send(bytes) }
                    if ends { break }
                }
                wire.shutdownWrite()
            },
        ]
        secured = try SecureSocket(over: near, as: tls)
    }

    /// Waits until both directions have ended: what a thread still used would be closed below it.
    func finish() throws {
        secured.plain.close()
        for thread in threads { try thread.join() }
        wire.close()
    }
}
