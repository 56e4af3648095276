// Trust policies: named, in place and combined, and what none of them may leave out.

import LupinCore
import LupinPolicy
import LupinRules
import Testing

struct TrustDecoderTests {
    private static let a = "sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
    private static let b = "sha256/BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBB="
    private static let files = ["/etc/lupin/ca.pem": SampleFile.certificate]
    private static let pins = "pins: [\"\(a)\", \"\(b)\"]"

    private static let digests: [[UInt8]] = [
        [UInt8](repeating: 0, count: 32),
        // Every three bytes of B are 0x04 0x10 0x41.
        (0..<32).map { [0x04, 0x10, 0x41][$0 % 3] },
    ]

    private func policy(_ text: String) throws -> TrustPolicy {
        let body = "trust: {p: \(text)}\nrules: [{match: a.dev, trust: p}]"
        let configuration = try configuration(body, files: Self.files)
        return try #require(configuration.rules.rules.first?.trust?.policy.policy)
    }

    private static var keys: PinnedKeys { PinnedKeys(digests) }

    // MARK: Policies

    @Test func `words and maps are policies`() throws {
        #expect(try policy("system") == .system(host: true))
        #expect(try policy("{system: {host: true}}") == .system(host: true))
        #expect(try policy("{system: {host: false}}") == .system(host: false))
        #expect(try policy("{system: }") == .system(host: true))
        #expect(try policy("disabled") == .disabled)
        #expect(try policy("{all: [system, disabled]}") == .all([.system(host: true), .disabled]))
        #expect(try policy("{any: system}") == .any([.system(host: true)]))
    }

    @Test func `pins are digests with what else they demand`() throws {
        #expect(try policy("{\(Self.pins)}") == .pins(Self.keys))
        var loose = Self.keys
        loose.demandsChain = false
        loose.demandsHost = false
        #expect(try policy("{\(Self.pins), chain: false, host: false}") == .pins(loose))
    }

    @Test func `certificates come from files`() throws {
        var pinned = PinnedCertificates([[0x30, 3, 2, 1, 1]])
        #expect(try policy("{certificates: [ca.pem]}") == .certificates(pinned))
        pinned.areAnchors = true
        #expect(try policy("{certificates: ca.pem, self_signed: true}") == .certificates(pinned))
        pinned.areAnchors = false
        pinned.demandsChain = false
        pinned.demandsHost = false
        let text = "{certificates: [ca.pem], self_signed: false, chain: false, host: false}"
        #expect(try policy(text) == .certificates(pinned))
    }

