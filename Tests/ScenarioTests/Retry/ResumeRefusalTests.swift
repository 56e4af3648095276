// Where the rest can't be the same body: the client sees the break, and never another byte.
import LupinTestKit
import Testing

struct ResumeRefusalTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let name: String
        /// The answer to the request for the rest.
        let answer: String
        var reason: String?

        var testDescription: String { name }
    }

    private static let rest = "56789"

    private static func part(
        _ lines: String...,
        length: String = "Content-Length: 5",
        body: String = rest
    ) -> String {
        (["HTTP/1.1 206 Part"] + lines + [length]).joined(separator: "\r\n") + "\r\n\r\n" + body
    }

    static let rows = [
        Row(
            name: "200",
            answer: head("HTTP/1.1 200 OK", "ETag: \"v1\"", "Content-Length: 10") + "0123456789",
            reason: "the representation has changed or ranges are not served"
        ),
        Row(
            name: "flaws",
            answer: part("ETag: \"v1\"", "Content-Range: bytes 5-9/10", "X: a\u{1}b"),
            reason: "it has flaws: control"
        ),
        Row(
            name: "other tag",
            answer: part("ETag: \"v2\"", "Content-Range: bytes 5-9/10"),
            reason: "the entity tag has changed"
        ),
        Row(
            name: "weak tag",
            answer: part("ETag: W/\"v1\"", "Content-Range: bytes 5-9/10"),
            reason: "the entity tag has changed"
        ),
        Row(
            name: "no tag",
            answer: part("Content-Range: bytes 5-9/10"),
            reason: "it has no entity tag"
        ),
        Row(
            name: "begins too early",
            answer: part("ETag: \"v1\"", "Content-Range: bytes 4-8/10"),
            reason: "another range came"
        ),
        Row(
            name: "ends too early",
            answer: part(
                "ETag: \"v1\"",
                "Content-Range: bytes 5-8/10",
                length: "Content-Length: 4",
                body: "5678"
            ),
            reason: "another range came"
        ),
        Row(
            name: "another whole",
            answer: part("ETag: \"v1\"", "Content-Range: bytes 5-9/11"),
            reason: "the whole has another length"
        ),
        Row(name: "no range", answer: part("ETag: \"v1\""), reason: nil),
        Row(
            name: "longer than its range",
            answer: part(
                "ETag: \"v1\"",
                "Content-Range: bytes 5-9/10",
                length: "Content-Length: 7",
                body: "56789XX"
            ),
            reason: "Content-Length contradicts Content-Range"
        ),
        Row(
            name: "several parts",
            answer: part(
                "ETag: \"v1\"",
                "Content-Type: multipart/byteranges; boundary=x",
                "Content-Range: bytes 5-9/10"
            ),
            reason: "several parts came"
        ),
        Row(
            name: "416",
            answer: head("HTTP/1.1 416 No", "Content-Length: 0"),
            reason: "the origin has no such range"
        ),
        Row(name: "404", answer: head("HTTP/1.1 404 No", "Content-Length: 0"), reason: nil),
        Row(
            name: "another coding",
            answer: part("ETag: \"v1\"", "Content-Range: bytes 5-9/10", "Content-Encoding: gzip"),
            reason: "the content coding has changed"
        ),
    ]

    private static let rules = everywhere("resume: true, retry: {use: standard, backoff: none}")
    private static let first =
        head("HTTP/1.1 200 OK", "ETag: \"v1\"", "Content-Length: 10") + "01234"

    @Test(arguments: rows)
    func `what may be another body is refused`(row: Row) async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let (flaky, origin) = try proxy.flaky(.breakOff(Self.first), .say(row.answer))
            let client = try proxy.client()
            try client.send("GET", origin.url())
            #expect(try client.stream.head()?.status == 200)
            let (bytes, _) = try client.stream.untilEnd()
            #expect(String(decoding: bytes, as: UTF8.self) == "01234")
            #expect(flaky.asked == 2)
            let record = try proxy.record()
            #expect(record["outcome"] == "truncated")
            #expect(record["http.response.body.size"] == "5")
            #expect(record.count("attempts") == 2)
            #expect(record["attempts.0.decision"] == "resume")
            #expect(record["attempts.1.decision"] == "give-up")
            if let reason = row.reason { #expect(record["attempts.1.reason"] == reason) }
        }
    }

    @Test(arguments: rows)
    func `a stream is reset`(row: Row) async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let (_, origin) = try proxy.flaky(.breakOff(Self.first), .say(row.answer))
            let client = try proxy.http2Client()
            let response = try client.request(authority: origin.authority)
            #expect(response.bodyText == "01234")
            #expect(response.reset != nil)
            #expect(try proxy.record()["outcome"] == "truncated")
        }
    }

    /// The rest in chunks, which may be more or less than its Content-Range says.
    @Test(arguments: ["", "5678", "56789HTTP/1.1 200 OK", "56789X"], [false, true])
    func `a rest of another length than its range is never taken for the rest`(
        rest: String,
        isStream: Bool
    ) async throws {
        let chunked = Self.part(
            "ETag: \"v1\"",
            "Content-Range: bytes 5-9/10",
            length: "Transfer-Encoding: chunked",
            body: (rest.isEmpty ? "" : String(rest.utf8.count, radix: 16) + "\r\n\(rest)\r\n")
                + "0\r\n\r\n"
        )
        try await ProxyFixture.run(Self.rules) { proxy in
            let (_, origin) = try proxy.flaky(.breakOff(Self.first), .say(chunked))
            var body = ""
            if isStream {
                let response = try proxy.http2Client().request(authority: origin.authority)
                body = response.bodyText
                #expect(response.reset != nil)
            } else {
                let client = try proxy.client()
                try client.send("GET", origin.url())
                #expect(try client.stream.head()?.status == 200)
                body = String(decoding: try client.stream.untilEnd().bytes, as: UTF8.self)
            }
            // Not a byte more than was promised, and no clean end with fewer.
            #expect("0123456789".hasPrefix(body))
            #expect(body.utf8.count < 10)
            #expect(try proxy.record()["outcome"] == "truncated")
        }
    }

    /// First responses that nobody could go on with.
    @Test(
        arguments: [
            head("HTTP/1.1 200 OK", "ETag: W/\"v1\"", "Content-Length: 10") + "01234",
            head("HTTP/1.1 200 OK", "Content-Length: 10") + "01234",
            head("HTTP/1.1 200 OK", "ETag: \"v1\"", "Transfer-Encoding: chunked")
                + "5\r\n01234\r\n",
            head("HTTP/1.1 200 OK", "ETag: \"v1\"", "Accept-Ranges: none", "Content-Length: 10")
                + "01234",
            head("HTTP/1.1 404 OK", "ETag: \"v1\"", "Content-Length: 10") + "01234",
        ]
    )
    func `what has no strong validator or no length is not asked for`(
        answer: String
    ) async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let (flaky, origin) = try proxy.flaky(.breakOff(answer), .good)
            let client = try proxy.client()
            try client.send("GET", origin.url())
            _ = try client.stream.head()
            let (bytes, _) = try client.stream.untilEnd()
            #expect(!String(decoding: bytes, as: UTF8.self).hasSuffix("0\r\n\r\n"))
            #expect(flaky.asked == 1)
            let record = try proxy.record()
            #expect(record["outcome"] == "truncated")
            #expect(record["attempts.0.decision"] == "deliver")
        }
    }

    @Test(arguments: ["POST", "PUT", "GET with a body", "HEAD", "no rule"])
    func `other requests are not resumed`(method: String) async throws {
        let rules = method == "no rule" ? "" : Self.rules
        try await ProxyFixture.run(rules) { proxy in
            let (flaky, origin) = try proxy.flaky(.breakOff(Self.first), .good)
            let client = try proxy.client()
            let body = ["POST", "PUT", "GET with a body"].contains(method) ? "x" : nil
            let word = method.prefix { $0 != " " }
            try client.send(word == "no" ? "GET" : String(word), origin.url(), body: body)
            _ = try client.stream.head()
            if method != "HEAD" {
                let (bytes, _) = try client.stream.untilEnd()
                #expect(String(decoding: bytes, as: UTF8.self) == "01234")
            }
            _ = try proxy.record()
            #expect(flaky.asked == 1)
        }
    }

    @Test func `a spent budget ends it, as it ends every repetition`() async throws {
        let budget = "{floor: 0, ratio: 0%}"
        let rules = everywhere("resume: true, retry: {use: standard, budget: \(budget)}")
        try await ProxyFixture.run(rules) { proxy in
            let (flaky, origin) = try proxy.flaky(.breakOff(Self.first), .good)
            let client = try proxy.client()
            try client.send("GET", origin.url())
            _ = try client.stream.head()
            #expect(String(decoding: try client.stream.untilEnd().bytes, as: UTF8.self) == "01234")
            #expect(flaky.asked == 1)
            let record = try proxy.record()
            #expect(record["outcome"] == "truncated")
            #expect(record["attempts.0.decision"] == "give-up")
            #expect(record["attempts.0.reason"]?.contains("is spent: 0 of 0 in 10s") == true)
        }
    }

    @Test func `an origin that is ill for a moment is asked again`() async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let (flaky, origin) = try proxy.flaky(
                .breakOff(Self.first),
                .status(503, body: "ill"),
                .say(Self.part("ETag: \"v1\"", "Content-Range: bytes 5-9/10"))
            )
            #expect(try proxy.client().get(origin.url()).bodyText == "0123456789")
            #expect(flaky.requests.map { $0["Range"] } == [nil, "bytes=5-", "bytes=5-"])
            let record = try proxy.record()
            #expect(record["attempts.1.decision"] == "resume")
            #expect(record["attempts.1.reason"] == "status 503")
        }
    }
}
