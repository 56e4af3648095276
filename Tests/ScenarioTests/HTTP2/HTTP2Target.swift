// Where a case of HTTP/2 conformance is played: lupin in the clear, or inside an interception.
import LupinTestKit
import Testing

/// A server that speaks HTTP/2, with an origin behind it if it is lupin.
struct HTTP2Target: Sendable {
    /// Makes a connection on which HTTP/2 can begin.
    let dial: @Sendable () throws -> ScriptedClient
    /// What requests name, so that they reach somebody who answers 200 with a few octets.
    let scheme: String
    let authority: String
    /// Who answers behind lupin; nil for a foreign server.
    var origin: ScriptedOrigin?

    /// A connection that has begun properly.
    func client(
        _ settings: [HTTP2Frame.Setting] = [],
        manners: FrameStream.Manners = FrameStream.Manners()
    ) throws -> HTTP2Client {
        try HTTP2Client(inside: try dial(), settings: settings, manners: manners)
    }

    /// A connection on which nothing was sent.
    func frames() throws -> FrameStream {
        let client = try dial()
        return FrameStream(client.stream.socket, to: .server, owner: client)
    }

    /// The head of a request that is answered.
    func head(_ method: String = "GET", _ path: String? = "/") -> HTTP2Fields {
        .request(method, scheme: scheme, authority: authority, path: path)
    }

    var get: HTTP2Fields { head() }
    /// A request whose answer has thousands of octets.
    var long: HTTP2Fields { head("GET", "/long") }
    var post: HTTP2Fields { head("POST") }

    /// HEADERS of a whole GET.
    func get(_ stream: UInt32) -> HTTP2Frame { .headers(stream, get, end: true) }
    /// HEADERS of a POST whose body is to come.
    func post(_ stream: UInt32) -> HTTP2Frame { .headers(stream, post) }
}

/// The ways into lupin that HTTP/2 may take.
enum HTTP2Route: Sendable, CaseIterable {
    /// By prior knowledge, with the origin in clear and of HTTP/1.1.
    case clear
    /// By ALPN inside an intercepted CONNECT, with an origin of HTTP/1.1 inside TLS.
    case intercepted

    /// Plays a table with one proxy; each case has connections and an origin of its own.
    func play(
        _ table: [HTTP2Case],
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        try await run { target in
            for sample in table {
                do {
                    try sample.play(on: try target())
                } catch {
                    let comment = Comment(rawValue: "\(sample.name): \(error)")
                    Issue.record(comment, sourceLocation: sourceLocation)
                }
            }
        }
    }

    /// Runs a story with a proxy and as many targets behind it as it asks for.
    func run(
        _ body: @Sendable @escaping (_ target: () throws -> HTTP2Target) throws -> Void
    ) async throws {
        let rules = self == .intercepted ? Inside.rule : ""
        try await ProxyFixture.run(rules, resolve: ProxyFixture.here) { proxy in
            try body { self == .intercepted ? try inside(proxy) : try clear(proxy) }
        }
    }

    private func clear(_ proxy: ProxyFixture) throws -> HTTP2Target {
        let origin = try proxy.origin(Self.answer)
        return HTTP2Target(
            dial: { try proxy.client() },
            scheme: "http",
            authority: origin.authority,
            origin: origin
        )
    }

    private func inside(_ proxy: ProxyFixture) throws -> HTTP2Target {
        let server = try proxy.authority.server("origin.test", ["http/1.1"])
        let origin = try proxy.origin(security: server, Self.answer)
        let authority = origin.authority("origin.test")
        var tls = SecureSocket.Client("origin.test")
        tls.protocols = ["h2", "http/1.1"]
        return HTTP2Target(
            dial: { [tls] in try proxy.client().connectSecurely(authority, tls) },
            scheme: "https",
            authority: authority,
            origin: origin
        )
    }

    /// Answers every request; one that breaks off is nobody's failure here.
    private static let answer: ScriptedOrigin.Script = { connection in
        while let request = try? connection.nextRequest() {
            let repeats = request.target == "/long" ? 1000 : 1
            let body = String(repeating: "a body of some octets", count: repeats)
            let head = "HTTP/1.1 200 OK\r\nContent-Length: \(body.utf8.count)\r\n\r\n"
            try? connection.send(request.method == "HEAD" ? head : head + body)
        }
    }
}
