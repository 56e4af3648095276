// Rules that contradict the settings or each other: clear text never had, pins that would be lost.

import LupinCore
import LupinRules
import Testing

struct RuleConsistencyTests {
    private static let pins = """
        trust: {acme: {pins: ["sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", \
        "sha256/BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBB="]}, lab: {any: [system]}}
        """

    // MARK: Proxies

    @Test func `a proxy that no host of its rule goes by is told`() {
        let rule = "{name: r, match: {host: [127.0.0.1, 127.0.0.9]}, proxy: \"http://p.test:3128\"}"
        #expect(
            decode("rules: [\(rule)]").warnings.map(\.message) == [
                "the proxy of the rule \"r\" is never used: its hosts go direct, since "
                    + "upstream.no_proxy lists 127.0.0.0/8"
            ]
        )
        #expect(decode("upstream: {no_proxy: []}\nrules: [\(rule)]").warnings.isEmpty)
    }

    @Test(arguments: [
        ("127.0.0.1", "[]", nil), ("localhost", "[]", "localhost is this machine"),
        ("\"*.localhost\"", "[]", "localhost is this machine"),
        ("a.corp", "[corp]", "upstream.no_proxy lists corp"),
        ("\"**.corp\"", "[corp]", "upstream.no_proxy lists corp"),
        ("\"**.corp\"", "[a.corp]", nil), ("\"*.corp\"", "[\"*\"]", "upstream.no_proxy lists *"),
        ("a.corp", "[\"a.corp:80\"]", nil), ("[a.corp, b.test]", "[corp]", nil),
        ("/corp/", "[corp]", nil),
    ])
    func `only hosts that all go direct count`(host: String, list: String, since: String?) {
        let body = """
            upstream: {no_proxy: \(list)}
            rules: [{name: r, match: {host: \(host)}, proxy: "http://p.test:3128"}]
            """
        let told = decode(body).warnings.map(\.message).filter { $0.contains("never used") }
        #expect(told.count == (since == nil ? 0 : 1))
        if let since { #expect(told.first?.hasSuffix("since \(since)") == true) }
    }

    @Test(arguments: ["localhost", "\"*.localhost\"", "127.0.0.1"])
    func `a server of this machine is reached by a proxy of this machine`(host: String) {
        let rule = "{name: r, match: {host: \(host)}, proxy: \"http://127.0.0.1:8081\"}"
        let told = decode("rules: [\(rule)]").warnings.map(\.message)
        #expect(told.contains { $0.contains("since upstream.no_proxy lists") })
        #expect(decode("upstream: {no_proxy: []}\nrules: [\(rule)]").warnings.isEmpty)
    }

    @Test(arguments: ["proxy: direct", "proxy: \"http://p:1\", request: [{url: {host: b.test}}]"])
    func `a rule without a parent, or that leads elsewhere, is none`(keys: String) {
        let rule = "{match: {scheme: http, host: 127.0.0.1}, \(keys)}"
        #expect(!decode("rules: [\(rule)]").warnings.contains { $0.message.contains("never used") })
    }

    // MARK: Clear text

    @Test func `a host that is never decrypted and must be is an error`() {
        #expect(
            errors(
                """
                intercept: {except: ["*.bank.example"]}
                rules:
                  - name: pinned
                    match: {host: [a.dev, www.bank.example]}
                    log: off
                    trust: system
                """
            ) == """
                lupin.yaml:7:5: the rule "pinned" needs https in clear text for \
                www.bank.example, which is in intercept.except  [E-INTERCEPT]
                    trust: system
                    ^^^^^  take it out of there or out of the rule
                """
        )
    }

    @Test func `mode none is told with what would do instead`() {
        #expect(
            errors("intercept: {mode: none}\nrules: [{match: a.dev, request: [{set: {A: b}}]}]")
                == """
                lupin.yaml:3:24: the rule "rule@3" needs https in clear text, and intercept.mode \
                is none  [E-INTERCEPT]
                    rules: [{match: a.dev, request: [{set: {A: b}}]}]
                                           ^^^^^^^  write scheme: http in its match, or another \
                intercept.mode
                """
        )
        let trust = decode("intercept: {mode: none}\nrules: [{match: a.dev, trust: system}]").errors
        #expect(trust.map(\.hint) == ["write another intercept.mode"])
    }

    @Test(arguments: [
        "match: a.dev, request: [{remove: A}]", "match: a.dev/v1, respond: {status: 403}",
        "match: a.dev, trust: system", "match: a.dev, tls: {min: 1.3}",
        "match: a.dev, intercept: true", "match: \"https://a.dev\", request: [{remove: A}]",
        "match: a.dev, client_cert: {cert: cert.pem, key: key.pem}",
        "match: a.dev, intercept: true, respond: {status: 200}",
        "match: [\"http://a.dev\", b.dev], request: [{remove: A}]",
    ])
    func `every key that acts inside needs interception`(rule: String) {
        let body = "intercept: {mode: none}\nrules: [{\(rule)}]"
        #expect(decode(body, files: SampleFile.all).errors.map(\.code) == [.intercept])
        let exempt = "intercept: {except: [a.dev, b.dev]}\nrules: [{\(rule)}]"
        #expect(decode(exempt, files: SampleFile.all).errors.map(\.code) == [.intercept])
    }

    @Test(arguments: [
        "match: a.dev, log: off, timeouts: {tls: 1s}, proxy: direct, stop: true",
        "match: a.dev, respond: {status: 403}", "match: \"http://a.dev\", request: [{remove: A}]",
        "match: {host: a.dev, scheme: http}, trust: system", "match: a.dev, client_cert: none",
        "match: {host: a.dev, method: CONNECT}, request: [{remove: A}]",
    ])
    func `what acts without clear text is no error`(rule: String) throws {
        _ = try configuration("intercept: {mode: none, except: [a.dev]}\nrules: [{\(rule)}]")
    }

    @Test func `a wider rule with an exception in it is no error`() throws {
        _ = try configuration(
            "intercept: {except: [a.dev]}\nrules: [{match: \"**.dev\", request: [{remove: A}]}]"
        )
    }

    @Test(arguments: [
        ("{port: 8443}", "every host on these ports"), ("{}", "everything"),
        ("[{port: 8443}, {path: /a}]", "everything"),
    ])
    func `what is decrypted is told by its ports, too`(match: String, what: String) {
        let told = decode("rules: [{match: \(match), intercept: true}]").warnings.map(\.message)
        #expect(told.contains { $0.hasSuffix("names no host: it decrypts \(what)") })
    }

    @Test func `a rule without a host decrypts everything, which is a warning`() {
        let body = "rules: [{name: all, match: {}, request: [{remove: A}]}]"
        let result = decode(body)
        #expect(result.errors.isEmpty)
        #expect(
            result.warnings.report() == """
                lupin.yaml:2:32: warning: the rule "all" names no host: it decrypts \
                everything  [E-INTERCEPT]
                    rules: [{name: all, match: {}, request: [{remove: A}]}]
                                                   ^^^^^^^  write its hosts, or scheme: http where \
                that is enough
                """
        )
        #expect(decode("intercept: {mode: all}\n" + body).warnings.isEmpty)
        #expect(decode("rules: [{match: {scheme: http}, request: [{remove: A}]}]").warnings.isEmpty)
        #expect(decode("rules: [{match: \"**.dev\", request: [{remove: A}]}]").warnings.isEmpty)
        #expect(decode("rules: [{match: {}, log: off}]").warnings.isEmpty)
        let trust = decode("rules: [{match: {}, trust: system}]").warnings
        #expect(trust.map(\.hint) == ["write its hosts"])
    }

    // MARK: Disabled

    @Test func `disabled needs a host`() {
        #expect(
            errors("rules: [{name: any, match: {port: 443}, trust: disabled}]") == """
                lupin.yaml:2:48: the trust policy "disabled" accepts any certificate, and the rule \
                "any" does not name its hosts  [E-TRUST-4]
                    rules: [{name: any, match: {port: 443}, trust: disabled}]
                                                                   ^^^^^^^^  write host: \
                lab.example in its match
                """
        )
    }

    @Test(arguments: ["\"**\"", "[a.dev, \"/lab/\"]", "\"*\"", "\"lab.*\""])
    func `a pattern that could be any host names none`(host: String) {
        let problems = decode("rules: [{match: {host: \(host)}, trust: disabled}]").errors
        #expect(problems.map(\.code) == [.trustDisabled])
    }

    @Test func `what accepts anyone by another name is disabled too`() {
        let body = "trust: {lax: {any: [system, disabled]}}\nrules: [{match: {}, trust: lax}]"
        #expect(decode(body).errors.map(\.code) == [.trustDisabled])
        let alternatives = "rules: [{match: [a.dev, {port: 1}], trust: disabled}]"
        #expect(decode(alternatives).errors.map(\.code) == [.trustDisabled])
    }

    @Test func `disabled for a host is a warning`() {
        let result = decode("rules: [{name: lab, match: \"*.lab.dev\", trust: disabled}]")
        #expect(result.errors.isEmpty)
        #expect(
            result.warnings.report() == """
                lupin.yaml:2:48: warning: the rule "lab" accepts any certificate, of \
                anybody  [E-TRUST-4]
                    rules: [{name: lab, match: "*.lab.dev", trust: disabled}]
                                                                   ^^^^^^^^  for a CA of your \
                own write trust: {certificates: [ca.pem], self_signed: true}
                """
        )
    }

    // MARK: Lost pins

    @Test func `a later rule does not replace pins without saying so`() {
        let rules = """
            \(Self.pins)
            rules:
              - {name: a, match: "*.acme.dev", trust: acme}
              - {name: b, match: api.acme.dev, trust: lab}
            """
        #expect(
            errors(rules) == """
                lupin.yaml:5:43: "lab" would replace "acme" of the rule "a" on line 4, which holds \
                pins  [E-TRUST-5]
                    - {name: b, match: api.acme.dev, trust: lab}
                                                            ^^^  write trust: {use: lab, replace: \
                true} if that is meant
                """
        )
    }

    @Test(arguments: [
        ("trust: system", "write trust: {use: system, replace: true} if that is meant"),
        ("trust: {any: [system]}", "add replace: true if that is meant"),
        ("trust: {use: lab}", "write trust: {use: lab, replace: true} if that is meant"),
        ("trust: disabled", "disabled never wins over a policy; keep their hosts apart"),
        (
            "trust: {use: disabled, replace: true}",
            "disabled never wins over a policy; keep their hosts apart"
        ),
        ("trust: {use: lab, replace: true}", nil), ("trust: {any: [system], replace: true}", nil),
        ("trust: acme", nil), ("log: off", nil),
    ])
    func `only replace lets pins go`(key: String, hint: String?) {
        let problems = decode(
            "\(Self.pins)\nrules: [{match: a.dev, trust: acme}, {match: a.dev, \(key)}]"
        ).errors
        #expect(problems.map(\.hint) == (hint == nil ? [] : [hint]))
        #expect(problems.allSatisfy { $0.code == .trustReplaced })
    }

    @Test func `disabled that never wins is a warning`() {
        let result = decode(
            "rules: [{name: a, match: {}, trust: system}, {match: a.dev, trust: disabled}]"
        )
        #expect(result.errors.isEmpty)
        let problem = result.warnings.first { $0.code == .trustReplaced }
        #expect(
            problem?.message
                == "\"disabled\" never wins over the trust policy \"system\" of the rule \"a\" on "
                + "line 2"
        )
        #expect(problem?.hint == "keep their hosts apart")
    }
}
