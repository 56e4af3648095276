// What stories inside an intercepted CONNECT have in common: a client in there and its origin.
import LupinIO
import LupinTestKit

/// A client inside a CONNECT to `origin.test`, which a rule has intercepted, and a played origin.
struct Inside: Sendable {
    let proxy: ProxyFixture
    let origin: PlayedOrigin
    let client: ScriptedClient

    /// A rule that needs `origin.test` in clear, does next to nothing, and that a client can go
    /// without.
    static let rule = """
        rules:
          - {name: inside, match: {host: origin.test}, request: [{set: {X-Inside: "1"}}]}
        """

    /// Runs a story with the client's TLS made already.
    static func run(
        _ rules: String = rule,
        clock: VirtualClock? = nil,
        _ body: @Sendable @escaping (Inside) throws -> Void
    ) async throws {
        try await ProxyFixture.run(rules, clock: clock, resolve: ProxyFixture.here) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client().connectSecurely(origin.authority("origin.test"))
            try body(Inside(proxy: proxy, origin: origin, client: client))
        }
    }

    /// `origin.test` with its port.
    var authority: String { origin.authority("origin.test") }

    /// The origin's end of the next connection, inside TLS.
    func accept() throws -> OriginConnection {
        try origin.acceptSecurely(try proxy.authority.server("origin.test", ["http/1.1"]))
    }

    /// Sends a request in origin-form.
    func send(
        _ method: String = "GET",
        _ path: String = "/",
        _ fields: String...,
        body: String = ""
    ) throws {
        let lines = fields.map { $0 + "\r\n" }.joined()
        try client.send("\(method) \(path) HTTP/1.1\r\nHost: \(authority)\r\n\(lines)\r\n\(body)")
    }
}
