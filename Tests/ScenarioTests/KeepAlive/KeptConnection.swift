// A client and an origin with a connection that is kept.
import LupinTestKit
import Testing

/// A GET on a connection that has served one before, and what the origin says to it.
struct KeptConnection {
    /// So many exchanges go before each story.
    static let served = 1
    static let date = "Sun, 22 Nov 2026 09:30:00 GMT"
    static let good = response(200, "Date: \(date)", body: "good")

    let origin: PlayedOrigin
    let client: ScriptedClient
    /// The origin's end of the connection that lupin keeps.
    let connection: OriginConnection
    /// The request as the client sends it.
    let request: String
    private let usual: String

    /// Has the connection made, by default by a client of its own.
    init(
        _ proxy: ProxyFixture,
        _ response: String = good,
        by client: ScriptedClient? = nil
    ) throws {
        origin = try PlayedOrigin()
        usual = response
        let client = try client ?? proxy.client()
        self.client = client
        request = Self.request(origin.url("/same"))
        try client.send(request)
        connection = try origin.accept()
        try connection.request()
        try connection.send(response)
        try client.response()
    }

    /// A GET of `url` with `fields`.
    static func request(_ url: String, _ fields: [String] = []) -> String {
        let host = url.split(separator: "/", maxSplits: 2).dropFirst().first ?? ""
        return head(["GET \(url) HTTP/1.1", "Host: \(host)"] + fields)
    }

    /// A response with Content-Length.
    static func response(
        _ status: Int = 200,
        _ fields: String...,
        body: String = ""
    ) -> String {
        head(["HTTP/1.1 \(status) X", "Content-Length: \(body.utf8.count)"] + fields) + body
    }

    private static func head(_ lines: [String]) -> String {
        lines.map { $0 + "\r\n" }.joined() + "\r\n"
    }

    /// Asks once more; the origin answers as ever, or with `other`, and the client gets the body.
    @discardableResult
    func repeatOnce(_ other: String? = nil, by client: ScriptedClient? = nil) throws
        -> ScriptedMessage
    {
        try ask(by: client)
        let said = other ?? usual
        try connection.send(said)
        let seen = try (client ?? self.client).response()
        if !said.contains("chunked") { #expect(said.hasSuffix("\r\n\r\n\(seen.bodyText)")) }
        return seen
    }

    /// Has the request come to the origin once more.
    @discardableResult
    func ask(by client: ScriptedClient? = nil) throws -> ScriptedMessage {
        try (client ?? self.client).send(request)
        return try connection.request()
    }

    /// Asks as `client` where the origin closed the connection, and answers on a new one.
    func askAnew(_ body: String, by client: ScriptedClient? = nil) throws -> ScriptedMessage {
        try (client ?? self.client).send(request)
        let fresh = try origin.accept()
        try fresh.request()
        try fresh.reply(body: body)
        return try (client ?? self.client).response()
    }
}

extension ScriptedMessage {
    /// All that a reader of the message sees.
    var whole: String {
        ([startLine] + fields.map { "\($0.name): \($0.value)" }).joined(separator: "\n")
            + "\n\n\(bodyText)"
    }
}
