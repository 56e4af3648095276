// TLS towards origins and interception: every key, every default, and what is said of wrong ones.

import LupinCore
import LupinPolicy
import LupinRules
import Testing

struct TLSValuesTests {
    private func settings(
        _ body: String,
        environment: [String: String] = [:]
    ) throws -> Settings {
        try configuration(body, environment: environment, files: SampleFile.all).settings
    }

    private func rule(_ keys: String) throws -> Rule {
        let body = "rules: [{match: a.dev, \(keys)}]"
        return try #require(try configuration(body, files: SampleFile.all).rules.rules.first)
    }

    // MARK: Towards origins

    @Test func `TLS towards origins is set key by key`() throws {
        let tls = try settings(
            """
            upstream:
              tls:
                min: 1.3
                alpn: [http/1.1, h2]
                roots: [system, cert.pem]
                client_cert: {cert: cert.pem, key: /etc/lupin/key.pem}
                require_trust_rule: true
            """
        ).upstream.tls
        #expect(tls.minimum == .tls13)
        #expect(tls.protocols == ["http/1.1", "h2"])
        #expect(tls.roots.usesSystem)
        #expect(tls.roots.files == ["/etc/lupin/cert.pem"])
        let files = CertificateFiles(certificate: "/etc/lupin/cert.pem", key: "/etc/lupin/key.pem")
        #expect(tls.clientCertificate == files)
        #expect(tls.demandsTrustRule)
    }

    @Test func `files alone replace the system's anchors`() throws {
        let roots = try settings("upstream: {tls: {roots: cert.pem}}").upstream.tls.roots
        #expect(!roots.usesSystem)
        #expect(roots.files == ["/etc/lupin/cert.pem"])
    }

    @Test(arguments: [
        (
            "min: 1.1", "2:23: unknown value \"1.1\"  [E-NAME]",
            "did you mean \"1.2\"? allowed: 1.2, 1.3"
        ),
        ("roots: []", "2:25: without trust anchors no origin passes  [E-RANGE]", "write [system]"),
        (
            "roots: [sytem]", "2:26: unknown value \"sytem\"  [E-NAME]",
            "did you mean \"system\"? allowed: system, a PEM file"
        ),
        (
            "roots: [none.pem]",
            "2:26: cannot read /etc/lupin/none.pem: there is no such file  [E-FILE]", nil
        ),
        (
            "roots: [key.pem]", "2:26: /etc/lupin/key.pem holds no certificate in PEM  [E-FILE]",
            "it holds a private key: name the file of its certificate"
        ),
        (
            "client_cert: cert.pem",
            "2:31: expected none or a map, found \"cert.pem\"  [E-TYPE]",
            "write {cert: cert.pem, key: key.pem}"
        ),
        ("require_trust_rule: yes", "2:38: \"yes\" is not a boolean  [E-TYPE]", "write true"),
        (
            "roots_: x", "2:18: unknown key \"roots_\" in \"upstream.tls\"  [E-KEY]",
            "did you mean \"roots\"?"
        ),
    ])
    func `a wrong value is told with what to write`(key: String, first: String, hint: String?) {
        let problems = decode("upstream: {tls: {\(key)}}", files: SampleFile.all).errors
        #expect(problems.count == 1)
        let line = problems.first.map { String($0.text.prefix { $0 != "\n" }) }
        #expect(line == "lupin.yaml:\(first)")
        #expect(problems.first?.hint == hint)
    }

    // MARK: Rules

    @Test func `a rule has its own certificate, versions and ciphers`() throws {
        let own = try rule("client_cert: {cert: cert.pem, key: key.pem}, tls: {min: \"1.3\"}")
        #expect((own.clientCertificate ?? nil)?.key == "/etc/lupin/key.pem")
        #expect(own.tls.minimum == .tls13 && own.tls.ciphers == nil)
        #expect(try rule("tls: {ciphers: \"ECDHE+AESGCM:!aNULL@SECLEVEL=2\"}").tls.ciphers != nil)
    }

