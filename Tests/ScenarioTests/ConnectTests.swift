// CONNECT: which targets it takes, what its answer looks like, and that no byte is lost.
import LupinIO
import LupinTestKit
import Testing

struct ConnectTests {
    private static func echo(_ connection: OriginConnection) throws {
        while let bytes = try connection.stream.some() { try connection.send(bytes) }
        connection.shutdownWrite()
    }

    @Test func `a tunnel carries bytes both ways and its answer has no framing`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try proxy.origin(Self.echo)
            let client = try proxy.client()
            let response = try client.connect(origin.authority)
            #expect(response.status == 200)
            #expect(response["content-length"] == nil && response["transfer-encoding"] == nil)
            try client.send("GET / HTTP/1.1\r\n\r\n")
            #expect(try client.stream.text(18) == "GET / HTTP/1.1\r\n\r\n")
            client.shutdownWrite()
            #expect(try client.waitForEnd() == .finished)
            let record = try proxy.record()
            #expect(record["event"] == "tunnel")
            #expect(record["mode"] == "tunnel")
            #expect(record["outcome"] == "ok")
            #expect(record["http.request.method"] == "CONNECT")
            #expect(record["tunnel.sent"] == "18")
            #expect(record["tunnel.received"] == "18")
            #expect(record["url.port"] == "\(origin.address.port)")
        }
    }

    @Test func `client bytes right behind the CONNECT reach the target`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try proxy.origin(Self.echo)
            let client = try proxy.client()
            try client.send(
                head("CONNECT \(origin.authority) HTTP/1.1", "Host: \(origin.authority)")
                    + "\u{16}\u{3}\u{1}early"
            )
            #expect(try client.response(to: "CONNECT").status == 200)
            #expect(try client.stream.text(8) == "\u{16}\u{3}\u{1}early")
        }
    }

    @Test func `a CONNECT byte by byte works as well`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try proxy.origin(Self.echo)
            let client = try proxy.client()
            try client.sendBytewise(
                head("CONNECT \(origin.authority) HTTP/1.1", "Host: x") + "early"
            )
            #expect(try client.response(to: "CONNECT").status == 200)
            #expect(try client.stream.text(5) == "early")
        }
    }

    @Test(arguments: [
        "127.0.0.1", "127.0.0.1:", "127.0.0.1:0", "127.0.0.1:65536", "127.0.0.1:http", ":443",
        "http://127.0.0.1:80/", "127.0.0.1:80/", "user@127.0.0.1:80", "[::1:80", "/", "*",
    ])
    func `a target that is not host and port is a 400`(target: String) async throws {
        try await ProxyFixture.run { proxy in
            let client = try proxy.client()
            try client.send(head("CONNECT \(target) HTTP/1.1", "Host: x"))
            let response = try client.response(to: "CONNECT")
            #expect(response.status == 400)
            #expect(try client.waitForEnd() == .finished)
        }
    }

    @Test func `ports that the policy does not list are a 403`() async throws {
        try await ProxyFixture.run("access: {connect_ports: [443, 60000-60001]}") { proxy in
            let origin = try proxy.origin(Self.echo)
            let client = try proxy.client()
            let response = try client.connect(origin.authority)
            #expect(response.status == 403)
            #expect(response["proxy-status"]?.contains("error=http_request_denied") == true)
            #expect(try proxy.client().connect("127.0.0.1:22").status == 403)
            #expect(origin.connections.isEmpty)
            #expect(try proxy.records(2).map { $0["outcome"] } == ["denied", "denied"])
        }
    }

    @Test func `the port list does not concern other requests`() async throws {
        try await ProxyFixture.run("access: {connect_ports: [443]}") { proxy in
            let origin = try proxy.origin(answering: head("HTTP/1.1 204 None"))
            #expect(try proxy.client().get(origin.url()).status == 204)
        }
    }

    @Test func `Proxy-Authorization does not enter the tunnel`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try proxy.origin(Self.echo)
            let client = try proxy.client()
            try client.send(
                head(
                    "CONNECT \(origin.authority) HTTP/1.1",
                    "Host: \(origin.authority)",
                    "Proxy-Authorization: Basic c2VjcmV0OnNlY3JldA=="
                )
            )
            #expect(try client.response(to: "CONNECT").status == 200)
            try client.send("x")
            #expect(try client.stream.text(1) == "x")
            #expect(origin.receivedText == "x")
        }
    }

    @Test(arguments: ["Content-Length: 5", "Transfer-Encoding: chunked"])
    func `framing fields in a parent's 2xx mean nothing`(field: String) async throws {
        let parent = try ScriptedOrigin { connection in
            let request = try connection.request()
            #expect(request.startLine == "CONNECT a.example:443 HTTP/1.1")
            try connection.send(head("HTTP/1.1 200 OK", field) + "first bytes")
            try Self.echo(connection)
        }
        defer { parent.stop() }
        let rules = "upstream: {proxy: \"http://\(parent.authority)\", no_proxy: []}"
        try await ProxyFixture.run(rules) { proxy in
            let client = try proxy.client()
            let response = try client.connect("a.example:443")
            #expect(response.status == 200)
            #expect(response["content-length"] == nil && response["transfer-encoding"] == nil)
            #expect(try client.stream.text(11) == "first bytes")
            try client.send("hello")
            #expect(try client.stream.text(5) == "hello")
        }
        #expect(parent.failures.isEmpty)
    }
}
