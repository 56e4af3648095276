// A client of HTTP/2 and an origin that say the same again and again.
import LupinTestKit
import Testing

/// One GET on stream after stream, and what the origin says to it.
///
/// `warmUps` of them go before each story.
struct EqualStreams {
    static let warmUps = 4
    static let date = EqualRequests.date
    static let good = EqualRequests.good

    let origin: PlayedOrigin
    let client: HTTP2Client
    /// The origin's end of the connection that lupin keeps.
    let connection: OriginConnection
    let head: HTTP2Fields
    private let usual: String

    /// Warms up, by default with a client of its own.
    init(
        _ proxy: ProxyFixture,
        _ response: String = good,
        path: String = "/same",
        authority: String? = nil,
        by client: HTTP2Client? = nil
    ) throws {
        let origin = try PlayedOrigin()
        self.origin = origin
        usual = response
        let client = try client ?? proxy.http2Client()
        self.client = client
        let authority = authority.map { origin.authority($0) } ?? origin.authority
        // Nothing stands between the path and the authority.
        head = [
            ":method": "GET", ":scheme": "http", ":path": path, ":authority": authority,
            "accept": "*/*",
        ]
        let first = try client.send(head)
        connection = try origin.accept()
        try connection.request()
        try connection.send(response)
        _ = try client.response(on: first)
        for _ in 1..<Self.warmUps { try repeatOnce() }
    }

    static func response(_ status: Int, _ fields: String..., body: String = "") -> String {
        let lines = ["HTTP/1.1 \(status) X", "Content-Length: \(body.utf8.count)"] + fields
        return lines.map { $0 + "\r\n" }.joined() + "\r\n" + body
    }

    /// Asks once more; the origin answers as ever, or with `other`.
    @discardableResult
    func repeatOnce(_ other: String? = nil, by client: HTTP2Client? = nil) throws -> HTTP2Message {
        let stream = try ask(by: client)
        try connection.send(other ?? usual)
        return try (client ?? self.client).response(on: stream)
    }

    /// Has the request come to the origin once more.
    func ask(by client: HTTP2Client? = nil) throws -> UInt32 {
        let stream = try (client ?? self.client).send(head)
        try connection.request()
        return stream
    }

    /// Asks where the origin closed the connection, and answers on a new one.
    func askAnew(_ body: String) throws -> HTTP2Message {
        let stream = try client.send(head)
        let fresh = try origin.accept()
        try fresh.request()
        try fresh.reply(body: body)
        return try client.response(on: stream)
    }
}
