// Stored content that leaves memory without a copy: whole, in part, and to those who need a copy.
import LupinTestKit
import Testing

struct MappedContentTests {
    private static let body = LongBody.bytes(200_000)
    private static let stored = ["Cache-Control: max-age=600", "ETag: \"v1\""]

    /// Runs a story of a client and a URL, whose response is stored.
    private static func run(
        _ plan: String = "cache: standard",
        _ story: @Sendable @escaping (ProxyFixture, ScriptedClient, String) throws -> Void
    ) async throws {
        try await ProxyFixture.run(everywhere(plan)) { proxy in
            let range = RangeOrigin(body.count, breaks: [], fields: stored)
            let origin = try proxy.origin { range.serve($0) }
            let client = try proxy.client()
            #expect(try client.get(origin.url()).body == body)
            try story(proxy, client, origin.url())
            #expect(range.requests.count == 1)
        }
    }

    @Test(arguments: [0..<200_000, 0..<40_000, 4097..<100_001, 199_999..<200_000, 99_000..<200_000])
    func `a part is cut out wherever it begins and ends`(range: Range<Int>) async throws {
        try await Self.run { _, client, url in
            for _ in 0..<3 {
                let wish = "Range: bytes=\(range.lowerBound)-\(range.upperBound - 1)"
                let response = try client.get(url, wish)
                #expect(response.status == 206)
                #expect(response.isHit)
                #expect(response.body == Array(Self.body[range]))
            }
        }
    }

    @Test func `parts that are long and short come one behind the other`() async throws {
        try await Self.run { _, client, url in
            let response = try client.get(url, "Range: bytes=1-50000,60000-60003,100000-199998")
            #expect(response.status == 206)
            #expect(response.isHit)
            let ranges = [1..<50_001, 60_000..<60_004, 100_000..<199_999]
            var rest = response.body[...]
            for range in ranges {
                let part = Array(Self.body[range])
                let found = try #require(rest.firstRange(of: part))
                rest = rest[found.upperBound...]
            }
            #expect(response["Content-Length"] == "\(response.body.count)")
        }
    }

    @Test func `a head and a 304 come without it, and requests behind them are answered`()
        async throws
    {
        try await Self.run { _, client, url in
            for _ in 0..<3 {
                try client.send("HEAD", url)
                let head = try client.response(to: "HEAD")
                #expect(head["Content-Length"] == "200000")
                let same = try client.get(url, "If-None-Match: \"v1\"")
                #expect(same.status == 304)
                #expect(try client.get(url).body == Self.body)
            }
        }
    }

    @Test(arguments: [
        "cache: standard, throttle: {down: 100MiB/s}",
        "cache: standard, response: [{set: {X-New: \"yes\"}}]",
    ])
    func `what a rule does with the response is done`(plan: String) async throws {
        try await Self.run(plan) { proxy, client, url in
            for _ in 0..<4 {
                let response = try client.get(url)
                #expect(response.isHit)
                #expect(response.body == Self.body)
            }
            #expect(try proxy.records(5).allSatisfy { $0["http.response.body.size"] == "200000" })
        }
    }

    @Test func `who asked before it was dropped gets all of it`() async throws {
        try await ProxyFixture.run(everywhere("cache: standard")) { proxy in
            let range = RangeOrigin(3_000_000, breaks: [], fields: Self.stored)
            let origin = try proxy.origin { range.serve($0) }
            let other = try proxy.client()
            for _ in 0..<4 { #expect(try other.get(origin.url()).body == range.body) }
            let slow = try proxy.client(receiveBuffer: 4096)
            for _ in 0..<3 { try slow.send("GET", origin.url()) }
            try proxy.settleWell()
            try other.send("DELETE", origin.url())
            #expect(try other.response(to: "DELETE").status < 300)
            #expect(try !other.get(origin.url()).isHit)
            for _ in 0..<3 { #expect(try slow.response().body == range.body) }
        }
    }

    @Test func `inside TLS it is sealed`() async throws {
        try await Inside.run(everywhere("cache: standard")) { inside in
            try inside.send()
            let connection = try inside.accept()
            _ = try connection.request()
            let head = "HTTP/1.1 200 OK\r\nContent-Length: 200000\r\nCache-Control: max-age=600\r\n"
            try connection.send(Array("\(head)\r\n".utf8) + Self.body)
            #expect(try inside.client.response().body == Self.body)
            for _ in 0..<4 {
                try inside.send()
                let response = try inside.client.response()
                #expect(response.isHit)
                #expect(response.body == Self.body)
            }
        }
    }

    @Test func `a stream of HTTP/2 gets it in frames`() async throws {
        try await ProxyFixture.run(everywhere("cache: standard")) { proxy in
            let range = RangeOrigin(Self.body.count, breaks: [], fields: Self.stored)
            let origin = try proxy.origin { range.serve($0) }
            let client = try proxy.http2Client()
            for i in 0..<4 {
                let response = try client.request(authority: origin.authority)
                #expect(response.body == Self.body)
                #expect(response["cache-status"]?.hasPrefix("lupin; hit") == (i > 0))
            }
        }
    }
}
