// The admin interface under attack: rebinding, guesses, numbers, control bytes, planted secrets.
import Foundation
import LupinCore
import LupinIO
import LupinProxy
import LupinTestKit
import Testing

struct AdminAttackTests {
    private static let token = "0123456789abcdef"
    private static let rules = ProxyFixture.adminSocket + everywhere("cache: standard")

    /// Runs a story with the interface on a port.
    private func run(
        _ body: @Sendable @escaping (ProxyFixture, UInt16) throws -> Void
    ) async throws {
        let reserved = try ReservedPort()
        let http = "http: {address: 127.0.0.1:\(reserved.number), token: \(Self.token)}"
        try await ProxyFixture.run("admin: {socket: off, \(http)}") {
            try body($0, reserved.number)
        }
    }

    private static func ask(
        _ port: UInt16,
        _ line: String,
        _ fields: [String]
    ) throws -> ScriptedMessage? {
        let client = try ScriptedClient(to: .loopback(port: port))
        defer { client.close() }
        let lines = [line] + fields
        try client.send(lines.joined(separator: "\r\n") + "\r\n\r\n")
        return try? client.response()
    }

    private static let right = "Authorization: Bearer \(token)"

    @Test(arguments: [
        "evil.example:PORT", "localhost.evil.example:PORT", "127.0.0.1.evil.example:PORT",
        "127.0.0.1", "127.0.0.1:80", "localhost.:PORT", "127.1:PORT", "0x7f000001:PORT",
        "2130706433:PORT", "0.0.0.0:PORT", "[::ffff:127.0.0.1]:PORT", "evil@127.0.0.1:PORT",
        "127.0.0.1:PORT/", "127.0.0.1:PORT, evil.example", "127.0.0.1:0PORT", "",
    ])
    func `a page whose name was made to lead here is told nothing`(host: String) async throws {
        try await run { proxy, port in
            let name = host.replacing("PORT", with: "\(port)")
            for line in ["GET /v1/status HTTP/1.1", "GET http://\(name)/v1/status HTTP/1.1"] {
                guard !name.isEmpty || line.hasPrefix("GET /") else { continue }
                let response = try Self.ask(port, line, ["Host: \(name)", Self.right])
                let status = try #require(response).status
                #expect([400, 421].contains(status), "\(line) \(name)")
                #expect(response?.bodyText.contains("listeners") == false)
            }
            let two = ["Host: 127.0.0.1:\(port)", "Host: evil.example", Self.right]
            #expect(try Self.ask(port, "GET /v1/status HTTP/1.1", two)?.status == 400)
            let split = ["Host: 127.0.0.1:\(port)", Self.right]
            let line = "GET http://evil.example/v1/status HTTP/1.1"
            #expect([400, 421].contains(try Self.ask(port, line, split)?.status))
        }
    }

    @Test func `no page of another origin is let in, asked first or not`() async throws {
        try await run { proxy, port in
            let host = "Host: 127.0.0.1:\(port)"
            let origin = "Origin: http://evil.example"
            let preflight = [
                host, origin, "Access-Control-Request-Method: GET",
                "Access-Control-Request-Headers: authorization",
                "Access-Control-Request-Private-Network: true",
            ]
            for (line, fields) in [
                ("OPTIONS /v1/status HTTP/1.1", preflight),
                ("GET /v1/status HTTP/1.1", [host, origin, Self.right]),
            ] {
                let response = try #require(try Self.ask(port, line, fields))
                #expect(!response.names.contains { $0.lowercased().hasPrefix("access-control") })
                if line.hasPrefix("OPTIONS") { #expect(response.status >= 400) }
            }
        }
    }

    @Test func `guesses lock nobody out, and say nothing of how near they are`() async throws {
        try await run { proxy, port in
            let host = "Host: 127.0.0.1:\(port)"
            var answers: Set<String> = []
            let guesses =
                (0...Self.token.utf8.count).map { String(Self.token.prefix($0)) }.dropLast()
                + ["\(Self.token)\(Self.token)", Self.token.uppercased(), "x"]
            for guess in guesses + Array(repeating: "wrong", count: 80) {
                let fields = [host, "Authorization: Bearer \(guess)"]
                let answer = try #require(try Self.ask(port, "GET /v1/status HTTP/1.1", fields))
                #expect(answer.status == 401)
                answers.insert(answer.bodyText)
            }
            #expect(answers.count == 1)
            let twice = [host, "Authorization: Bearer wrong", Self.right]
            #expect(try Self.ask(port, "GET /v1/status HTTP/1.1", twice)?.status == 401)
            #expect(
                try Self.ask(port, "GET /v1/status HTTP/1.1", [host, Self.right])?.status == 200
            )
            #expect(!proxy.logText.contains(Self.token))
        }
    }

