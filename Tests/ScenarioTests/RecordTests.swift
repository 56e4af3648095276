// What the log says of an exchange, for each way it can end.
import LupinIO
import LupinTestKit
import Testing

struct RecordTests {
    @Test func `a complete exchange tells who, what, where to and how long`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try proxy.origin { connection in
                try connection.request()
                try connection.reply(200, "ETag: \"x\"", body: "hello")
            }
            let client = try proxy.client()
            try client.send("POST", origin.url("/a?b=c"), ["Accept: */*"], body: "body")
            try client.response()
            let record = try proxy.record()
            let port = origin.address.port
            let clientPort = client.stream.socket.address?.port ?? 0
            let sent = client.stream.received.count
            let expected: [(String, String)] = [
                ("schema", "1"), ("event", "exchange"), ("outcome", "ok"), ("mode", "http"),
                ("client.address", "127.0.0.1"), ("http.request.method", "POST"),
                ("http.request.body.size", "4"), ("http.response.status_code", "200"),
                ("http.response.body.size", "5"), ("url.full", origin.url("/a?b=c")),
                ("url.scheme", "http"), ("url.domain", "127.0.0.1"), ("url.port", "\(port)"),
                ("url.path", "/a"), ("network.protocol.name", "http"),
                ("network.protocol.version", "1.1"), ("attempts.0.n", "1"),
                ("attempts.0.why", "first"), ("attempts.0.status", "200"),
                ("attempts.0.decision", "deliver"), ("attempts.0.peer", "127.0.0.1:\(port)"),
                ("attempts.0.protocol", "1.1"),
                ("client.port", "\(clientPort)"),
                ("bytes.client_out", "\(sent)"),
                ("bytes.upstream_out", "\(origin.receivedText.utf8.count)"),
                ("bytes.upstream_in", "60"),
            ]
            for (path, value) in expected {
                #expect(record[path] == value, "\(path)")
            }
            #expect(record["ts"]?.wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z/) != nil)
            #expect(record["id"]?.wholeMatch(of: /[0-9a-f]{32}/) != nil)
            #expect(record.list("http.request.names") == ["host", "accept", "content-length"])
            #expect(record.list("http.response.names") == ["content-length", "etag"])
            #expect(record.number("timing.total").map { $0 > 0 && $0 < 5000 } == true)
            #expect(record["attempts.0.timing.tcp"] != nil)
            #expect(record["attempts.0.timing.wait"] != nil)
            #expect(record["error.type"] == nil)
            #expect(record["http.request.resend_count"] == nil)
        }
    }

    @Test func `a request without a body has a body of size 0`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try proxy.origin(answering: head("HTTP/1.1 204 None"))
            try proxy.client().get(origin.url())
            let record = try proxy.record()
            #expect(record["http.request.body.size"] == "0")
            #expect(record["http.response.body.size"] == "0")
        }
    }

    @Test func `what goes through a tunnel is no message's body`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try proxy.origin { connection in
                _ = try connection.stream.some()
                try connection.send("xyz")
            }
            let client = try proxy.client()
            _ = try client.connect(origin.authority)
            try client.send("xy")
            _ = try client.stream.text(3)
            client.close()
            let record = try proxy.record()
            #expect(record["tunnel.sent"] == "2")
            #expect(record["tunnel.received"] == "3")
            #expect(record["tunnel.closed_by"] == "client")
            #expect(record["http.request.body.size"] != "2")
            #expect(record["http.response.body.size"] != "3")
            #expect(record["attempts.0.peer"] == origin.authority)
        }
    }

    @Test func `an origin that can't be reached is an error with its attempt`() async throws {
        let refused = try PlainListener()
        let address = refused.address.description
        refused.close()
        try await ProxyFixture.run { proxy in
            let client = try proxy.client()
            let response = try client.get("http://\(address)/")
            #expect(response.status == 502)
            #expect(response["connection"] == nil)
            let record = try proxy.record()
            #expect(record["outcome"] == "error")
            #expect(record["http.response.status_code"] == "502")
            #expect(record["error.type"] == "connection_refused")
            #expect(record["error.side"] == "upstream")
            #expect(record["attempts.0.error.type"] == "connection_refused")
            #expect(record["attempts.0.decision"] == "give-up")
            #expect(record["attempts.0.protocol"] == nil)
            let id = try #require(response["Lupin-Id"])
            #expect(record["id"]?.hasPrefix(id) == true && id.count == 8)
            #expect(response.bodyText.contains("`lupin explain \(id)` tells more"))
            #expect(response.bodyText.contains(address))
        }
    }

    @Test func `a refused client is denied`() async throws {
        try await ProxyFixture.run("access: {clients: [\"::1\"]}") { proxy in
            let origin = try proxy.origin { _ in }
            #expect(try proxy.client().get(origin.url()).status == 403)
            let record = try proxy.record()
            #expect(record["outcome"] == "denied")
            #expect(record["error.type"] == "http_request_denied")
            #expect(record["error.side"] == "client")
            #expect(origin.connections.isEmpty)
        }
    }

    @Test func `a client that leaves is aborted and tells how far it came`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try proxy.origin { connection in
                try connection.request()
                try connection.send(head("HTTP/1.1 200 OK", "Content-Length: 10") + "hello")
            }
            let client = try proxy.client()
            try client.send("GET", origin.url())
            _ = try client.stream.head()
            #expect(try client.stream.text(5) == "hello")
            client.close()
            let record = try proxy.record()
            #expect(record["outcome"] == "aborted")
            #expect(record["http.response.status_code"] == "200")
            #expect(record["http.response.body.size"] == "5")
            #expect(record["attempts.0.status"] == "200")
        }
    }

    @Test func `errors come as JSON to those who want it`() async throws {
        try await ProxyFixture.run { proxy in
            let response = try proxy.client().get(
                "http://127.0.0.1:\(proxy.address.port)/",
                "Accept: application/json"
            )
            #expect(response["content-type"] == "application/json")
            let body = try #require(RecordLine(response.bodyText))
            let record = try proxy.record()
            #expect(body["id"] == record["id"])
            #expect(body["type"] == record["error.type"])
            #expect(body["status"] == "\(response.status)")
        }
    }

    @Test func `bodies that were pipelined are counted for their own exchange`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try proxy.origin { connection in
                while try connection.nextRequest() != nil { try connection.reply(body: "ok") }
            }
            let client = try proxy.client()
            let requests = ["", "a", "bcd"].map { body in
                head(
                    "POST \(origin.url()) HTTP/1.1",
                    "Host: \(origin.authority)",
                    "Content-Length: \(body.utf8.count)"
                ) + body
            }
            try client.send(requests.joined())
            for _ in requests { try client.response() }
            let records = try proxy.records(3)
            #expect(records.map { $0["http.request.body.size"] } == ["0", "1", "3"])
            #expect(
                records.map { $0["bytes.client_in"] } == requests.map { "\($0.utf8.count)" }
            )
            let sent = records.compactMap { $0.number("bytes.client_out") }.reduce(0, +)
            #expect(Int(sent) == client.stream.received.count)
        }
    }
}
