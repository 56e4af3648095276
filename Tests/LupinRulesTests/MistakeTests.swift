// Mistakes of somebody who writes rules for the first time: each is told where it was made, with
// what to write instead.

import LupinPolicy
import LupinRules
import Testing

struct MistakeTests {
    /// The problem of a rule that has one key more, as place, sentence and advice.
    private func problem(_ key: String, match: String = "a.dev") -> String? {
        let result = decode("rules:\n  - match: \(match)\n    \(key)")
        let problems = result.errors + result.warnings
        #expect(problems.count == 1, "\(problems.report())")
        return problems.first.map { "\($0.line):\($0.column) \($0.message) | \($0.hint ?? "")" }
    }

    // MARK: Keys at another place

    @Test(arguments: [
        (
            "set: {A: b}", "unknown key \"set\" in \"rules\"",
            "it is a step: request: [{set: …}], or response: [{set: …}]"
        ),
        (
            "auth: acme", "unknown key \"auth\" in \"rules\"",
            "it is a step: request: [{auth: …}]"
        ),
        (
            "delay: 3s", "unknown key \"delay\" in \"rules\"",
            "it is a step: request: [{delay: …}]"
        ),
        (
            "host: b.dev", "unknown key \"host\" in \"rules\"",
            "it belongs under match: match: {host: …}"
        ),
        (
            "request: [{retry: safe}]", "unknown key \"retry\" in \"request\"",
            "it belongs to the rule itself, beside match"
        ),
        (
            "request: [{headers: {A: b}}]", "unknown key \"headers\" in \"request\"",
            "write set: {NAME: VALUE}"
        ),
        (
            "request: [{host: b.dev}]", "unknown key \"host\" in \"request\"",
            "write url: {host: …}"
        ),
        (
            "response: [{headers: {A: b}}]", "unknown key \"headers\" in \"response\"",
            "write set: {NAME: VALUE}"
        ),
        (
            "respond: {status: 200, delay: 3s}", "unknown key \"delay\" in \"respond\"",
            "it is a step: request: [{delay: …}]"
        ),
        (
            "respond: {status: 200, header: {A: b}}", "unknown key \"header\" in \"respond\"",
            "did you mean \"headers\"?"
        ),
        (
            "respond: {status: 200, cache: off}", "unknown key \"cache\" in \"respond\"",
            "it belongs to the rule itself, beside match"
        ),
    ])
    func `a key at another place of a rule is told where it belongs`(
        key: String,
        message: String,
        hint: String
    ) throws {
        let told = try #require(problem(key))
        #expect(told.hasSuffix(" \(message) | \(hint)"), "\(told)")
    }