    @Test func `revocation has a method, a demand and a network`() throws {
        var demand = RevocationDemand()
        #expect(
            try policy("{all: [system, revocation: ]}")
                == .all([.system(host: true), .revocation(demand)])
        )
        demand.method = .crl
        demand.isRequired = true
        demand.usesNetwork = false
        let text = "{revocation: {method: crl, require: true, network: false}}"
        #expect(
            try policy("{all: [{\(Self.pins)}, \(text)]}")
                == .all([.pins(Self.keys), .revocation(demand)])
        )
    }

    @Test func `revocation alone says nothing about whose a certificate is, so system is with it`()
        throws
    {
        let grounded = TrustPolicy.all([.system(host: true), .revocation(RevocationDemand())])
        #expect(try policy("{revocation: {}}") == grounded)
        #expect(
            try policy("{any: [{\(Self.pins)}, revocation: {}]}")
                == .any([.pins(Self.keys), grounded])
        )
        #expect(try policy("{all: [revocation: {}]}") == .all([grounded]))
        #expect(try policy("{all: [disabled, revocation: {}]}") == .all([.disabled, grounded]))
        #expect(
            try policy("{all: [{any: [system, disabled]}, revocation: {}]}")
                == .all([.any([.system(host: true), .disabled]), grounded])
        )
        #expect(
            try policy("{all: [system, {any: [revocation: {}, disabled]}]}")
                == .all([
                    .system(host: true), .any([.revocation(RevocationDemand()), .disabled]),
                ])
        )
    }

    @Test func `policies nest eight deep and no deeper`() throws {
        func nested(_ depth: Int) -> String {
            String(repeating: "{all: [", count: depth) + "system"
                + String(repeating: "]}", count: depth)
        }
        _ = try policy(nested(8))
        let problems = decode("trust: {p: \(nested(9))}").errors
        #expect(problems.map(\.message) == ["trust policies are nested too deeply"])
        #expect(problems.map(\.code) == [.range])
    }

    // MARK: Rules

    private func trust(_ text: String) throws -> (policy: NamedTrustPolicy, replaces: Bool) {
        let body = """
            trust: {p: {\(Self.pins)}}
            rules:
            - match: a.dev
              trust: \(text)
            """
        let configuration = try configuration(body, files: Self.files)
        return try #require(configuration.rules.rules.first?.trust)
    }

    @Test func `a rule names a policy or has one in place`() throws {
        let system = try trust("system")
        #expect(system.policy == .system && !system.replaces)
        #expect(try trust("disabled").policy.name == "disabled")
        let named = try trust("p")
        #expect(named.policy == NamedTrustPolicy(name: "p", policy: .pins(Self.keys)))
        let used = try trust("{use: p, replace: true}")
        #expect(used.policy == named.policy && used.replaces)
        #expect(try !trust("{use: p}").replaces)
        #expect(try !trust("{use: p, replace: false}").replaces)
        let inPlace = try trust("{any: [system, {\(Self.pins)}]}")
        #expect(inPlace.policy.name == "trust@5" && !inPlace.replaces)
        #expect(inPlace.policy.policy == .any([.system(host: true), .pins(Self.keys)]))
        #expect(try trust("{replace: true, certificates: ca.pem}").replaces)
    }

    @Test func `an undefined name is told with the nearest and all defined ones`() {
        #expect(
            errors("trust: {acme: system, lab: system}\nrules: [{match: a.dev, trust: acm}]") == """
                lupin.yaml:3:31: unknown trust policy "acm"  [E-NAME]
                    rules: [{match: a.dev, trust: acm}]
                                                  ^^^  did you mean "acme"? defined: system, \
                disabled, acme, lab
                """
        )
    }

    @Test func `a definition that is broken is known all the same`() {
        let problems = decode("trust: {p: {pins: []}}\nrules: [{match: a.dev, trust: p}]").errors
        #expect(problems.map(\.code) == [.trustEmpty])
    }

    @Test func `a definition that no rule uses is a warning`() {
        let body = "trust: {p: system, q: system}"
        let result = decode(body + "\nrules: [{match: a.dev, trust: q}]")
        #expect(
            result.warnings.report() == """
                lupin.yaml:2:9: warning: no rule uses the trust policy "p"  [E-NAME]
                    trust: {p: system, q: system}
                            ^  write trust: p in a rule, or take it out
                """
        )
        #expect(decode(body).warnings.count == 2)
    }

    // MARK: Wrong policies

    private static let pinHint = "write sha256/ and the 44 characters of a SHA-256 in base64"
    private static let hex = String(repeating: "00", count: 32)

    @Test(
        arguments: [
            (
                "{pins: []}", "13: the list of pins is empty  [E-TRUST-1]",
                "write [\"sha256/…\"], two of them at best"
            ),
            (
                "{pins: }", "13: the list of pins is empty  [E-TRUST-1]",
                "write [\"sha256/…\"], two of them at best"
            ),
            (
                "{certificates: []}", "13: the list of certificates is empty  [E-TRUST-1]",
                "write [ca.pem]"
            ),
            ("{all: []}", "13: \"all\" lists no policy  [E-TRUST-1]", "write all: [system]"),
            ("{any: }", "13: \"any\" lists no policy  [E-TRUST-1]", "write any: [system]"),
            (
                "{pins: [\"sha256/AAAA\"]}",
                "20: \"sha256/AAAA\" is not the SHA-256 of a public key  [E-TRUST-2]", pinHint
            ),
            (
                "{pins: [\"sha1/\(a.dropFirst(7))\"]}",
                "20: \"sha1/\(a.dropFirst(7))\" is not the SHA-256 of a public key  [E-TRUST-2]",
                pinHint
            ),
            (
                "{pins: [\"\(a.dropFirst(7))\"]}",
                "20: \"\(a.dropFirst(7))\" is not the SHA-256 of a public key  [E-TRUST-2]",
                "write \(a)"
            ),
            (
                "{pins: [\"sha256//\(a.dropFirst(7))\"]}",
                "20: \"sha256//\(a.dropFirst(7))\" is not the SHA-256 of a public key  [E-TRUST-2]",
                "write \(a)"
            ),
            (
                "{pins: [\"sha256/\(hex)\"]}",
                "20: \"sha256/\(hex)\" is not the SHA-256 of a public key  [E-TRUST-2]",
                "write \(a)"
            ),
            (
                "{self_signed: true}",
                "13: \"self_signed\" without certificates would accept anybody's  [E-TRUST-3]",
                "write the files of the certificates: certificates: [ca.pem]"
            ),
            (
                "{\(pins), self_signed: true}",
                "131: \"self_signed\" without certificates would accept anybody's  [E-TRUST-3]",
                "write the files of the certificates: certificates: [ca.pem]"
            ),
            (
                "{certificates: [], self_signed: true}",
                "31: \"self_signed\" without certificates would accept anybody's  [E-TRUST-3]",
                "write the files of the certificates: certificates: [ca.pem]"
            ),
            (
                "{}", "12: a trust policy demands nothing  [E-KEY]",
                "write one of all, any, system, pins, certificates, revocation"
            ),
            (
                "{host: false}", "12: a trust policy demands nothing  [E-KEY]",
                "write one of all, any, system, pins, certificates, revocation"
            ),
            (
                "{system: , revocation: {}}",
                "23: \"system\" and \"revocation\" are two policies  [E-TYPE]",
                "write all: [{system: …}, {revocation: …}]"
            ),
            (
                "{system: , host: false}", "23: \"host\" does not belong to \"system\"  [E-KEY]",
                "write system: {host: false}"
            ),
            (
                "{all: [system], chain: false}",
                "28: \"chain\" does not belong to \"all\"  [E-KEY]",
                nil
            ),
            (
                "{pin: []}", "13: unknown key \"pin\" in \"trust\"  [E-KEY]",
                "did you mean \"pins\"?"
            ),
            (
                "{revocation: {method: ocps}}", "34: unknown method \"ocps\"  [E-NAME]",
                "did you mean \"ocsp\"? allowed: any, ocsp, crl"
            ),
            (
                "{revocation: {require: yes}}", "35: \"yes\" is not a boolean  [E-TYPE]",
                "write true"
            ),
            (
                "{revocation: {requir: true}}",
                "26: unknown key \"requir\" in \"revocation\"  [E-KEY]",
                "did you mean \"require\"?"
            ),
            (
                "{certificates: [none.pem]}",
                "28: cannot read /etc/lupin/none.pem: there is no such file  [E-FILE]", nil
            ),
            (
                "other", "12: unknown trust policy \"other\"  [E-NAME]",
                "a policy inside another is system, disabled, or written in place"
            ),
            (
                "[system]", "12: expected a trust policy, found a list  [E-TYPE]",
                "write all: [system, {pins: […]}]"
            ),
            (
                "{all: [\"\"]}", "19: expected a trust policy, found \"\"  [E-TYPE]",
                "write all: [system, {pins: […]}]"
            ),
        ] as [(String, String, String?)]
    )
    func `a wrong policy is told with what to write`(text: String, first: String, hint: String?) {
        let problems = decode("trust: {p: \(text)}", files: Self.files).errors
        #expect(problems.count == 1)
        let line = problems.first.map { String($0.text.prefix { $0 != "\n" }) }
        #expect(line == "lupin.yaml:2:\(first)")
        #expect(problems.first?.hint == hint)
    }

    @Test func `built-in names stay what they are`() {
        #expect(
            errors("trust: {system: disabled}") == """
                lupin.yaml:2:9: the trust policy "system" is built in  [E-NAME]
                    trust: {system: disabled}
                            ^^^^^^  choose another name
                """
        )
        #expect(decode("trust: {disabled: system}").errors.map(\.code) == [.name])
        #expect(decode("trust: [system]").errors.map(\.code) == [.type])
    }

    @Test(arguments: [
        ("{use: p, chain: true}", "unknown key \"chain\" in \"trust\""),
        ("{use: p, replace: yes}", "\"yes\" is not a boolean"),
        ("{replace: true}", "a trust policy demands nothing"),
        ("{use: }", "expected a trust policy, found nothing"),
        ("{use: none}", "unknown trust policy \"none\""),
    ])
    func `a wrong use is told`(text: String, message: String) {
        let problems = decode("trust: {p: system}\nrules: [{match: a.dev, trust: \(text)}]").errors
        #expect(problems.map(\.message) == [message])
    }

    @Test func `one pin without a backup is a warning`() {
        let body =
            "trust: {p: {pins: [\"\(Self.a)\", \"\(Self.a)\"]}}\nrules: [{match: a.dev, trust: p}]"
        let result = decode(body)
        #expect(result.errors.isEmpty)
        let problem = result.warnings.first
        #expect(result.warnings.count == 1)
        #expect(
            problem?.message
                == "one pin and no backup: a new key at the server would lock everybody out"
        )
        #expect(problem?.code == .trustPin)
        #expect(problem?.hint == "add the pin of a key that is kept aside")
        #expect(problem?.column == 13)
    }
}
