// `lupin cache` asks a running proxy: what is stored is told, and dropped where that is wanted.
import Foundation
import LupinTestKit
import Testing

struct CacheCommandTests {
    private static let rules = ProxyFixture.adminSocket + everywhere("cache: standard")

    @Test func `stats says how full it is and what it has done`() async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let (_, origin) = try proxy.flaky(.fresh("hello"))
            let client = try proxy.client()
            for _ in 0..<4 { try client.get(origin.url()) }
            let stats = try proxy.cache("stats")
            #expect(stats.code == 0)
            #expect(stats.errors == "")
            let lines = stats.output.split(separator: "\n")
            #expect(lines.first?.contains(/^1 response in memory, 1\.\dKiB of 64\.0MiB$/) == true)
            #expect(
                lines.dropFirst() == [
                    "hits 3, misses 1: 75% answered with what was stored",
                    "validated 0, waited for another one's answer 0",
                    "stored 1, evicted for want of room 0",
                ]
            )
            let json = try #require(RecordLine(proxy.cache("stats", "--json").output))
            #expect(json["memory.responses"] == "1")
            #expect(json.number("memory.bytes").map { $0 > 1000 } == true)
            #expect(json["memory.room"] == "\(64 << 20)")
            #expect(json.number("hit_ratio") == 0.75)
        }
    }

    @Test func `list has a line for each, the latest first, and says what is left out`()
        async throws
    {
        try await ProxyFixture.run(Self.rules) { proxy in
            let (_, origin) = try proxy.flaky(
                .fresh("one"),
                .stale("three", ", stale-while-revalidate=9"),
                .answer(404, ["Cache-Control: public, max-age=90000"], "")
            )
            #expect(try proxy.cache("list").output == "nothing is stored\n")
            let client = try proxy.client()
            for path in ["/a", "/b?token=geheim", "/c"] { try client.get(origin.url(path)) }
            let list = try proxy.cache("list")
            #expect(list.code == 0)
            let lines = list.output.split(separator: "\n").map { line in
                line.split(separator: " ", omittingEmptySubsequences: true).joined(separator: " ")
            }
            let (a, b, c) = (origin.url("/a"), origin.url("/b"), origin.url("/c"))
            try #require(lines.count == 3)
            // Seconds may have begun meanwhile.
            #expect(lines[0].contains(/^404 0B age \d+s fresh 1d memory shared/))
            #expect(lines[0].hasSuffix(c))
            #expect(lines[1].contains(/^200 5B age 16m stale 6m memory shared/))
            #expect(lines[1].contains("\(b)?token=REDACTED."))
            #expect(lines[2].contains(/^200 3B age \d+s fresh (10|9)m memory shared/))
            #expect(lines[2].hasSuffix(a))
            let short = try proxy.cache("list", "--limit", "1").output
            #expect(short.hasSuffix("\nand 2 more; --limit says how many to list\n"))
            let some = try proxy.cache("list", "--json", "http://127.0.0.1:*/b")
            let json = try #require(RecordLine(some.output))
            #expect(json["total"] == "1")
            #expect(json.number("responses.0.stale").map { $0 >= 400 } == true)
            #expect(json["responses.0.fresh"] == nil)
            #expect(!some.output.contains("geheim"))
        }
    }

    @Test func `show tells every variant, without secrets`() async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let fields = ["Vary: X-A", "ETag: \"v1\"", "X-Token: geheim"]
            let (_, origin) = try proxy.flaky(.fresh("one", fields), .fresh("two!", fields))
            let client = try proxy.client()
            try client.get(origin.url("/a?key=geheim"), "X-A: geheim")
            try client.get(origin.url("/a?key=geheim"))
            let shown = try proxy.cache("show", origin.url("/a?key=geheim"))
            #expect(shown.code == 0)
            #expect(!shown.output.contains("geheim"))
            #expect(shown.output.contains("/a?key=REDACTED."))
            #expect(shown.output.contains(": 2 responses stored\n\n200, 4B, in memory, shared by"))
            for line in [
                "  for requests with no x-a\n", "  for requests with x-a: REDACTED.",
                "  validated by ETag \"v1\"\n", "    X-Token: REDACTED.",
                "    Cache-Control: max-age=600\n", ", by policy standard\n",
                "  fresh for 10m by max-age, ",
            ] {
                #expect(shown.output.contains(line), "\(line)")
            }
            // As a list shows it, it is found as well.
            let json = try #require(RecordLine(proxy.cache("list", "--json").output))
            let url = try #require(json["responses.0.url"])
            #expect(try proxy.cache("show", url).output.contains(": 2 responses stored\n"))
            let nothing = try proxy.cache("show", origin.url("/b?key=geheim"))
            #expect(nothing.code == 1)
            #expect(nothing.output == "")
            #expect(nothing.errors.hasPrefix("lupin: nothing is stored of http://"))
            #expect(!nothing.errors.contains("geheim"))
            #expect(try proxy.cache("purge", url).output.hasPrefix("dropped 2 responses"))
        }
    }

    @Test func `private responses are told apart by a tag, and by nothing else`() async throws {
        let rules = ProxyFixture.adminSocket + everywhere("cache: {mode: private}")
        try await ProxyFixture.run(rules) { proxy in
            let (_, origin) = try proxy.flaky(.fresh("one"))
            let client = try proxy.client()
            for (path, who) in [("/1", "a"), ("/2", "a"), ("/3", "b")] {
                try client.get(origin.url(path), "Authorization: Bearer \(who)")
            }
            let json = try #require(RecordLine(proxy.cache("list", "--json").output))
            let tags = try (0..<3).map { try #require(json["responses.\($0).partition"]) }
            #expect(tags[1] == tags[2])
            #expect(tags[0] != tags[1])
            #expect(tags.allSatisfy { $0.contains(/^[0-9a-f]{8}$/) })
            #expect(try proxy.cache("list").output.contains("  memory  \(tags[0])  http://"))
        }
    }

    @Test func `purge drops what a pattern means, in all partitions`() async throws {
        let rules = ProxyFixture.adminSocket + everywhere("cache: {mode: private}")
        try await ProxyFixture.run(rules) { proxy in
            let (flaky, origin) = try proxy.flaky(.fresh("one"))
            let client = try proxy.client()
            for path in ["/v1/a", "/v1/a?b", "/v2/a"] {
                try client.get(origin.url(path), "Authorization: Bearer a")
                try client.get(origin.url(path), "Authorization: Bearer b")
            }
            let one = try proxy.cache("purge", origin.url("/v1/a?b"))
            #expect(one.code == 0)
            #expect(one.output.contains(/^dropped 2 responses, 2\.\dKiB\n$/))
            #expect(try proxy.cache("purge", "127.0.0.1:*/v1/**").output.contains("2 responses"))
            let none = try proxy.cache("purge", "127.0.0.1:*/v1/**")
            #expect(none.code == 1)
            #expect(none.errors == "lupin: nothing is stored of 127.0.0.1:*/v1/**\n")
            #expect(try client.get(origin.url("/v2/a"), "Authorization: Bearer b").isHit)
            #expect(flaky.asked == 6)
        }
    }

    @Test func `clear drops everything, and purge is not for that`() async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let (_, origin) = try proxy.flaky(.fresh("one"))
            let client = try proxy.client()
            for path in ["/a", "/b"] { try client.get(origin.url(path)) }
            let all = try proxy.cache("purge", "**")
            #expect(all.code == 64)
            #expect(all.errors.hasPrefix("Error: ** is everything: that is `lupin cache clear`\n"))
            let clear = try proxy.cache("clear")
            #expect(clear.code == 0)
            #expect(clear.output.contains(/^dropped 2 responses, 2\.\dKiB\n$/))
            #expect(try proxy.cache("clear").output == "dropped 0 responses, 0B\n")
            #expect(try proxy.cache("stats").output.hasPrefix("0 responses in memory, 0B of "))
        }
    }

    @Test(.waitsForPrograms)
    func `without a running lupin they say so, and what is no pattern is refused`() throws {
        let folder = try Folder()
        let socket = "\(folder.path)/none"
        let rows = [
            ["stats"], ["list"], ["show", "http://a.dev/"], ["purge", "a.dev"], ["clear"],
        ]
        for words in rows {
            let result = try Lupin.run(["cache"] + words + ["--socket", socket])
            #expect(result.code == 1)
            #expect(
                result.errors == "lupin: no lupin answers at \(socket): No such file or directory\n"
            )
        }
        for words in [["list", "/a"], ["purge", "a.dev?b"], ["show", "a.dev"]] {
            let result = try Lupin.run(["cache"] + words + ["--socket", socket])
            #expect(result.code == 64, "\(words)")
        }
    }
}

extension ProxyFixture {
    /// Runs a command of `lupin cache` against this proxy.
    fileprivate func cache(_ words: String...) throws -> Lupin.Result {
        // A client may have its response a moment before it is stored.
        try settleWell()
        return try Lupin.run(["cache"] + words + ["--socket", adminPath])
    }
}