    @Test func `a key of the rule inside its match is told where it belongs`() throws {
        let problems = decode("rules: [{match: {host: a.dev, retry: safe, set: {A: b}}}]").errors
        #expect(
            problems.map(\.hint) == [
                "it belongs to the rule itself, beside match",
                "it is a step: request: [{set: …}], or response: [{set: …}]",
            ]
        )
    }

    // MARK: Words of other programs

    @Test(arguments: [
        ("retry: 3", "{limit: 3}"), ("retry: true", "standard"), ("retry: off", "none"),
        ("cache: true", "standard"), ("cache: none", "off"), ("cache: 1h", "{ttl: 1h}"),
        ("trust: none", "disabled"), ("trust: yes", "system"), ("proxy: none", "direct"),
        ("proxy: off", "direct"), ("proxy: \"127.0.0.1:3128\"", "http://127.0.0.1:3128"),
        ("redirect: follow", "{follow: true, max: 10}"), ("redirect: none", "pass"),
        ("client_cert: off", "none"), ("cookies: false", "off"), ("throttle: off", "none"),
    ])
    func `a word whose meaning is clear is told as lupin says it`(key: String, word: String) throws
    {
        let told = try #require(problem(key))
        #expect(told.hasSuffix(" | write \(word)"), "\(told)")
    }

    // MARK: What has another meaning than it seems

    @Test(arguments: ["\"true\"", "'true'"])
    func `a boolean in quotes is taken for one, with a word about it`(value: String) {
        let result = decode("rules:\n- {match: a.dev, capture: \(value)}")
        #expect(result.errors.isEmpty)
        #expect(result.configuration?.rules.rules.first?.capture == .on(bodyBytes: nil))
        let said = "\"true\" in quotes is a text, and is taken for a boolean here"
        #expect(result.warnings.map(\.message) == [said])
        #expect(result.warnings.map(\.hint) == ["write true"])
    }

    @Test func `a variable may be a boolean, in quotes or not`() {
        let body = "rules: [{match: a.dev, capture: \"${env:C}\"}]"
        #expect(decode(body, environment: ["C": "true"]).warnings.isEmpty)
    }

    @Test(arguments: [
        ("a.dev/v1/", "only the path /v1/ itself matches, and nothing below it", "a.dev/v1/**"),
        (
            "http://a.dev/", "only the path / itself matches, and nothing below it",
            "http://a.dev/**"
        ),
    ])
    func `a path that ends with a slash is told to match alone`(
        match: String,
        message: String,
        whole: String
    ) throws {
        let told = try #require(problem("retry: safe", match: match))
        #expect(told == "3:12 \(message) | write \(whole) for all below it, too")
    }

    @Test func `in a map the path of the root means itself, and others are told about`() {
        func warnings(_ path: String) -> [String?] {
            decode("rules: [{match: {host: a.dev, path: \(path)}}]").warnings.map(\.hint)
        }
        #expect(warnings("/") == [])
        #expect(warnings("/v1/**") == [])
        #expect(warnings("/v1/users/") == ["write /v1/users/** for all below it, too"])
    }

    @Test(arguments: [
        ("\"192.168.1.5/24\"", "192.168.1.0/24", "192.168.1.5"),
        ("\"2001:db8::7/32\"", "2001:db8::/32", "2001:db8::7"),
    ])
    func `a network by one of its addresses is told to be all of it`(
        text: String,
        network: String,
        address: String
    ) throws {
        let told = try #require(problem("retry: safe", match: "{scheme: http, client: \(text)}"))
        #expect(told.hasSuffix(" | write \(network), or \(address) for this address alone"))
        let denied = decode("access: {deny_targets: [\(text)]}").warnings
        #expect(denied.map(\.hint) == ["write \(network), or \(address) for this address alone"])
        #expect(decode("access: {deny_targets: [\"\(network)\"]}").warnings.isEmpty)
    }

    @Test(arguments: [
        "request: [{url: {path: \"/$1\"}}]", "request: [{set: {A: \"v$1\"}}]",
        "request: [{query: {set: {a: \"$1\"}}}]", "response: [{set: {A: \"$1\"}}]",
    ])
    func `a group where there is none is told to be sent as it stands`(key: String) throws {
        let told = try #require(problem(key))
        let hint = "groups are for rewrite and {from, to}; write $$1 for the text itself"
        #expect(told.hasSuffix(" `$1` is no group here, and is sent as it stands | \(hint)"))
    }

    @Test(arguments: [
        "request: [{set: {A: \"$$1\"}}]", "request: [{set: {Authorization: \"Basic a$1\"}}]",
        "request: [{rewrite: {header: A, from: /(a)/, to: \"$1\"}}]",
        "respond: {status: 200, body: \"it costs $100\"}",
    ])
    func `a dollar that is meant so is no mistake`(key: String) {
        #expect(decode("rules: [{match: a.dev, \(key)}]").warnings.isEmpty)
    }

    // MARK: Quotes, stars and spaces

    private func report(_ body: String) -> [String] {
        decode(body).errors.map { "\($0.line):\($0.column) \($0.message) | \($0.hint ?? "")" }
    }

    @Test(arguments: [
        "rules:\n  - name: \"a\n    match: \"**.dev\"",
        "rules:\n  - name: \"a\n    match: a.dev\n    retry: safe",
        "rules:\n  - name: \"a\n    match: \"a.dev\"\n    log: off",
        "rules:\n  - name: \"a\n    match: a.dev\n  - name: \"b\"\n    match: b.dev",
    ])
    func `an unclosed quote is told where it opens`(body: String) {
        #expect(report(body) == ["3:11 a quote is not closed | write \" behind the text"])
        let single = body.replacing("\"", with: "'")
        #expect(report(single) == ["3:11 a quote is not closed | write ' behind the text"])
    }

    @Test func `quotes in comments and in block scalars are none`() {
        let body = """
            # it's "so
            rules:
              - match: a.dev
                respond:
                  status: 200
                  body: |
                    - "a
              - name: 'b
                match: 'b.dev'
            """
        #expect(report(body) == ["9:11 a quote is not closed | write ' behind the text"])
    }

    @Test func `text behind a closed quote is told there`() {
        #expect(
            report("rules:\n  - name: 'it's mine'\n    match: a.dev") == [
                "3:14 the quote ends here, and the text goes on | write '' for a quote inside"
            ]
        )
    }

    @Test(arguments: [
        ("rules:\n  - match: *.acme.example", "3:12", "*.acme.example"),
        ("rules:\n  - match: **.acme.example/v1/**", "3:12", "**.acme.example/v1/**"),
        ("rules: [{match: {host: [a.dev, *.b.dev]}}]", "2:32", "*.b.dev"),
        ("rules: [{match: {host: *b.dev, port: 1}}]", "2:24", "*b.dev"),
    ])
    func `a star without quotes is told with its own text`(
        body: String,
        place: String,
        text: String
    ) {
        let message = "a text that begins with * or & is not quoted"
        #expect(report(body) == ["\(place) \(message) | write \"\(text)\""])
    }

    @Test(arguments: [
        ("rules:\n  - match: a.dev\n    retry:\u{A0}safe", "4:11", "U+00A0 (no-break space)"),
        ("rules:\n  - match: a.dev\n    retry: safe\u{A0}", "4:16", "U+00A0 (no-break space)"),
        ("rules:\n  - match: a.dev\u{A0}\n    retry: safe", "3:17", "U+00A0 (no-break space)"),
        ("rules:\n  - match: a.dev\n    \u{A0}retry: safe", "4:5", "U+00A0 (no-break space)"),
        ("rules: [{match: a.dev, stop:\u{3000}true}]", "2:29", "U+3000 (ideographic space)"),
        ("rules: [{match: a.dev, \u{200B}stop: true}]", "2:24", "U+200B (zero width space)"),
    ])
    func `a space that is none is told by name`(body: String, place: String, name: String) {
        #expect(report(body) == ["\(place) \(name) is no space in YAML | write a space"])
    }

    @Test func `such spaces inside of quotes, comments and texts are fine`() {
        #expect(report("# a\u{A0}b\nrules: [{match: a.dev, name: \"\u{A0}a\"}]") == [])
        #expect(report("rules: [{match: a.dev, name: a\u{A0}b}]") == [])
    }
}
