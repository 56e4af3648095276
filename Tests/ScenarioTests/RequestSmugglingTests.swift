// Requests that could be read in two ways reach nobody (RFC 9112 §11.2).
import LupinTestKit
import Testing

/// A request that must be refused before anything goes upstream.
struct HostileRequest: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var lines: [String]
    var status: Int
    var body: String

    init(_ name: String, _ lines: String..., status: Int = 400, body: String = "") {
        testDescription = name
        self.lines = lines
        self.status = status
        self.body = body
    }

    /// The request as it is sent, with one behind it that must not be seen.
    func text(_ authority: String) -> String {
        let head = lines.joined(separator: "\r\n") + "\r\n\r\n"
        let smuggled = "GET http://\(authority)/smuggled HTTP/1.1\r\nHost: \(authority)\r\n\r\n"
        return head.split(separator: "AUTHORITY", omittingEmptySubsequences: false)
            .joined(separator: authority) + body + smuggled
    }

    static let post = "POST http://AUTHORITY/ HTTP/1.1"
    static let get = "GET http://AUTHORITY/ HTTP/1.1"
    static let host = "Host: AUTHORITY"
    static let chunked = "Transfer-Encoding: chunked"

    static let framing = [
        HostileRequest(
            "length and coding",
            post,
            host,
            "Content-Length: 4",
            chunked,
            body: "0\r\n\r\n"
        ),
        HostileRequest(
            "coding and length",
            post,
            host,
            chunked,
            "Content-Length: 4",
            body: "0\r\n\r\n"
        ),
        HostileRequest("two lengths", post, host, "Content-Length: 3", "Content-Length: 4"),
        HostileRequest(
            "the same length twice",
            post,
            host,
            "Content-Length: 0",
            "Content-Length: 0"
        ),
        HostileRequest("a list of equal lengths", post, host, "Content-Length: 0, 0"),
        HostileRequest("a signed length", post, host, "Content-Length: +5", body: "hello"),
        HostileRequest("an underscore in the length", post, host, "Content-Length: 5_0"),
        HostileRequest("a hexadecimal length", post, host, "Content-Length: 0x5", body: "hello"),
        HostileRequest("a negative length", post, host, "Content-Length: -1"),
        HostileRequest("an empty length", post, host, "Content-Length:"),
        HostileRequest("a length of 2^63", post, host, "Content-Length: 9223372036854775808"),
        HostileRequest("a length of 2^64", post, host, "Content-Length: 18446744073709551616"),
        HostileRequest("chunked is not last", post, host, "Transfer-Encoding: chunked, gzip"),
        HostileRequest("two coding lines", post, host, chunked, chunked, body: "0\r\n\r\n"),
        HostileRequest("chunked twice", post, host, "Transfer-Encoding: chunked, chunked"),
        HostileRequest(
            "an unknown coding",
            post,
            host,
            "Transfer-Encoding: xchunked",
            status: 501
        ),
        HostileRequest(
            "an unknown coding before chunked",
            post,
            host,
            "Transfer-Encoding: x, chunked",
            status: 501
        ),
        HostileRequest("a quoted coding", post, host, "Transfer-Encoding: \"chunked\""),
        HostileRequest(
            "a coding with a control byte",
            post,
            host,
            "Transfer-Encoding: \u{B}chunked"
        ),
        HostileRequest("a coding in HTTP/1.0", "POST http://AUTHORITY/ HTTP/1.0", host, chunked),
        HostileRequest("a CONNECT with a body", "CONNECT AUTHORITY HTTP/1.1", host, chunked),
    ]

    static let lines = [
        HostileRequest("a bare LF", "GET http://AUTHORITY/ HTTP/1.1\nX: y", host),
        HostileRequest("a bare CR in a value", get, host, "X-A: a\rX-B: b"),
        HostileRequest("NUL in a value", get, host, "X-A: a\0b"),
        HostileRequest("a space before the colon", post, host, "Content-Length : 5", body: "hello"),
        HostileRequest("a tab before the colon", post, host, "Transfer-Encoding\t: chunked"),
        HostileRequest("a space before the first field", get, " \(host)"),
        HostileRequest("a folded line", get, host, "X-A: a", " b"),
        HostileRequest("a folded coding", post, host, "Transfer-Encoding:", " chunked"),
        HostileRequest("a line without a colon", get, host, "Content-Length"),
        HostileRequest("an empty name", get, host, ": value"),
        HostileRequest("a name that is no token", get, host, "X(A): b"),
        HostileRequest("two spaces in the first line", "GET  http://AUTHORITY/ HTTP/1.1", host),
        HostileRequest("a tab in the first line", "GET\thttp://AUTHORITY/ HTTP/1.1", host),
        HostileRequest("no version", "GET http://AUTHORITY/", host),
        HostileRequest("a version in lower case", "GET http://AUTHORITY/ http/1.1", host),
        HostileRequest("version 2.0", "GET http://AUTHORITY/ HTTP/2.0", host, status: 505),
    ]

    static let targets = [
        HostileRequest("no Host", get),
        HostileRequest("two Hosts", get, host, host),
        HostileRequest("two different Hosts", get, host, "Host: other.example"),
        HostileRequest("a Host with a path", get, "Host: AUTHORITY/x"),
        HostileRequest("a Host with userinfo", get, "Host: user@AUTHORITY"),
        HostileRequest("userinfo in the target", "GET http://u:p@AUTHORITY/ HTTP/1.1", host),
        HostileRequest("a fragment in the target", "GET http://AUTHORITY/#x HTTP/1.1", host),
        HostileRequest("no host in the target", "GET http:///x HTTP/1.1", host),
        HostileRequest("port 0", "GET http://127.0.0.1:0/ HTTP/1.1", host),
        HostileRequest("port 65536", "GET http://127.0.0.1:65536/ HTTP/1.1", host),
        HostileRequest("another scheme", "GET ftp://AUTHORITY/ HTTP/1.1", host),
        HostileRequest("an asterisk for GET", "GET * HTTP/1.1", host),
    ]
}

