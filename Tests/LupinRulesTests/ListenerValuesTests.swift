// Listeners: TLS with clients, who asks for names, and which addresses need a word about it.

import LupinCore
import LupinPolicy
import LupinRules
import Testing

struct ListenerValuesTests {
    private func listener(_ keys: String) throws -> ListenerSettings {
        let body = "listen: [{address: \"0.0.0.0:3128\", \(keys)}]"
        return try #require(
            try configuration(body, files: SampleFile.all).settings.listeners.first
        )
    }

    @Test func `a listener has a certificate and asks for names`() throws {
        let listener = try listener(
            "tls: {cert: cert.pem, key: key.pem}, auth: {basic: {file: htpasswd, realm: the lab}}"
        )
        let files = CertificateFiles(certificate: "/etc/lupin/cert.pem", key: "/etc/lupin/key.pem")
        #expect(listener.tls == files)
        #expect(listener.authentication == .basic(file: "/etc/lupin/htpasswd", realm: "the lab"))
    }

    @Test func `without words a listener has neither, and the realm is lupin`() throws {
        #expect(try listener("auth: none, tls: off").tls == nil)
        #expect(try listener("auth: none").authentication == ClientAuthentication.none)
        let basic = ClientAuthentication.basic(file: "/etc/lupin/htpasswd", realm: "lupin")
        #expect(try listener("auth: {basic: {file: htpasswd}}").authentication == basic)
    }

    @Test(arguments: ["tls: off", "tls: {cert: cert.pem, key: key.pem}"])
    func `an address for others needs a word about authentication, TLS or not`(keys: String) {
        let body = "listen: [{address: \"10.0.0.1:80\", \(keys)}]"
        let problems = decode(body, files: SampleFile.all).errors
        #expect(problems.map(\.message) == ["others can reach 10.0.0.1 and use the proxy"])
        #expect(problems.map(\.code) == [.bind])
    }

    @Test(arguments: [
        ("auth: basic", "2:17: expected none or basic, found \"basic\"  [E-TYPE]"),
        ("auth: {digest: {file: x}}", "2:18: unknown key \"digest\" in \"auth\"  [E-KEY]"),
        ("auth: {basic: {realm: x}}", "2:18: \"basic\" has no \"file\"  [E-KEY]"),
        ("auth: {basic: htpasswd}", "2:25: expected a map, found \"htpasswd\"  [E-TYPE]"),
        (
            "auth: {basic: {file: none}}",
            "2:32: cannot read /etc/lupin/none: there is no such file  [E-FILE]"
        ),
        ("auth: {basic: {file: }}", "2:32: expected an htpasswd file, found nothing  [E-TYPE]"),
        ("auth: {basic: {fiel: x}}", "2:26: unknown key \"fiel\" in \"basic\"  [E-KEY]"),
        (
            "auth: {basic: {file: htpasswd, realm: 'a\"b'}}",
            "2:49: a realm is plain ASCII without quotes and backslashes  [E-TYPE]"
        ),
        ("tls: on", "2:16: expected off or a map, found \"on\"  [E-TYPE]"),
        ("tls: {cert: cert.pem}", "2:11: \"tls\" has no \"key\"  [E-KEY]"),
        (
            "tls: {cert: cert.pem, key: none.pem}",
            "2:38: cannot read /etc/lupin/none.pem: there is no such file  [E-FILE]"
        ),
    ])
    func `a wrong key is told`(key: String, first: String) {
        let problems = decode("listen: [{\(key)}]", files: SampleFile.all).errors
        #expect(problems.count == 1)
        let line = problems.first.map { String($0.text.prefix { $0 != "\n" }) }
        #expect(line == "lupin.yaml:\(first)")
    }

    @Test func `one address is in use whatever else differs`() {
        let body = """
            listen:
            - {address: "127.0.0.1:80", auth: none}
            - {address: "127.0.0.1:80", auth: {basic: {file: htpasswd}}}
            """
        #expect(decode(body, files: SampleFile.all).errors.map(\.code) == [.bind])
    }

    @Test func `a password file that others can read is a warning`() {
        var files = SampleFile.all
        files["/etc/lupin/htpasswd"]?.isOpenToOthers = true
        let result = decode("listen: [{auth: {basic: {file: htpasswd}}}]", files: files)
        #expect(result.errors.isEmpty)
        #expect(
            result.warnings.report() == """
                lupin.yaml:2:32: warning: the password file /etc/lupin/htpasswd is \
                readable by group or \
                others  [E-FILE]
                    listen: [{auth: {basic: {file: htpasswd}}}]
                                                   ^^^^^^^^  who reads it can guess passwords \
                from it: chmod 600 /etc/lupin/htpasswd
                """
        )
    }
}
