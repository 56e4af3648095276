// Connections that carry more than one request: in turn, in bulk, and for clients of old.
import LupinTestKit
import Testing

struct PersistenceTests {
    private static func echoTarget(_ connection: OriginConnection) throws {
        while let request = try connection.nextRequest() {
            try connection.reply(body: "\(request.target) \(request.bodyText)")
        }
    }

    @Test func `three requests in turn use one connection on either side`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try proxy.origin(Self.echoTarget)
            let client = try proxy.client()
            for i in 0..<3 {
                try client.send("POST", origin.url("/\(i)"), body: "body \(i)")
                let response = try client.response()
                #expect(response.bodyText == "/\(i) body \(i)")
                #expect(response["connection"] == nil)
            }
            #expect(origin.connections.count == 1)
            let records = try proxy.records(3)
            #expect(records.map { $0["attempts.0.reused"] } == [nil, "1", "1"])
        }
    }

    @Test func `twenty requests in one packet are answered in order`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try proxy.origin(Self.echoTarget)
            let client = try proxy.client()
            let requests = (0..<20).map { i in
                let line = "\(i % 3 == 0 ? "POST" : "GET") \(origin.url("/\(i)")) HTTP/1.1"
                let fields = i % 3 == 0 ? "Content-Length: 2" : "X-I: \(i)"
                return head(line, "Host: \(origin.authority)", fields) + (i % 3 == 0 ? "ok" : "")
            }
            try client.send(requests.joined())
            for i in 0..<20 {
                #expect(try client.response().bodyText == "/\(i) \(i % 3 == 0 ? "ok" : "")")
            }
            #expect(origin.connections.count == 1)
            #expect(try proxy.records(20).count == 20)
        }
    }

    @Test func `requests behind one that closes are not served`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try proxy.origin(Self.echoTarget)
            let client = try proxy.client()
            try client.send("GET", origin.url("/1"), ["Connection: close"])
            try client.send("GET", origin.url("/2"))
            let response = try client.response()
            #expect(response.bodyText == "/1 ")
            #expect(response["connection"] == "close")
            #expect(try client.waitForEnd() == .finished)
            #expect(!origin.receivedText.contains("/2"))
        }
    }

    @Test(arguments: [[], ["Connection: keep-alive"], ["Proxy-Connection: keep-alive"]])
    func `an HTTP 1.0 client gets one response for each connection`(
        fields: [String]
    ) async throws {
        try await ProxyFixture.run { proxy in
            let origin = try proxy.origin(Self.echoTarget)
            for i in 0..<2 {
                let client = try proxy.client()
                let lines = ["GET \(origin.url("/\(i)")) HTTP/1.0"] + fields
                try client.send(lines.joined(separator: "\r\n") + "\r\n\r\n")
                let response = try client.response()
                #expect(response.bodyText == "/\(i) ")
                #expect(response["connection"] == "close")
                #expect(try client.waitForEnd() == .finished)
            }
            #expect(origin.connections.count == 1)
        }
    }

    @Test(
        arguments: ["Connection: keep-alive", "Proxy-Connection: keep-alive"],
        [(401, "Authorization"), (407, "Proxy-Authorization")]
    )
    func `an HTTP 1.0 client that is challenged logs in on its connection`(
        field: String,
        challenge: (status: Int, name: String)
    ) async throws {
        let parent = try ScriptedOrigin { connection in
            while let request = try connection.nextRequest() {
                if request[challenge.name] == "NTLM three" {
                    try connection.reply(body: "in")
                } else {
                    try connection.reply(
                        challenge.status,
                        "\(challenge.status == 407 ? "Proxy" : "WWW")-Authenticate: NTLM"
                    )
                }
            }
        }
        defer { parent.stop() }
        let rules = "upstream: {proxy: \"http://\(parent.authority)\", no_proxy: []}"
        try await ProxyFixture.run(rules) { proxy in
            let client = try proxy.client()
            for part in ["one", "two"] {
                let lines = [
                    "GET http://a.test/ HTTP/1.0", field, "\(challenge.name): NTLM \(part)",
                ]
                try client.send(lines.joined(separator: "\r\n") + "\r\n\r\n")
                let response = try client.response()
                #expect(response.status == challenge.status)
                #expect(response["connection"] == "keep-alive")
            }
            let last = ["GET http://a.test/ HTTP/1.0", field, "\(challenge.name): NTLM three"]
            try client.send(last.joined(separator: "\r\n") + "\r\n\r\n")
            let response = try client.response()
            #expect(response.bodyText == "in")
            #expect(response["connection"] == "close")
            #expect(try client.waitForEnd() == .finished)
            #expect(parent.connections.count == 1)
        }
    }

    @Test func `a client of HTTP 1.0 that asks for nothing is closed after a challenge`()
        async throws
    {
        try await ProxyFixture.run { proxy in
            let origin = try proxy.origin { connection in
                while try connection.nextRequest() != nil {
                    try connection.reply(401, "WWW-Authenticate: NTLM")
                }
            }
            let client = try proxy.client()
            try client.send("GET \(origin.url()) HTTP/1.0\r\n\r\n")
            #expect(try client.response()["connection"] == "close")
            #expect(try client.waitForEnd() == .finished)
        }
    }

    @Test func `origins are not mixed up`() async throws {
        try await ProxyFixture.run { proxy in
            let first = try proxy.origin { connection in
                while try connection.nextRequest() != nil { try connection.reply(body: "first") }
            }
            let second = try proxy.origin { connection in
                while try connection.nextRequest() != nil { try connection.reply(body: "second") }
            }
            let client = try proxy.client()
            for _ in 0..<3 {
                #expect(try client.get(first.url()).bodyText == "first")
                #expect(try client.get(second.url()).bodyText == "second")
            }
            #expect(first.connections.count == 1)
            #expect(second.connections.count == 1)
        }
    }
}

/// A client that sends many requests and reads nothing until the proxy can send no more.
struct PipeliningBackpressureTests {
    @Test(arguments: ["0\r\n\r\n", "5\r\nhello\r\n0\r\n\r\n"])
    func `responses that wait for a slow reader come once and whole`(
        body: String
    ) async throws {
        try await ProxyFixture.run { proxy in
            let padding = "X-Padding: " + String(repeating: "p", count: 12_000)
            let response = head("HTTP/1.1 200 OK", padding, "Transfer-Encoding: chunked") + body
            let origin = try proxy.origin { connection in
                while let request = try connection.nextRequest() {
                    try connection.send(
                        response.replacing("X-Padding", with: "X\(request.target.dropFirst())")
                    )
                }
            }
            let client = try proxy.client(receiveBuffer: 4096)
            let count = 800
            for i in 0..<count { try client.send("GET", origin.url("/\(i)")) }
            try proxy.waitForStandstill { origin.connections.first?.stream.received.count ?? 0 }
            for i in 0..<count {
                let response = try client.response()
                #expect(response["x\(i)"]?.utf8.count == 12_000)
                #expect(response.body.count == (body.utf8.count > 5 ? 5 : 0))
            }
            #expect(origin.connections.count == 1)
        }
    }
}
