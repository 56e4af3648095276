// Parts of what is stored: which ranges a client gets, and where a range goes to the origin.
import LupinTestKit
import Testing

struct CacheRangeTests {
    private static let rules = everywhere("cache: standard")
    private static let text = String(
        (0..<4000).map { "0123456789".utf8.map { $0 }[$0 % 10] }
            .map { Character(UnicodeScalar($0)) }
    )

    /// Runs a story in which 4000 digits are stored.
    private func run(
        _ body: @Sendable @escaping (ScriptedClient, ScriptedOrigin) throws -> Void
    ) async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let modified = "Last-Modified: Fri, 01 Jan 2021 00:00:00 GMT"
            let fields = ["ETag: \"v1\"", modified, "Content-Type: text/plain"]
            let (flaky, origin) = try proxy.flaky(.fresh(Self.text, fields))
            let client = try proxy.client()
            #expect(try client.get(origin.url()).bodyText == Self.text)
            try body(client, origin)
            #expect(flaky.asked == 1)
        }
    }

    @Test(arguments: [
        ("bytes=3-6", "3-6", "3456"), ("bytes=0-0", "0-0", "0"), ("bytes=-2", "3998-3999", "89"),
        ("bytes=3997-", "3997-3999", "789"), ("bytes=3998-9999", "3998-3999", "89"),
    ])
    func `one range is cut out`(range: String, place: String, body: String) async throws {
        try await run { client, origin in
            let response = try client.get(origin.url(), "Range: \(range)")
            #expect(response.status == 206)
            #expect(response.isHit)
            #expect(response["Content-Range"] == "bytes \(place)/4000")
            #expect(response["Content-Type"] == "text/plain")
            #expect(response.bodyText == body)
        }
    }

    @Test func `several ranges come in several parts`() async throws {
        try await run { client, origin in
            let response = try client.get(origin.url(), "Range: bytes=0-2,2000-2003,-1")
            #expect(response.status == 206)
            #expect(response["Content-Range"] == nil)
            let type = try #require(response["Content-Type"])
            #expect(type.hasPrefix("multipart/byteranges; boundary="))
            let boundary = String(type.dropFirst("multipart/byteranges; boundary=".count))
                .replacing("\"", with: "")
            let parts = [("0-2", "012"), ("2000-2003", "0123"), ("3999-3999", "9")].map {
                "--\(boundary)\r\nContent-Type: text/plain\r\n"
                    + "Content-Range: bytes \($0.0)/4000\r\n\r\n\($0.1)\r\n"
            }
            let body = parts.joined() + "--\(boundary)--\r\n"
            #expect(response.bodyText.hasSuffix(body))
        }
    }

    @Test func `a range behind the end is refused with the length`() async throws {
        try await run { client, origin in
            let response = try client.get(origin.url(), "Range: bytes=4000-")
            #expect(response.status == 416)
            #expect(response["Content-Range"] == "bytes */4000")
            #expect(response.body.isEmpty)
            #expect(try client.get(origin.url()).bodyText == Self.text)
        }
    }

    @Test(arguments: [
        ("\"v1\"", 206), ("\"v0\"", 200), ("W/\"v1\"", 200), ("Fri, 01 Jan 2021 00:00:00 GMT", 206),
        ("Sat, 02 Jan 2021 00:00:00 GMT", 200),
    ])
    func `If-Range says whether a part will do`(validator: String, status: Int) async throws {
        try await run { client, origin in
            let range = "Range: bytes=0-9"
            let response = try client.get(origin.url(), range, "If-Range: \(validator)")
            #expect(response.status == status)
            #expect(response.body.count == (status == 206 ? 10 : 4000))
        }
    }

    @Test func `a range of what nobody has goes to the origin and is not stored`() async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let fields = ["Cache-Control: max-age=600", "Content-Range: bytes 0-3/10"]
            let (flaky, origin) = try proxy.flaky(
                .answer(206, fields, "0123"),
                .fresh("0123456789")
            )
            let client = try proxy.client()
            let part = try client.get(origin.url(), "Range: bytes=0-3")
            #expect(part.status == 206)
            #expect(part.bodyText == "0123")
            #expect(part.caching == "lupin; fwd=uri-miss; detail=partial")
            #expect(flaky.requests.first?["Range"] == "bytes=0-3")
            #expect(try client.get(origin.url()).bodyText == "0123456789")
            #expect(flaky.asked == 2)
        }
    }
}
