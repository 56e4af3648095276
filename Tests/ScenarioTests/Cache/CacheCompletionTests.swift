// Parts of responses that are made whole: only what is missing is fetched, and never another thing.
import LupinTestKit
import Testing

struct CacheCompletionTests {
    private static let rules = everywhere("cache: standard")
    private static let completed = "lupin; fwd=partial; fwd-status=206"

    /// Runs a story in which some parts of 4000 bytes are held.
    private func run(
        _ ranges: [String],
        under rules: String = rules,
        _ body:
            @Sendable @escaping (ProxyFixture, ScriptedClient, PartsOrigin, String) throws ->
            Void
    ) async throws {
        try await ProxyFixture.run(rules) { proxy in
            let parts = PartsOrigin(fields: ["Cache-Control: max-age=600", "Content-Type: a/b"])
            let url = try proxy.parts(parts)
            let client = try proxy.client()
            for range in ranges { try client.range(range, of: url) }
            #expect(parts.asked == ranges.count)
            try body(proxy, client, parts, url)
        }
    }

    /// Expects the whole to be stored, and nobody to be asked for it.
    private func expectWhole(_ proxy: ProxyFixture, _ parts: PartsOrigin, _ url: String) throws {
        let asked = parts.asked
        let hit = try proxy.client().get(url)
        #expect(hit.status == 200)
        #expect(hit.isHit)
        #expect(hit["Content-Range"] == nil)
        #expect(hit.body == parts.body)
        #expect(parts.asked == asked)
    }

    @Test(arguments: [
        (["0-999"], "bytes=1000-"), (["1000-3999"], "bytes=0-999"),
        (["0-1999", "3000-3999"], "bytes=2000-2999"),
        (["0-99", "200-299", "3000-3999"], "bytes=100-2999"),
        (["0-999", "2000-2999"], "bytes=1000-"), (["0-0"], "bytes=1-"),
    ])
    func `of the whole only what is missing is asked for`(
        held: [String],
        asked: String
    ) async throws {
        try await run(held) { proxy, client, parts, url in
            let whole = try client.get(url)
            #expect(whole.status == 200)
            #expect(whole.caching == "\(Self.completed); stored")
            #expect(whole["Content-Length"] == "4000")
            #expect(whole["Content-Range"] == nil)
            #expect(whole["Content-Type"] == "a/b")
            #expect(whole.body == parts.body)
            #expect(parts.ranges.last == "\(asked) \"v1\"")
            #expect(parts.asked == held.count + 1)
            try expectWhole(proxy, parts, url)
        }
    }

    @Test func `parts that are in the middle only are not worth a range`() async throws {
        try await run(["1000-1999"]) { proxy, client, parts, url in
            let whole = try client.get(url)
            #expect(whole.caching == "lupin; fwd=partial; stored")
            #expect(whole.body == parts.body)
            #expect(parts.ranges.last == "")
            try expectWhole(proxy, parts, url)
        }
    }

    @Test(arguments: [
        ("0-999", "500-1499", "bytes=1000-1499", 500..<1500),
        ("1000-1999", "500-1499", "bytes=500-999", 500..<1500),
        ("1000-1999", "1500-", "bytes=2000-", 1500..<4000),
        ("3000-3999", "-2000", "bytes=2000-2999", 2000..<4000),
    ])
    func `of a range only what is missing is asked for`(
        held: String,
        wanted: String,
        asked: String,
        range: Range<Int>
    ) async throws {
        try await run([held]) { proxy, client, parts, url in
            let part = try client.range(wanted, of: url)
            #expect(part.status == 206)
            #expect(part.caching == "lupin; fwd=partial; stored")
            let place = "bytes \(range.lowerBound)-\(range.upperBound - 1)/4000"
            #expect(part["Content-Range"] == place)
            #expect(part.body == Array(parts.body[range]))
            #expect(parts.ranges.last == "\(asked) \"v1\"")
            let again = try client.range(wanted, of: url)
            #expect(again.isHit)
            #expect(again.body == part.body)
            #expect(parts.asked == 2)
        }
    }

    @Test func `a range apart from what is held goes as it is, and joins it`() async throws {
        try await run(["0-999"]) { proxy, client, parts, url in
            let part = try client.range("2000-2999", of: url)
            #expect(part.status == 206)
            #expect(parts.ranges.last == "bytes=2000-2999")
            #expect(try client.range("10-19", of: url).isHit)
            #expect(try client.range("2010-2019", of: url).isHit)
            #expect(parts.asked == 2)
        }
    }

    @Test func `what has changed is delivered and stored anew`() async throws {
        try await run(["0-999"]) { proxy, client, parts, url in
            parts.change(tag: "\"v2\"")
            let whole = try client.get(url)
            #expect(whole.status == 200)
            #expect(whole.caching == "lupin; fwd=partial; stored")
            #expect(whole["ETag"] == "\"v2\"")
            #expect(whole.body == parts.body)
            #expect(parts.ranges.last == "bytes=1000- \"v1\"")
            try expectWhole(proxy, parts, url)
        }
    }

