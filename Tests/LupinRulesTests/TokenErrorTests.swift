// What a credential that cannot be read gets, in words that say what to write.

import LupinRules
import Testing

struct TokenErrorTests {
    private func oauth2(_ keys: String) -> String { "a: {oauth2: {\(keys)}}" }

    private static let client = "client: {id: c, secret: ssssss}"
    private static let server = "url: \"https://a.dev/\", " + client
    private static let grant = "grant: client_credentials"

    @Test(
        arguments: [
            ("a: {baerer: x}", "unknown key \"baerer\" in \"a\" [E-KEY] did you mean \"bearer\"?"),
            (
                "a: {}",
                "\"a\" does not say where the credential comes from [E-KEY]"
                    + " write one of bearer, basic, digest, command, oauth2"
            ),
            (
                "a: {bearer: tttttt, command: x}",
                "\"bearer\" and \"command\" are two sources [E-TYPE]"
                    + " a credential has one; give the other a name of its own"
            ),
            (
                "a: {bearer: tttttt, every: 5m}",
                "\"every\" belongs to \"command\", and there is none [E-KEY] "
            ),
            (
                "a: [x]",
                "expected a credential, found a list [E-TYPE] write a: {bearer: \"${env:TOKEN}\"}"
            ),
            (
                "[a]",
                "expected names and credentials, found a list [E-TYPE]"
                    + " write {github: {bearer: \"${env:GITHUB_TOKEN}\"}}"
            ),
            (
                "a: {bearer: tttttt, on_missing: sent}",
                "unknown value \"sent\" [E-NAME] did you mean \"send\"? allowed: fail, send"
            ),
            (
                "a: {bearer: tttttt, plain_http: yes}",
                "\"yes\" is not a boolean [E-TYPE] write true"
            ),
            (
                "a: {digest: {user: u, password: p}, header: {name: X}}",
                "\"header\" does not belong to \"digest\" [E-KEY]"
                    + " its answer stands in Authorization"
            ),
        ]
    )
    func `a credential has one source and known keys`(text: String, message: String) {
        #expect(tokenErrors(text) == [message])
    }

