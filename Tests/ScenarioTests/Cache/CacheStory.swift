// What stories of the cache have in common: responses that may be stored, and who waits for them.
import LupinTestKit
import Testing

extension FlakyOrigin.Deed {
    /// A response with these fields.
    static func answer(_ status: Int = 200, _ fields: [String], _ body: String = "") -> Self {
        let lines = fields.map { $0 + "\r\n" }.joined()
        return .say(
            "HTTP/1.1 \(status) X\r\nContent-Length: \(body.utf8.count)\r\n\(lines)\r\n\(body)"
        )
    }

    /// A response that stays fresh for ten minutes.
    static func fresh(_ body: String, _ fields: [String] = []) -> Self {
        answer(200, ["Cache-Control: max-age=600"] + fields, body)
    }

    /// A response that has been stale for 400 s: the wall clock does not follow a test's.
    static func stale(_ body: String, _ more: String = "", _ fields: [String] = []) -> Self {
        answer(
            200,
            ["Cache-Control: max-age=600\(more)", "Age: 1000", "ETag: \"v1\""] + fields,
            body
        )
    }
}

extension ScriptedMessage {
    /// What lupin says of the cache.
    var caching: String { self["Cache-Status"] ?? "nothing" }
    /// Whether it came out of the store.
    var isHit: Bool { caching.hasPrefix("lupin; hit") }
}

/// A request that is at its origin, and clients that have asked for the same meanwhile.
struct Crowd {
    let origin: PlayedOrigin
    let connection: OriginConnection
    let leader: ScriptedClient
    let followers: [ScriptedClient]

    init(_ proxy: ProxyFixture, _ count: Int, leading: [String] = [], _ fields: [String] = [])
        throws
    {
        origin = try PlayedOrigin()
        leader = try proxy.client()
        try leader.send("GET", origin.url(), leading)
        connection = try origin.accept()
        try connection.request()
        var followers: [ScriptedClient] = []
        for _ in 0..<count {
            let client = try proxy.client()
            try client.send("GET", origin.url(), fields)
            followers.append(client)
        }
        self.followers = followers
        try proxy.settleWell()
    }

    var all: [ScriptedClient] { [leader] + followers }

    /// The head of a response and the first part of its body, of ten bytes.
    func begin(_ fields: String = "Cache-Control: max-age=600\r\n") throws {
        try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\(fields)\r\nhello")
    }
}

extension ProxyFixture {
    /// Lets everybody have several turns.
    func settleWell() throws { for _ in 0..<6 { try settle() } }
}
