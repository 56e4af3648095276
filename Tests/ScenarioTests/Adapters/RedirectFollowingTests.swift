// Redirects that a rule has lupin follow: methods, bodies, fields, and those that it leaves alone.
import LupinTestKit
import Testing

struct RedirectFollowingTests {
    static let rules = """
        rules:
          - {name: follow, match: {path: /**}, redirect: {follow: true}}
        """

    /// What a request with a body becomes.
    struct Row: Sendable, CustomTestStringConvertible {
        let status: Int
        let method: String
        let next: String
        let keepsBody: Bool

        var testDescription: String { "\(status) \(method)" }
    }

    static let rows: [Row] = [301, 302, 303, 307, 308].flatMap { status -> [Row] in
        let keeps = status > 303
        let get = status == 303 ? "GET" : "PUT"
        return [
            Row(status: status, method: "GET", next: "GET", keepsBody: false),
            Row(status: status, method: "HEAD", next: "HEAD", keepsBody: false),
            Row(status: status, method: "POST", next: keeps ? "POST" : "GET", keepsBody: keeps),
            Row(status: status, method: "PUT", next: get, keepsBody: status != 303),
        ]
    }

    @Test(arguments: rows)
    func `method and body follow RFC 9110`(_ row: Row) async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            let hasBody = row.method == "POST" || row.method == "PUT"
            let body = hasBody ? String(repeating: "body ", count: 20000) : nil
            let fields = hasBody ? ["Content-Type: text/plain", "X-Kept: 1"] : ["X-Kept: 1"]
            try client.send(row.method, origin.url("/a/b?c"), fields, body: body)
            let connection = try origin.accept()
            let first = try connection.request()
            #expect(first.bodyText == body ?? "")
            try connection.send(
                head(
                    "HTTP/1.1 \(row.status) Elsewhere",
                    "Location: ../d?e#f",
                    "Content-Length: 3"
                ) + (row.method == "HEAD" ? "" : "old")
            )
            // On the connection that is there already.
            let second = try connection.request()
            #expect(second.startLine == "\(row.next) /d?e HTTP/1.1")
            #expect(second.bodyText == (row.keepsBody ? body ?? "" : ""))
            #expect((second["content-type"] != nil) == row.keepsBody)
            #expect(second["content-length"] != nil || !row.keepsBody)
            #expect(second["x-kept"] == "1")
            try connection.send(head("HTTP/1.1 204 None"))
            #expect(try client.response(to: row.method).status == 204)
            let record = try proxy.record()
            #expect(record["attempts.0.decision"] == "follow")
            #expect(record["attempts.1.why"] == "redirect")
            #expect(record["attempts.1.reused"] == "1" || record["attempts.1.reused"] == "true")
            #expect(record["attempts.0.reason"] == "\(row.status) to \(origin.url("/d?e"))")
            #expect(record["url.full"] == origin.url("/a/b?c"))
            // The client's connection is as good as before.
            try client.send("GET", origin.url("/next"))
            _ = try connection.request()
            try connection.reply(body: "next")
            #expect(try client.response().bodyText == "next")
        }
    }

    @Test func `a body that is too long to keep leaves the client its 307`() async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let origin = try proxy.origin { connection in
                try connection.request()
                try connection.reply(307, "Location: /b", body: "there")
            }
            let client = try proxy.client()
            let count = 300 << 10
            try client.send("POST", origin.url("/a"), ["Content-Length: \(count)"])
            try client.send(BytePattern.bytes(1, count))
            let response = try client.response(to: "POST")
            #expect(response.status == 307)
            #expect(response.bodyText == "there")
            #expect(
                try proxy.record()["attempts.0.reason"]
                    == "redirect not followed: the request body was not kept"
            )
        }
    }

    @Test func `a body that is not all here is left behind by a 303`() async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            try client.send("POST", origin.url("/a"), ["Content-Length: 100000"])
            try client.send([UInt8](repeating: 0x61, count: 1000))
            let first = try origin.accept()
            _ = try first.requestHead()
            try first.reply(303, "Location: /b", body: "there")
            let second = try origin.accept()
            #expect(try second.request().startLine == "GET /b HTTP/1.1")
            try second.reply(body: "seen")
            let response = try client.response(to: "POST")
            #expect(response.bodyText == "seen")
            #expect(response["connection"] == "close")
        }
    }

    @Test func `another origin gets no credentials of the client's`() async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let (old, new) = (try PlayedOrigin(), try PlayedOrigin())
            let client = try proxy.client()
            try client.send(
                "GET",
                old.url("/a"),
                ["Authorization: Bearer own", "Cookie: a=b", "X-Other: kept"]
            )
            let first = try old.accept()
            #expect(try first.request()["authorization"] == "Bearer own")
            try first.reply(302, "Location: \(old.url("/same"))")
            let same = try first.request()
            #expect(same["authorization"] == "Bearer own")
            #expect(same["cookie"] == "a=b")
            try first.reply(302, "Location: \(new.url("/b"))")
            let second = try new.accept()
            let request = try second.request()
            #expect(request["authorization"] == nil)
            #expect(request["cookie"] == nil)
            #expect(request["x-other"] == "kept")
            #expect(request["host"] == new.authority)
            try second.reply()
            #expect(try client.response().status == 200)
            #expect(try proxy.record().count("attempts") == 3)
        }
    }

    @Test func `a circle and too many redirects are the client's`() async throws {
        let rules = """
            rules:
              - {name: follow, match: {path: /**}, redirect: {follow: true, max: 3}}
            """
        try await ProxyFixture.run(rules) { proxy in
            let origin = try proxy.origin { connection in
                while let request = try connection.nextRequest() {
                    let target = request.target
                    let next = target.hasPrefix("/n") ? "/n\(target.utf8.count)\(target)" : "/a"
                    let location = target == "/a" ? "/b" : next
                    try connection.reply(302, "Location: \(location)", body: target)
                }
            }
            let client = try proxy.client()
            let circle = try client.get(origin.url("/a"))
            #expect(circle.status == 302)
            #expect(circle["location"] == origin.url("/a"))
            let many = try client.get(origin.url("/n"))
            #expect(many.status == 302)
            let records = try proxy.records(2)
            #expect(
                records[0]["attempts.1.reason"] == "redirect not followed: it leads in a circle"
            )
            #expect(
                records[1]["attempts.3.reason"]
                    == "redirect not followed: the maximum of 3 is reached"
            )
            #expect(records[1].count("attempts") == 4)
        }
    }

    @Test func `denied hosts and a way down to http are the client's`() async throws {
        let rules = """
            rules:
              - name: follow
                match: {host: origin.test}
                redirect: {follow: true, deny: ["*.denied.test"]}
            """
        try await Inside.run(rules) { inside in
            try inside.send("GET", "/a")
            let connection = try inside.accept()
            try connection.request()
            try connection.reply(302, "Location: https://x.denied.test/")
            #expect(try inside.client.response().status == 302)
            try inside.send("GET", "/b")
            try connection.request()
            try connection.reply(301, "Location: http://\(inside.authority)/")
            #expect(try inside.client.response().status == 301)
            let records = try inside.proxy.records(2)
            #expect(records[0]["attempts.0.reason"]?.contains("is denied by") == true)
            #expect(records[1]["attempts.0.reason"]?.contains("from https to http") == true)
        }
    }

    @Test func `streams of HTTP2 are followed too`() async throws {
        let rules = """
            rules:
              - {name: follow, match: {host: origin.test}, redirect: {follow: true}}
            """
        try await ProxyFixture.run(rules, resolve: ProxyFixture.here) { proxy in
            let origin = try PlayedHTTP2Origin(
                security: try proxy.authority.server("origin.test")
            )
            let authority = origin.authority("origin.test")
            var security = SecureSocket.Client("origin.test")
            security.protocols = ["h2"]
            let client = try HTTP2Client(
                inside: proxy.client().connectSecurely(authority, security)
            )
            let stream = try client.send(
                HTTP2Fields.request("POST", scheme: "https", authority: authority, path: "/a"),
                body: Array("ping".utf8)
            )
            let connection = try origin.accept()
            let first = try connection.request()
            try connection.reply(to: first.stream, 308, ["location": "/b"], body: "there")
            let second = try connection.request()
            #expect(second.path == "/b")
            #expect(second.bodyText == "ping")
            try connection.reply(to: second.stream, 200, body: "pong")
            #expect(try client.response(on: stream, to: "POST").bodyText == "pong")
        }
    }

    @Test func `a redirect whose body breaks off is followed all the same`() async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            try client.send("GET", origin.url("/a"))
            let first = try origin.accept()
            try first.request()
            try first.send(head("HTTP/1.1 302 No", "Location: /b", "Content-Length: 9") + "half")
            first.reset()
            let second = try origin.accept()
            try second.request()
            try second.reply(body: "there")
            #expect(try client.response().bodyText == "there")
        }
    }
}