    @Test(arguments: [("{limit: 4}", 4), ("{limit: 99}", 2), ("{backoff: none}", 2), ("[3]", 3)])
    func `a policy in place of a number is told the number that means it`(retry: String, count: Int)
    {
        let found = retry.hasPrefix("[") ? "a list" : "a map"
        #expect(
            tokenErrors(oauth2("\(Self.grant), \(Self.server), retry: \(retry)")) == [
                "expected a number, found \(found) [E-TYPE] write \(count)"
            ]
        )
    }

    @Test(
        arguments: [
            (
                "\"${env:NONE}\"",
                "the environment has no variable \"NONE\" [E-ENV]"
                    + " set it, or write ${env:NONE:-default}"
            ),
            (
                "\"${env:NOTHING}\"",
                "expected a token, found nothing [E-TYPE]"
                    + " write \"${env:NAME}\" or \"${file:PATH}\""
            ),
            (
                "\"${file:none}\"",
                "cannot read /etc/lupin/none: there is no such file [E-FILE] "
            ),
            (
                "\"${file:open}\"",
                "the secret file /etc/lupin/open is readable by group or others [E-FILE]"
                    + " chmod 600 /etc/lupin/open"
            ),
            ("\"${file:bytes}\"", "the secret file /etc/lupin/bytes is not UTF-8 text [E-FILE] "),
            (
                "\"${file:empty}\"",
                "expected a token, found nothing [E-TYPE]"
                    + " write \"${env:NAME}\" or \"${file:PATH}\""
            ),
            (
                "\"${file:two}\"",
                "a line end may not stand in a field value [E-HEADER]"
                    + " a token is one line without a line end"
            ),
            (
                "\"${header:X}\"",
                "\"${header:X}\" is not allowed here [E-TYPE]"
                    + " only values of request steps know a request"
            ),
            (
                "\"${token:b}\"",
                "\"${token:…}\" is not allowed here [E-TYPE] a token has one source"
            ),
            (
                "\"${evn:T}\"", "unknown reference \"${evn}\" [E-NAME] did you mean \"env\"?"
            ),
        ]
    )
    func `a secret that cannot be had says why`(text: String, message: String) {
        #expect(tokenErrors("a: {bearer: \(text)}") == [message])
    }

    @Test(
        arguments: [
            ("basic: {user: u}", ["\"basic\" has no \"password\""]),
            ("digest: {}", ["\"digest\" has no \"user\"", "\"digest\" has no \"password\""]),
            (
                "digest: {user: u, password: p, preemptive: true}",
                ["unknown key \"preemptive\" in \"digest\""]
            ),
            ("basic: {user: \"a:b\", password: p}", ["a user has no colon"]),
            ("basic: {user: u, password: }", ["expected a password, found nothing"]),
            ("command: []", ["\"command\" names no program"]),
            ("command: vault read x", ["one text is one program, without arguments"]),
            ("command: [a, [b]]", ["expected a word, found a list"]),
            ("command: a, every: 10", ["\"10\" has no unit"]),
            ("command: a, every: 100ms", ["every 100ms is out of range"]),
            ("command: a, timeout: 0", ["timeout 0 is out of range"]),
            ("command: a, timeout: 1h", ["timeout 1h is out of range"]),
        ]
    )
    func `sources say what they lack`(keys: String, messages: [String]) {
        #expect(tokenSection("a: {\(keys)}").errors.map(\.message) == messages)
    }

    @Test(
        arguments: [
            (
                "{value: x}",
                ["\"header\" has no \"name\"", "the value does not hold the credential"]
            ),
            ("{name: Host}", ["`Host` follows the URL"]),
            ("{name: Content-Length}", ["`Content-Length` frames the message"]),
            ("{name: \"a b\"}", ["`a b` is no field name: a space may not stand in one"]),
            ("{name: X, value: \"a\\n${token}\"}", ["a line end may not stand in a field value"]),
            ("{name: X, value: \"${file:two}${token}\"}", ["\"${file:…}\" is not allowed here"]),
            ("{name: X, values: x}", ["unknown key \"values\" in \"header\""]),
        ]
    )
    func `a field is one that steps may set`(text: String, messages: [String]) {
        let section = tokenSection("a: {bearer: tttttt, header: \(text)}")
        #expect(section.errors.map(\.message) == messages)
    }

    @Test(
        arguments: [
            ("{before: 2d}", "before 2d is out of range"), ("{max: 0}", "max 0 is out of range"),
            ("{before: soon}", "\"soon\" is not a duration"),
            ("{on: [200]}", "status 200 is out of range"), ("{on: x}", "\"x\" is not a number"),
            ("{window: 0}", "window 0 is out of range"),
            ("{windw: 5s}", "unknown key \"windw\" in \"refresh\""),
            ("{replay: 1}", "\"1\" is not a boolean"),
            ("off", "expected a map, found \"off\""),
        ]
    )
    func `refreshing has bounds`(text: String, message: String) {
        let section = tokenSection("a: {bearer: tttttt, refresh: \(text)}")
        #expect(section.errors.map(\.message) == [message])
    }

    @Test(
        arguments: [
            (grant, ["\"oauth2\" has no \"url\"", "\"oauth2\" has no \"client\""]),
            (server, ["\"oauth2\" has no \"grant\""]),
            ("grant: password, " + server, ["unknown grant \"password\""]),
            (grant + ", audience: x, " + server, ["unknown key \"audience\" in \"oauth2\""]),
            (
                "url: \"http://id.dev/\", " + grant + ", " + client,
                ["the token server would be asked in clear, with all secrets"]
            ),
            (
                "url: \"https://u@id.dev/\", " + grant + ", " + client,
                ["a token server's URL has no user"]
            ),
            ("url: id.dev, " + grant + ", " + client, ["it is not an http or https URL"]),
            (
                grant + ", refresh_token: rrrrrr, " + server,
                ["\"refresh_token\" belongs to grant: refresh_token"]
            ),
            (grant + ", store: x, " + server, ["\"store\" belongs to grant: refresh_token"]),
            ("grant: refresh_token, " + server, ["\"oauth2\" has no \"refresh_token\""]),
            (
                grant + ", scope: \"a\\\"b\", " + server,
                ["a scope is ASCII without quotes and backslashes"]
            ),
            (grant + ", scope: [], " + server, ["expected a scope, found nothing"]),
            (grant + ", params: {client_id: x}, " + server, ["\"client_id\" has a key of its own"]),
            (grant + ", params: x, " + server, ["expected names and values, found \"x\""]),
            (
                grant + ", url: \"https://a.dev/\", client: {secret: ssssss}",
                ["\"client\" has no \"id\""]
            ),
            (
                grant + ", url: \"https://a.dev/\", client: {id: a, send: basic}",
                ["without a secret there is nothing to send by basic"]
            ),
            (
                grant + ", url: \"https://a.dev/\", client: {id: a, secret: ssssss, send: jwt}",
                ["unknown value \"jwt\""]
            ),
        ]
    )
    func `oauth2 says what does not fit`(keys: String, messages: [String]) {
        #expect(tokenSection(oauth2(keys)).errors.map(\.message) == messages)
    }

    @Test func `a server in clear is an error of its own`() {
        let text = oauth2("url: \"http://id.dev/\", \(Self.grant), \(Self.client)")
        #expect(tokenSection(text).errors.map(\.code) == [.oauth])
        let near = oauth2("url: \"http://127.0.0.1/\", \(Self.grant), \(Self.client)")
        #expect(tokenSection(near).errors.isEmpty)
        for list in ["[]", "[\"*.corp.test\"]", "[127.0.0.1]"] {
            let upstream = "upstream: {proxy: \"http://10.9.9.9:81\", no_proxy: \(list)}"
            let told = decode("tokens: {\(near)}\n\(upstream)").errors.map(\.message)
            let message =
                "the token server would be asked in clear, with all secrets, by a parent proxy on "
                + "another machine"
            #expect(told == (list == "[127.0.0.1]" ? [] : [message]))
        }
    }

    @Test(arguments: [
        ("127.0.0.1", "http://10.9.9.9:81", "[]", "", true),
        ("[\"[::1]\", 127.0.0.5]", "http://10.9.9.9:81", "[\"*.corp.test\"]", "", true),
        ("127.0.0.1", "http://127.0.0.1:81", "[]", "", false),
        ("localhost", "http://10.9.9.9:81", "[]", "", false),
        ("127.0.0.1", "http://10.9.9.9:81", "[127.0.0.1]", "", false),
        // Some requests are not refused.
        ("127.0.0.1", "http://10.9.9.9:81", "[\"127.0.0.1:3000\"]", "", false),
        ("127.0.0.1", "http://10.9.9.9:81", "[]", "{match: {path: /a}, proxy: direct}", false),
        ("127.0.0.1", "direct", "[]", "{match: {path: /a}, proxy: \"http://10.9.9.9\"}", false),
    ])
    func `a token for this machine goes by no parent elsewhere`(
        host: String,
        proxy: String,
        list: String,
        other: String,
        isTold: Bool
    ) {
        let errors = decode(
            """
            upstream: {proxy: "\(proxy)", no_proxy: \(list)}
            tokens: {t: {bearer: literal-token}}
            rules:
              - {name: a, match: {scheme: http, host: \(host)}, request: [{auth: t}]}
              \(other.isEmpty ? "" : "- \(other)")
            """
        ).errors.map(\.text)
        let told =
            "the rule \"a\" sends the token \"t\" in clear, by a parent proxy on another machine"
        #expect(errors.contains { $0.contains(told) } == isTold, "\(errors)")
        #expect(errors.count == (isTold ? 1 : 0))
    }

    @Test(arguments: [
        ("localhost", false), ("d1.localhost", false), ("'*.localhost'", false),
        ("'**.localhost'", false), ("[localhost, '*.d.localhost']", false), ("127.0.0.1", false),
        ("'*.test'", true), ("'*localhost'", true), ("[localhost, a.test]", true),
        ("'localhost.*'", true), ("/localhost/", true),
    ])
    func `names below localhost are this machine`(host: String, isTold: Bool) {
        let rule = "{match: {host: \(host), scheme: http}, request: [{auth: t}]}"
        let decoded = decode("tokens: {t: {bearer: literal-token}}\nrules: [\(rule)]")
        #expect(decoded.errors.map(\.code) == (isTold ? [.auth] : []), "\(decoded.errors)")
    }

    @Test(
        arguments: [
            ("[{match: a.test, request: [{auth: t}, {url: {host: b.test}}]}]", true),
            ("[{match: a.test, request: [{url: {host: a.test}}, {auth: t}]}]", false),
            ("[{match: \"*.test\", request: [{url: {host: b.test}}, {auth: t}]}]", false),
            ("[{match: {}, request: [{url: {host: b.test}}, {auth: t}]}]", false),
            (
                "[{match: a.test, request: [{url: {host: b.test}}, {auth: t}]}, "
                    + "{match: b.test, request: [{auth: t}]}]", false
            ),
            ("[{match: a.test, request: [{url: {path: /b}}, {auth: t}]}]", false),
        ]
    )
    func `a step that sends a token where it does not go is told`(rules: String, isTold: Bool) {
        for hosts in ["", ", hosts: [b.test]"] {
            let token = "tokens: {t: {bearer: literal-token\(hosts)}}"
            let warnings = decode("\(token)\nrules: \(rules)").warnings
            let told = warnings.filter { $0.message.contains("does not get the token") }
            #expect(told.count == (isTold && hosts.isEmpty ? 1 : 0), "\(warnings)")
        }
    }

    @Test(
        arguments: [
            ("[vault]", nil), ("/opt/tools/vault", nil), ("[jq]", nil),
            ("[vlt, x]", "there is no program \"vlt\" in any folder of PATH"),
            ("[text]", "/usr/bin/text is not executable"),
            ("/opt/tools/text", "there is no program /opt/tools/text yet"),
            ("/usr/bin/text", "/usr/bin/text is not executable"), ("/opt", "/opt is a folder"),
        ] as [(String, String?)]
    )
    func `a program that cannot be run is told`(command: String, message: String?) {
        var surroundings = Surroundings(environment: ["PATH": "/opt/tools:/usr/bin"])
        let programs = ["/opt/tools/vault", "/usr/bin/jq"]
        surroundings.isFile = { programs.contains($0) || $0 == "/usr/bin/text" }
        surroundings.isProgram = { programs.contains($0) }
        surroundings.isDirectory = { $0 == "/opt" }
        let result = RulesFile.decode(
            text: """
                lupin: 1
                tokens: {t: {command: \(command)}}
                rules: [{match: a.test, request: [{auth: t}]}]
                """,
            fileName: "lupin.yaml",
            surroundings: surroundings
        )
        #expect(result.errors.isEmpty)
        #expect(result.warnings.map(\.message) == (message.map { [$0] } ?? []))
    }

    @Test(
        arguments: [
            // The step is in another rule, which matches the same requests, more or fewer.
            (
                "{name: a, match: a.test, request: [{auth: t}]}, "
                    + "{name: b, match: a.test, request: [{url: {host: b.test}}]}",
                "requests of the rule \"a\" get 502: the rule \"b\" sends them to b.test, which "
                    + "does not get the token \"t\""
            ),
            (
                "{name: b, match: {}, request: [{url: {host: b.test}}]}, "
                    + "{name: a, match: a.test, request: [{auth: t}]}",
                "requests of the rule \"a\" get 502: the rule \"b\" sends them to b.test, which "
                    + "does not get the token \"t\""
            ),
            (
                "{name: a, match: \"*.a.test\", request: [{auth: t}]}, "
                    + "{name: b, match: \"www.a.test/v1/*\", request: [{url: {host: b.test}}]}",
                "some requests of the rule \"a\" get 502: the rule \"b\" sends them to b.test, "
                    + "which does not get the token \"t\""
            ),
            // The port alone.
            (
                "{name: a, match: {host: a.test, port: 443}, request: [{auth: t}, "
                    + "{url: {port: 8443}}]}",
                "requests of the rule \"a\" get 502: it sends them to a.test:8443, which does not "
                    + "get the token \"t\""
            ),
            (
                "{name: a, match: a.test, request: [{auth: t}]}, "
                    + "{name: b, match: a.test, request: [{url: {scheme: http}}]}",
                "requests of the rule \"a\" get 502: the rule \"b\" sends them in "
                    + "clear to a.test, where the token \"t\" does not go"
            ),
            // A later step leads back, or the two never meet, or the token may go there.
            (
                "{match: a.test, request: [{auth: t}, {url: {host: b.test}}]}, "
                    + "{match: a.test, request: [{url: {host: a.test}}]}", nil
            ),
            (
                "{match: \"a.test/x/*\", request: [{auth: t}]}, "
                    + "{match: \"a.test/y/*\", request: [{url: {host: b.test}}]}", nil
            ),
            (
                "{match: a.test, stop: true, request: [{auth: t}]}, "
                    + "{match: a.test, request: [{url: {host: b.test}}]}", nil
            ),
            (
                "{match: a.test, request: [{auth: t}]}, "
                    + "{match: a.test, request: [{url: {host: h.test}}]}", nil
            ),
            (
                "{match: a.test, request: [{auth: t}, {url: {host: b.test}}], "
                    + "respond: {status: 204}}",
                nil
            ),
        ] as [(String, String?)]
    )
    func `what a rule does to the token of another is told`(rules: String, message: String?) {
        let token = "tokens: {t: {bearer: literal-token, hosts: [h.test]}}"
        let result = decode("\(token)\nrules: [\(rules)]")
        let told = result.warnings.map(\.message).filter { $0.contains("get 502") }
        #expect(result.errors.isEmpty)
        #expect(told == (message.map { [$0] } ?? []))
    }

    @Test func `a token that no rule uses is told at its own place`() {
        let body = "tokens: {a: {bearer: \"${env:A}\"}, b: {bearer: \"${env:A}\"}}"
        let rules = "rules: [{match: \"https://a.test\", request: [{auth: a}]}]"
        let warnings = decode("\(body)\n\(rules)", environment: ["A": "secret-word"]).warnings
        let told = warnings.filter { $0.message == "the token \"b\" is used by no rule" }
        #expect(told.map { body.dropFirst($0.column - 1).prefix(2) } == ["b:"])
    }
}
