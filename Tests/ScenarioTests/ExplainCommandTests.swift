// `lupin explain` and `lupin rules` as a person or a script meets them.
import Foundation
import LupinTestKit
import Testing

@Suite(.waitsForPrograms)
struct ExplainCommandTests {
    private static let rules = #"""
        lupin: 1
        timeouts: {connect: 5s}
        tokens:
          github: {bearer: "literal-geheim"}
        rules:
          - name: everyone
            match: {}
            timeouts: {total: 60s}
          - name: github
            match: {host: api.github.com}
            request:
              - auth: github
              - set: {X-Env: dev}
            timeouts: {total: 90s}
          - name: telemetry
            match: telemetry.example
            respond: {status: 403, headers: {Set-Cookie: geheim, X-A: b}}
            stop: true
          - name: staging
            match: {header: {X-Env: staging}}
            log: off

        """#

    private func explain(_ arguments: String..., rules: String = rules) throws -> Lupin.Result {
        let folder = try Folder()
        let file = try folder.write("lupin.yaml", rules)
        return try Lupin.run(["explain", "--rules", file] + arguments)
    }

    @Test(arguments: [
        ("", "direct, since upstream.no_proxy lists 127.0.0.0/8"), ("[]", "p.test:3128"),
    ])
    func `why a request goes direct although its rule has a proxy is told`(
        list: String,
        hop: String
    ) throws {
        let rules = """
            lupin: 1
            \(list.isEmpty ? "" : "upstream: {no_proxy: \(list)}")
            rules: [{match: {host: 127.0.0.1}, proxy: "http://p.test:3128"}]

            """
        #expect(try explain("http://127.0.0.1:8080/", rules: rules).output.contains(hop))
        let json = try explain("--json", "http://127.0.0.1:8080/", rules: rules).output
        #expect(json.contains("\"direct_since\"") == list.isEmpty)
    }

    @Test(arguments: [
        ("{host: a.test, path: /**}", "", true), ("{host: a.test}", "", false),
        ("{host: a.test, path: /**}", "me:secret@", false),
    ])
    func `a parent proxy that can't ask the client is told`(
        match: String,
        userinfo: String,
        isLate: Bool
    ) throws {
        let rules = """
            lupin: 1
            rules:
              - {name: late, match: \(match), intercept: true,
                 proxy: "http://\(userinfo)p.test:3128"}

            """
        let output = try explain("https://a.test/x", rules: rules).output
        #expect(output.contains("sent to a.test:443, by the parent proxy http://p.test:3128"))
        #expect(output.contains("the rule \"late\" must match by the host alone") == isLate)
        let plain = try explain("http://a.test/x", rules: rules).output
        #expect(!plain.contains("must match by the host alone"))
    }

    @Test func `every rule, every key and the request are told, no secret is`() throws {
        let result = try explain("-H", "Cookie: a=geheim", "https://API.github.com/user")
        #expect(result.code == 0)
        #expect(!result.output.contains("geheim"))
        for line in [
            "GET https://api.github.com:443/user", "  ✓ 127.0.0.1 is served (access.clients)",
            #"  intercepted: for the rule "github" (lupin.yaml:9)"#, "  ✓ everyone (line 6)",
            "  ✗ telemetry (line 15): host is api.github.com, not telemetry.example",
            "  ✗ staging (line 19): there is no header x-env",
            #"  lupin.yaml:8 everyone  timeouts.total: 60s  (replaced by "github", line 9)"#,
            "  lupin.yaml:14 github   timeouts.total: 90s", "  lupin.yaml:2  timeouts.connect: 5s",
            "  safe: no rule says otherwise", "    Cookie: REDACTED",
            "  + Authorization: Bearer <token github>", "  + X-Env: dev",
            "  sent to api.github.com:443, direct, trusted by policy system",
        ] {
            #expect(
                result.output.contains("\(line)\n") || result.output.hasSuffix("\(line)\n"),
                "\(line) is missing in\n\(result.output)"
            )
        }
    }

    @Test func `a server name inside a CONNECT is told of as well`() throws {
        let list = """
            lupin: 1
            rules:
              - {name: list, match: {not: {host: [a.example, b.example]}}, respond: {status: 403}}
              - {name: clear, match: b.example, intercept: true}

