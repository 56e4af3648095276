// What `lupin explain` says of the cache, for a request and for an exchange in a log.
import Foundation
import LupinTestKit
import Testing

@Suite(.waitsForPrograms)
struct ExplainCacheTests {
    private static let id = "6f1c0e0b2a9d4b7fa3c5d6e7f8091a2b"

    private static let rules = """
        lupin: 1
        tokens:
          github: {bearer: "literal-geheim"}
        cache:
          long: {ttl: 1h, ignore: private}
        rules:
          - name: packages
            match: "*.packages.example"
            cache: {use: standard, stale_if_error: 1d}
          - name: api
            match: api.example
            cache: {use: standard, mode: private}
            request:
              - auth: github
          - name: slow
            match: slow.example
            cache: long
            request:
              - set: {Cache-Control: no-cache}
          - name: never
            match: never.packages.example
            cache: off
          - name: own
            match: own.example
            respond: {status: 200}

        """

    private func explain(
        _ arguments: String...,
        rules: String = Self.rules,
        log: String? = nil
    ) throws -> Lupin.Result {
        let folder = try Folder()
        let file = try folder.write("lupin.yaml", rules)
        let place = try log.map { ["--log", try folder.write("lupin.jsonl", $0)] } ?? []
        return try Lupin.run(["explain", "--rules", file] + place + arguments)
    }

    /// The lines below a title.
    private func section(_ title: String, _ result: Lupin.Result) -> [String] {
        #expect(result.code == 0)
        let lines = result.output.split(separator: "\n", omittingEmptySubsequences: false)
        guard let begin = lines.firstIndex(of: Substring(title)) else { return [] }
        return lines[(begin + 1)...].prefix { !$0.isEmpty }.map(String.init)
    }

    private func object(_ result: Lupin.Result) throws -> [String: Any] {
        let json = try JSONSerialization.jsonObject(with: Data(result.output.utf8))
        return try #require(json as? [String: Any])
    }

    @Test(arguments: [
        (
            "a.packages",
            "other machines get it from cache.example:6379, where the origin allows that"
        ),
        ("api", "it stays on this machine: its mode is private"),
        ("slow", "it stays on this machine: it ignores what the origin says of one user"),
    ])
    func `which responses other machines get is told`(host: String, line: String) throws {
        let shared = "{url: redis://cache.example, key: 0123456789abcdef0123456789abcdef}"
        let rules = Self.rules.replacingOccurrences(
            of: "cache:\n  long",
            with: "cache:\n  store: {shared: \(shared)}\n  long"
        )
        let url = "https://\(host).example/a"
        let lines = section("cache", try explain(url, rules: rules))
        #expect(lines.contains("    \(line)"), "\(lines)")
        #expect(section("cache", try explain(url)).count == lines.count - 1)
    }

    @Test func `the policy, its rule and what it means are told`() throws {
        let lines = try section("cache", explain("https://a.packages.example/a.deb"))
        #expect(lines.first == "  standard@9, by the rule \"packages\" (lupin.yaml:9)")
        #expect(lines.contains("    may be answered from the cache"))
        #expect(lines.contains { $0.hasPrefix("    stale for 1d in place of an error") })
        let off = try section("cache", explain("https://never.packages.example/"))
        #expect(off == ["  off, by the rule \"never\" (lupin.yaml:22)"])
        #expect(try section("cache", explain("http://a.dev/")) == ["  off: no rule says otherwise"])
        #expect(try section("cache", explain("http://own.example/")).isEmpty)
    }