    @Test(arguments: [
        "416 X|Content-Range: bytes */900",
        "206 X|Content-Range: bytes 1000-3999/4000|ETag: \"v2\"",
        "206 X|Content-Range: bytes 1000-3999/4000", "206 X|ETag: \"v1\"",
        "206 X|Content-Range: bytes 1000-3999/4001|ETag: \"v1\"",
        "206 X|Content-Range: bytes 1000-3998/4000|ETag: \"v1\"",
        "206 X|Content-Range: bytes 999-3998/4000|ETag: \"v1\"",
        "206 X|Content-Range: bytes 1000-3999/4000|ETag: W/\"v1\"",
        "206 X|Content-Range: bytes 1000-3999/4000|ETag: \"v1\"|Content-Encoding: gzip",
    ])
    func `what does not belong to the parts is never put beside them`(text: String) async throws {
        try await run(["0-999"]) { proxy, client, parts, url in
            let isRefused = text.hasPrefix("416")
            let lines = text.split(separator: "|").joined(separator: "\r\n")
            let length = "Content-Length: \(isRefused ? 0 : text.contains("3998") ? 2999 : 3000)"
            let range = isRefused ? 0..<0 : 0..<(text.contains("3998") ? 2999 : 3000)
            parts.plan(.say(head("HTTP/1.1 \(lines)", length, "Cache-Control: max-age=9"), range))
            let whole = try client.get(url)
            #expect(whole.status == 200)
            #expect(whole.body == parts.body)
            #expect(parts.ranges == ["bytes=0-999", "bytes=1000- \"v1\"", ""])
            try expectWhole(proxy, parts, url)
        }
    }

    @Test func `an origin that knows no ranges is asked as before`() async throws {
        try await run(["0-999"]) { proxy, client, parts, url in
            parts.plan(.whole)
            #expect(try client.range("500-1499", of: url).body == parts.body)
            try expectWhole(proxy, parts, url)
        }
    }

    @Test func `an error of the origin is delivered, and the parts stay`() async throws {
        let rules = everywhere("cache: standard, retry: none")
        try await run(["0-999"], under: rules) { proxy, client, parts, url in
            parts.plan(.say(head("HTTP/1.1 503 X", "Content-Length: 0"), 0..<0))
            let error = try client.get(url)
            #expect(error.status == 503)
            #expect(try client.get(url).body == parts.body)
            #expect(parts.ranges == ["bytes=0-999", "bytes=1000- \"v1\"", "bytes=1000- \"v1\""])
        }
    }

    @Test func `a retry asks for what is missing`() async throws {
        let rules = everywhere("cache: standard, retry: {use: standard, backoff: none}")
        try await run(["0-999"], under: rules) { proxy, client, parts, url in
            parts.plan(.say(head("HTTP/1.1 503 X", "Content-Length: 0"), 0..<0))
            let whole = try client.get(url)
            #expect(whole.body == parts.body)
            #expect(parts.ranges == ["bytes=0-999", "bytes=1000- \"v1\"", "bytes=1000- \"v1\""])
        }
    }

    @Test func `an origin that dies is seen, and what came is kept`() async throws {
        try await run(["0-999"]) { proxy, client, parts, url in
            parts.plan(.breakOff(500))
            try client.send("GET", url)
            #expect(throws: SocketFailure.self) { try client.response() }
            let other = try proxy.client()
            #expect(try other.range("0-1499", of: url).isHit)
            #expect(try other.get(url).body == parts.body)
            #expect(parts.ranges.suffix(2) == ["bytes=1000- \"v1\"", "bytes=1500- \"v1\""])
            try expectWhole(proxy, parts, url)
        }
    }