    /// Requests that are too much or could be read in two ways.
    static let hostile = [
        "GET /v1/status HTTP/1.1\r\nHost: lupin\r\n" + String(repeating: "X: y\r\n", count: 5000),
        "GET /v1/status HTTP/1.1\r\nHost: lupin\r\n" + String(repeating: "X", count: 1 << 20),
        "GET /v1/\(String(repeating: "a", count: 1 << 20)) HTTP/1.1\r\nHost: lupin\r\n\r\n",
        "POST /v1/reload HTTP/1.1\r\nHost: lupin\r\nContent-Length: 18446744073709551616\r\n\r\n",
        "POST /v1/reload HTTP/1.1\r\nHost: lupin\r\nContent-Length: 9223372036854775807\r\n\r\n",
        "POST /v1/reload HTTP/1.1\r\nHost: lupin\r\nContent-Length: 5\r\n"
            + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "POST /v1/reload HTTP/1.1\r\nHost: lupin\r\nTransfer-Encoding: chunked\r\n\r\n"
            + "FFFFFFFFFFFFFFFF\r\n",
        "POST /v1/reload HTTP/1.1\r\nHost: lupin\r\nTransfer-Encoding: gzip\r\n\r\n",
        "CONNECT 127.0.0.1:1 HTTP/1.1\r\nHost: 127.0.0.1:1\r\n\r\n",
        "GET http://127.0.0.1:1/ HTTP/1.1\r\nHost: 127.0.0.1:1\r\n\r\n",
        "GET * HTTP/1.1\r\nHost: lupin\r\n\r\n", "OPTIONS * HTTP/1.1\r\nHost: lupin\r\n\r\n",
        "GET /v1/status HTTP/1.1\r\nHost: lupin\r\nX: a\0b\r\n\r\n",
        "GET /v1/status\0 HTTP/1.1\r\nHost: lupin\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "\u{16}\u{3}\u{1}\0\u{5}hello",
        "GET /v1/status HTTP/1.1\r\nHost: lupin\r\nUpgrade: h2c\r\n"
            + "Connection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAMAAABk\r\n\r\n",
    ]