    @Test func `the cache is asked with the request as the steps leave it`() throws {
        let upgrade = try explain(
            "-H",
            "Connection: upgrade",
            "-H",
            "Upgrade: websocket",
            "http://a.packages.example/"
        )
        #expect(
            section("cache", upgrade).contains(
                "    never answered from the cache: upgrade "
                    + "(the connection is to speak another protocol)"
            )
        )
    }

    @Test func `a PURGE goes nowhere where something is cached`() throws {
        let purge = try explain("-X", "PURGE", "https://a.packages.example/a.deb")
        #expect(section("cache", purge)[1].hasPrefix("    what is stored of the URL is dropped"))
        let outcome = section("request", purge)
        #expect(outcome.last == "  lupin answers itself, nothing goes upstream: 200, or 404")
        #expect(!purge.output.contains("sent to"))
        #expect(section("retry", purge).isEmpty)
        let json = try object(
            explain("-X", "PURGE", "--json", "https://a.packages.example/a.deb")
        )
        #expect((json["cache"] as? [String: Any])?["purges"] as? Bool == true)
        #expect(json["next_hop"] == nil && json["retry"] == nil)
        let plain = try explain("-X", "PURGE", "https://never.packages.example/")
        #expect(section("request", plain).last?.contains("sent to never.packages.example") == true)
        let canned = try section("request", explain("-X", "PURGE", "http://own.example/"))
        #expect(canned.first == "  lupin answers itself, nothing goes upstream:")
    }

    @Test func `credentials keep responses apart, and overrides are loud`() throws {
        let api = try explain("-H", "Authorization: Bearer own", "https://api.example/")
        #expect(!api.output.contains("geheim"))
        #expect(
            section("cache", api)[1]
                == "    private: for each user alone, apart by its Authorization and token github"
        )
        let slow = try section("cache", explain("-X", "POST", "https://slow.example/"))
        #expect(slow[1] == "    OVERRIDES the origin: ttl 1h, ignore private")
        #expect(slow.contains { $0.contains("never answered from the cache: method (") })
        let get = try section("cache", explain("https://slow.example/"))
        // A step of the rule is part of the request that is looked up.
        #expect(get.contains { $0.hasSuffix("once the origin has validated it (no-cache)") })
    }

    @Test func `programs read the same`() throws {
        let output = try explain("--json", "--user", "ann", "https://api.example/")
        let cache = try #require(try object(output)["cache"] as? [String: Any])
        #expect(cache["policy"] as? String == "standard@12" && cache["line"] as? Int == 12)
        #expect(cache["rule"] as? String == "api" && cache["mode"] as? String == "private")
        #expect(cache["partition"] as? [String] == ["user ann", "token github"])
        #expect(cache["answers"] as? Bool == true && cache["stores"] as? Bool == true)
        let off = try #require(
            try object(explain("--json", "http://a.dev/"))["cache"] as? [String: Any]
        )
        #expect(off["policy"] as? String == "off" && off["rule"] == nil)
    }

    private static func record(_ response: String) -> String {
        """
        {"schema":1,"ts":"2026-11-22T12:00:00.000000Z","event":"exchange","id":"\(id)",\
        "client":{"address":"127.0.0.1","port":5,"user":"ann"},"mode":"intercept","http":\
        {"request":{"method":"GET","body":{"size":0},"names":["accept"]},"response":\(response)},\
        "url":{"full":"https://a.packages.example/x","scheme":"https",\
        "domain":"a.packages.example","port":443,"path":"/x"},"rules":{"version":"0badc0de"},\
        "attempts":[{"n":1,"status":200}]}

        """
    }

    @Test func `an exchange of a log is explained, and why it was stored`() throws {
        let header = #"{"cache-control":["max-age=9"]}"#
        let log = Self.record(#"{"status_code":200,"header":\#(header)}"#)
        let result = try explain("--all", Self.id, log: log)
        #expect(result.output.hasPrefix("GET https://a.packages.example:443/x\n"))
        #expect(result.output.contains("  client 127.0.0.1, user ann\n"))
        let lines = section("record", result)
        #expect(lines.first == "  exchange \(Self.id)")
        #expect(lines.contains("  the client got 200"))
        #expect(lines.contains { $0.contains("other rules held then (version 0badc0de)") })
        #expect(lines.last == "  cache: to be stored: fresh for 9s (max-age)")
        let json = try object(explain("--json", Self.id, log: log))
        let record = try #require(json["record"] as? [String: Any])
        #expect(record["stored"] as? Bool == true && record["lifetime"] as? Int == 9)
        let names = Self.record(#"{"status_code":200,"names":["cache-control"]}"#)
        let open = try section("record", explain("--all", Self.id, log: names))
        #expect(
            open.last?.contains("can't be told: values of fields are not in the record") == true
        )
    }

    @Test func `the reason of an exchange is told on one screen`() throws {
        let log = Self.record(#"{"status_code":200}"#)
        let result = try explain(Self.id, log: log)
        let lines = result.output.split(separator: "\n", omittingEmptySubsequences: false)
        #expect(result.code == 0 && lines.count <= 25, "\(result.output)")
        let titles = lines.filter { ["end", "timeline", "rules", "keys", "request"].contains($0) }
        #expect(titles.first == "end" && titles.last == "rules", "\(titles)")
        #expect(result.output.contains("--all tells the rest: "))
        #expect(!result.output.contains("\u{1B}"))
    }

    @Test func `what is no exchange, or not on record, is told`() throws {
        let log = Self.record("{}")
        #expect(try explain("00000000000000000000000000000000", log: log).code == 1)
        #expect(try explain("http://a.dev/", log: log).code == 64)
        #expect(try explain("-X", "POST", Self.id, log: log).code == 64)
        #expect(try explain("--socket", "/nowhere", Self.id).code == 1)
    }
}