struct RequestSmugglingTests {
    @Test func `bytes above ASCII mean for rules and origin what their escapes mean`() async throws
    {
        let rules = "rules: [{match: {path: /%C3%A9}, respond: {status: 403}}]"
        try await ProxyFixture.run(rules) { proxy in
            let origin = try proxy.origin { connection in
                while let request = try connection.nextRequest() {
                    try connection.reply(body: request.target)
                }
            }
            let client = try proxy.client()
            #expect(try client.get(origin.url("/é")).status == 403)
            #expect(try client.get(origin.url("/ü?q=日")).bodyText == "/%C3%BC?q=%E6%97%A5")
        }
    }

    @Test(arguments: HostileRequest.framing + HostileRequest.lines + HostileRequest.targets)
    func `an ambiguous head is refused and nothing goes upstream`(
        request: HostileRequest
    ) async throws {
        try await ProxyFixture.run { proxy in
            let origin = try proxy.origin(answering: head("HTTP/1.1 204 Scripted"))
            let client = try proxy.client()
            try client.send(request.text(origin.authority))
            let response = try client.response()
            #expect(response.status == request.status)
            #expect(response["connection"] == "close")
            #expect(response["proxy-status"]?.contains("error=http_request_error") == true)
            #expect(try client.waitForEnd() == .finished)
            #expect(origin.connections.isEmpty)
            let record = try proxy.record()
            #expect(record["outcome"] == "error")
            #expect(record["error.side"] == "client")
            #expect(proxy.recordsSoFar().count == 1)
        }
    }