    @Test(arguments: [
        "client_cert: none", "tls: {}", "intercept: auto", "request: []", "proxy: direct",
        "timeouts: {tls: 1s}", "respond: {status: 403}",
    ])
    func `keys that ask for nothing decrypt nothing`(key: String) throws {
        #expect(try !rule(key).needsClearText)
    }

    @Test func `none, absent and auto are told apart`() throws {
        let none: CertificateFiles?? = .some(nil)
        #expect(try rule("client_cert: none").clientCertificate == none)
        #expect(try rule("stop: true").clientCertificate == nil)
        #expect(try rule("intercept: true").intercept)
        #expect(try !rule("intercept: auto").intercept)
    }

    @Test(arguments: [
        ("tls: {min: 1.0}", "2:35: unknown value \"1.0\"  [E-NAME]"),
        ("tls: {max: 1.3}", "2:30: unknown key \"max\" in \"tls\"  [E-KEY]"),
        ("tls: {ciphers: \"A B\"}", "2:39: \"A B\" is not a cipher list  [E-TYPE]"),
        ("tls: 1.3", "2:29: expected a map, found \"1.3\"  [E-TYPE]"),
        ("intercept: false", "2:35: \"false\" is neither auto nor true  [E-TYPE]"),
        ("intercept: yes", "2:35: \"yes\" is neither auto nor true  [E-TYPE]"),
        ("client_cert: {cert: cert.pem}", "2:24: \"client_cert\" has no \"key\"  [E-KEY]"),
        (
            "client_cert: {cert: key.pem, key: key.pem}",
            "2:44: /etc/lupin/key.pem holds no certificate in PEM  [E-FILE]"
        ),
        (
            "client_cert: {cert: cert.pem, key: cert.pem}",
            "2:59: /etc/lupin/cert.pem holds no private key in PEM  [E-FILE]"
        ),
        (
            "client_cert: {cert: cert.pem, key: key.pem, ca: x}",
            "2:68: unknown key \"ca\" in \"client_cert\"  [E-KEY]"
        ),
        (
            "client_cert: {cert: cert.pem, key: none.pem}",
            "2:59: cannot read /etc/lupin/none.pem: there is no such file  [E-FILE]"
        ),
    ])
    func `a wrong key of a rule is told`(key: String, first: String) {
        let body = "rules: [{match: a.dev, \(key)}]"
        let problems = decode(body, files: SampleFile.all).errors
        #expect(problems.count == 1)
        let line = problems.first.map { String($0.text.prefix { $0 != "\n" }) }
        #expect(line == "lupin.yaml:\(first)")
    }

    // MARK: Interception

    @Test func `interception is set key by key`() throws {
        let intercept = try settings(
            """
            intercept:
              mode: all
              except: ["*.bank.example", "/pay/"]
              client_rejects: {for: 10m, then: tunnel}
              ca: {cert: ca.pem, key: ~/ca.key, leaf: 1h, key_type: rsa2048}
            """
        ).intercept
        #expect(intercept.mode == .all)
        #expect(intercept.except.map(\.source) == ["*.bank.example", "/pay/"])
        #expect(intercept.tunnelsRejecting == .seconds(600))
        let files = CertificateFiles(certificate: "/etc/lupin/ca.pem", key: "/users/ann/ca.key")
        #expect(intercept.authority.files == files)
        #expect(intercept.authority.leafLifetime == .seconds(3600))
        #expect(intercept.authority.keyType == .rsa2048)
        #expect(try settings("intercept: {mode: none}").intercept.mode == .none)
    }

    @Test(arguments: [
        "{then: fail}", "{then: fail, for: 1h}", "{for: 2h, then: fail}",
    ])
    func `a client that refuses our certificate may fail for good`(text: String) throws {
        let intercept = try settings("intercept: {client_rejects: \(text)}").intercept
        #expect(intercept.tunnelsRejecting == nil)
    }

