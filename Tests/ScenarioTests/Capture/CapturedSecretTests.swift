// Planted secrets are in no file of the capture and in no answer about it, in no encoding.
import Foundation
import LupinTestKit
import Testing

/// What nothing may show, and where it is planted.
private enum Secret {
    /// A token of the rules file.
    static let token = "b3arer/Pl4nted+token"
    static let cookie = "c00kie-pl4nted-value"
    static let client = "cl13nt-pl4nted-value"
    static let query = "qu3ry-pl4nted-value"
    static let member = "m3mber-pl4nted-value"
    static let all = [token, cookie, client, query, member]

    /// A secret as it may be written.
    static func forms(of secret: String) -> [String] {
        let bytes = Array(secret.utf8)
        let base64 = Data(bytes).base64EncodedString()
        func escaped(_ format: String) -> String {
            bytes.map { String(format: format, $0) }.joined()
        }
        return [
            secret, base64, base64.replacing("+", with: "-").replacing("/", with: "_"),
            secret.replacing("/", with: "%2F").replacing("+", with: "%2B"),
            secret.replacing("/", with: "%2f").replacing("+", with: "%2b"),
            secret.replacing("/", with: "\\/"), escaped("\\u%04x"), escaped("\\u%04X"),
            escaped("%%%02X"), escaped("%%%02x"), escaped("%02x"), escaped("%02X"),
            base64Behind("a", secret), base64Behind("ab", secret),
        ]
    }

    private static func base64Behind(_ other: String, _ secret: String) -> String {
        Data((other + secret).utf8).base64EncodedString()
    }

    /// All forms, and what base64 shows of a secret behind one and two other bytes.
    static let texts =
        all.flatMap(forms)
        + all.flatMap { secret in
            [
                String(base64Behind("a", secret).dropFirst(2).dropLast(4)),
                String(base64Behind("ab", secret).dropFirst(3).dropLast(4)),
            ]
        }

    static func expectNone(in data: Data, _ what: String) {
        for text in texts where data.range(of: Data(text.utf8)) != nil {
            Issue.record("\(text) is in \(what)")
        }
    }
}

struct CapturedSecretTests {
    private static let rules =
        ProxyFixture.captureFolder + """
            tokens: {api: {bearer: "${env:TOKEN}", header: {name: X-Api}, plain_http: true}}
            rules: [{match: {path: /**}, capture: true, request: [{auth: api}]}]

            """

    /// Bodies with the token in every form, and with a member that is hidden by its name.
    private static let bodies: [[UInt8]] = {
        let forms = Secret.forms(of: Secret.token).map { "{\"echo\":\"\($0)\"}" }
        let named = "{\"access_token\":\"\(Secret.member)\",\"x\":1}"
        let form = "grant=x&client_secret=\(Secret.member)&y=1"
        let url = "see https://a.example/?code=\(Secret.query)&x=1"
        let middle =
            String(repeating: "x", count: 70_000) + "&password=\(Secret.member)&"
            + Secret.token + String(repeating: "y", count: 70_000)
        return (forms + [named, form, url, middle]).map { Array($0.utf8) }
    }()

    private static func coded(_ body: [UInt8], _ coding: String) -> [UInt8] {
        switch coding {
        case "gzip": Coded.gzip(body)
        case "br": CompressedBody.brotli(body)
        case "zstd": CompressedBody.zstd(body)
        default: body
        }
    }

    /// Sends a response in chunks, each border within what is planted.
    private static func send(_ body: [UInt8], _ coding: String, on connection: OriginConnection)
        throws
    {
        try connection.send(
            head(
                "HTTP/1.1 200 OK",
                "Content-Encoding: \(coding)",
                "Content-Type: application/json",
                "Set-Cookie: sid=\(Secret.cookie)",
                "X-Echo: \(Secret.token)",
                "Location: /?token=\(Secret.query)",
                "Transfer-Encoding: chunked"
            )
        )
        let step = body.count > 1000 ? 4093 : 7
        for start in stride(from: 0, to: body.count, by: step) {
            let piece = body[start..<min(body.count, start + step)]
            let size = Array("\(String(piece.count, radix: 16))\r\n".utf8)
            try connection.send(size + piece + [13, 10])
        }
        try connection.send("0\r\n\r\n")
    }

