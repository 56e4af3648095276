// Parts of responses: which are kept, what they answer, and what becomes of several.
import LupinTestKit
import Testing

struct CachePartTests {
    private static let rules = everywhere("cache: standard")

    /// Runs a story in which some parts of 4000 bytes are held.
    private func run(
        _ ranges: [String] = ["100-299"],
        _ body:
            @Sendable @escaping (ProxyFixture, ScriptedClient, PartsOrigin, String) throws ->
            Void
    ) async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let parts = PartsOrigin(fields: ["Cache-Control: max-age=600", "Content-Type: a/b"])
            let url = try proxy.parts(parts)
            let client = try proxy.client()
            for range in ranges {
                #expect(try client.range(range, of: url).caching.hasSuffix("; stored"))
            }
            #expect(parts.asked == ranges.count)
            try body(proxy, client, parts, url)
        }
    }

    @Test(arguments: [(100, 299), (100, 100), (150, 199), (299, 299)])
    func `a range within a part is answered from it`(first: Int, last: Int) async throws {
        try await run { proxy, client, parts, url in
            let response = try client.range("\(first)-\(last)", of: url)
            #expect(response.status == 206)
            #expect(response.isHit)
            #expect(response["Content-Range"] == "bytes \(first)-\(last)/4000")
            #expect(response["Content-Length"] == "\(last - first + 1)")
            #expect(response["Content-Type"] == "a/b")
            #expect(response["Age"] != nil)
            #expect(response.body == Array(parts.body[first...last]))
            #expect(parts.asked == 1)
        }
    }

    @Test func `several ranges and the last bytes are answered from parts`() async throws {
        try await run(["0-999", "3000-3999"]) { proxy, client, parts, url in
            let several = try client.range("3100-3101,10-12,500-999", of: url)
            #expect(several.status == 206)
            #expect(several.isHit)
            let type = try #require(several["Content-Type"])
            let mark = "--" + type.dropFirst("multipart/byteranges; boundary=".count)
            var expected: [UInt8] = []
            for (i, range) in [3100...3101, 10...12, 500...999].enumerated() {
                let place = "\(range.lowerBound)-\(range.upperBound)/4000"
                let start = "\(i == 0 ? "" : "\r\n")\(mark)\r\nContent-Type: a/b\r\n"
                expected += Array("\(start)Content-Range: bytes \(place)\r\n\r\n".utf8)
                expected += parts.body[range]
            }
            #expect(several.body == expected + Array("\r\n\(mark)--\r\n".utf8))
            let suffix = try client.range("-50", of: url)
            #expect(suffix.isHit)
            #expect(suffix["Content-Range"] == "bytes 3950-3999/4000")
            #expect(suffix.body == Array(parts.body.suffix(50)))
            let behind = try client.range("4000-", of: url)
            #expect(behind.status == 416)
            #expect(behind["Content-Range"] == "bytes */4000")
            #expect(parts.asked == 2)
        }
    }

    @Test func `HEAD and a client that has it already need no bytes`() async throws {
        try await run { proxy, client, parts, url in
            try client.send("HEAD", url)
            let head = try client.response(to: "HEAD")
            #expect(head.status == 200)
            #expect(head.isHit)
            #expect(head["Content-Length"] == "4000")
            #expect(head["Content-Range"] == nil)
            let same = try client.get(url, "If-None-Match: \"v1\"")
            #expect(same.status == 304)
            #expect(same.isHit)
            #expect(same["Content-Range"] == nil)
            let part = try client.range("150-160", of: url, "If-None-Match: \"v1\"")
            #expect(part.status == 304)
            #expect(parts.asked == 1)
        }
    }

    @Test(arguments: [("\"v1\"", 206, 1), ("\"v0\"", 200, 2), ("W/\"v1\"", 200, 2)])
    func `If-Range says whether a part will do`(
        tag: String,
        status: Int,
        asked: Int
    ) async throws {
        try await run(["0-299"]) { proxy, client, parts, url in
            let response = try client.range("150-199", of: url, "If-Range: \(tag)")
            #expect(response.status == status)
            #expect(response.body == (status == 206 ? Array(parts.body[150..<200]) : parts.body))
            #expect(parts.asked == asked)
        }
    }

    @Test func `only-if-cached gets what is held and nothing more`() async throws {
        try await run { proxy, client, parts, url in
            let only = "Cache-Control: only-if-cached"
            let part = try client.range("100-109", of: url, only)
            #expect(part.status == 206)
            #expect(try client.range("99-109", of: url, only).status == 504)
            #expect(try client.get(url, only).status == 504)
            #expect(parts.asked == 1)
        }
    }

    @Test func `parts that make the whole are the whole`() async throws {
        try await run(["0-999", "2000-3999", "900-2099"]) { proxy, client, parts, url in
            let whole = try client.get(url)
            #expect(whole.status == 200)
            #expect(whole.isHit)
            #expect(whole["Content-Range"] == nil)
            #expect(whole["Content-Length"] == "4000")
            #expect(whole.body == parts.body)
            let part = try client.range("990-1010", of: url)
            #expect(part.isHit)
            #expect(part.body == Array(parts.body[990...1010]))
            #expect(parts.asked == 3)
        }
    }

    @Test func `a range that is the whole is stored as the whole`() async throws {
        try await run(["0-"]) { proxy, client, parts, url in
            let whole = try client.get(url)
            #expect(whole.isHit)
            #expect(whole.status == 200)
            #expect(whole.body == parts.body)
        }
    }

    @Test func `a part of another representation takes the place of the former`() async throws {
        try await run(["0-999"]) { proxy, client, parts, url in
            parts.change(tag: "\"v2\"")
            let newer = try client.range("1000-1999", of: url)
            #expect(newer.caching == "lupin; fwd=partial; stored")
            // A part of what is no more would be a hit, if it were still there.
            let former = try client.range("0-999", of: url)
            #expect(!former.isHit)
            #expect(former.body == Array(parts.body[0...999]))
            let both = try client.range("500-1500", of: url)
            #expect(both.isHit)
            #expect(both.body == Array(parts.body[500...1500]))
            #expect(parts.asked == 3)
        }
    }

    @Test func `without a length known, ranges that say their end are answered`() async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let parts = PartsOrigin()
            let url = try proxy.parts(parts)
            let fields = "Content-Length: 10\r\nETag: \"v1\"\r\nCache-Control: max-age=600"
            let place = "Content-Range: bytes 0-9/*"
            parts.plan(.say(head("HTTP/1.1 206 X", place, fields), 0..<10))
            let client = try proxy.client()
            try client.range("0-9", of: url)
            let part = try client.range("2-4", of: url)
            #expect(part.isHit)
            #expect(part["Content-Range"] == "bytes 2-4/*")
            #expect(part.body == Array(parts.body[2...4]))
            #expect(try client.range("-2", of: url).body == Array(parts.body.suffix(2)))
            #expect(parts.ranges == ["bytes=0-9", "bytes=-2"])
        }
    }

    @Test func `stale parts are validated and served`() async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let stale = ["Cache-Control: max-age=600", "Age: 1000"]
            let parts = PartsOrigin(fields: stale)
            let url = try proxy.parts(parts)
            let client = try proxy.client()
            try client.range("0-99", of: url)
            let part = try client.range("10-19", of: url)
            #expect(part.status == 206)
            #expect(part.caching.hasPrefix("lupin; fwd=stale; fwd-status=304"))
            #expect(part.body == Array(parts.body[10...19]))
            #expect(parts.requests[1]["If-None-Match"] == "\"v1\"")
            #expect(try client.range("10-19", of: url).isHit)
        }
    }

    @Test func `stale parts are served and validated behind the client's back`() async throws {
        try await ProxyFixture.run(everywhere("cache: {stale_while_revalidate: 1h}")) { proxy in
            let parts = PartsOrigin(fields: ["Cache-Control: max-age=600", "Age: 1000"])
            let url = try proxy.parts(parts)
            let client = try proxy.client()
            try client.range("0-99", of: url)
            #expect(try client.range("10-19", of: url).isHit)
            try eventually("the validation") { parts.asked == 2 }
            #expect(parts.requests[1]["If-None-Match"] == "\"v1\"")
            try proxy.settleWell()
            let part = try client.range("10-19", of: url)
            #expect(part.isHit)
            #expect(part.body == Array(parts.body[10...19]))
            #expect(parts.asked == 2)
        }
    }

    @Test(arguments: [
        ["ETag: W/\"v1\""], [], ["ETag: v1"], ["ETag: \"v1\"", "Content-Range: bytes 0-9/20"],
        ["ETag: \"v1\"", "Content-Type: multipart/byteranges; boundary=b"],
    ])
    func `what can't be told from other parts is not kept`(fields: [String]) async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let isMultipart = fields.count > 1 && fields[1].contains("multipart")
            let place = isMultipart ? [] : ["Content-Range: bytes 0-9/4000"]
            let lines = place + fields + ["Cache-Control: max-age=600"]
            let (flaky, origin) = try proxy.flaky(.answer(206, lines, "0123456789"))
            let client = try proxy.client()
            for _ in 0..<2 {
                let part = try client.range("0-9", of: origin.url())
                #expect(part.bodyText == "0123456789")
                #expect(part.caching == "lupin; fwd=uri-miss; detail=partial")
            }
            #expect(flaky.asked == 2)
        }
    }

    @Test func `a part that is not of the length it says is not kept`() async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let fields = [
                "Content-Range: bytes 0-9/4000", "ETag: \"v1\"", "Cache-Control: max-age=9",
            ]
            let (flaky, origin) = try proxy.flaky(
                .answer(206, fields, "012345678"),
                .say(
                    head(
                        "HTTP/1.1 206 X",
                        "Transfer-Encoding: chunked",
                        fields.joined(separator: "\r\n")
                    ) + "9\r\n012345678\r\n0\r\n\r\n"
                )
            )
            let client = try proxy.client()
            for _ in 0..<3 { #expect(try !client.range("0-8", of: origin.url()).isHit) }
            #expect(flaky.asked == 3)
        }
    }

    @Test func `a part that was not asked for, or with If-Range, is not the first`() async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let fields = ["Content-Range: bytes 0-2/9", "ETag: \"v1\"", "Cache-Control: max-age=9"]
            let (_, origin) = try proxy.flaky(.answer(206, fields, "012"))
            let client = try proxy.client()
            let refused = "lupin; fwd=uri-miss; detail=partial"
            #expect(try client.get(origin.url()).caching == refused)
            let ranged = try client.range("0-2", of: origin.url(), "If-Range: \"v1\"")
            #expect(ranged.caching == refused)
            #expect(try client.range("0-2", of: origin.url()).caching.hasSuffix("stored"))
        }
    }

    @Test func `no more is held of one than max_object`() async throws {
        let rules = everywhere("cache: standard", "cache: {store: {max_object: 4KiB}}")
        try await ProxyFixture.run(rules) { proxy in
            let parts = PartsOrigin(9000)
            let url = try proxy.parts(parts)
            let client = try proxy.client()
            let long = try client.range("0-4999", of: url)
            #expect(long.caching == "lupin; fwd=uri-miss; detail=too-large")
            #expect(try client.range("0-3999", of: url).caching.hasSuffix("stored"))
            let more = try client.range("4000-4999", of: url)
            #expect(more.caching == "lupin; fwd=partial; detail=too-large")
            #expect(more.body == Array(parts.body[4000...4999]))
            #expect(try client.range("10-19", of: url).isHit)
            let whole = try client.get(url)
            #expect(whole.status == 200)
            #expect(whole.body == parts.body)
            #expect(parts.ranges.last == "bytes=4000- \"v1\"")
        }
    }

    @Test func `lupin cache says what is held of how much`() async throws {
        let rules = ProxyFixture.adminSocket + Self.rules
        try await ProxyFixture.run(rules) { proxy in
            let parts = PartsOrigin()
            let url = try proxy.parts(parts)
            try proxy.client().range("100-299", of: url)
            try proxy.settleWell()
            func cache(_ words: String...) throws -> String {
                try Lupin.run(["cache"] + words + ["--socket", proxy.adminPath]).output
            }
            #expect(try cache("list").contains(/^206  200B of 3\.9KiB  age \ds  fresh/))
            #expect(try cache("show", url).contains("\n206, 200B of 3.9KiB, in memory, shared by"))
            let json = try #require(RecordLine(cache("list", "--json")))
            #expect(json["responses.0.bytes"] == "200")
            #expect(json["responses.0.complete_bytes"] == "4000")
        }
    }
}
