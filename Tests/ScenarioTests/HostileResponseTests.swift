// Responses that could be read in two ways are a 502, and their connection is never used again.
import LupinTestKit
import Testing

/// A response that must not be delivered.
struct HostileResponse: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var text: String
    var error: String

    init(_ name: String, _ lines: String..., error: String = "http_protocol_error") {
        testDescription = name
        text = lines.joined(separator: "\r\n") + "\r\n\r\nhello"
        self.error = error
    }

    static let ok = "HTTP/1.1 200 OK"
    static let coding = "http_response_transfer_coding"

    static let all = [
        HostileResponse("two lengths", ok, "Content-Length: 5", "Content-Length: 6"),
        HostileResponse("a list of different lengths", ok, "Content-Length: 5, 6"),
        HostileResponse("a signed length", ok, "Content-Length: +5"),
        HostileResponse("an underscore in the length", ok, "Content-Length: 5_0"),
        HostileResponse("a negative length", ok, "Content-Length: -5"),
        HostileResponse("a length of 2^63", ok, "Content-Length: 9223372036854775808"),
        HostileResponse("an unknown coding", ok, "Transfer-Encoding: x, chunked", error: coding),
        HostileResponse("chunked twice", ok, "Transfer-Encoding: chunked, chunked", error: coding),
        HostileResponse(
            "a coding that is not chunked",
            ok,
            "Transfer-Encoding: gzip",
            error: coding
        ),
        HostileResponse("a bare CR", ok, "X-A: a\rb"),
        HostileResponse("NUL", ok, "X-A: a\0b"),
        HostileResponse("a line without a colon", ok, "Content-Length"),
        HostileResponse("a name with a space", ok, "X A: b"),
        HostileResponse("a space before the first field", ok, " X-A: b"),
        HostileResponse("no HTTP at all", "SSH-2.0-OpenSSH_9.2"),
        HostileResponse("a status of two digits", "HTTP/1.1 20 OK"),
        HostileResponse("a status of 099", "HTTP/1.1 099 OK"),
        HostileResponse("another version", "HTTP/2.0 200 OK"),
    ]
}

struct HostileResponseTests {
    @Test(arguments: HostileResponse.all)
    func `an ambiguous head is a 502 and poisons its connection`(
        response: HostileResponse
    ) async throws {
        try await ProxyFixture.run { proxy in
            let origin = try proxy.origin { connection in
                try connection.request()
                if connection.number > 0 { return try connection.reply(body: "fine") }
                try connection.send(response.text)
            }
            let client = try proxy.client()
            let answer = try client.get(origin.url())
            #expect(answer.status == 502)
            #expect(answer["proxy-status"] == "lupin; error=\(response.error)".with(answer))
            #expect(try client.get(origin.url("/next")).bodyText == "fine")
            #expect(origin.connections.count == 2)
            let record = try proxy.record()
            #expect(record["outcome"] == "error")
            #expect(record["error.type"] == response.error)
            #expect(record["error.side"] == "upstream")
        }
    }

    @Test func `a response without a head is none that broke off`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try proxy.origin { connection in
                try connection.request()
                try connection.send("<html>hi</html>")
                connection.close()
            }
            let answer = try proxy.client().get(origin.url())
            #expect(answer.status == 502)
            #expect(answer.bodyText.contains("not valid HTTP"))
            #expect(try proxy.record()["error.type"] == "http_protocol_error")
        }
    }

    @Test func `equal lengths become one`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try proxy.origin(
                answering: head("HTTP/1.1 200 OK", "Content-Length: 5, 5", "Content-Length: 5")
                    + "hello"
            )
            let client = try proxy.client()
            for _ in 0..<2 {
                let response = try client.get(origin.url())
                #expect(response.values("content-length") == ["5"])
                #expect(response.bodyText == "hello")
            }
            #expect(origin.connections.count == 1)
        }
    }

    @Test func `folds become a space and spaces before colons go`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try proxy.origin(
                answering: head(
                    "HTTP/1.1 200 OK",
                    "X-Fold: a",
                    "  b",
                    "X-Space : c",
                    "Content-Length: 0"
                )
            )
            let response = try proxy.client().get(origin.url())
            #expect(response["x-fold"]?.split(separator: " ") == ["a", "b"])
            #expect(response.values("x-space") == ["c"])
        }
    }

    @Test(arguments: [
        "0x5\r\nhello\r\n0\r\n\r\n", "5\rhello\r\n0\r\n\r\n", "5\r\nhelloX\r\n0\r\n\r\n",
        "-5\r\nhello\r\n0\r\n\r\n", "FFFFFFFFFFFFFFFFF\r\nhello\r\n0\r\n\r\n", "\r\n0\r\n\r\n",
        "5\r\nhello\r\n0\r\nbad trailer\r\n\r\n",
    ])
    func `an ambiguous chunk cuts the response short`(body: String) async throws {
        try await ProxyFixture.run { proxy in
            let origin = try proxy.origin { connection in
                try connection.request()
                try connection.send(
                    head("HTTP/1.1 200 OK", "Transfer-Encoding: chunked") + "2\r\nok\r\n" + body
                )
            }
            let client = try proxy.client()
            try client.send("GET", origin.url())
            let (bytes, _) = try client.stream.untilEnd()
            #expect(!String(decoding: bytes, as: UTF8.self).hasSuffix("\r\n0\r\n\r\n"))
            let record = try proxy.record()
            #expect(["truncated", "error"].contains(record["outcome"]))
            #expect(record["error.side"] == "upstream")
            _ = try origin.connection().stream
            try eventually("the end of the upstream connection") {
                origin.connections[0].stream.end != nil
            }
        }
    }

    @Test func `bytes behind a response are never the next response`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try proxy.origin { connection in
                try connection.request()
                let body = "\(connection.number)"
                let extra = head("HTTP/1.1 200 OK", "Content-Length: 4") + "evil"
                try connection.send(
                    head("HTTP/1.1 200 OK", "Content-Length: 1") + body
                        + (connection.number == 0 ? extra : "")
                )
            }
            let client = try proxy.client()
            #expect(try client.get(origin.url()).bodyText == "0")
            #expect(try client.get(origin.url()).bodyText == "1")
            #expect(origin.connections.count == 2)
        }
    }

    @Test func `a response behind one that has no body is not taken for its body`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try proxy.origin { connection in
                try connection.request()
                if connection.number > 0 { return try connection.reply(body: "fine") }
                try connection.send(head("HTTP/1.1 204 None") + "unasked")
            }
            let client = try proxy.client()
            let response = try client.get(origin.url())
            #expect(response.status == 204)
            #expect(try client.get(origin.url()).bodyText == "fine")
        }
    }
}

extension String {
    /// The expected `Proxy-Status` with the details that `answer` may add.
    fileprivate func with(_ answer: ScriptedMessage) -> String {
        let actual = answer["proxy-status"] ?? ""
        return actual.hasPrefix(self + ";") ? actual : self
    }
}
