// What never shares an HTTP/2 connection: other hosts, other trust, other wishes for ALPN.
import LupinTLS
import LupinTestKit
import Testing

struct UpstreamSeparationTests {
    @Test func `hosts with one certificate and one address keep to themselves`() async throws {
        try await ProxyFixture.run(resolve: ProxyFixture.here) { proxy in
            let identity = try proxy.authority.identity("a.test") {
                $0.alternativeNames = [.dns("a.test"), .dns("b.test")]
            }
            var server = SecureSocket.Server(identity)
            server.protocols = ["h2"]
            let origin = try PlayedHTTP2Origin(security: server)
            let client = try proxy.client()
            var connections: [HTTP2OriginConnection] = []
            for host in ["a.test", "b.test"] {
                try client.send("GET", "https://\(origin.authority(host))/")
                let connection = try origin.accept()
                connections.append(connection)
                let request = try connection.request()
                #expect(request[":authority"] == origin.authority(host))
                #expect(connection.security?.facts.serverName == host)
                try connection.reply(to: request.stream, body: host)
                #expect(try client.response().bodyText == host)
            }
            // Both are kept, each for its own host.
            for (host, connection) in zip(["a.test", "b.test"], connections) {
                try client.send("GET", "https://\(origin.authority(host))/")
                try connection.reply(to: try connection.request().stream, body: host)
                #expect(try client.response().bodyText == host)
            }
        }
    }

    @Test func `requests under different trust policies don't share`() async throws {
        try await UpstreamStory.run(
            """
            rules:
              - {name: open, match: {host: origin.test, path: /open}, trust: disabled}
            """
        ) { story in
            let client = try story.client()
            try client.send("GET", story.url("/open"))
            let open = try story.accept()
            try open.reply(to: try open.request().stream, body: "open")
            #expect(try client.response().bodyText == "open")
            try client.send("GET", story.url("/strict"))
            let strict = try story.accept()
            try strict.reply(to: try strict.request().stream, body: "strict")
            #expect(try client.response().bodyText == "strict")
            try open.expectNoRequest()
            try client.send("GET", story.url("/open"))
            try open.reply(to: try open.request().stream, body: "again")
            #expect(try client.response().bodyText == "again")
            try strict.expectNoRequest()
        }
    }

    @Test func `upstream tls alpn without h2 means HTTP 1_1`() async throws {
        try await UpstreamStory.run("upstream: {tls: {alpn: [http/1.1]}}") { story in
            let client = try story.client()
            try client.send("GET", story.url("/one"))
            let plain = try story.acceptHTTP1()
            try plain.reply(body: try plain.request().target)
            #expect(try client.response().bodyText == "/one")
            #expect(try story.proxy.record()["attempts.0.protocol"] == "1.1")
        }
    }

    @Test func `a rule has its own ALPN, and its own connections`() async throws {
        try await UpstreamStory.run(
            """
            rules:
              - {name: old, match: {path: /old}, tls: {alpn: [http/1.1]}}
            """
        ) { story in
            let client = try story.client()
            let new = try story.served(by: client)
            try client.send("GET", story.url("/old"))
            let old = try story.acceptHTTP1()
            try old.reply(body: try old.request().target)
            #expect(try client.response().bodyText == "/old")
            try client.send("GET", story.url("/new"))
            let request = try new.request()
            #expect(request.path == "/new")
            try new.reply(to: request.stream, body: "new")
            #expect(try client.response().bodyText == "new")
            #expect(!story.origin.hasWaiting)
            let versions = try story.proxy.records(3).map { $0["attempts.0.protocol"] }
            #expect(versions == ["2", "1.1", "2"])
        }
    }

    @Test func `a rule may have h2 where the settings have it not`() async throws {
        try await UpstreamStory.run(
            """
            upstream: {tls: {alpn: [http/1.1]}}
            rules:
              - {name: new, match: {path: /new}, tls: {alpn: [h2, http/1.1]}}
            """
        ) { story in
            let client = try story.client()
            try client.send("GET", story.url("/new"))
            let origin = try story.accept()
            try origin.reply(to: try origin.request().stream, body: "new")
            #expect(try client.response().bodyText == "new")
        }
    }

    @Test func `h2 may be offered alone`() async throws {
        try await UpstreamStory.run("upstream: {tls: {alpn: [h2]}}") { story in
            let client = try story.client()
            try client.send("GET", story.url())
            let origin = try story.accept()
            try origin.reply(to: try origin.request().stream, body: "h2")
            #expect(try client.response().bodyText == "h2")
        }
    }
}