            """
        for (name, host, line) in [
            ("A.example.", "a.example", "✓ the TLS inside may ask for A.example. (tunnel.sni)"),
            (
                "evil.example", "a.example",
                "✗ TLS that asks for evil.example gets no tunnel: rule \"list\" (line 3) refuses "
                    + "evil.example (tunnel.sni)"
            ),
            ("a..b", "a.example", "✗ TLS that asks for a..b gets no tunnel: that is no host name"),
            ("b.example", "b.example", "✓ the TLS inside may ask for b.example (tunnel.sni)"),
            ("a.example", "b.example", "✗ requests inside TLS that asks for a.example get 421"),
        ] {
            let output = try explain("--sni", name, "https://\(host)/", rules: list).output
            #expect(output.contains("  \(line)"), "\(line) is missing in\n\(output)")
        }
        let connect = try explain("-X", "CONNECT", "https://a.example/", rules: list).output
        #expect(connect.contains("--sni NAME tells of a name"))
        let free = try explain("--sni", "x.example", "https://a.example/", rules: "lupin: 1\n")
        #expect(free.output.contains("✓ the TLS inside may ask for x.example (tunnel.sni)"))
        #expect(!free.output.contains("--sni NAME"))
        #expect(try explain("--sni", "a.example", "http://a.example/", rules: list).code == 64)
    }

    @Test func `a tunnel shows what it keeps rules from seeing`() throws {
        let output = try explain("https://other.example/").output
        #expect(output.contains("tunnelled: no rule needs the host in clear"))
        #expect(output.contains("? staging (line 19): header shows only inside https"))
        #expect(output.contains("tunnelled to other.example:443, direct; no rule sees"))
    }

    @Test func `a client gets no tunnel where every origin needs a trust rule`() throws {
        let rules = """
            lupin: 1
            rules: [{match: a.example, request: [{set: {X-A: b}}]}]

            """
        let strict = rules + "upstream: {tls: {require_trust_rule: true}}\n"
        for (rules, mayTunnel) in [(rules, true), (strict, false)] {
            let output = try explain("https://a.example/", rules: rules).output
            #expect(output.contains("is tunnelled for 30s") == mayTunnel)
            #expect(output.contains("certificate gets 403") != mayTunnel)
            let json = try explain("--json", "https://a.example/", rules: rules).output
            #expect(json.contains("\"may_tunnel\":\(mayTunnel)"))
        }
    }

    @Test func `lupin's own page is told`() throws {
        let output = try explain("http://lupin/").output
        #expect(output.contains("its page for set-up, nothing goes upstream"))
        let named = "lupin: 1\nrules: [{match: lupin, log: off}]\n"
        #expect(try explain("http://lupin/", rules: named).output.contains("sent to lupin:80"))
    }

    @Test func `an answer of lupin's own is told, and what it hides`() throws {
        let output = try explain("https://telemetry.example/x").output
        #expect(output.contains("the rule \"telemetry\" ("))
        #expect(output.contains(":15) answers the CONNECT; nothing is decrypted"))
        #expect(output.contains("hidden by `stop: true` of \"telemetry\" (line 15)"))
        #expect(output.contains("lupin answers itself, nothing goes upstream:\n    403\n"))
        #expect(output.contains("    Set-Cookie: REDACTED\n    X-A: b\n"))
        let connect = try explain("-X", "CONNECT", "https://api.github.com/").output
        #expect(
            connect.hasSuffix(
                """
                  the CONNECT gets 200, and rules act on the requests inside; to see how:
                    lupin explain https://api.github.com/

                """
            )
        )
    }

    @Test func `program, user and address come from the command line`() throws {
        let rules = """
            lupin: 1
            access: {clients: [10.0.0.0/8]}
            rules: [{name: p, match: {program: "curl*", user: ann, client: 10.1.2.3}, log: off}]

            """
        let all = ["--program", "curl", "--user", "ann", "--client", "10.1.2.3"]
        let folder = try Folder()
        let file = try folder.write("lupin.yaml", rules)
        let known = try Lupin.run(["explain", "--rules", file] + all + ["http://a.example/"])
        #expect(known.output.contains("✓ p (line 3)"))
        #expect(known.output.contains("✓ 10.1.2.3 is served (access.clients, lupin.yaml:2)"))
        let unknown = try Lupin.run("explain", "--rules", file, "http://a.example/")
        #expect(unknown.output.contains("program is not known, not curl*"))
        #expect(unknown.output.contains("✗ 127.0.0.1 is not listed: 403"))
        #expect(unknown.output.contains("  refused: 127.0.0.1 is not listed: 403; else"))
    }

    @Test func `json is one object with stable members`() throws {
        let result = try explain("--json", "https://api.github.com/user")
        let json = try JSONSerialization.jsonObject(with: Data(result.output.utf8))
        let object = try #require(json as? [String: Any])
        #expect(
            Set(object.keys) == [
                "file", "version", "target", "access", "interception", "rules", "keys", "settings",
                "next_hop", "request", "retry", "resume", "cache", "response",
            ]
        )
        #expect(result.output.split(separator: "\n").count == 1)
        let rules = try #require(object["rules"] as? [[String: Any]])
        #expect(
            rules.compactMap { $0["verdict"] as? String } == [
                "matches", "matches", "fails", "fails",
            ]
        )
    }

    @Test func `of many rules only the matching ones are told, unless all are wanted`() throws {
        var text = "lupin: 1\nrules:\n"
        for number in 1...60 { text += "  - {match: h\(number).example, log: off}\n" }
        let short = try explain("http://h7.example/", rules: text).output
        #expect(short.contains("59 rules do not match; --all tells why"))
        #expect(!short.contains("✗ rule@"))
        let long = try explain("--all", "http://h7.example/", rules: text).output
        #expect(long.split(separator: "\n").count { $0.contains("✗ rule@") } == 59)
    }

    @Test func `what decided a failure is told with its places`() throws {
        let rules = """
            lupin: 1
            upstream: {dns: {ttl: 1h}}
            access: {clients: [192.0.2.0/24]}
            rules:
              - {name: plain, match: {}, request: [{set: {X-A: b}}]}
              - {name: moved, match: a.example, request: [{url: {host: b.invalid}}]}