    @Test func `half of the authority's place is the default's, and the default is nobody's`()
        throws
    {
        let half = try settings("intercept: {ca: {cert: /x/ca.pem}}").intercept.authority.files
        #expect(half?.certificate == "/x/ca.pem")
        #expect(half?.key == "/users/ann/.config/lupin/ca.key")
        let written = "intercept: {ca: {key: ~/.config/lupin/ca.key, cert: ~/.config/lupin/ca.pem}}"
        #expect(try settings(written).intercept.authority.files == nil)
        let elsewhere = try settings(written, environment: ["XDG_CONFIG_HOME": "/x"]).intercept
        #expect(elsewhere.authority.files?.key == "/users/ann/.config/lupin/ca.key")
        let homeless = decode("intercept: {ca: {cert: /x/ca.pem}}", home: nil).errors
        #expect(homeless.map(\.message) == ["the user has no home directory for \"key\""])
    }

    @Test(arguments: [
        (
            "mode: on", "2:19: unknown value \"on\"  [E-NAME]",
            "allowed: auto, all, none"
        ),
        (
            "except: [\"https://a.dev\"]", "2:22: a host has no scheme  [E-GLOB]",
            "write `scheme: https` beside it"
        ),
        (
            "client_rejects: {then: drop}", "2:36: unknown value \"drop\"  [E-NAME]",
            "allowed: tunnel, fail"
        ),
        (
            "client_rejects: {for: 1}", "2:35: \"1\" has no unit  [E-TYPE]", "write 1s"
        ),
        (
            "client_rejects: {for: 90d}", "2:35: for 90d is out of range  [E-RANGE]",
            "allowed: 1s to 30d"
        ),
        (
            "client_rejects: {fro: 1h}",
            "2:30: unknown key \"fro\" in \"intercept.client_rejects\"  [E-KEY]",
            "did you mean \"for\"?"
        ),
        (
            "client_rejects: fail", "2:29: expected a map, found \"fail\"  [E-TYPE]",
            "write client_rejects: {then: …, for: …}"
        ),
        ("ca: {leaf: 10y}", "2:24: leaf 10y is out of range  [E-RANGE]", "allowed: 1h to 397d"),
        ("ca: {leaf: 1y}", "2:24: \"1y\" has an unknown unit  [E-TYPE]", "units: ms s m h d"),
        (
            "ca: {leaf: 3650d}", "2:24: leaf 3650d is out of range  [E-RANGE]",
            "allowed: 1h to 397d"
        ),
        ("ca: {leaf: 59m}", "2:24: leaf 59m is out of range  [E-RANGE]", "allowed: 1h to 397d"),
        (
            "ca: {key_type: rsa4096}", "2:28: unknown value \"rsa4096\"  [E-NAME]",
            "allowed: p256, rsa2048"
        ),
    ])
    func `a wrong value of interception is told`(key: String, first: String, hint: String) {
        let problems = decode("intercept: {\(key)}").errors
        #expect(problems.count == 1)
        let line = problems.first.map { String($0.text.prefix { $0 != "\n" }) }
        #expect(line == "lupin.yaml:\(first)")
        #expect(problems.first?.hint == hint)
    }

    // MARK: Who may use secrets

    @Test func `credentials are the owner's, anybody's or those of users`() throws {
        func access(_ text: String) throws -> CredentialAccess {
            try settings("access: {credentials: \(text)}").access.credentials
        }
        #expect(try access("owner") == .owner)
        #expect(try access("any") == .any)
        #expect(try access("ann") == .users(["ann"]))
        #expect(try access("[ann, ben]") == .users(["ann", "ben"]))
        #expect(
            errors("access: {credentials: [ann, any]}") == """
                lupin.yaml:2:29: "any" is a word for itself and not one of several users  [E-TYPE]
                    access: {credentials: [ann, any]}
                                                ^^^  write credentials: any
                """
        )
        #expect(decode("access: {credentials: []}").errors.map(\.code) == [.range])
        #expect(decode("access: {credentials: {a: b}}").errors.map(\.code) == [.type])
    }
}
