// What requests inside an intercepted CONNECT may call their target.
import LupinTestKit
import Testing

struct InterceptedTargetTests {
    @Test func `absolute-form inside is the same request`() async throws {
        try await Inside.run { inside in
            try inside.client.send("GET", "https://\(inside.authority)/a?b")
            let far = try inside.accept()
            let request = try far.request()
            #expect(request.startLine == "GET /a?b HTTP/1.1")
            #expect(request["Host"] == inside.authority)
            try far.reply()
            #expect(try inside.client.response().status == 200)
            let record = try inside.proxy.record()
            #expect(record["url.full"] == "https://\(inside.authority)/a?b")
            #expect(record["mode"] == "intercept")
        }
    }

    @Test func `OPTIONS asterisk goes to the origin`() async throws {
        try await Inside.run { inside in
            try inside.send("OPTIONS", "*")
            let far = try inside.accept()
            #expect(try far.request().startLine == "OPTIONS * HTTP/1.1")
            try far.reply(200, "Allow: GET")
            #expect(try inside.client.response()["Allow"] == "GET")
        }
    }

    @Test(arguments: [true, false])
    func `HTTP 1_0 inside is served, with Host or without`(hasHost: Bool) async throws {
        try await Inside.run { inside in
            let host = hasHost ? "Host: \(inside.authority)\r\n" : ""
            try inside.client.send("GET /old HTTP/1.0\r\n\(host)\r\n")
            let far = try inside.accept()
            let request = try far.request()
            #expect(request.startLine == "GET /old HTTP/1.1")
            #expect(request["Host"] == inside.authority)
            let answer = head("HTTP/1.1 200 OK", "Transfer-Encoding: chunked")
            try far.send(answer + "3\r\nold\r\n0\r\n\r\n")
            let response = try inside.client.response()
            #expect(response.bodyText == "old")
            #expect(!response.isChunked)
            #expect(try inside.client.waitForEnd() == .finished)
        }
    }

    @Test func `an HTTP 1_0 client may close its side and wait`() async throws {
        try await Inside.run { inside in
            try inside.client.send("GET / HTTP/1.0\r\n\r\n")
            inside.client.shutdownWrite()
            let far = try inside.accept()
            try far.request()
            try far.reply(body: "patience")
            #expect(try inside.client.response().bodyText == "patience")
            #expect(try inside.client.waitForEnd() == .finished)
        }
    }

    @Test func `an HTTP 1_1 client that closes its side has left`() async throws {
        try await Inside.run { inside in
            try inside.send()
            let far = try inside.accept()
            try far.request()
            inside.client.shutdownWrite()
            #expect(try far.waitForEnd() == .reset)
            #expect(try inside.proxy.record()["outcome"] == "aborted")
        }
    }

    @Test func `a request without Host gets 400 and goes nowhere`() async throws {
        try await Inside.run { inside in
            try inside.client.send("GET / HTTP/1.1\r\nAccept: */*\r\n\r\n")
            #expect(try inside.client.response().status == 400)
            #expect(try inside.client.waitForEnd() == .finished)
            #expect(!inside.origin.hasWaiting)
        }
    }

    @Test func `a CONNECT inside gets 400`() async throws {
        try await Inside.run { inside in
            let response = try inside.client.connect(inside.authority)
            #expect(response.status == 400)
            #expect(!inside.origin.hasWaiting)
        }
    }

    @Test func `plain HTTP inside is served in clear, by the rules for http`() async throws {
        let rules = """
            rules:
              - {match: {host: origin.test}, request: [{set: {X-Any: "1"}}]}
              - {match: {host: origin.test, scheme: https}, request: [{set: {X-Secure: "1"}}]}
            """
        try await ProxyFixture.run(rules, resolve: ProxyFixture.here) { proxy in
            let origin = try PlayedOrigin()
            let authority = origin.authority("origin.test")
            let client = try proxy.client()
            #expect(try client.connect(authority).status == 200)
            for path in ["/1", "/2"] {
                try client.send("GET \(path) HTTP/1.1\r\nHost: \(authority)\r\n\r\n")
            }
            let far = try origin.accept()
            for path in ["/1", "/2"] {
                let request = try far.request()
                #expect(request.startLine == "GET \(path) HTTP/1.1")
                #expect(request["X-Any"] == "1")
                #expect(request["X-Secure"] == nil)
                try far.reply(body: path)
                #expect(try client.response().bodyText == path)
            }
            let record = try proxy.record()
            #expect(record["url.full"] == "http://\(authority)/1")
            #expect(record["mode"] == "intercept")
        }
    }
}
