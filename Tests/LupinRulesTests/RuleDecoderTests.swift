// Rules: matches, steps, answers, overrides, and what is said of wrong ones.

import LupinCore
import LupinPolicy
import LupinRules
import Testing

struct RuleDecoderTests {
    private func rule(_ text: String, environment: [String: String] = [:]) throws -> Rule {
        try #require(
            try configuration("rules:\n- \(text)", environment: environment).rules.rules.first
        )
    }

    private func steps(_ text: String, environment: [String: String] = [:]) throws -> [RequestStep]
    {
        try rule("{match: {}, request: [\(text)]}", environment: environment).steps
    }

    // MARK: The rule itself

    @Test func `a rule without a name is called by its line`() throws {
        let rules = try configuration("rules:\n\n  - match: {}\n  - {name: b, match: {}}").rules
            .rules
        #expect(rules.map(\.name) == ["rule@4", "b"])
        #expect(rules.map(\.line) == [4, 5])
    }

    @Test func `all keys of a rule arrive`() throws {
        let rule = try rule(
            """
            name: full
              match: {host: a.dev}
              request: [{set: {X-A: b}}]
              respond: {status: 451, headers: {Content-Type: text/plain}, body: "no\\n"}
              timeouts: {min_rate: none, expect: 2s, dns: 1s, connect: 3s, response_header: 4s, \
            idle: 5s, tunnel_idle: 6s, total: none, sniff: 7s, tls: 8s}
              log: {headers: all}
              stop: true
            """
        )
        #expect(rule.name == "full")
        #expect(rule.steps.map(\.summary) == ["set x-a"])
        #expect(rule.respond?.status == 451)
        #expect(rule.respond?.fields.map(\.name) == ["Content-Type"])
        #expect(rule.respond?.content == .text(Template("no\n")))
        #expect(rule.timeouts.minRateBytesPerSecond == .some(.none))
        #expect(rule.timeouts.expect == .seconds(2))
        #expect(rule.timeouts.dns == .seconds(1))
        #expect(rule.timeouts.connect == .seconds(3))
        #expect(rule.timeouts.responseHeader == .seconds(4))
        #expect(rule.timeouts.idle == .seconds(5))
        #expect(rule.timeouts.tunnelIdle == .seconds(6))
        #expect(rule.timeouts.total == .some(.none))
        #expect(rule.timeouts.sniff == .seconds(7))
        #expect(rule.timeouts.tls == .seconds(8))
        #expect(rule.log.headers == .all)
        #expect(rule.stop)
    }

    @Test func `every key that is true or false is read as one`() throws {
        for key in RuleKey.allCases {
            guard case .flag = key.row.value else { continue }
            for isOn in [true, false] {
                let rule = try rule("{match: a.dev, \(key.rawValue): \(isOn)}")
                #expect(rule.flags == [key: isOn])
            }
            let wrong = decode("rules: [{match: a.dev, \(key.rawValue): maybe}]")
            #expect(wrong.errors.map(\.code) == [.type], "\(key.rawValue)")
        }
    }

    @Test func `log off is a word, and a map turns the log on again`() throws {
        #expect(try rule("{match: {}, log: off}").log.off == true)
        #expect(try rule("{match: {}, log: {level: exchange}}").log.off == false)
        #expect(try rule("{match: {}}").log.off == nil)
    }

    @Test(
        arguments: [("exchange", .exchange), ("attempt", .attempt), ("event", .event)]
            as [(String, LogSettings.Level)]
    )
    func `what gets a line is said for all, or by a rule`(
        word: String,
        level: LogSettings.Level
    ) throws {
        #expect(try rule("{match: {}, log: {level: \(word)}}").log.level == level)
        let whole = decodeWhole("lupin: 1\nlog: {level: \(word)}")
        #expect(try #require(whole.configuration).settings.log.level == level)
        #expect(decode("log: {level: \(word)s}").errors.map(\.code) == [.name])
    }

    @Test(arguments: [
        "response: []", "resume: false", "cookies: off",
        "cache: off", "log: {bodies: off}",
        "request: [{delay: 0s}]",
    ])
    func `keys are accepted where they ask for nothing`(key: String) throws {
        #expect(try rule("{match: {}, \(key)}").steps.isEmpty)
    }

    @Test(arguments: [
        "log: {bodies: {max: 1KiB}}"
    ])
    func `keys of later versions say so`(key: String) {
        let problems = decode("rules: [{match: {}, \(key)}]").errors
        #expect(problems.map(\.code) == [.unavailable])
        let message = problems.first?.message ?? ""
        #expect(message.contains(" is not available yet: "))
        #expect(message.hasSuffix(" arrives in a later version"))
    }

    // MARK: Matches

    @Test func `every key of a match arrives`() throws {
        let match = try #require(
            try rule(
                """
                match: {host: ["*.a.dev", b.dev], scheme: http, port: [80, 8000-8999], \
                path: /v1/**, method: [GET, PURGE], header: {X-Env: [a, "b*"]}, \
                query: {Debug: "*"}, client: 10.0.0.0/8, program: "curl*", user: [ann, "b*"], \
                not: {path: /v1/health}}
                """
            ).matches.first
        )
        #expect(match.hosts?.count == 2)
        #expect(match.schemes == [.http])
        #expect(match.ports == PortSet([80...80, 8000...8999]))
        #expect(match.paths?.count == 1)
        #expect(match.methods == [.get, .other("PURGE")])
        #expect(match.headers.map(\.name) == ["x-env"])
        #expect(match.headers.first?.values.count == 2)
        #expect(match.query.map(\.name) == ["Debug"])
        #expect(match.clients?.map(\.text) == ["10.0.0.0/8"])
        #expect(match.programs?.map(\.source) == ["curl*"])
        #expect(match.users?.map(\.source) == ["ann", "b*"])
        #expect(match.not.count == 1)
    }

    @Test func `a match may be a string, a list of them, and a list of maps`() throws {
        #expect(try rule("match: \"*.acme.dev/v1/**\"").matches.first?.paths?.count == 1)
        let matches = try rule("match: [a.dev, {host: b.dev}, \"http://c.dev:81\"]").matches
        #expect(matches.count == 3)
        #expect(matches.last?.ports == PortSet([81...81]))
        #expect(try rule("match: {not: [a.dev, b.dev]}").matches.first?.not.count == 2)
    }

    @Test func `an environment variable may name a host`() throws {
        let rule = try rule("match: {host: \"${env:API}\"}", environment: ["API": "api.dev"])
        #expect(rule.matches.first?.hosts == [try HostPattern("api.dev")])
    }

    @Test func `a host in another form is a warning with the form that is used`() {
        let result = decode("rules: [{match: {host: [Bücher.dev, a.dev.]}}]")
        #expect(result.errors.isEmpty)
        #expect(
            result.warnings.report() == """
                lupin.yaml:2:25: warning: the host is not in canonical form  [E-HOST]
                    rules: [{match: {host: [Bücher.dev, a.dev.]}}]
                                            ^^^^^^^^^^  compared as `xn--bcher-kva.dev`
                lupin.yaml:2:37: warning: the host is not in canonical form  [E-HOST]
                    rules: [{match: {host: [Bücher.dev, a.dev.]}}]
                                                        ^^^^^^  compared as `a.dev`
                """
        )
    }

    @Test(arguments: [
        ("{path: /%7euser}", "write /~user"), ("{path: [/a, /a/%2e%2e/b]}", "write /b"),
        ("{not: {path: /a/./b}}", "write /a/b"), ("a.example/a%2fb/**", "write /a%2Fb/**"),
        ("{path: /v1//x}", "a single slash"), ("a.example/v1//x", "a single slash"),
        (#"{path: '/^\/%7Eann/'}"#, #"write /^\/~ann/"#),
    ])
    func `a path in another form is a warning with the form to write`(
        match: String,
        hint: String
    ) throws {
        let result = decode("rules: [{match: \(match)}]")
        #expect(result.errors.isEmpty)
        #expect(result.warnings.contains { $0.hint?.contains(hint) == true })
        #expect(decode("rules: [{match: {path: [/v1/**, /a%2Fb, /a b]}}]").warnings.isEmpty)
    }

    // MARK: Steps

    @Test func `steps keep their order and take several fields`() throws {
        let steps = try steps(
            """
            {set: {A: "1", B: x}}, {add: {C: y}}, {default: {D: z}}, {remove: [E, "X-*"]}, \
            {rewrite: {header: User-Agent, from: /^(a+)/, to: "$1!"}}, \
            {query: {set: {q: "1"}, remove: [r]}}, {url: {host: h.dev, port: 81, path: /p}}
            """
        )
        #expect(
            steps.map(\.summary) == [
                "set a", "set b", "add c", "default d", "remove e", "remove x-*",
                "rewrite user-agent", "query q r", "url host=h.dev port=81 path",
            ]
        )
    }

    @Test func `a value is made of texts, the request's fields and the id`() throws {
        let steps = try steps(
            "{set: {A: \"x-${env:V}-$$-${header:User-Agent}-${id}-${env:W:-w}$\"}}",
            environment: ["V": "v"]
        )
        guard case .set(_, let value) = steps.first else {
            Issue.record("no step")
            return
        }
        #expect(
            value.parts == [
                .text("x-v-$-"), .header("User-Agent"), .text("-"), .id, .text("-w$"),
            ]
        )
    }

    @Test func `a value without references is one text, and dollars in patterns stay`() throws {
        guard case .set(_, let value) = try steps("{set: {A: 5 $}}").first else {
            Issue.record("no step")
            return
        }
        #expect(value == Template("5 $"))
        let step = try steps("{rewrite: {header: A, from: /a$/, to: $$}}").first
        guard case .rewrite(_, let from, let to) = step else {
            Issue.record("no step")
            return
        }
        #expect(from.source == "/a$/")
        #expect(to == "$$")
    }

    @Test func `no is a value like any other`() throws {
        guard case .set(_, let value) = try steps("{set: {DNT: no}}").first else {
            Issue.record("no step")
            return
        }
        #expect(value == Template("no"))
    }

    @Test func `a url step changes what it names`() throws {
        let step = try steps("{url: {scheme: http, path: {from: /^\\/api/, to: /v2}}}").first
        guard case .url(let url) = step, case .rewrite(let from, let to) = url.path else {
            Issue.record("no rewrite")
            return
        }
        #expect(url.scheme == .http)
        #expect(url.host == nil)
        #expect(from.source == "/^\\/api/")
        #expect(to == "/v2")
    }

    // MARK: Wrong rules

    @Test(arguments: [
        ("x", "3:3: expected a rule, found \"x\"  [E-TYPE]"),
        ("{request: []}", "3:3: the rule \"rule@3\" has no \"match\"  [E-KEY]"),
        ("{match: {}, rety: x}", "3:15: unknown key \"rety\" in \"rules\"  [E-KEY]"),
        ("{match: }", "3:11: expected a match, found nothing  [E-TYPE]"),
        ("{match: []}", "3:11: an empty list matches nothing  [E-TYPE]"),
        ("{match: {hst: a}}", "3:12: unknown key \"hst\" in \"match\"  [E-KEY]"),
        (
            "{match: {host: }}",
            "3:18: expected globs, /regex/ or {file: hosts.txt}, found nothing  [E-TYPE]"
        ),
        (
            "{match: {host: http://a.dev}}",
            "3:18: a host has no scheme  [E-GLOB]"
        ),
        ("{match: {host: a.dev/x}}", "3:23: a host has no path  [E-GLOB]"),
        ("{match: {host: \"a*b*.dev\"}}", "3:18: `*` stands twice in one label"),
        ("{match: {host: \"/a(/\"}}", "3:21: `(` is not closed  [E-REGEX]"),
        ("{match: {path: v1}}", "3:18: a path begins with `/`  [E-GLOB]"),
        ("{match: {header: {\"a b\": c}}}", "3:21: \"a b\" is not a field name  [E-HEADER]"),
        ("{match: {method: get}}", "3:20: methods are case-sensitive: \"get\" is none  [E-NAME]"),
        ("{match: {scheme: ftp}}", "3:20: unknown scheme \"ftp\"  [E-NAME]"),
        ("{match: {port: 0}}", "3:18: port 0 is out of range  [E-RANGE]"),
        ("{match: {client: host}}", "3:20: \"host\" is not an address or a network  [E-TYPE]"),
        ("{match: {program: \"/(?=x)/\"}}", "3:23: "),
        (
            "{match: {host: \"${env:NONE}\"}}",
            "3:19: the environment has no variable \"NONE\"  [E-ENV]"
        ),
        ("{match: {}, stop: yes}", "3:21: \"yes\" is not a boolean  [E-TYPE]"),
        (
            "{match: {}, request: {set: {A: b}}}",
            "3:24: expected a list of steps, found a map  [E-TYPE]"
        ),
        ("{match: {}, request: [set]}", "3:25: expected a step, found \"set\"  [E-TYPE]"),
        (
            "{match: {}, request: [{sett: {A: b}}]}",
            "3:26: unknown key \"sett\" in \"request\"  [E-KEY]"
        ),
        (
            "{match: {}, request: [{set: {A: b}, add: {C: d}}]}",
            "3:39: one item is one step, because their order counts  [E-TYPE]"
        ),
        (
            "{match: {}, request: [{set: {Host: a.dev}}]}",
            "3:32: `Host` follows the URL  [E-HEADER]"
        ),
        (
            "{match: {}, request: [{add: {Content-Length: \"1\"}}]}",
            "3:32: `Content-Length` frames the message  [E-HEADER]"
        ),
        (
            "{match: {}, request: [{add: {Transfer-Encoding: x}}]}",
            "3:32: `Transfer-Encoding` frames the message  [E-HEADER]"
        ),
        (
            "{match: {}, request: [{remove: Connection}]}",
            "3:34: `Connection` is about one connection and goes no further  [E-HEADER]"
        ),
        (
            "{match: {}, request: [{set: {\":path\": /}}]}",
            "3:32: `:path` is a pseudo-header  [E-HEADER]"
        ),
        (
            "{match: {}, request: [{set: {A: \"b\\r\\nC: d\"}}]}",
            "3:35: a line end may not stand in a field value  [E-HEADER]"
        ),
        (
            "{match: {}, request: [{set: {A: \"${env:CRLF}\"}}]}",
            "3:35: a line end may not stand in a field value  [E-HEADER]"
        ),
        ("{match: {}, request: [{set: {A: }}]}", "3:35: expected a value, found nothing  [E-TYPE]"),
        (
            "{match: {}, request: [{set: {A: [b]}}]}",
            "3:35: expected a value, found a list  [E-TYPE]"
        ),
        (
            "{match: {}, request: [{set: {A: \"${env:NONE}\"}}]}",
            "3:36: the environment has no variable \"NONE\"  [E-ENV]"
        ),
        (
            "{match: {}, request: [{set: {A: \"x ${evn:V}\"}}]}",
            "3:38: unknown reference \"${evn}\"  [E-NAME]"
        ),
        (
            "{match: {}, request: [{set: {A: \"${header:a b}\"}}]}",
            "3:36: \"a b\" is not a field name  [E-HEADER]"
        ),
        ("{match: {}, request: [{set: {A: \"x${id\"}}]}", "3:37: \"${\" is not closed  [E-SYNTAX]"),
        (
            "{match: {}, request: [{set: {A: \"${env}\"}}]}",
            "3:36: \"${env}\" names nothing  [E-SYNTAX]"
        ),
        (
            "{match: {}, request: [{rewrite: {header: A, from: /(a/, to: b}}]}",
            "3:54: `(` is not closed  [E-REGEX]"
        ),
        (
            "{match: {}, request: [{rewrite: {header: A, from: /(a)/, to: $2}}]}",
            "3:64: `$2` names no group"
        ),
        (
            "{match: {}, request: [{rewrite: {header: A, from: /a/}}]}",
            "3:35: a rewrite has no \"to\"  [E-KEY]"
        ),
        (
            "{match: {}, request: [{rewrite: {from: /a/, to: b}}]}",
            "3:35: \"rewrite\" has no \"header\"  [E-KEY]"
        ),
        (
            "{match: {}, request: [{rewrite: {header: Host, from: /a/, to: b}}]}",
            "3:44: `Host` follows the URL  [E-HEADER]"
        ),
        (
            "{match: {}, request: [{query: {add: {a: b}}}]}",
            "3:34: unknown key \"add\" in \"query\"  [E-KEY]"
        ),
        ("{match: {}, request: [{url: {host: \"a b\"}}]}", "3:38: \"a b\" is not a host  [E-HOST]"),
        (
            "{match: {}, request: [{url: {host: \"${header:X}\"}}]}",
            "3:39: \"${header:X}\" is not allowed here  [E-TYPE]"
        ),
        (
            "{match: {}, request: [{url: {port: 70000}}]}",
            "3:38: port 70000 is out of range  [E-RANGE]"
        ),
        ("{match: {}, request: [{url: {path: v2}}]}", "3:38: a path begins with /  [E-TYPE]"),
        (
            "{match: {}, request: [{url: {host: localhost, port: 8080}}]}",
            "3:31: the new target is one of lupin's own listeners  [E-LOOP]"
        ),
        ("{match: {}, respond: 403}", "3:24: expected an answer, found \"403\"  [E-TYPE]"),
        ("{match: {}, respond: {}}", "3:24: \"respond\" has no \"status\"  [E-KEY]"),
        ("{match: {}, respond: {status: 101}}", "3:33: status 101 is out of range  [E-RANGE]"),
        ("{match: {}, respond: {status: 204, body: x}}", "3:44: a 204 has no body  [E-RANGE]"),
        (
            "{match: {}, respond: {status: 200, headers: {Content-Length: \"3\"}}}",
            "3:48: `Content-Length` frames the message  [E-HEADER]"
        ),
        (
            "{match: {}, respond: {status: 200, body: \"${token:t}\"}}",
            "3:45: \"${token:t}\" is not allowed here  [E-TYPE]"
        ),
        ("{match: {}, timeouts: {drain: 1s}}", "3:26: a rule cannot set \"drain\"  [E-KEY]"),
        (
            "{match: {}, timeouts: {totl: 1s}}",
            "3:26: unknown key \"totl\" in \"timeouts\"  [E-KEY]"
        ),
        ("{match: {}, timeouts: {total: 5}}", "3:33: \"5\" has no unit  [E-TYPE]"),
        ("{match: {}, log: {to: stderr}}", "3:21: a rule cannot set \"to\"  [E-KEY]"),
        ("{match: {}, log: on}", "3:20: expected a map, found \"on\"  [E-TYPE]"),
    ])
    func `a wrong rule is told at its place`(rule: String, first: String) {
        let problems = decode("rules:\n- \(rule)", environment: ["CRLF": "\r\n"]).errors
        #expect(problems.count == 1)
        let line = problems.first.map { String($0.text.prefix { $0 != "\n" }) } ?? ""
        #expect(line.hasPrefix("lupin.yaml:\(first)"), "\(line)")
    }

    @Test func `names are unique`() {
        #expect(
            errors("rules:\n- {name: a, match: {}}\n- {name: a, match: {}}") == """
                lupin.yaml:4:10: two rules are called "a"  [E-DUP]
                    - {name: a, match: {}}
                             ^  first on line 3
                """
        )
    }

    @Test func `a rule that can never match is a warning with what hides it`() {
        let result = decode(
            """
            rules:
              - name: all of dev
                match: {host: "**.dev"}
                stop: true
              - name: hidden
                match: {host: a.dev}
            """
        )
        #expect(result.errors.isEmpty)
        #expect(
            result.warnings.report() == """
                lupin.yaml:6:5: warning: the rule "hidden" can never match  [E-SHADOW]
                    - name: hidden
                      ^  hidden by "all of dev" on line 3, which has stop: true
                """
        )
    }
}
