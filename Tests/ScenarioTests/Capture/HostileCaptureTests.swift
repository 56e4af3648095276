// Hostile exchanges are captured without harm: memory stays bounded, and every answer is JSON.
import Foundation
import LupinTestKit
import Testing

struct HostileCaptureTests {
    /// Bytes that break what takes them for text, a page, a path or SQL.
    private static let venoms: [[UInt8]] =
        [
            "<script>alert(1)</script>", "\"><img src=x onerror=alert(1)>", "');DROP TABLE body;--",
            "../../../etc/passwd", "\u{202E}gpj.exe", "\u{2028}\u{2029}", "${jndi:ldap://x}",
            "{\"a\":",
            "\\u0000\\ud800", "\\", "%00%ff%zz", "=cmd|' /C calc'!A0", "\u{FEFF}",
        ].map { Array($0.utf8) } + [
            [0xFF, 0xFE, 0xC0, 0x80], [0xED, 0xA0, 0x80], [0x1B, 0x5B, 0x32, 0x4A],
            [0x00, 0x01, 0x7F],
            [0x1F, 0x8B, 0x08, 0x00, 0xFF, 0xFF],
        ]

    /// The same without what no field may hold.
    private static func field(_ venom: [UInt8]) -> [UInt8] {
        venom.map { $0 < 0x20 || $0 == 0x7F ? 0x3F : $0 }
    }

    private static let types = [
        "text/html", "application/json", "image/svg+xml", "text/event-stream",
        "multipart/form-data; boundary=\"<b>\"", "application/x-www-form-urlencoded", "",
    ]
    private static let codings = ["identity", "gzip", "br", "zstd", "deflate", "<b>", "gzip, gzip"]

    /// Each venom with each coding, and with each type.
    private static let count = venoms.count * codings.count

    private static func response(_ number: Int) -> [UInt8] {
        let venom = venoms[number % venoms.count]
        let coding = codings[number / venoms.count % codings.count]
        let type = types[number % types.count]
        var body = venom + Array("{\"token\":".utf8) + venom
        if number % 3 == 0 { body = Coded.gzip(body) }
        if number % 9 == 0 { body.removeLast(4) }
        var bytes = Array("HTTP/1.1 200 ".utf8) + field(venom)
        bytes += Array("\r\nContent-Type: \(type)\r\nContent-Encoding: \(coding)\r\n".utf8)
        bytes += Array("Content-Disposition: attachment; filename=\"".utf8) + field(venom)
        bytes += Array("\"\r\nX-V: ".utf8) + field(venom)
        bytes += Array("\r\nContent-Length: \(body.count)\r\n\r\n".utf8)
        return bytes + body
    }

    private static func isJSON(_ message: ScriptedMessage) -> Bool {
        let data = Data(message.body)
        return (try? JSONSerialization.jsonObject(with: data)) != nil
    }

    @Test func `hostile exchanges are kept, and every route answers JSON`() async throws {
        try await ProxyFixture.run(ProxyFixture.capturing) { proxy in
            let origin = try proxy.origin { connection in
                while let request = try connection.nextRequest() {
                    let number = Int(request["X-Number"] ?? "") ?? 0
                    try connection.send(Self.response(number))
                }
            }
            let client = try proxy.client()
            for number in 0..<Self.count {
                let venom = Self.venoms[number % Self.venoms.count]
                let path = venom.map { String(format: "%%%02X", $0) }.joined()
                let body = venom + venom
                try client.send(
                    Array("POST \(origin.url("/\(path)?q=\(path)")) HTTP/1.1\r\n".utf8)
                        + Array("Host: \(origin.authority)\r\nX-Number: \(number)\r\nX-V: ".utf8)
                        + Self.field(venom)
                        + Array("\r\nContent-Length: \(body.count)\r\n\r\n".utf8) + body
                )
                #expect(try client.response(to: "POST").status == 200, "\(number)")
            }
            let ids = try proxy.records(Self.count).compactMap { $0["id"] }
            _ = try proxy.captured(try #require(ids.last))
            let admin = try proxy.adminClient()
            defer { admin.close() }
            for id in ids {
                for route in ["", "/messages"] {
                    try admin.send("GET /v1/exchanges/\(id)\(route) HTTP/1.1\r\nHost: l\r\n\r\n")
                    let answer = try admin.response()
                    #expect(answer.status == 200 && Self.isJSON(answer), "\(id)\(route)")
                }
                let path = "/v1/exchanges/\(id)/bodies/response"
                try admin.send("GET \(path) HTTP/1.1\r\nHost: l\r\n\r\n")
                let body = try admin.response()
                #expect(body["Content-Type"] == "application/octet-stream" || body.status == 404)
            }
            let list = try proxy.admin("GET", "/v1/exchanges?limit=1000")
            #expect(Self.isJSON(list))
            #expect(RecordLine(list.bodyText)?.count("exchanges") == Self.count)
            let archive = try proxy.archive()
            #expect((try? JSONSerialization.jsonObject(with: archive)) != nil)
        }
    }

    @Test func `a GiB of zeros in gzip takes no more memory than is kept`() async throws {
        // 64 times 16 MiB: several members are one body.
        let member = Coded.gzip([UInt8](repeating: 0, count: 16 << 20))
        try await ProxyFixture.run(ProxyFixture.capturing) { proxy in
            let origin = try proxy.origin { connection in
                try connection.request()
                let length = member.count * 64
                try connection.send(
                    head(
                        "HTTP/1.1 200 OK",
                        "Content-Encoding: gzip",
                        "Content-Length: \(length)"
                    )
                )
                for _ in 0..<64 { try connection.send(member) }
            }
            let before = Self.residentBytes
            let response = try proxy.client().get(origin.url())
            #expect(response.body.count == member.count * 64)
            let facts = try proxy.captured().side("response")
            #expect(facts["kept"] == "\(1 << 20)" && facts["truncated"] == "limit")
            #expect(Self.residentBytes - before < 128 << 20)
        }
    }

    @Test func `events without an end take no more than is kept`() async throws {
        let rules =
            ProxyFixture.captureFolder
            + "rules: [{match: {path: /**}, capture: {bodies: 64KiB}}]\n"
        try await ProxyFixture.run(rules) { proxy in
            let origin = try proxy.origin { connection in
                try connection.request()
                try connection.send(head("HTTP/1.1 200 OK", "Content-Type: text/event-stream"))
                let event = "data: \(String(repeating: "x", count: 1000))\n\n"
                for _ in 0..<4000 { try connection.send(event) }
                connection.close()
            }
            let client = try proxy.client()
            #expect(try client.get(origin.url()).body.count == 4000 * 1008)
            let detail = try proxy.captured()
            #expect(detail.side("response")["kept"] == "65536")
            #expect(detail.side("response")["truncated"] == "limit")
            #expect(detail.side("response")["bytes"] == "\(4000 * 1008)")
        }
    }

    private static var residentBytes: Int {
        let text = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)) ?? ""
        let words = text.split(separator: " ")
        return words.count > 1 ? (Int(words[1]) ?? 0) * 4096 : 0
    }
}
