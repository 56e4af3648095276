// Credentials that come back in responses, masked before anybody has them.
import LupinCoding
import LupinCore
import LupinProxy
import LupinTestKit
import Testing

struct ScrubTests {
    private static let secret = StandInTests.secret
    private static let stars = String(repeating: "*", count: secret.utf8.count)
    private static let rule = """
        rules: [{match: {host: a.test}, request: [{auth: github}], scrub: true}]
        """

    /// What the client gets when the origin of `a.test` answers as `answer` does.
    private func response(
        _ rules: String = rule,
        method: String = "GET",
        fields: [String] = [],
        _ answer: @Sendable @escaping (OriginConnection, ScriptedMessage) throws -> Void,
        _ check: @Sendable @escaping (ScriptedMessage, ProxyFixture) throws -> Void
    ) async throws {
        try await StandInTests.run(rules) { proxy, origin in
            let client = try proxy.client()
            try client.send(method, "http://\(origin.authority("a.test"))/", fields)
            let connection = try origin.accept()
            try answer(connection, try connection.request())
            try check(try client.response(to: method), proxy)
        }
    }

    private static let body = """
        {"token":"\(secret)","url":"/?t=s3cret%2Fvalue-of-github","x":"s3cret\\/value-of-github"}
        """
    private static let masked = """
        {"token":"\(stars)","url":"/?t=\(stars)**","x":"\(stars)*"}
        """

    private static func head(_ lines: String...) -> String {
        (["HTTP/1.1 200 OK", "Content-Type: application/json"] + lines)
            .map { $0 + "\r\n" }.joined() + "\r\n"
    }

    @Test(arguments: [false, true])
    func `fields and a text keep their lengths`(isBytewise: Bool) async throws {
        try await response { connection, request in
            #expect(request["authorization"] == "Bearer \(Self.secret)")
            let length = Self.body.utf8.count
            let head = Self.head(
                "X-Echo: you sent \(Self.secret)",
                "Content-Length: \(length)",
                "ETag: \"a\"",
                "Repr-Digest: sha-256=:AA==:"
            )
            if isBytewise {
                try connection.sendBytewise(head + Self.body)
            } else {
                try connection.send(head + Self.body)
            }
        } _: { response, _ in
            #expect(response.bodyText == Self.masked)
            #expect(response["x-echo"] == "you sent \(Self.stars)")
            #expect(response["content-length"] == "\(Self.body.utf8.count)")
            #expect(response["etag"] == "\"a\"")
            #expect(response["repr-digest"] == nil)
        }
    }

    @Test func `chunks of one byte and trailers are masked`() async throws {
        try await response(fields: ["TE: trailers"]) { connection, _ in
            try connection.send(Self.head("Transfer-Encoding: chunked", "Trailer: X-T"))
            for byte in Self.body.utf8 {
                try connection.send("1\r\n\(Character(Unicode.Scalar(byte)))\r\n")
            }
            try connection.send("0\r\nX-T: \(Self.secret)\r\n\r\n")
        } _: { response, _ in
            #expect(response.bodyText == Self.masked)
            #expect(response.trailer("x-t") == Self.stars)
        }
    }

    @Test(arguments: ["gzip", "deflate", "br", "zstd"], [1 << 20, 3])
    func `a coded text comes plain and masked`(coding: String, pieces: Int) async throws {
        let body = Array(repeatElement(Self.body, count: 300).joined().utf8)
        let coded =
            switch coding {
            case "br": CompressedBody.brotli(body)
            case "zstd": CompressedBody.zstd(body)
            default: try WholeBody.encoded(body, with: [coding])
            }
        let fields = ["Accept-Encoding: gzip, br, exi"]
        try await response(fields: fields) { connection, request in
            #expect(request["accept-encoding"] == "gzip")
            let lines = ["Content-Encoding: \(coding)", "Content-Length: \(coded.count)"]
            try connection.send(Self.head(lines[0], lines[1], "ETag: \"a\""))
            for start in stride(from: 0, to: coded.count, by: pieces) {
                try connection.send(Array(coded[start..<min(start + pieces, coded.count)]))
            }
        } _: { response, _ in
            #expect(response.bodyText == String(repeating: Self.masked, count: 300))
            #expect(response["content-encoding"] == nil)
            #expect(response["content-length"] == nil)
            #expect(response["etag"] == "W/\"a\"")
        }
    }

