// What belongs to one connection stays on it (RFC 9110 §7.6.1).
import LupinTestKit
import Testing

struct HopByHopTests {
    @Test func `fields of the client's connection do not reach the origin`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try proxy.origin { connection in
                let names = Set(try connection.request().names.map { $0.lowercased() })
                #expect(names == ["host", "via", "x-kept", "authorization"])
                try connection.reply()
            }
            let client = try proxy.client()
            let response = try client.get(
                origin.url(),
                "Connection: keep-alive, X-Nominated",
                "X-Nominated: 1",
                "x-nominated: 2",
                "Keep-Alive: timeout=5",
                "Proxy-Connection: keep-alive",
                "TE: gzip",
                "Upgrade: h2c",
                "HTTP2-Settings: AAMAAABk",
                "X-Kept: 1",
                "Proxy-Authorization: Basic c2VjcmV0OnNlY3JldA==",
                "Authorization: Bearer x"
            )
            #expect(response.status == 200)
            #expect(!origin.receivedText.contains("c2VjcmV0"))
        }
    }

    /// RFC 9110 §15.5.22: a 426 without Upgrade would not say to what.
    @Test func `a 426 names the protocols that lupin passes on`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try proxy.origin { connection in
                let upgrade = "Upgrade: foo/2, h2c"
                while try connection.nextRequest() != nil {
                    try connection.reply(426, "Connection: Upgrade", upgrade, body: "no")
                }
            }
            let response = try proxy.client().get(origin.url())
            #expect(response.status == 426 && response.bodyText == "no")
            #expect(response["Upgrade"] == "foo/2")
            #expect(response.values("connection").contains("Upgrade"))
            let other = try proxy.http2Client().request(authority: origin.authority)
            #expect(other.status == 426 && other["upgrade"] == nil)
        }
    }

    @Test func `a quote in Connection hides no option`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try proxy.origin { connection in
                #expect(try connection.request()["X-Nominated"] == nil)
                try connection.reply(200, "Connection: \"a, X-Own, b\"", "X-Own: 1")
            }
            let fields = ["Connection: a\", X-Nominated, \"b", "X-Nominated: 1"]
            let client = try proxy.client()
            try client.send("GET", origin.url(), fields)
            #expect(try client.response()["X-Own"] == nil)
        }
    }

    @Test func `fields of the origin's connection do not reach the client`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try proxy.origin(
                answering: head(
                    "HTTP/1.1 200 OK",
                    "Connection: X-Nominated",
                    "X-Nominated: 1",
                    "Keep-Alive: timeout=5",
                    "Proxy-Connection: keep-alive",
                    "Upgrade: h2c",
                    "Proxy-Authenticate: Basic realm=x",
                    "X-Kept: 1",
                    "Content-Length: 0"
                )
            )
            let response = try proxy.client().get(origin.url())
            let names = Set(response.names.map { $0.lowercased() })
            #expect(names == ["x-kept", "content-length", "date", "via"])
        }
    }

    @Test func `naming framing fields in Connection does not break framing`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try proxy.origin { connection in
                while let request = try connection.nextRequest() {
                    #expect(request.bodyText == "hello")
                    try connection.reply(
                        200,
                        "Connection: content-length, transfer-encoding, host, date",
                        body: "world"
                    )
                }
            }
            let client = try proxy.client()
            for _ in 0..<2 {
                try client.send(
                    "POST",
                    origin.url(),
                    ["Connection: host, content-length, cache-control"],
                    body: "hello"
                )
                #expect(try client.response().bodyText == "world")
            }
        }
    }

    @Test func `a client can't strip what a rule adds`() async throws {
        let rules = """
            rules:
              - match: "**"
                request:
                  - set: {Authorization: Bearer lupin, X-Rule: added}
            """
        try await ProxyFixture.run(rules) { proxy in
            let origin = try proxy.origin { connection in
                let request = try connection.request()
                #expect(request.values("authorization") == ["Bearer lupin"])
                #expect(request.values("x-rule") == ["added"])
                try connection.reply()
            }
            let response = try proxy.client().get(
                origin.url(),
                "Connection: close, Authorization, X-Rule",
                "Authorization: Basic x"
            )
            #expect(response.status == 200)
        }
    }

    @Test func `close from the client ends its connection and not the origin's`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try proxy.origin(answering: head("HTTP/1.1 200 OK", "Content-Length: 0"))
            for _ in 0..<2 {
                let client = try proxy.client()
                let response = try client.get(origin.url(), "Connection: Close")
                #expect(response["connection"] == "close")
                #expect(try client.waitForEnd() == .finished)
            }
            #expect(origin.connections.count == 1)
        }
    }

    @Test func `close from the origin ends its connection and not the client's`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try proxy.origin(
                answering: head("HTTP/1.1 200 OK", "Content-Length: 0", "Connection: close")
            )
            let client = try proxy.client()
            for _ in 0..<2 {
                #expect(try client.get(origin.url())["connection"] == nil)
            }
            #expect(origin.connections.count == 2)
        }
    }
}
