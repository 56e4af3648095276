// What other rules would have done with a recorded exchange, by the decisions of the engine.
import LupinConsole
import LupinPolicy
import LupinRules
import LupinTestKit
import Testing

struct LogReplayTests {
    struct Row: Sendable {
        let line: LoggedExchange
        let rules: String
        let change: ReplayedExchange.Change
        var reason = ""

        init(
            _ line: LoggedExchange,
            _ rules: String,
            _ change: ReplayedExchange.Change,
            _ reason: String = ""
        ) {
            (self.line, self.rules, self.change, self.reason) = (line, rules, change, reason)
        }
    }

    private static func rule(_ keys: String, host: String = "a.example") -> String {
        "rules:\n  - {name: r, match: {host: \(host)}, \(keys)}"
    }

    private static let plain = LoggedExchange("a.example")
    private static let tunnel = LoggedExchange.tunnel("a.example")
    private static let inside = LoggedExchange.decrypted("a.example")
    private static let refusal = rule("respond: {status: 403}")
    private static let mock = rule("respond: {status: 200, body: x}")
    private static let byRule = #"by rule "r" (line 3)"#

    static let rows: [Row] = [
        // Nothing.
        Row(plain, "", .none), Row(tunnel, "", .none),
        Row(plain, rule("request: [{set: {X-A: b}}]"), .none),
        Row(inside, rule("request: [{set: {X-A: b}}]"), .none),
        Row(LoggedExchange("lupin").with { $0.answer = nil }, "", .none, "lupin's own page"),
        // Refused by a rule.
        Row(plain, refusal, .refused, byRule), Row(tunnel, refusal, .refused, byRule),
        Row(inside, refusal, .refused, byRule),
        Row(plain, rule("respond: {status: 403, body: x}"), .refused, byRule),
        Row(.refused("a.example"), refusal, .none, byRule),
        Row(.failed("a.example"), refusal, .refusedAnyway, byRule),
        Row(plain, rule("respond: {status: 403}", host: "b.example"), .none),
        // By a setting.
        Row(
            plain,
            "access: {deny_targets: [a.example]}",
            .refused,
            "by access.deny_targets (line 2)"
        ),
        Row(plain, "access:\n  clients: [10.0.0.0/8]", .refused, "by access.clients (line 3)"),
        Row(tunnel, "access: {connect_ports: [22]}", .refused, "by access.connect_ports (line 2)"),
        Row(plain, "access: {connect_ports: [22]}", .none),
        Row(
            .tunnel("a.example"),
            "upstream: {tls: {require_trust_rule: true}}",
            .refused,
            "by upstream.tls.require_trust_rule (line 2)"
        ),
        // By the address that it was sent to.
        Row(
            plain.with { $0.peer = "10.1.2.3:80" },
            "access: {deny_targets: [private]}",
            .refused,
            "by access.deny_targets (line 2), for its address"
        ),
        // A parent proxy's address says nothing of the origin.
        Row(plain.with { $0.peer = "10.1.2.3:3128" }, "access: {deny_targets: [private]}", .none),
        // Answered.
        Row(plain, mock, .answered, "200 \(byRule)"), Row(inside, mock, .answered, "200 \(byRule)"),
        // Nothing is known of the requests inside, but this rule answers all of them.
        Row(tunnel, mock, .answered, "200 \(byRule)"),
        Row(
            plain.with {
                ($0.step, $0.answer) = ("respond 200 by the rule \"mock\" (line 3)", nil)
            },
            refusal,
            .refused,
            byRule
        ),
        // A CONNECT that a mock answers is no tunnel: its client sees a failure.
        Row(tunnel, "intercept: {mode: none}\n\(mock)", .refused, #"by rule "r" (line 4)"#),
        // Sent elsewhere.
        Row(
            plain,
            rule("request: [{url: {host: b.example, port: 8080}}]"),
            .moved,
            "to http://b.example:8080/"
        ),
        Row(
            plain.with { $0.attemptURL = "http://b.example/" },
            rule("request: [{url: {host: b.example}}]"),
            .none
        ),
        Row(plain.with { $0.attemptURL = "http://b.example/" }, "", .moved, "to http://a.example/"),
        Row(
            tunnel,
            rule("request: [{url: {host: b.example}}]"),
            .decrypted,
            #"for rule "r" (line 3)"#
        ),
        // Decrypted or not.
        Row(tunnel, rule("intercept: true"), .decrypted, #"for rule "r" (line 3)"#),
        Row(inside, "", .tunnelled), Row(inside, "intercept: {mode: all}", .none),
        Row(tunnel, "intercept: {mode: all}", .decrypted),
        // Plain HTTP inside a CONNECT is asked about as what it is.
        Row(LoggedExchange("a.example").with { $0.mode = "intercept" }, "", .tunnelled),
        // Let through.
        Row(.refused("a.example"), "", .passed),
        // A rule for methods that ends matching does not end it for the CONNECT.
        Row(
            inside,
            """
            rules:
              - {name: get, match: {host: a.example, method: GET}, stop: true}
              - {name: rest, match: {}, respond: {status: 403}}
            """,
            .refused,
            #"by rule "rest" (line 4)"#
        ),
        // The server name of a tunnel is its second name.
        Row(
            .tunnel("b.example").with { $0.serverName = "A.example." },
            refusal,
            .refused,
            "for the server name a.example: rule \"r\" (line 3) refuses a.example"
        ),
        Row(
            .tunnel("b.example").with { $0.serverName = "a.example" },
            "access: {deny_targets: [a.example]}",
            .refused,
            "for the server name a.example: access.deny_targets lists a.example"
        ),
        Row(.tunnel("b.example").with { $0.serverName = "c.example" }, refusal, .none),
        // One authority: a request inside would get 421.
        Row(
            tunnel.with { $0.serverName = "c.example" },
            rule("intercept: true"),
            .refused,
            "by the server name c.example, which is not that of the CONNECT"
        ),
        Row(
            .tunnel("10.1.1.1").with { $0.serverName = "c.example" },
            rule("intercept: true", host: "10.1.1.1"),
            .decrypted,
            #"for rule "r" (line 3)"#
        ),
    ]

    @Test(arguments: rows.indices)
    func `an exchange is judged as the engine would`(number: Int) throws {
        let row = Self.rows[number]
        let loaded = decode(row.rules)
        let configuration = try #require(loaded.configuration, "\(loaded.errors.map(\.text))")
        let json = try #require(row.line.json)
        let replayed = try #require(LogReplay(configuration).replay(json))
        #expect(replayed.change == row.change, "\(row.rules)\n\(row.line.text)")
        #expect(replayed.reason == row.reason, "\(row.rules)\n\(row.line.text)")
    }

    @Test func `program, user, client and fields are those of the record`() throws {
        let line = Self.plain.with {
            $0.program = "curl"
            $0.fields = ["x-env": "dev"]
        }
        for (match, isMet) in [
            ("program: curl", true), ("program: wget", false), ("header: {X-Env: dev}", true),
            ("header: {X-Env: prod}", false), ("client: 127.0.0.1", true), ("path: /y", false),
        ] {
            let rules = "rules: [{name: r, match: {\(match)}, respond: {status: 403}}]"
            let replay = LogReplay(try #require(decode(rules).configuration))
            let replayed = try replay.expect(line)
            #expect(replayed.change == (isMet ? .refused : .none), "\(match)")
            #expect(replay.notes.isEmpty == !match.hasPrefix("header"))
        }
    }

    @Test func `the cache and the parent proxy are told`() throws {
        let rules = """
            upstream: {proxy: "http://proxy.example:3128"}
            rules: [{name: r, match: a.example, cache: {}}]
            """
        let loaded = decode(rules)
        let configuration = try #require(loaded.configuration, "\(loaded.errors.map(\.text))")
        let replay = LogReplay(configuration)
        let replayed = try replay.expect(Self.plain)
        #expect(replayed.isCacheAsked)
        #expect(replayed.parent == "proxy.example:3128")
    }

    @Test func `a record without a request can't be rehearsed`() throws {
        let line = LoggedExchange("").with { $0.scheme = nil }
        let json = try #require(line.json)
        #expect(LogReplay(.defaults).replay(json) == nil)
    }
}

extension LogReplay {
    /// What would become of `line`, whose record tells its request.
    func expect(_ line: LoggedExchange) throws -> ReplayedExchange {
        let json = try #require(line.json)
        return try #require(replay(json), "\(line.text)")
    }
}