    @Test func `a text whose coding can't be undone is refused`() async throws {
        try await response { connection, _ in
            let lines = ["Content-Encoding: exi", "Content-Length: 1"]
            try connection.send(Self.head(lines[0], lines[1]) + "x")
        } _: { response, proxy in
            #expect(response.status == 502)
            let record = try proxy.record()
            #expect(record["error.type"] == "http_response_content_coding")
        }
    }

    @Test func `what is no text is masked, too`() async throws {
        try await response { connection, _ in
            let fields = ["Content-Type: image/png", "X-Echo: \(Self.secret)"]
            try connection.reply(200, fields[0], fields[1], body: Self.body)
        } _: { response, _ in
            #expect(response.bodyText == Self.masked)
            #expect(response["x-echo"] == Self.stars)
        }
    }

    @Test func `where nothing is scrubbed a response passes as it is`() async throws {
        try await response(Self.rule.replacing("scrub: true", with: "scrub: false")) {
            connection,
            _ in
            try connection.reply(200, "Content-Type: text/plain", body: Self.secret)
        } _: { response, _ in
            #expect(response.bodyText == Self.secret)
        }
    }

    @Test func `no part is asked for, since a part may begin within a secret`() async throws {
        try await response(fields: ["Range: bytes=3-", "If-Range: \"a\""]) { connection, request in
            #expect(request["range"] == nil)
            #expect(request["if-range"] == nil)
            try connection.reply(200, "Content-Type: text/plain", body: Self.secret)
        } _: { response, _ in
            #expect(response.bodyText == Self.stars)
        }
    }

    @Test func `a response to HEAD keeps its length, and its fields are masked`() async throws {
        try await response(method: "HEAD") { connection, _ in
            try connection.send(Self.head("Content-Length: 500", "X-Echo: \(Self.secret)"))
        } _: { response, _ in
            #expect(response["content-length"] == "500")
            #expect(response["x-echo"] == Self.stars)
        }
    }

    @Test func `an interim response is masked`() async throws {
        try await response { connection, _ in
            try connection.send("HTTP/1.1 103 Early Hints\r\nX-Echo: \(Self.secret)\r\n\r\n")
            try connection.reply(body: "")
        } _: { response, _ in
            #expect(response.interim.first?["x-echo"] == Self.stars)
        }
    }

    @Test func `events pass as soon as their line has come`() async throws {
        try await StandInTests.run(Self.rule) { proxy, origin in
            let client = try proxy.client()
            try client.send("GET", "http://\(origin.authority("a.test"))/")
            let connection = try origin.accept()
            try connection.request()
            let type = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
            try connection.send(type + "Connection: close\r\n\r\ndata: a\n\n")
            _ = try client.stream.head()
            #expect(try client.stream.text(12) == "9\r\ndata: a\n\n")
            try connection.send("data: \(Self.secret)\n\n")
            let event = "data: \(Self.stars)\n\n"
            let size = String(event.utf8.count, radix: 16)
            let chunk = "\r\n\(size)\r\n\(event)"
            #expect(try client.stream.text(chunk.utf8.count) == chunk)
        }
    }

    @Test func `what is stored is masked already`() async throws {
        let rule = """
            rules:
              - {match: {host: a.test}, request: [{auth: github}], scrub: true, cache: standard}
            """
        try await StandInTests.run(rule) { proxy, origin in
            let client = try proxy.client()
            let url = "http://\(origin.authority("a.test"))/"
            try client.send("GET", url)
            let connection = try origin.accept()
            try connection.request()
            let fields = ["Content-Type: text/plain", "Cache-Control: public, max-age=60"]
            try connection.reply(200, fields[0], fields[1], body: "it is \(Self.secret).")
            #expect(try client.response().bodyText == "it is \(Self.stars).")
            let again = try client.get(url, "Range: bytes=6-8")
            #expect(again.bodyText == "***" || again.bodyText == "it is \(Self.stars).")
            #expect(again["cache-status"]?.contains("; hit") == true)
        }
    }

    @Test func `a 401 that is held back while the token is read again is masked, too`()
        async throws
    {
        try await response { connection, _ in
            try connection.reply(401, "Content-Type: text/plain", body: "no: \(Self.secret)")
        } _: { response, _ in
            #expect(response.status == 401)
            #expect(response.bodyText == "no: \(Self.stars)")
        }
    }
}
