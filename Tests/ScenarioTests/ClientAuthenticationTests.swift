// A listener that asks who the client is: 407 until name and password are right.
import LupinCore
import LupinPolicy
import LupinProxy
import LupinTestKit
import Testing

struct ClientAuthenticationTests {
    private static let ok = head("HTTP/1.1 200 OK", "Content-Length: 2") + "ok"

    @Test func `the client answers the challenge on its connection`() async throws {
        let users = try ClientUsers()
        try await ProxyFixture.run(authentication: [users.authentication]) { proxy in
            let origin = try proxy.origin(answering: Self.ok)
            let client = try proxy.client()
            let refusal = try client.get(origin.url())
            #expect(refusal.status == 407)
            #expect(
                refusal.values("Proxy-Authenticate") == [
                    #"Basic realm="lu\"pin", charset="UTF-8""#
                ]
            )
            #expect(refusal["Proxy-Status"]?.contains("error=http_request_denied") == true)
            #expect(refusal["Connection"] == nil)
            #expect(refusal.bodyText.contains("user and password"))
            #expect(origin.connections.isEmpty)
            let response = try client.get(origin.url("/x"), ClientUsers.alice, "X-A: b")
            #expect(response.bodyText == "ok")
            #expect(!origin.receivedText.lowercased().contains("proxy-auth"))
            #expect(origin.receivedText.contains("X-A: b"))
            let records = try proxy.records(2)
            #expect(records[0]["outcome"] == "denied")
            #expect(records[0]["error.type"] == "http_request_denied")
            #expect(records[0]["http.response.status_code"] == "407")
            #expect(records[0]["client.user"] == nil)
            #expect(records[1]["client.user"] == "alice")
        }
    }

    static let wrong = [
        ClientUsers.field("alice", "wonder lan"), ClientUsers.field("alice", ""),
        ClientUsers.field("Alice", "wonder land"), ClientUsers.field("bob", "wonder land"),
        ClientUsers.field("nobody", "wonder land"), ClientUsers.field("", ""),
        ClientUsers.field("alice", "wonder land\0"),
        "Proxy-Authorization: Bearer YWxpY2U6d29uZGVyIGxhbmQ=",
        "Proxy-Authorization: Basic ???", "Proxy-Authorization:",
        "Authorization: Basic YWxpY2U6d29uZGVyIGxhbmQ=",
    ]

    @Test(arguments: wrong)
    func `what is not right is asked for again`(field: String) async throws {
        let users = try ClientUsers()
        try await ProxyFixture.run(authentication: [users.authentication]) { proxy in
            let origin = try proxy.origin(answering: Self.ok)
            let client = try proxy.client()
            let refusal = try client.get(origin.url(), field)
            #expect(refusal.status == 407)
            #expect(refusal["Proxy-Authenticate"] != nil)
            #expect(try client.get(origin.url(), ClientUsers.bob).status == 200)
            #expect(origin.connections.count == 1)
        }
    }

    @Test func `credentials that stand there twice are refused`() async throws {
        let users = try ClientUsers()
        try await ProxyFixture.run(authentication: [users.authentication]) { proxy in
            let origin = try proxy.origin(answering: Self.ok)
            let client = try proxy.client()
            let response = try client.get(origin.url(), ClientUsers.alice, ClientUsers.bob)
            #expect(response.status == 400)
            #expect(origin.connections.isEmpty)
        }
    }

    @Test func `a tunnel is opened behind a challenge, on a connection of its own`() async throws {
        let users = try ClientUsers()
        try await ProxyFixture.run(authentication: [users.authentication]) { proxy in
            let origin = try proxy.origin { connection in
                #expect(try connection.stream.text(4) == "ping")
                try connection.send("pong")
                _ = try connection.waitForEnd()
            }
            let client = try proxy.client()
            #expect(try client.connect(origin.authority).status == 407)
            #expect(origin.connections.isEmpty)
            let next = try proxy.client()
            try next.send("CONNECT", origin.authority, [ClientUsers.alice])
            #expect(try next.response(to: "CONNECT").status == 200)
            try next.send("ping")
            #expect(try next.stream.text(4) == "pong")
            next.close()
            let records = try proxy.records(2)
            #expect(records.map { $0["mode"] } == ["http", "tunnel"])
            #expect(records.map { $0["client.user"] } == [nil, "alice"])
        }
    }

    @Test func `bytes behind a refused CONNECT are not taken for a request`() async throws {
        let users = try ClientUsers()
        try await ProxyFixture.run(authentication: [users.authentication]) { proxy in
            let origin = try proxy.origin(answering: Self.ok)
            let client = try proxy.client()
            let authority = origin.authority
            let hidden = head("GET \(origin.url()) HTTP/1.1", "Host: a", ClientUsers.alice)
            try client.send(head("CONNECT \(authority) HTTP/1.1", "Host: \(authority)") + hidden)
            let response = try client.response(to: "CONNECT")
            #expect(response.status == 407)
            #expect(response["Connection"] == "close")
            #expect(try client.waitForEnd() == .finished)
            #expect(origin.connections.isEmpty)
        }
    }

    @Test func `each request of a connection has its own user`() async throws {
        let users = try ClientUsers()
        try await ProxyFixture.run(authentication: [users.authentication]) { proxy in
            let origin = try proxy.origin(answering: Self.ok)
            let client = try proxy.client()
            let wrong = ClientUsers.field("bob", "wrong")
            let fields = [
                ClientUsers.alice, ClientUsers.bob, wrong, "X-No: one", ClientUsers.alice,
            ]
            // All in one packet.
            let requests = fields.map { field in
                head("GET \(origin.url()) HTTP/1.1", "Host: \(origin.authority)", field)
            }
            try client.send(requests.joined())
            let statuses = try fields.map { _ in try client.response().status }
            #expect(statuses == [200, 200, 407, 407, 200])
            let records = try proxy.records(5)
            #expect(records.map { $0["client.user"] } == ["alice", "bob", nil, nil, "alice"])
        }
    }

    @Test(arguments: [
        ("Content-Length: 5", "hello"), ("Transfer-Encoding: chunked", "5\r\nhello\r\n0\r\n\r\n"),
        ("Content-Length: 65536", String(repeating: "x", count: 65536)),
    ])
    func `a short body is read and the connection stays`(
        field: String,
        body: String
    ) async throws {
        let users = try ClientUsers()
        try await ProxyFixture.run(authentication: [users.authentication]) { proxy in
            let origin = try proxy.origin(answering: Self.ok)
            let client = try proxy.client()
            try client.send("POST", origin.url(), [field])
            try client.send(body)
            let refusal = try client.response()
            #expect(refusal.status == 407)
            #expect(refusal["Connection"] == nil)
            try client.send("POST", origin.url(), [field, ClientUsers.alice])
            try client.send(body)
            #expect(try client.response().status == 200)
        }
    }

    @Test(arguments: [
        ["Content-Length: 1000000"], ["Content-Length: 5", "Expect: 100-continue"],
    ])
    func `after a body that will not come or is long the connection is closed`(
        fields: [String]
    ) async throws {
        let users = try ClientUsers()
        try await ProxyFixture.run(authentication: [users.authentication]) { proxy in
            let origin = try proxy.origin(answering: Self.ok)
            let client = try proxy.client()
            try client.send("POST", origin.url(), fields)
            let refusal = try client.response()
            #expect(refusal.status == 407)
            #expect(refusal["Connection"] == "close")
            #expect(refusal.interim.isEmpty)
            client.shutdownWrite()
            #expect(try client.waitForEnd() == .finished)
        }
    }

    @Test func `a body that does not come is not waited for`() async throws {
        let users = try ClientUsers()
        let clock = VirtualClock()
        try await ProxyFixture.run(clock: clock, authentication: [users.authentication]) { proxy in
            let origin = try proxy.origin(answering: Self.ok)
            let client = try proxy.client()
            try client.send("POST", origin.url(), ["Content-Length: 5"])
            try client.send("he")
            try proxy.settle()
            try clock.advance(by: .seconds(1))
            let refusal = try client.response()
            #expect(refusal.status == 407)
            #expect(refusal["Connection"] == "close")
        }
    }

    @Test func `lupin's own pages need no password`() async throws {
        let users = try ClientUsers()
        try await ProxyFixture.run(authentication: [users.authentication]) { proxy in
            let client = try proxy.client()
            for path in ["/", "/proxy.pac"] {
                try client.send(head("GET \(path) HTTP/1.1", "Host: \(proxy.address)"))
                #expect(try client.response().status == 200)
            }
            try client.send(head("OPTIONS * HTTP/1.1", "Host: \(proxy.address)"))
            #expect(try client.response().status == 407)
        }
    }

    @Test func `a listener asks for itself only`() async throws {
        let users = try ClientUsers()
        let rules = """
            listen:
              - address: 127.0.0.1:1
              - address: 127.0.0.1:2
            """
        try await ProxyFixture.run(rules, authentication: [.none, users.authentication]) { proxy in
            let origin = try proxy.origin(answering: Self.ok)
            let open = try proxy.client()
            #expect(try open.get(origin.url()).status == 200)
            let asked = try ScriptedClient(to: proxy.proxy.addresses[1])
            #expect(try asked.get(origin.url()).status == 407)
            asked.close()
        }
    }

    @Test func `a client that may not be here is not asked who it is`() async throws {
        let users = try ClientUsers()
        let rules = "access: {clients: [10.0.0.0/8]}"
        try await ProxyFixture.run(rules, authentication: [users.authentication]) { proxy in
            let client = try proxy.client()
            let response = try client.get("http://origin.test/")
            #expect(response.status == 403)
            #expect(response["Proxy-Authenticate"] == nil)
        }
    }

    @Test func `without a password nothing is said of the target`() async throws {
        let users = try ClientUsers()
        let rules = """
            access: {deny_targets: [host.test], connect_ports: [443]}
            rules:
              - {name: canned, match: canned.test, respond: {status: 418}}
            """
        try await ProxyFixture.run(rules, authentication: [users.authentication]) { proxy in
            let client = try proxy.client()
            for host in ["host.test", "canned.test", "!"] {
                #expect(try client.get("http://\(host)/").status == 407)
            }
            #expect(try client.get("http://canned.test/", ClientUsers.bob).status == 418)
            #expect(try client.connect("a.test:22").status == 407)
        }
    }

    @Test func `credentials for lupin go to no parent proxy and into no step`() async throws {
        let users = try ClientUsers()
        let parent = try PlayedOrigin()
        let rules = """
            upstream: {proxy: "http://\(parent.authority)"}
            rules:
              - name: copies
                match: "*"
                request:
                  - set: {X-Copy: "[${header:Proxy-Authorization}]"}
            """
        try await ProxyFixture.run(rules, authentication: [users.authentication]) { proxy in
            let client = try proxy.client()
            try client.send("GET", "http://origin.test/", [ClientUsers.alice])
            let connection = try parent.accept()
            let request = try connection.request()
            #expect(request["Proxy-Authorization"] == nil)
            #expect(request["X-Copy"] == nil)
            try connection.reply(407, "Proxy-Authenticate: Basic realm=parent")
            let response = try client.response()
            #expect(response["Proxy-Authenticate"] == nil)
        }
    }

    @Test func `no password gets into the log`() async throws {
        let users = try ClientUsers()
        try await ProxyFixture.run(
            "log: {headers: all}",
            authentication: [users.authentication]
        ) { proxy in
            let origin = try proxy.origin(answering: Self.ok)
            let client = try proxy.client()
            let wrong = ClientUsers.field("alice", "wonder wall")
            for field in [ClientUsers.alice, wrong] { try client.get(origin.url(), field) }
            _ = try proxy.records(2)
            let texts = [proxy.logText] + proxy.warnings
            for secret in ["wonder", ClientUsers.alice, wrong].map({ $0.split(separator: " ") }) {
                let found = texts.contains { $0.contains(secret.last ?? "") }
                #expect(!found)
            }
        }
    }
}
