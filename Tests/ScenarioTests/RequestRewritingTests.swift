// What lupin says to the origin is said anew: target, Host, framing, and nothing meant for lupin.
import LupinTestKit
import Testing

struct RequestRewritingTests {
    /// Sends `request` to a proxy and returns what the origin read.
    private func relayed(
        _ rules: String = "",
        _ request: @Sendable @escaping (_ authority: String) -> String,
        _ check: @Sendable @escaping (ScriptedMessage, _ authority: String) -> Void
    ) async throws {
        try await ProxyFixture.run(rules) { proxy in
            let origin = try proxy.origin { connection in
                check(try connection.request(), connection.localAuthority)
                try connection.reply()
            }
            let client = try proxy.client()
            try client.send(request(origin.authority))
            #expect(try client.response().status == 200)
            #expect(origin.connections.count == 1)
        }
    }

    @Test func `absolute form becomes origin form and path and query stay as they are`()
        async throws
    {
        try await relayed("upstream: {via: false}") { authority in
            head("GET http://\(authority)/a%7e/%2F/b//?x=%7E&&y HTTP/1.1", "Host: \(authority)")
        } _: { request, authority in
            #expect(request.startLine == "GET /a%7e/%2F/b//?x=%7E&&y HTTP/1.1")
            #expect(request.fields.map { "\($0.name): \($0.value)" } == ["Host: \(authority)"])
        }
    }

    @Test func `dot segments are resolved before the path goes on`() async throws {
        try await relayed { authority in
            head("GET http://\(authority)/a/%2e%2E/./b/../c?x=/../ HTTP/1.1", "Host: \(authority)")
        } _: { request, _ in
            #expect(request.target == "/c?x=/../")
        }
    }

    @Test func `the target wins over another Host`() async throws {
        try await relayed { authority in
            head("GET http://\(authority)/ HTTP/1.1", "Host: other.example")
        } _: { request, authority in
            #expect(request.values("host") == [authority])
        }
    }

    @Test(arguments: [("", "/"), ("?q", "/?q")])
    func `a target without a path asks for the root`(
        rest: String,
        expected: String
    ) async throws {
        try await relayed { authority in
            head("GET http://\(authority)\(rest) HTTP/1.1", "Host: \(authority)")
        } _: { request, _ in
            #expect(request.target == expected)
        }
    }

    @Test func `OPTIONS without a path is about the whole server`() async throws {
        try await relayed { authority in
            head("OPTIONS http://\(authority) HTTP/1.1", "Host: \(authority)")
        } _: { request, _ in
            #expect(request.startLine == "OPTIONS * HTTP/1.1")
        }
    }

    @Test func `an unknown method goes on as it is`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try proxy.origin { connection in
                #expect(try connection.request().method == "pRoPFiNd")
                try connection.reply()
            }
            let client = try proxy.client()
            try client.send("pRoPFiNd", origin.url())
            #expect(try client.response().status == 200)
            let record = try proxy.record()
            #expect(record["http.request.method"] == "_OTHER")
            #expect(record["http.request.method_original"] == "pRoPFiNd")
        }
    }

    @Test func `HTTP 1.2 is answered as 1.1 and HTTP 1.0 goes on as 1.1`() async throws {
        for version in ["1.2", "1.0"] {
            try await relayed { authority in
                head("GET http://\(authority)/ HTTP/\(version)", "Host: \(authority)")
            } _: { request, _ in
                #expect(request.startLine == "GET / HTTP/1.1")
            }
        }
    }

    @Test func `spelling and order of other fields are kept`() async throws {
        try await relayed("upstream: {via: false}") { authority in
            head(
                "GET http://\(authority)/ HTTP/1.1",
                "x-b:1",
                "X-A:   2  ",
                "Host: \(authority)",
                "x-B: 3",
                "Accept-Encoding: br;q=1.0, *;q=0",
                "X-Empty:"
            )
        } _: { request, _ in
            let lines = request.fields.dropFirst().map { "\($0.name)=\($0.value)" }
            #expect(
                lines == ["x-b=1", "X-A=2", "x-B=3", "Accept-Encoding=br;q=1.0, *;q=0", "X-Empty="]
            )
        }
    }

    @Test func `empty lines before a request are forgiven`() async throws {
        try await relayed { authority in
            "\r\n\r\n" + head("GET http://\(authority)/ HTTP/1.1", "Host: \(authority)")
        } _: { request, _ in
            #expect(request.method == "GET")
        }
    }
}