    private static func search(_ proxy: ProxyFixture, _ ids: [String]) throws {
        Secret.expectNone(in: try proxy.capturedBytes(), "a file of the capture")
        var routes = [
            "/v1/exchanges", "/v1/exchanges?format=lines", "/v1/exchanges?format=full",
            "/v1/exchanges/live", "/v1/capture", "/v1/status", "/v1/metrics",
        ]
        for id in ids {
            let root = "/v1/exchanges/\(id)"
            routes += [root, "\(root)/messages", "\(root)/explain"]
            routes += ["request", "sent", "received", "response"].map { "\(root)/bodies/\($0)" }
        }
        let client = try proxy.adminClient()
        defer { client.close() }
        for route in routes {
            try client.send("GET \(route) HTTP/1.1\r\nHost: lupin\r\n\r\n")
            let answer = try client.response()
            Secret.expectNone(in: Data(answer.body), route)
        }
        Secret.expectNone(in: try proxy.archive(), "the archive")
        Secret.expectNone(in: Data(proxy.logText.utf8), "the log")
    }

    @Test(arguments: ["identity", "gzip", "br", "zstd"])
    func `bodies and heads show none of them`(coding: String) async throws {
        let environment = ["TOKEN": Secret.token]
        try await ProxyFixture.run(Self.rules, environment: environment) { proxy in
            let origin = try proxy.origin { connection in
                while let request = try connection.nextRequest() {
                    #expect(request["x-api"] == Secret.token)
                    try Self.send(request.body, coding, on: connection)
                }
            }
            let client = try proxy.client()
            for body in Self.bodies {
                let body = Self.coded(body, coding)
                let url = origin.url("/a?code=\(Secret.query)&x=1")
                let fields = [
                    "Authorization: Bearer \(Secret.client)", "Content-Encoding: \(coding)",
                    "Content-Length: \(body.count)", "Referer: http://b/?sig=\(Secret.query)",
                ]
                try client.send("POST", url, fields)
                try client.send(body)
                #expect(try client.response(to: "POST").body == body)
            }
            let ids = try proxy.records(Self.bodies.count).compactMap { $0["id"] }
            for id in ids {
                let detail = try proxy.captured(id)
                for side in ["request", "response"] {
                    #expect(detail.side(side)["truncated"] == nil)
                    let kept = try #require(try proxy.body(side, of: detail))
                    #expect(kept.contains("REDACTED."))
                }
            }
            try Self.search(proxy, ids)
        }
    }

    @Test func `events show none of them, wherever a packet ends`() async throws {
        let environment = ["TOKEN": Secret.token]
        try await ProxyFixture.run(Self.rules, environment: environment) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            try client.send("GET", origin.url())
            let far = try origin.accept()
            try far.request()
            let start = head("HTTP/1.1 200 OK", "Content-Type: text/event-stream")
            try far.send(start.replacing("OK\r\n", with: "OK\r\nConnection: close\r\n"))
            for text in Secret.forms(of: Secret.token) + ["{\"token\":\"\(Secret.member)\"}"] {
                let event = Array("data: \(text)\n\n".utf8)
                for cut in [1, 12, event.count - 3] {
                    try far.send(Array(event[..<cut]))
                    try proxy.settle()
                    try far.send(Array(event[cut...]))
                    try proxy.settle()
                }
            }
            far.close()
            let live = try client.response()
            #expect(live.bodyText.contains(Secret.token))
            let detail = try proxy.captured()
            #expect(try proxy.body("response", of: detail)?.contains("REDACTED.") == true)
            try Self.search(proxy, [try #require(detail["record.id"])])
        }
    }

    @Test func `messages of a WebSocket show none of them`() async throws {
        let environment = ["TOKEN": Secret.token]
        try await ProxyFixture.run(Self.rules, environment: environment) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            try client.send("GET", origin.url("/chat"), CapturedWebSocketTests.wish)
            let far = try origin.accept()
            try far.request()
            try far.send(CapturedWebSocketTests.consent)
            #expect(try client.response().status == 101)
            var count = 0
            for text in Secret.forms(of: Secret.token) + ["{\"token\":\"\(Secret.member)\"}"] {
                let bytes = Array(text.utf8)
                let half = bytes.count / 2
                let frames: [UInt8] =
                    [0x01, UInt8(half)] + bytes[..<half]
                    + [0x80, UInt8(bytes.count - half)] + bytes[half...]
                guard bytes.count - half < 126 else { continue }
                count += 1
                try far.send(frames)
                _ = try client.stream.text(frames.count)
            }
            far.close()
            #expect(try client.waitForEnd() == .finished)
            client.close()
            let detail = try proxy.captured()
            #expect(detail["messages"] == "\(count)")
            #expect(try proxy.messages(of: detail).allSatisfy { $0.contains("REDACTED.") })
            try Self.search(proxy, [try #require(detail["record.id"])])
        }
    }
}