    @Test(arguments: [
        "0x5\r\nhello\r\n0\r\n\r\n", "5_0\r\nhello", "+5\r\nhello\r\n0\r\n\r\n",
        "-5\r\nhello\r\n0\r\n\r\n", " 5\r\nhello\r\n0\r\n\r\n", "\r\n0\r\n\r\n",
        "10000000000000005\r\nhello\r\n0\r\n\r\n", "FFFFFFFFFFFFFFFF\r\nhello\r\n0\r\n\r\n",
        "5\nhello\r\n0\r\n\r\n", "5\r\nhello\n0\r\n\r\n", "5\r\nhelloX\r\n0\r\n\r\n",
        "5 junk\r\nhello\r\n0\r\n\r\n", "5;a\nhello\r\n0\r\n\r\n", "5\r\nhello\r\n0\n\n",
        "5\r\nhello\r\n0\r\nX : y\r\n\r\n", "5\r\nhello\r\n0\r\n folded\r\n\r\n",
    ])
    func `an ambiguous chunk ends the connection and the request never ends upstream`(
        body: String
    ) async throws {
        try await ProxyFixture.run { proxy in
            let origin = try proxy.origin { _ in }
            let client = try proxy.client()
            let authority = origin.authority
            try client.send(
                head(
                    "POST \(origin.url()) HTTP/1.1",
                    "Host: \(authority)",
                    "Transfer-Encoding: chunked"
                )
                    + body
                    + head("GET \(origin.url("/smuggled")) HTTP/1.1", "Host: \(authority)")
            )
            let response = try client.response()
            #expect(response.status == 400)
            #expect(try client.waitForEnd() == .finished)
            let record = try proxy.record()
            #expect(record["error.type"] == "http_request_error")
            // By now the connection to the origin is closed, if there was one.
            for connection in origin.connections {
                try eventually("the end of the upstream connection") {
                    connection.stream.end != nil
                }
                #expect(!connection.receivedText.contains("smuggled"))
                #expect(!connection.receivedText.hasSuffix("0\r\n\r\n"))
            }
        }
    }

    @Test func `chunk extensions are dropped and chunks are said anew`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try proxy.origin { connection in
                let request = try connection.request()
                #expect(request.isChunked)
                #expect(request.bodyText == "hello world")
                try connection.reply()
            }
            let client = try proxy.client()
            try client.send(
                head(
                    "POST \(origin.url()) HTTP/1.1",
                    "Host: \(origin.authority)",
                    "Transfer-Encoding: Chunked"
                )
                    + "5;a=b;c=\"d\"\r\nhello\r\n006\r\n world\r\n000;last\r\n\r\n"
            )
            #expect(try client.response().status == 200)
            #expect(!origin.receivedText.contains("a=b"))
            #expect(!origin.receivedText.contains("last"))
        }
    }

    @Test func `endless chunk extensions are refused`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try proxy.origin { _ in }
            let client = try proxy.client()
            try client.send(
                head(
                    "POST \(origin.url()) HTTP/1.1",
                    "Host: \(origin.authority)",
                    "Transfer-Encoding: chunked"
                )
                    + "5;" + String(repeating: "a", count: 5000)
            )
            #expect(try client.response().status == 400)
            #expect(try client.waitForEnd() == .finished)
        }
    }

    @Test func `what looks like a request inside a body stays a body`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try proxy.origin { connection in
                while let request = try connection.nextRequest() {
                    try connection.reply(body: "\(request.method) \(request.body.count)")
                }
            }
            let client = try proxy.client()
            let inner = head("GET \(origin.url("/inner")) HTTP/1.1", "Host: \(origin.authority)")
            try client.send("POST", origin.url(), body: inner)
            #expect(try client.response().bodyText == "POST \(inner.utf8.count)")
            try client.send(
                head(
                    "POST \(origin.url()) HTTP/1.1",
                    "Host: \(origin.authority)",
                    "Transfer-Encoding: chunked"
                )
                    + String(inner.utf8.count, radix: 16) + "\r\n" + inner + "\r\n0\r\n\r\n"
            )
            #expect(try client.response().bodyText == "POST \(inner.utf8.count)")
            #expect(try proxy.records(2).count == 2)
        }
    }
}
