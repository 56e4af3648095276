// The messages of gRPC and Connect are kept one by one: their codings undone, their secrets masked.
import Foundation
import LupinTestKit
import Testing

struct CapturedMessagesTests {
    private static func envelope(_ flags: UInt8, _ payload: [UInt8]) -> [UInt8] {
        let count = payload.count
        return [flags, 0, 0, UInt8(count >> 8), UInt8(count & 0xFF)] + payload
    }

    private static func base64(_ bytes: [UInt8]) -> String { Data(bytes).base64EncodedString() }

    /// Sends messages through a proxy that captures, gets others back, and passes what is captured
    /// to `check`.
    private func call(
        _ type: String,
        _ asked: [UInt8],
        _ answered: [UInt8],
        fields: [String] = [],
        rules: String = ProxyFixture.capturing,
        _ check: @escaping @Sendable (ProxyFixture, RecordLine) throws -> Void
    ) async throws {
        try await ProxyFixture.run(rules) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            try client.send(
                "POST",
                origin.url("/a.B/C"),
                ["Content-Type: \(type)", "Content-Length: \(asked.count)"] + fields
            )
            try client.send(asked)
            let far = try origin.accept()
            #expect(try far.request().body == asked)
            let head = ["HTTP/1.1 200 OK", "Content-Type: \(type)"] + fields
            try far.send(
                (head + ["Content-Length: \(answered.count)", "", ""]).joined(separator: "\r\n")
            )
            try far.send(answered)
            #expect(try client.response().body == answered)
            try check(proxy, try proxy.captured())
        }
    }

    @Test(arguments: ["identity", "gzip", "br", "zstd"])
    func `messages of gRPC are kept in both directions, their coding undone`(
        coding: String
    ) async throws {
        let messages: [[UInt8]] = [[0x08, 0x96, 0x01], [0x12, 0x02, 0x68, 0x69]]
        func coded(_ bytes: [UInt8]) -> [UInt8] {
            switch coding {
            case "gzip": Coded.gzip(bytes)
            case "br": CompressedBody.brotli(bytes)
            case "zstd": CompressedBody.zstd(bytes)
            default: bytes
            }
        }
        let flag: UInt8 = coding == "identity" ? 0 : 1
        let asked = Self.envelope(flag, coded(messages[0]))
        // The second is never compressed: each envelope says for itself.
        let answered =
            Self.envelope(flag, coded(messages[1])) + Self.envelope(0, messages[0])
        try await call(
            "application/grpc+proto",
            asked,
            answered,
            fields: ["grpc-encoding: \(coding)"]
        ) { (proxy, detail) throws in
            #expect(detail["messages"] == "3")
            #expect(
                try proxy.messages(of: detail) == [
                    "client protobuf \(Self.base64(messages[0]))",
                    "origin protobuf \(Self.base64(messages[1]))",
                    "origin protobuf \(Self.base64(messages[0]))",
                ]
            )
            // The body is kept as if nothing had been compressed.
            let plain = Self.envelope(0, messages[1]) + Self.envelope(0, messages[0])
            let id = try #require(detail["record.id"])
            #expect(try proxy.admin("GET", "/v1/exchanges/\(id)/bodies/response").body == plain)
            #expect(detail.side("response")["withheld"] == nil)
            #expect(detail.side("response")["truncated"] == nil)
        }
    }

    @Test func `the end of a call is a message of its own`() async throws {
        let text = Array("{\"a\":1}".utf8)
        let end = Array("{\"metadata\":{}}".utf8)
        try await call(
            "application/connect+json",
            Self.envelope(0, text),
            Self.envelope(0, text) + Self.envelope(0x02, end)
        ) { (proxy, detail) throws in
            #expect(
                try proxy.messages(of: detail) == [
                    "client text {\"a\":1}", "origin text {\"a\":1}",
                    "origin end {\"metadata\":{}}",
                ]
            )
        }
    }

    @Test func `messages with another coding are not kept, and no others are lost`() async throws {
        let secret = Array("planted-s3cret".utf8)
        try await call(
            "application/grpc",
            Self.envelope(0, [0x08, 0x01]) + Self.envelope(1, secret),
            Self.envelope(1, secret) + Self.envelope(0, [0x08, 0x02]),
            fields: ["grpc-encoding: snappy"]
        ) { (proxy, detail) throws in
            #expect(
                try proxy.messages(of: detail) == [
                    "client protobuf CAE=", "client compressed ", "origin compressed ",
                    "origin protobuf CAI=",
                ]
            )
            #expect(try proxy.body("request", of: detail) == nil)
            #expect(detail.side("request")["withheld"]?.contains("snappy") == true)
            #expect(detail.side("request")["kept"] == "0")
            #expect(try proxy.capturedBytes().range(of: Data(secret)) == nil)
        }
    }

    @Test(arguments: ["grpc-encoding: gzip", "X-Y: z"])
    func `what is no gRPC is kept as it is, unless a coding might hide secrets`(
        field: String
    ) async throws {
        let body = Array("message".utf8)
        try await call("application/grpc", body, body, fields: [field]) { (proxy, detail) throws in
            let isPlain = field == "X-Y: z"
            #expect(detail["messages"] == nil)
            #expect(try proxy.body("response", of: detail) == (isPlain ? "message" : nil))
            #expect(detail.side("response")["truncated"] == (isPlain ? nil : "coding"))
        }
    }

    /// A message that says it is compressed without a coding must not be kept either.
    @Test func `a compressed message without a coding is not kept`() async throws {
        let secret = Coded.gzip(Array("planted-s3cret".utf8))
        let first = Self.envelope(0, [0x08, 0x01])
        let body = first + Self.envelope(1, secret) + Self.envelope(0, [0x08, 0x02])
        try await call("application/grpc", body, body) { (proxy, detail) throws in
            #expect(
                try proxy.messages(of: detail) == [
                    "client protobuf CAE=", "client compressed ", "client protobuf CAI=",
                    "origin protobuf CAE=", "origin compressed ", "origin protobuf CAI=",
                ]
            )
            #expect(detail.side("response")["truncated"] == "coding")
            let id = try #require(detail["record.id"])
            #expect(try proxy.admin("GET", "/v1/exchanges/\(id)/bodies/response").body == first)
            #expect(try proxy.capturedBytes().range(of: Data(secret.suffix(12))) == nil)
        }
    }

    @Test func `a secret is masked within its message, whose envelope fits it`() async throws {
        let rules =
            ProxyFixture.captureFolder + """
                tokens:
                  api: {bearer: "planted-s3cret-token", header: {name: X-T}, plain_http: true}
                rules: [{match: {path: /**}, capture: true, request: [{auth: api}]}]

                """
        let token = Array("a planted-s3cret-token b".utf8)
        let message = [0x0A, UInt8(token.count)] + token
        try await call(
            "application/grpc",
            Self.envelope(0, message),
            Self.envelope(1, Coded.gzip(message)) + Self.envelope(0, [0x08, 0x01]),
            fields: ["grpc-encoding: gzip"],
            rules: rules
        ) { (proxy, detail) throws in
            let shown = try proxy.messages(of: detail)
            #expect(shown.count == 3 && shown[2] == "origin protobuf CAE=")
            let masked = Data(base64Encoded: String(shown[1].split(separator: " ")[2])) ?? Data()
            #expect(masked.range(of: Data("a REDACTED.".utf8)) != nil)
            let id = try #require(detail["record.id"])
            let body = try proxy.admin("GET", "/v1/exchanges/\(id)/bodies/response").body
            #expect(body == Self.envelope(0, [UInt8](masked)) + Self.envelope(0, [0x08, 0x01]))
            #expect(try proxy.capturedBytes().range(of: Data("planted".utf8)) == nil)
        }
    }

    @Test func `messages are kept up to the limit of the body`() async throws {
        let rules =
            ProxyFixture.captureFolder
            + "rules: [{match: {path: /**}, capture: {bodies: 64B}}]\n"
        let long = [UInt8](repeating: 0x61, count: 5000)
        let answered = Self.envelope(0, [0x62]) + Self.envelope(1, Coded.gzip(long))
        try await call(
            "application/grpc+json",
            Self.envelope(0, long),
            answered + Self.envelope(0, [0x63]),
            fields: ["grpc-encoding: gzip"],
            rules: rules
        ) { (proxy, detail) throws in
            // One that does not end is certain at the end of the exchange only.
            let shown = try proxy.messages(of: detail)
            #expect(shown.count == 3 && shown.first == "origin text b")
            #expect(shown.contains("client text " + String(repeating: "a", count: 59)))
            let undone = shown.filter { $0.hasPrefix("origin text a") }
            #expect(undone == ["origin text " + String(repeating: "a", count: 63)])
            #expect(detail.side("request")["truncated"] == "limit")
            #expect(detail.side("response")["truncated"] == "limit")
        }
    }
}
