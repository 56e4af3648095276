// A client and an origin that say the same again and again.
import LupinTestKit
import Testing

/// One GET, again and again, and what the origin says to it.
///
/// `warmUps` of them go before each story.
struct EqualRequests {
    static let warmUps = 4
    static let date = "Sun, 22 Nov 2026 09:30:00 GMT"
    static let good = response(200, "Date: \(date)", body: "good")

    let origin: PlayedOrigin
    let client: ScriptedClient
    /// The origin's end of the connection that lupin keeps.
    let connection: OriginConnection
    /// The request as the client sends it.
    let request: String
    private let usual: String

    /// Warms up, by default with a client of its own.
    init(
        _ proxy: ProxyFixture,
        _ response: String = good,
        _ fields: [String] = [],
        by client: ScriptedClient? = nil
    ) throws {
        origin = try PlayedOrigin()
        usual = response
        let client = try client ?? proxy.client()
        self.client = client
        request = Self.request(origin.url("/same"), fields)
        try client.send(request)
        connection = try origin.accept()
        try connection.request()
        try connection.send(response)
        try client.response()
        for _ in 1..<Self.warmUps { try repeatOnce() }
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

extension RecordLine {
    /// The line without what differs in any two exchanges.
    var likeOthers: String {
        text.replacing(/"(id|ts|port|wait|total|blocked)":("[^"]*"|[0-9.]+),?/, with: "")
    }
}

extension ProxyFixture {
    /// The lines of exchanges, when there are that many; between them may be others.
    func exchanges(_ count: Int) throws -> [RecordLine] {
        var lines: [RecordLine] = []
        try eventually("\(count) exchanges") {
            lines = recordsSoFar().filter { $0["event"] == "exchange" }
            return lines.count >= count
        }
        return lines
    }
}
