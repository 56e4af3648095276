// What stories of HTTP/2 towards an origin have in common: who plays it, and how it is asked.
import LupinTestKit
import Testing

/// A proxy and `origin.test`, played by the test's own thread inside TLS.
///
/// Clients name https URLs without CONNECT, so lupin makes the TLS and ALPN says what is spoken.
struct UpstreamStory: Sendable {
    let proxy: ProxyFixture
    let origin: PlayedOrigin

    static func run(
        _ rules: String = "",
        clock: VirtualClock? = nil,
        _ body: @Sendable @escaping (UpstreamStory) throws -> Void
    ) async throws {
        try await ProxyFixture.run(rules, clock: clock, resolve: ProxyFixture.here) { proxy in
            try body(UpstreamStory(proxy: proxy, origin: try PlayedOrigin()))
        }
    }

    /// `origin.test` with its port.
    var authority: String { origin.authority("origin.test") }
    /// `https://origin.test:port/path`.
    func url(_ path: String = "/") -> String { "https://\(authority)\(path)" }

    // MARK: The client

    /// A client of HTTP/1.1.
    func client() throws -> ScriptedClient { try proxy.client() }

    /// A client of HTTP/2.
    func streams(_ settings: [HTTP2Frame.Setting] = []) throws -> HTTP2Client {
        try HTTP2Client(inside: try proxy.client(), settings: settings)
    }

    /// The head of a request to the origin, as HTTP/2 has it.
    func head(_ method: String = "GET", _ path: String = "/") -> HTTP2Fields {
        .request(method, scheme: "https", authority: authority, path: path)
    }

    // MARK: The origin

    /// The next connection, on which ALPN must choose h2.
    func accept(
        settings: [HTTP2Frame.Setting] = [],
        manners: FrameStream.Manners = FrameStream.Manners()
    ) throws -> HTTP2OriginConnection {
        let server = try proxy.authority.server("origin.test", ["h2", "http/1.1"])
        let secured = try SecureSocket(over: try origin.listener.accept(), as: server)
        guard secured.facts.chosenProtocol == "h2" else {
            throw SocketFailure("ALPN chose \(secured.facts.chosenProtocol ?? "nothing")")
        }
        return try HTTP2OriginConnection(
            secured.plain,
            settings: settings,
            manners: manners,
            security: secured
        )
    }

    /// The next connection, on which HTTP/1.1 must be chosen by an origin that `knows` these.
    func acceptHTTP1(knows protocols: [String] = ["h2", "http/1.1"]) throws -> OriginConnection {
        let server = try proxy.authority.server("origin.test", protocols)
        let connection = try origin.acceptSecurely(server)
        let chosen = connection.security?.facts.chosenProtocol
        guard chosen == "http/1.1" else {
            throw SocketFailure("ALPN chose \(chosen ?? "nothing")")
        }
        return connection
    }

    /// A connection that has served a GET of `client`.
    func served(by client: ScriptedClient) throws -> HTTP2OriginConnection {
        try client.send("GET", url("/first"))
        let connection = try accept()
        try connection.reply(to: try connection.request().stream, body: "first")
        #expect(try client.response().bodyText == "first")
        return connection
    }

    /// A connection and the first request on it, whose head has come.
    func asked(
        _ method: String = "GET",
        by client: ScriptedClient,
        settings: [HTTP2Frame.Setting] = []
    ) throws -> (connection: HTTP2OriginConnection, request: HTTP2Message) {
        try client.send(method, url())
        let connection = try accept(settings: settings)
        return (connection, try connection.request())
    }
}

extension HTTP2OriginConnection {
    /// That lupin lives on and has sent no request that nobody took.
    func expectNoRequest() throws {
        try frames.expectAlive()
        let requests = frames.unasked.filter { event in
            if case .fields = event { true } else { false }
        }
        #expect(requests.isEmpty)
    }

    /// Resets a stream.
    func reset(_ stream: UInt32, _ code: HTTP2Frame.Code) throws {
        try frames.send(.resetStream(stream, code))
    }
}
