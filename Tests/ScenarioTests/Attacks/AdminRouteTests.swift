// Who may use which route of the admin interface: the socket, the page, a token, nobody.
import Foundation
import LupinCore
import LupinIO
import LupinProxy
import LupinTestKit
import Testing

struct AdminRouteTests {
    /// For whom a route is, as the manual says.
    enum Audience: Sendable { case watcher, owner, socket }

    struct Row: Sendable, CustomTestStringConvertible {
        let method: String
        let path: String
        let audience: Audience

        init(_ method: String, _ path: String, _ audience: Audience) {
            self.method = method
            self.path = path
            self.audience = audience
        }

        var testDescription: String { "\(method) \(path)" }
    }

    private static let id = "0123456789abcdef0123456789abcdef"

    static let rows = [
        Row("GET", "/v1/status", .watcher), Row("HEAD", "/v1/status", .watcher),
        Row("GET", "/v1/metrics", .watcher), Row("POST", "/v1/reload", .owner),
        Row("GET", "/v1/rules", .socket), Row("HEAD", "/v1/rules", .socket),
        Row("GET", "/v1/rules?x=/v1/status", .socket), Row("GET", "/v1/rules/list", .owner),
        Row("POST", "/v1/rules/preview", .owner), Row("POST", "/v1/rules/append", .owner),
        Row("GET", "/v1/origins", .watcher), Row("GET", "/v1/origins?window=1000", .watcher),
        Row("GET", "/v1/bypasses", .watcher), Row("DELETE", "/v1/bypasses", .owner),
        Row("GET", "/v1/cache", .watcher), Row("DELETE", "/v1/cache", .owner),
        Row("GET", "/v1/cache/responses", .watcher),
        Row("DELETE", "/v1/cache/responses?match=a.test/**", .owner),
        Row("GET", "/v1/exchanges", .watcher), Row("GET", "/v1/exchanges?format=full", .watcher),
        Row("GET", "/v1/exchanges?filter=body~x", .owner),
        Row("GET", "/v1/exchanges?filter=not%20body~x", .owner),
        Row("GET", "/v1/exchanges/last?filter=body~x", .owner),
        Row("GET", "/v1/exchanges/live", .watcher), Row("GET", "/v1/exchanges/\(id)", .watcher),
        Row("GET", "/v1/exchanges/last", .watcher), Row("DELETE", "/v1/exchanges/\(id)", .owner),
        Row("GET", "/v1/exchanges/\(id)/bodies/request", .owner),
        Row("GET", "/v1/exchanges/last/bodies/response", .owner),
        Row("HEAD", "/v1/exchanges/\(id)/bodies/response", .owner),
        Row("GET", "/v1/exchanges/\(id)/messages", .owner),
        Row("GET", "/v1/exchanges/\(id)/explain", .owner),
        Row("PUT", "/v1/exchanges/\(id)/note", .owner),
        Row("DELETE", "/v1/exchanges/\(id)/capture", .owner), Row("GET", "/v1/har", .owner),
        Row("GET", "/v1/har?filter=status:200&limit=1", .owner),
        Row("POST", "/v1/archives", .owner), Row("GET", "/v1/archives/1", .owner),
        Row("POST", "/v1/inspector", .owner), Row("GET", "/v1/capture", .watcher),
        Row("PUT", "/v1/capture", .owner), Row("DELETE", "/v1/capture", .owner),
        Row("PUT", "/v1/capture/holds/me", .owner), Row("DELETE", "/v1/capture/holds/me", .owner),
        Row("POST", "/v1/send", .owner),
    ]

    private static let token = "0123456789abcdef"

    private static func rules(_ port: UInt16) -> String {
        """
        admin: {socket: DIR/admin, http: {address: 127.0.0.1:\(port), token: \(token)}}
        rules: [{name: secret-name, match: {host: hidden.test}, respond: {status: 451}}]
        """
    }

    /// Sends a request with an empty object over a connection to the interface.
    private static func ask(
        _ row: Row,
        over client: ScriptedClient,
        host: String,
        bearer: String?
    ) throws -> ScriptedMessage {
        defer { client.close() }
        let lines =
            [
                "\(row.method) \(row.path) HTTP/1.1", "Host: \(host)",
                "Content-Type: application/json", "Content-Length: 2",
            ] + (bearer.map { ["Authorization: Bearer \($0)"] } ?? [])
        try client.send(lines.joined(separator: "\r\n") + "\r\n\r\n{}")
        return try client.response(to: row.method)
    }

