// A login to a connection takes three messages: what lupin sends by itself meanwhile has no part in
// it (RFC 4559 section 6).
import LupinTestKit
import Testing

/// What makes lupin send a request that no client sends at that moment.
private enum Deed: String, CaseIterable, CustomTestStringConvertible {
    case hedge, resume, redirect, retry, validation

    var testDescription: String { rawValue }

    var keys: String {
        switch self {
        case .hedge: "retry: {use: standard, backoff: none, hedge: {after: 200ms}}"
        case .resume: "resume: true"
        case .redirect: "redirect: {follow: true}"
        case .retry: "retry: {use: standard, backoff: none}"
        case .validation: "cache: {stale_while_revalidate: 1h}"
        }
    }
}

/// A parent proxy or an origin that the test plays, and who logs in to it.
private struct Peer {
    let played: PlayedOrigin
    let isParent: Bool
    let proxy: ProxyFixture
    let clock: VirtualClock

    func url(_ path: String) -> String {
        isParent ? "http://origin.test\(path)" : played.url(path)
    }

    static func run(
        _ deed: Deed,
        isParent: Bool,
        _ body: @Sendable @escaping (Peer) throws -> Void
    ) async throws {
        let played = try PlayedOrigin()
        let parent = "upstream: {proxy: \"http://\(played.authority)\", no_proxy: []}"
        let rules = everywhere(deed.keys, isParent ? parent : "")
        let clock = VirtualClock()
        try await ProxyFixture.run(rules, clock: clock) { proxy in
            try body(Peer(played: played, isParent: isParent, proxy: proxy, clock: clock))
        }
    }

    /// A client whose login has had its first message and the answer to it.
    func begin() throws -> (client: ScriptedClient, connection: OriginConnection) {
        let client = try proxy.client()
        try client.send("GET", url("/login"), [field("one")])
        let connection = try played.accept()
        #expect(try connection.request()[name] == "NTLM one")
        let challenge = isParent ? "Proxy-Authenticate: NTLM two" : "WWW-Authenticate: NTLM two"
        try connection.reply(isParent ? 407 : 401, challenge)
        #expect(try client.response().status == (isParent ? 407 : 401))
        return (client, connection)
    }

    /// The last message of a login; it must come by its own connection, as the next one there.
    func finish(_ login: (client: ScriptedClient, connection: OriginConnection)) throws {
        try login.client.send("GET", url("/login"), [field("three")])
        #expect(try login.connection.request()[name] == "NTLM three")
        try login.connection.reply(body: "secret")
        #expect(try login.client.response().bodyText == "secret")
    }

    /// A request of a client, which must come by that connection.
    func ask(_ path: String, _ client: ScriptedClient, by connection: OriginConnection) throws {
        try client.send("GET", url(path))
        #expect(try connection.request().target.hasSuffix(path))
        try connection.reply(body: path)
        #expect(try client.response().bodyText == path)
    }

    private var name: String { isParent ? "Proxy-Authorization" : "Authorization" }

    private func field(_ message: String) -> String { "\(name): NTLM \(message)" }
}

struct LoginUnderWayTests {
    /// Has lupin send a request of its own for the client, which needs a new connection.
    /// - Returns: That connection, which goes on.
    private static func play(
        _ deed: Deed,
        _ peer: Peer,
        _ client: ScriptedClient
    ) throws -> OriginConnection {
        try client.send("GET", peer.url("/deed"))
        let first = try peer.played.accept()
        #expect(try first.request().target.hasSuffix("/deed"))
        switch deed {
        case .hedge: try peer.clock.advance(by: .milliseconds(210))
        case .resume:
            try first.send("HTTP/1.1 200 OK\r\nETag: \"v1\"\r\nContent-Length: 6\r\n\r\nans")
        case .redirect: try first.reply(302, "Location: /next", "Connection: close")
        case .retry: try first.reply(503, "Connection: close")
        case .validation:
            let stale = "Cache-Control: max-age=600\r\nAge: 1000\r\nETag: \"v1\""
            try first.reply(200, stale, "Connection: close", body: "answer")
            #expect(try client.response().bodyText == "answer")
            try client.send("GET", peer.url("/deed"))
        }
        if deed != .hedge { first.close() }
        let second = try peer.played.accept()
        let request = try second.request()
        #expect(request.target.hasSuffix(deed == .redirect ? "/next" : "/deed"))
        switch deed {
        case .resume:
            #expect(request["Range"] == "bytes=3-")
            let range = "Content-Range: bytes 3-5/6"
            try second.reply(206, "ETag: \"v1\"", range, body: "wer")
        case .validation:
            #expect(request["If-None-Match"] == "\"v1\"")
            try second.reply(304, "ETag: \"v1\"", "Cache-Control: max-age=600")
            // The login, both requests of the client, and this one.
            _ = try peer.proxy.records(4)
        case .hedge, .redirect, .retry: try second.reply(body: "answer")
        }
        #expect(try client.response().bodyText == "answer")
        if deed == .hedge { _ = try first.waitForEnd() }
        return second
    }

    @Test(arguments: Deed.allCases, [false, true])
    fileprivate func `no request of another client goes by it, and it goes by no other's`(
        deed: Deed,
        isParent: Bool
    ) async throws {
        try await Peer.run(deed, isParent: isParent) { peer in
            let login = try peer.begin()
            let stranger = try peer.proxy.client()
            let kept = try Self.play(deed, peer, stranger)
            try peer.proxy.settleWell()
            // The stranger's connection is free, too, but knows nothing of the first message.
            try peer.finish(login)
            try peer.ask("/page", stranger, by: kept)
            try peer.ask("/in", login.client, by: login.connection)
            #expect(!peer.played.hasWaiting)
        }
    }

    @Test(arguments: Deed.allCases, [false, true])
    fileprivate func `who has logged in goes by nobody else's login either`(
        deed: Deed,
        isParent: Bool
    ) async throws {
        try await Peer.run(deed, isParent: isParent) { peer in
            let user = try peer.begin()
            try peer.finish(user)
            let other = try peer.begin()
            try user.client.send("GET", peer.url("/deed"))
            #expect(try user.connection.request().target.hasSuffix("/deed"))
            switch deed {
            case .hedge:
                try peer.clock.advance(by: .seconds(1))
                try peer.proxy.settle()
                try user.connection.reply(body: "answer")
            case .retry:
                try user.connection.reply(503)
                #expect(try user.connection.request().target.hasSuffix("/deed"))
                try user.connection.reply(body: "answer")
            case .redirect:
                try user.connection.reply(302, "Location: /next")
                #expect(try user.connection.request().target.hasSuffix("/next"))
                try user.connection.reply(body: "answer")
            case .validation:
                let stale = "Cache-Control: max-age=600\r\nAge: 1000\r\nETag: \"v1\""
                try user.connection.reply(200, stale, body: "answer")
            case .resume:
                let fields = "ETag: \"v1\"\r\nContent-Length: 6"
                try user.connection.send("HTTP/1.1 200 OK\r\n\(fields)\r\n\r\nans")
                user.connection.close()
                // Any other connection lacks the login.
                let (bytes, _) = try user.client.stream.untilEnd()
                #expect(String(decoding: bytes, as: UTF8.self).hasSuffix("ans"))
                #expect(!peer.played.hasWaiting)
                return try peer.finish(other)
            }
            #expect(try user.client.response().bodyText == "answer")
            #expect(!peer.played.hasWaiting)
            try peer.finish(other)
            // It was not stored, so that nothing is validated in the background.
            try peer.ask("/deed", user.client, by: user.connection)
        }
    }
}
