// What the file says of stand-ins, and what it may not say.
import LupinCore
import LupinPolicy
import LupinRules
import Testing

struct StandInDecoderTests {
    private static let tokens = """
        tokens:
          github: {bearer: s3cr3t-value, stand_in: "ghp_{36}"}
          nexus: {basic: {user: ci, password: p4ssw0rd}}
          old: {digest: {user: ci, password: p4ssw0rd}}

        """

    @Test func `variables get stand-ins for tokens that may follow`() throws {
        let text = """
            exec: {env: {GITHUB_TOKEN: github, NEXUS_PASSWORD: nexus}}
            stand_ins: {elsewhere: refuse}
            \(Self.tokens)rules:
              - {match: api.github.com, stand_ins: github, scrub: true}
              - {match: nexus.example, stand_ins: [nexus, github, nexus]}
              - {match: a.example}
              - match: b.example
                stand_ins: {tokens: github, in: [fields, query]}
            """
        let result = decode(text)
        #expect(result.errors.report() == "")
        let configuration = try #require(result.configuration)
        let settings = configuration.settings
        #expect(
            settings.exec.variables == [
                .init(name: "GITHUB_TOKEN", token: "github"),
                .init(name: "NEXUS_PASSWORD", token: "nexus"),
            ]
        )
        #expect(settings.standIns.elsewhere == .refuse)
        #expect(settings.tokens[0].standIn == (try StandInTemplate(parsing: "ghp_{36}")))
        #expect(settings.tokens[1].standIn == .usual)
        let rules = configuration.rules.rules
        #expect(rules.map(\.standIns) == [["github"], ["nexus", "github"], [], ["github"]])
        #expect(rules.map(\.standInLocations) == [.fields, .fields, .fields, [.fields, .query]])
        #expect(rules.map { $0.flags[.scrub] } == [true, nil, nil, nil])
    }

    @Test func `without the keys nothing has a stand-in, and elsewhere it passes`() throws {
        let settings = try #require(decode("rules: []").configuration).settings
        #expect(settings.exec.variables.isEmpty)
        #expect(settings.standIns.elsewhere == .pass)
    }

    @Test(
        arguments: [
            ("exec: {env: {A: githup}}", "lupin.yaml:6:17: unknown token \"githup\""),
            ("exec: {env: {A: old}}", "a password for Digest is never sent"),
            ("exec: {env: {HTTPS_PROXY: github}}", "lupin exec sets HTTPS_PROXY itself"),
            ("exec: {env: {PATH: github}}", "lupin exec sets PATH itself"),
            ("exec: {env: {SSL_CERT_FILE: github}}", "lupin exec sets SSL_CERT_FILE itself"),
            ("exec: {env: {1A: github}}", "\"1A\" is no name of a variable"),
            ("exec: {env: {A-B: github}}", "\"A-B\" is no name of a variable"),
            ("exec: {env: {A: [github]}}", "expected the name of a token, found a list"),
            ("exec: {env: [A]}", "expected names of variables and tokens, found a list"),
            ("exec: {environment: {}}", "unknown key \"environment\""),
            ("stand_ins: {elsewhere: deny}", "unknown value \"deny\""),
            ("rules: [{match: a.example, stand_ins: [githup]}]", "unknown token \"githup\""),
            ("rules: [{match: a.example, stand_ins: old}]", "a password for Digest is never sent"),
            ("rules: [{match: a.example, stand_ins: {in: [cookies]}}]", "no place of a stand-in"),
            (
                "rules: [{match: a.example, stand_ins: {tokens: github, in: body}}]",
                "a stand-in in a body is not exchanged"
            ),
            ("rules: [{match: a.example, stand_ins: {in: query}}]", "the rule names no token"),
            ("rules: [{match: a.example, stand_ins: {to: x}}]", "unknown key \"to\""),
            ("rules: [{match: a.example, cross_site: [app.example]}]", "write `https://app"),
            (
                "rules: [{match: a.example, cross_site: [\"null\"]}]",
                "pages without an origin need `any`"
            ),
            ("rules: [{match: a.example, cross_site: [any]}]", "write `cross_site: any`, alone"),
            (
                "rules: [{match: a.example, cross_site: [\"https://a.test\", any]}]",
                "write `cross_site: any`, alone"
            ),
            ("rules: [{match: a.example, cross_site: \"*\"}]", "write `cross_site: any`, alone"),
            (
                "rules: [{match: a.example, cross_site: \"https://*\"}]",
                "write `cross_site: any`, alone"
            ),
            ("rules: [{match: a.example, cross_site: none}]", "leave it out"),
            ("rules: [{match: a.example, cross_site: [none]}]", "leave it out"),
            ("rules: [{match: a.example, cross_site: off}]", "leave it out"),
            ("rules: [{match: a.example, scrub: yes}]", "\"yes\" is not a boolean"),
        ]
    )
    func `mistakes are told with their places`(text: String, message: String) {
        let told = errors(Self.tokens + text)
        #expect(told.contains(message), "\(told)")
        #expect(told.hasPrefix("lupin.yaml:6:"))
    }

    @Test(arguments: [
        "stand_ins: {tokens: githup, in: query}", "stand_ins: {tokens: [old], in: query}",
        "stand_ins: {in: query}, request: [{auth: githup}]",
        "stand_ins: {in: query}, request: [{set: {X-A: \"${token:githup}\"}}]",
    ])
    func `a token with an error of its own is told once, and was named`(rule: String) {
        let told = decode(Self.tokens + "rules: [{match: a.example, \(rule)}]").errors
        #expect(told.count == 1, "\(told.map(\.text))")
        #expect(!told.contains { $0.message.contains("names no token") })
        let none = "rules: [{match: a.example, stand_ins: {tokens: [], in: query}}]"
        #expect(errors(Self.tokens + none).contains("names no token"))
    }

    @Test func `a template that could be guessed is told at its place`() {
        #expect(
            tokenErrors("a: {bearer: tttttt, stand_in: \"x{8}\"}") == [
                "a stand-in has at least 22 random characters, and this one 8 [E-TYPE]"
                    + " write such as \"ghp_{36}\""
            ]
        )
    }

    @Test func `a credential in clear to another machine is an error, as with auth`() {
        let rule = "rules: [{match: {host: a.example, scheme: http}, stand_ins: [github]}]"
        #expect(errors(Self.tokens + rule).contains("sends the token \"github\" in clear"))
    }

    @Test func `who lets responses show the credential is warned, by the rule's name`() {
        let rules = """
            exec: {env: {T: nexus}}
            rules:
              - {match: a.example, stand_ins: [github]}
              - {match: b.example, request: [{auth: nexus}]}
              - {name: own, match: a.example, scrub: false}
              - {name: auth, match: b.example, scrub: false}
              - {name: idle, match: c.example, scrub: false}
            """
        let warnings = decode(Self.tokens + rules).warnings.map(\.message)
        let shown = warnings.filter { $0.contains("lets responses show the credential") }
        #expect(shown.count == 2)
        #expect(shown.first?.contains("\"own\"") == true)
        #expect(shown.last?.contains("\"auth\"") == true)
    }

    @Test func `a token that only stand_ins names is used`() {
        let text = """
            tokens: {github: {bearer: s3cr3t-value}}
            rules: [{match: a.example, stand_ins: [github]}]
            """
        #expect(decode(text).warnings.map(\.message) == [])
    }
}