    /// The page's place, and the token of a browser that has it.
    private static func page(of proxy: ProxyFixture) throws -> (SocketAddress, String) {
        let answer = try proxy.admin("POST", "/v1/inspector")
        let url = try #require(RecordLine(answer.bodyText)?["url"], "\(answer.bodyText)")
        let found = try #require(url.firstMatch(of: /127\.0\.0\.1:(\d+)\/#code=(.+)/))
        let address = SocketAddress.loopback(port: try #require(UInt16(found.output.1)))
        let body = "{\"code\": \"\(found.output.2)\"}"
        let client = try ScriptedClient(to: address)
        defer { client.close() }
        try client.send(
            head(
                "POST /v1/session HTTP/1.1",
                "Host: \(address)",
                "Content-Type: application/json",
                "Content-Length: \(body.utf8.count)"
            ) + body
        )
        let word = RecordLine(try client.response(to: "POST").bodyText)?["token"]
        return (address, try #require(word))
    }

    @Test(arguments: rows)
    func `a route is for those whom the manual names`(row: Row) async throws {
        let reserved = try ReservedPort()
        let http = SocketAddress.loopback(port: reserved.number)
        try await ProxyFixture.run(Self.rules(reserved.number)) { proxy in
            let place = "\(http)"
            let watcher = try Self.ask(
                row,
                over: ScriptedClient(to: http),
                host: place,
                bearer: Self.token
            )
            #expect((watcher.status == 403) == (row.audience != .watcher), "\(watcher.status)")
            if row.audience != .watcher {
                #expect(!watcher.bodyText.contains("hidden.test"))
                #expect(!watcher.bodyText.contains("secret-name"))
            }
            for wrong in [nil, "", "\(Self.token)0", "0123456789abcde"] {
                let client = try ScriptedClient(to: http)
                let answer = try Self.ask(row, over: client, host: place, bearer: wrong)
                #expect(answer.status == 401)
            }
            let (address, word) = try Self.page(of: proxy)
            let page = try Self.ask(
                row,
                over: ScriptedClient(to: address),
                host: "\(address)",
                bearer: word
            )
            #expect((page.status == 403) == (row.audience == .socket), "\(page.status)")
            let stranger = try ScriptedClient(to: address)
            let refusal = try Self.ask(
                row,
                over: stranger,
                host: "\(address)",
                bearer: Self.token
            )
            #expect(refusal.status == 401)
            let socket = try proxy.adminClient()
            let owner = try Self.ask(row, over: socket, host: "lupin", bearer: nil)
            #expect(![401, 403].contains(owner.status), "\(owner.status)")
        }
    }

    /// Spellings of routes that are the owner's, or that change something.
    @Test(arguments: [
        "GET /v1/rules/", "GET //v1/rules", "GET /v1/./rules", "GET /v1/status/../rules",
        "GET /v1/%72ules", "GET /V1/rules", "GET /v1/rules%00", "GET /v1/rules;x", "get /v1/rules",
        "GET /v1/exchanges/../rules", "GET /v1/rules#list", "PATCH /v1/capture",
        "PUT /v1/status", "DELETE /v1/status", "POST /v1/exchanges/live", "DELETE /v1/exchanges",
        "GET /v1/exchanges/live/note", "REBOOT /v1/reload", "GET /v1/reload", "HEAD /v1/send",
    ])
    func `no other spelling gives more to a token`(line: String) async throws {
        let reserved = try ReservedPort()
        let http = SocketAddress.loopback(port: reserved.number)
        try await ProxyFixture.run(Self.rules(reserved.number)) { proxy in
            let version = proxy.proxy.rulesVersion
            let words = line.split(separator: " ", maxSplits: 1).map(String.init)
            let client = try ScriptedClient(to: http)
            let answer = try Self.ask(
                Row(words[0], words[1], .owner),
                over: client,
                host: "\(http)",
                bearer: Self.token
            )
            #expect([400, 403, 404, 405].contains(answer.status), "\(answer.status)")
            #expect(!answer.bodyText.contains("hidden.test"))
            #expect(proxy.proxy.rulesVersion == version)
        }
    }

    @Test func `a watcher sees neither notes nor what is captured`() async throws {
        let reserved = try ReservedPort()
        let http = SocketAddress.loopback(port: reserved.number)
        let rules = """
            admin: {socket: DIR/admin, http: {address: 127.0.0.1:\(reserved.number), \
            token: \(Self.token)}}
            capture: {path: DIR/capture}
            rules: [{match: {path: /**}, capture: true}]
            """
        try await ProxyFixture.run(rules) { proxy in
            let origin = try proxy.origin(
                answering: head("HTTP/1.1 200 OK", "Content-Length: 2") + "ok"
            )
            #expect(try proxy.client().get(origin.url()).status == 200)
            let id = try #require(try proxy.record()["id"])
            let note = "{\"comment\": \"mine alone\"}"
            let client = try proxy.adminClient()
            try client.send(
                head(
                    "PUT /v1/exchanges/\(id)/note HTTP/1.1",
                    "Host: lupin",
                    "Content-Type: application/json",
                    "Content-Length: \(note.utf8.count)"
                ) + note
            )
            #expect(try client.response(to: "PUT").status == 200)
            client.close()
            let path = "/v1/exchanges/\(id)"
            #expect(try proxy.admin("GET", path).bodyText.contains("mine alone"))
            let watcher = try Self.ask(
                Row("GET", path, .watcher),
                over: ScriptedClient(to: http),
                host: "\(http)",
                bearer: Self.token
            )
            #expect(watcher.status == 200)
            #expect(watcher.bodyText.contains(id))
            #expect(!watcher.bodyText.contains("mine alone"))
            #expect(!watcher.bodyText.contains("bodies"))
        }
    }

    @Test func `a watcher learns that rules were refused, but not what they say`() async throws {
        let reserved = try ReservedPort()
        let http = SocketAddress.loopback(port: reserved.number)
        try await ProxyFixture.run(Self.rules(reserved.number)) { proxy in
            _ = try await proxy.reload("rules: [{name: x, match: {host: hidden.test}, oops: 1}]")
            let watcher = try Self.ask(
                Row("GET", "/v1/status", .watcher),
                over: ScriptedClient(to: http),
                host: "\(http)",
                bearer: Self.token
            )
            let status = try #require(RecordLine(watcher.bodyText))
            #expect(status["reloads.rejected"] == "1")
            #expect(!watcher.bodyText.contains("oops"))
            #expect(try proxy.admin("GET", "/v1/status").bodyText.contains("oops"))
        }
    }
}