    @Test(arguments: ["Content-Type: a/b", "Cache-Control: must-revalidate"])
    func `what came of a download that broke off is kept`(field: String) async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let parts = PartsOrigin(300_000, fields: ["Cache-Control: max-age=600", field])
            let url = try proxy.parts(parts)
            parts.plan(.breakOff(100_000), .normal)
            let client = try proxy.client()
            try client.send("GET", url)
            #expect(throws: SocketFailure.self) { try client.response() }
            let other = try proxy.client()
            let part = try other.range("99990-99999", of: url)
            #expect(part.status == 206)
            #expect(part.isHit)
            #expect(part["Content-Range"] == "bytes 99990-99999/300000")
            let whole = try other.get(url)
            #expect(whole.caching == "\(Self.completed); stored")
            #expect(whole.body == parts.body)
            #expect(parts.ranges == ["", "bytes=100000- \"v1\""])
            try expectWhole(proxy, parts, url)
        }
    }

    @Test func `a range that broke off is kept as far as it came`() async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let parts = PartsOrigin()
            let url = try proxy.parts(parts)
            parts.plan(.breakOff(100))
            let client = try proxy.client()
            try client.send("GET", url, ["Range: bytes=1000-1999"])
            #expect(throws: SocketFailure.self) { try client.response() }
            let other = try proxy.client()
            #expect(try other.range("1000-1099", of: url).isHit)
            #expect(try other.range("1000-1100", of: url).body == Array(parts.body[1000...1100]))
            #expect(parts.ranges.last == "bytes=1100-1100 \"v1\"")
        }
    }

    @Test func `what a client left behind is kept`() async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            try client.send("GET", origin.url())
            let first = try origin.accept()
            try first.request()
            let fields = "ETag: \"v1\"\r\nCache-Control: max-age=600"
            try first.send(head("HTTP/1.1 200 OK", fields, "Content-Length: 10") + "01234")
            _ = try client.stream.head()
            #expect(try client.stream.text(5) == "01234")
            client.reset()
            try proxy.settleWell()
            let other = try proxy.client()
            try other.send("GET", origin.url())
            let second = try origin.accept()
            #expect(try second.request()["Range"] == "bytes=5-")
            let place = "Content-Range: bytes 5-9/10"
            try second.send(head("HTTP/1.1 206 X", fields, place, "Content-Length: 5") + "56789")
            #expect(try other.response().bodyText == "0123456789")
        }
    }

    @Test func `the client has what is held before the rest comes`() async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            try client.send("GET", origin.url(), ["Range: bytes=0-4"])
            let connection = try origin.accept()
            try connection.request()
            let fields = "ETag: \"v1\"\r\nCache-Control: max-age=600"
            func part(_ place: String, _ body: String) throws {
                let length = "Content-Length: 5"
                let range = "Content-Range: bytes \(place)/10"
                try connection.send(head("HTTP/1.1 206 X", fields, range, length) + body)
            }
            try part("0-4", "01234")
            #expect(try client.response().bodyText == "01234")
            try client.send("GET", origin.url())
            try connection.request()
            try part("5-9", "56")
            #expect(try client.stream.head()?["Content-Length"] == "10")
            #expect(try client.stream.text(7) == "0123456")
            // Whoever wants the same meanwhile waits for it.
            let other = try proxy.client()
            try other.send("GET", origin.url())
            try proxy.settleWell()
            #expect(!origin.hasWaiting)
            try connection.send("789")
            #expect(try client.stream.text(3) == "789")
            #expect(try other.response().bodyText == "0123456789")
            #expect(!origin.hasWaiting)
        }
    }

    @Test func `what is missing is fetched in two pieces where it breaks off`() async throws {
        let rules = everywhere("cache: standard, resume: true")
        try await run(["0-999"], under: rules) { proxy, client, parts, url in
            parts.plan(.breakOff(500))
            let whole = try client.get(url)
            #expect(whole.body == parts.body)
            let expected = ["bytes=0-999", "bytes=1000- \"v1\"", "bytes=1500-3999 \"v1\""]
            #expect(parts.ranges == expected)
            try expectWhole(proxy, parts, url)
        }
    }

    @Test func `what must not be kept any more is served this once`() async throws {
        try await run(["0-999"]) { proxy, client, parts, url in
            let fields = "ETag: \"v1\"\r\nContent-Length: 3000\r\nCache-Control: no-store"
            let newer = head("HTTP/1.1 206 X", "Content-Range: bytes 1000-3999/4000", fields)
            parts.plan(.say(newer, 1000..<4000))
            let whole = try client.get(url)
            #expect(whole.caching == Self.completed)
            #expect(whole.body == parts.body)
            #expect(try !client.range("0-9", of: url).isHit)
        }
    }

    @Test func `a client whose condition differs gets the whole`() async throws {
        try await run(["0-999"]) { proxy, client, parts, url in
            let whole = try client.get(url, "If-None-Match: \"v0\"")
            #expect(whole.status == 200)
            #expect(whole.body == parts.body)
            #expect(parts.requests[1]["If-None-Match"] == "\"v0\"")
        }
    }

    @Test func `long parts are put together byte by byte`() async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let parts = PartsOrigin(5_000_000)
            let url = try proxy.parts(parts)
            let client = try proxy.client()
            try client.range("0-1499999", of: url)
            try client.range("3000000-4999999", of: url)
            #expect(try client.get(url).body == parts.body)
            #expect(parts.ranges.last == "bytes=1500000-2999999 \"v1\"")
            try expectWhole(proxy, parts, url)
            let part = try client.range("1499990-3000010", of: url)
            #expect(part.body == Array(parts.body[1_499_990...3_000_010]))
        }
    }

    @Test func `what has become complete goes to the disk`() async throws {
        let folder = try Folder()
        let store = "memory: 1MiB, max_object: 64KiB, disk: 64MiB, path: \(folder.path)/store"
        let rules = everywhere("cache: standard", "cache: {store: {\(store)}}")
        let parts = PartsOrigin()
        let origin = try ScriptedOrigin { parts.serve($0) }
        defer { origin.stop() }
        let url = origin.url()
        try await ProxyFixture.run(rules) { proxy in
            try proxy.client().range("0-999", of: url)
        }
        // Parts are gone with the proxy that held them.
        try await ProxyFixture.run(rules) { proxy in
            let client = try proxy.client()
            #expect(try !client.range("0-999", of: url).isHit)
            #expect(try client.get(url).body == parts.body)
        }
        try await ProxyFixture.run(rules) { proxy in
            let hit = try proxy.client().get(url)
            #expect(hit.isHit)
            #expect(hit.body == parts.body)
        }
        #expect(parts.asked == 3)
    }
}