            """
        let folder = try Folder()
        func told(_ error: String, _ status: Int, _ detail: String, _ steps: String) throws
            -> [String]
        {
            let line = """
                {"schema":1,"ts":"2026-11-20T22:41:07.123456Z","event":"exchange",\
                "id":"10000000000000000000000000000000","outcome":"error",\
                "http":{"request":{"method":"GET"},"response":{"status_code":\(status)}},\
                "error":{"type":"\(error)","detail":"\(detail)"},"rules":{"steps":[\(steps)]},\
                "url":{"full":"http://a.example/","scheme":"http","domain":"a.example"}}

                """
            let log = try folder.write("log.jsonl", line)
            let result = try explain("--log", log, "last", rules: rules)
            #expect(result.code == 0, "\(result.errors)")
            let lines = result.output.split(separator: "\n").map(String.init)
            let rest = lines.drop { $0 != "  look at:" }.dropFirst()
            return rest.prefix { $0.hasPrefix("    ") }.map { String($0.dropFirst(4)) }
        }
        let moved = "\"set x-a\",\"url host=b.invalid\""
        let unknown = try told("dns_error", 502, "No such host.", moved)
        #expect(unknown.contains { $0.hasPrefix("request: ") && $0.contains("lupin.yaml:6") })
        #expect(!unknown.contains { $0.contains("lupin.yaml:5") })
        #expect(unknown.contains("upstream.dns.ttl: 1h (lupin.yaml:2)"))
        let denied = try told("http_request_denied", 403, "access.clients does not list it.", "")
        #expect(denied.contains("access.clients: [192.0.2.0/24] (lupin.yaml:3)"))
        let long = try told("http_request_error", 431, "", "")
        let limits = long.filter { $0.hasSuffix(" (default)") }
        #expect(limits.contains { $0.hasPrefix("limits.header_bytes: ") })
    }

    @Test(arguments: [
        ["a.example"], ["ftp://a.example/"], ["http://u:geheim@a.example/"],
        ["http://a.example:0/"],
        ["-H", "no colon", "http://a.example/"], ["-X", "G T", "http://a.example/"],
        ["--client", "here", "http://a.example/"], [],
    ])
    func `a wrong command line ends with 64`(arguments: [String]) throws {
        let result = try Lupin.run(["explain"] + arguments)
        #expect(result.code == 64)
        #expect(!result.errors.contains("geheim"))
    }

    @Test(arguments: [["explain", "http://a.example/"], ["rules"], ["rules", "--effective"]])
    func `a bad file ends with 2`(arguments: [String]) throws {
        let folder = try Folder()
        let file = try folder.write("lupin.yaml", "lupin: 1\nrulez: []\n")
        let result = try Lupin.run(arguments + ["--rules", file])
        #expect(result.code == 2 && result.output == "")
    }

    @Test func `rules lists what each concerns, and prints a file that is good`() throws {
        let folder = try Folder()
        let file = try folder.write("lupin.yaml", Self.rules)
        let list = try Lupin.run("rules", "--rules", file).output
        #expect(
            list.contains(
                "github  # \(file):9\n  match: {host: api.github.com}\n"
                    + "  keys:  request, timeouts.total\n"
            )
        )
        let effective = try Lupin.run("rules", "--effective", "--rules", file)
        #expect(effective.code == 0 && !effective.output.contains("geheim"))
        let copy = try folder.write("copy.yaml", effective.output)
        let checked = try Lupin.run("check", copy)
        #expect(
            checked.code == 0 && checked.output.hasPrefix("\(copy): ok, 4 rules\n"),
            "\(checked)"
        )
        let defaults = try Lupin.run("rules", "--effective")
        let plain = try folder.write("plain.yaml", defaults.output)
        #expect(try Lupin.run("check", plain).output == "\(plain): ok, 0 rules\n")
    }
}