    @Test(arguments: hostile.indices)
    func `a request that is too much is answered and ends, or is one like others`(
        index: Int
    ) async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let version = proxy.proxy.rulesVersion
            let client = try proxy.adminClient()
            try? client.send(Self.hostile[index])
            client.shutdownWrite()
            let bytes = try client.stream.untilEnd().bytes
            let text = String(decoding: bytes, as: UTF8.self)
            let isUpgrade = Self.hostile[index].contains("Upgrade: h2c")
            let beginnings = isUpgrade ? ["HTTP/1.1 200 "] : ["HTTP/1.1 4", "HTTP/1.1 50"]
            #expect(text.isEmpty || beginnings.contains { text.hasPrefix($0) }, "\(text)")
            #expect(text.components(separatedBy: "HTTP/1.1 ").count <= 2)
            client.close()
            #expect(try proxy.admin("GET", "/v1/status").status == 200)
            #expect(proxy.proxy.rulesVersion == version)
        }
    }

    private static let numbers = [
        "9223372036854775807", "9223372036854775808", "18446744073709551616", "2147483649",
        String(repeating: "9", count: 5000), "-1", "+1", "0x10", "1e3", "%31", "1%00", "٣", "",
        "NaN", "0",
    ]

    @Test(arguments: ["/v1/exchanges", "/v1/cache/responses"])
    func `a limit of any size is a list or a 400`(path: String) async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let (_, origin) = try proxy.flaky(.fresh("ok"))
            let client = try proxy.client()
            for i in 0..<3 { try client.get(origin.url("/\(i)")) }
            _ = try proxy.records(3)
            for number in Self.numbers {
                let answer = try proxy.admin("GET", "\(path)?limit=\(number)")
                #expect([200, 400].contains(answer.status), "\(number)")
                let isLarge = number.utf8.count > 3 && number.utf8.allSatisfy { 0x30...0x39 ~= $0 }
                if isLarge { #expect(answer.status == 200, "\(number)") }
                #expect(RecordLine(answer.bodyText) != nil, "\(number)")
            }
            let twice = try proxy.admin("GET", "\(path)?limit=1&limit=\(Self.numbers[1])")
            #expect([200, 400].contains(twice.status))
        }
    }

    @Test(arguments: ["GET", "DELETE"])
    func `an id that is none is nothing`(method: String) async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let zeros = String(repeating: "0", count: 30)
            for id in [
                "", "0", "\(zeros)0x", "0x\(zeros)", "-1\(zeros)", "+1\(zeros)", "\(zeros) 0",
                "\(zeros)%30%30", "\(zeros)00/", "\(zeros)00/..", "../status", "..%2fstatus",
                "\(zeros)000", "\(zeros)gg", "\(zeros)٣", "%00", "live/", "LIVE",
                String(repeating: "f", count: 32), String(repeating: "f", count: 4000),
            ] where !id.contains(" ") {
                let answer = try proxy.admin(method, "/v1/exchanges/\(id)")
                #expect([400, 404, 405].contains(answer.status), "\(id)")
            }
            #expect(try proxy.admin("GET", "/v1/status").status == 200)
        }
    }

    @Test(arguments: ["GET", "DELETE"])
    func `patterns of any kind match or are refused, and drop nothing by mistake`(
        method: String
    ) async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let (_, origin) = try proxy.flaky(.fresh("ok"))
            let client = try proxy.client()
            try client.get(origin.url("/kept"))
            for value in [
                "%00", "%0d%0aX:%201", "%1b[31m", "%ff%fe", "%", "%2", "%zz", "[", "]", "%5b",
                "%5c",
                "%2f(a%2b)%2b%2f", "%2f%28%2f", "nowhere.test%2f**",
                String(repeating: "*a", count: 900),
                String(repeating: "%2a", count: 900) + "b", "%2f.{99999999}%2f", "%c3%28", "+", "",
                "http://%5b::1", "127.0.0.1:99999%2f**", "127.0.0.1:0%2f**",
            ] {
                let answer = try proxy.admin(method, "/v1/cache/responses?match=\(value)")
                #expect([200, 400, 404].contains(answer.status), "\(value)")
                #expect(answer.bodyText.utf8.allSatisfy { $0 >= 0x20 || $0 == 0x0A }, "\(value)")
                #expect(RecordLine(answer.bodyText) != nil, "\(value): \(answer.bodyText)")
                #expect(answer["X"] == nil)
                if method == "DELETE", !value.isEmpty {
                    #expect(answer.status != 200, "\(value): \(answer.bodyText)")
                }
            }
            for query in [
                "url=", "url=%00", "url=http:///", "url=a&match=b", "a=b", "=", "&&", "?",
            ] {
                let answer = try proxy.admin(method, "/v1/cache/responses?\(query)")
                #expect([200, 400, 404].contains(answer.status), "\(query)")
                if method == "DELETE" { #expect(answer.status != 200, "\(query)") }
            }
            #expect(try client.get(origin.url("/kept")).isHit)
        }
    }

    /// What needs escapes in every coding.
    private static let secret = "s3cr3t\"q/uo\\te+ü~"

    /// The secret as it may travel, in a URL, a field or a cookie.
    static let forms: [String] = {
        let data = Data(secret.utf8)
        let hex = data.map { String(format: "%02x", $0) }.joined()
        let percent = data.map { String(format: "%%%02X", $0) }.joined()
        let base64 = data.base64EncodedString()
        let escaped = secret.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
        let unicode = secret.unicodeScalars.map { String(format: "\\u%04x", $0.value) }.joined()
        let basic = Data("me:\(secret)".utf8).base64EncodedString()
        return [
            hex, hex.uppercased(), percent, base64, basic, escaped, unicode,
            escaped.replacing("/", with: "\\/"), Data(base64.utf8).base64EncodedString(),
            base64.replacing("+", with: "-").replacing("/", with: "_"),
        ]
    }()

    @Test(arguments: forms)
    func `a secret of the rules is in no answer, however it was written`(
        form: String
    ) async throws {
        let rules = """
            \(ProxyFixture.adminSocket)
            tokens:
              mine: {basic: {user: me, password: "${env:KEY}", preemptive: true}, plain_http: true}
            rules:
              - {name: mine, match: {path: /**}, request: [{auth: mine}], cache: standard}
            """
        try await ProxyFixture.run(rules, environment: ["KEY": Self.secret]) { proxy in
            let text = form
            let safe = text.utf8.map { byte in
                let isPlain = byte > 0x20 && byte < 0x7F && !"\"\\%".utf8.contains(byte)
                return isPlain ? String(UnicodeScalar(byte)) : String(format: "%%%02X", byte)
            }
            .joined()
            let (_, origin) = try proxy.flaky(
                .fresh("ok", ["X-Echo: \(text)", "Set-Cookie: a=\(safe)", "ETag: \"\(safe)\""])
            )
            let client = try proxy.client()
            try client.get(origin.url("/\(safe)?q=\(safe)"), "X-Note: \(text)", "Cookie: a=\(safe)")
            let id = try #require(try proxy.record()["id"])
            let (_, stalled) = try proxy.flaky(.stall)
            let live = try proxy.client()
            try live.send("GET", stalled.url("/\(safe)"))
            try proxy.settleWell()
            for path in [
                "/v1/exchanges", "/v1/exchanges/\(id)", "/v1/exchanges/live", "/v1/cache",
                "/v1/cache/responses", "/v1/status", "/v1/metrics",
                "/v1/cache/responses?url=http://a.test/\(safe)",
                "/v1/cache/responses?match=a.test/\(safe)", "/v1/\(safe)",
            ] {
                let body = try proxy.admin("GET", path).bodyText
                #expect(!body.contains(text), "\(path): \(body)")
                #expect(!body.contains(safe), "\(path): \(body)")
                #expect(!body.contains(Self.secret), "\(path)")
            }
        }
    }
}
