// That each path of a rules file says what it is for, and which of them are no secret.
import LupinCore
import LupinPolicy
import LupinRules
import Testing

struct NamedPathTests {
    private static let text = """
        listen:
          - {address: "127.0.0.1:1", tls: {cert: cert.pem, key: key.pem},
            auth: {basic: {file: htpasswd}}}
        admin: {socket: admin.sock}
        log: {to: all.log}
        intercept: {ca: {cert: ca.pem, key: ca.key}}
        cache: {store: {path: stored}}
        capture: {path: captured}
        upstream: {tls: {roots: [system, roots.pem], client_cert: {cert: c.pem, key: k.pem}}}
        trust: {own: {certificates: [own.pem]}}
        tokens:
          a: {bearer: "${file:token}"}
          b: {command: [/opt/vault, read]}
          c:
            oauth2: {grant: refresh_token, url: "https://id.test/", client: {id: x},
              refresh_token: "${file:first}", store: kept.json}
        rules:
          - {name: one, match: {scheme: https, host: {file: hosts.txt}}, trust: own,
            request: [{auth: a}]}
          - {name: two, match: "https://b.test/", cookies: {jar: jar.txt}, request: [{auth: b}]}
          - {name: three, match: c.test, client_cert: {cert: d.pem, key: e.pem}}
          - {name: four, match: d.test, respond: {status: 200, file: answer.json}}
          - {name: five, match: e.test, respond: {folder: mocks}}

        """

    private static let named: [PathRole: [String]] = [
        .certificate: ["c.pem", "cert.pem", "d.pem"], .key: ["e.pem", "k.pem", "key.pem"],
        .certificates: ["own.pem", "roots.pem"], .authority: ["ca.pem"], .authorityKey: ["ca.key"],
        .users: ["htpasswd"], .socket: ["admin.sock"], .log: ["all.log"],
        .folder: ["captured", "stored"], .secret: ["first", "token"], .token: ["kept.json"],
        .hosts: ["hosts.txt"], .cookies: ["jar.txt"], .answers: ["answer.json", "mocks"],
    ]

    @Test func `every path has its role, and certificates alone are no secret`() throws {
        var files: [String: FileContents] = [
            "htpasswd": SampleFile.text("ann:x"), "hosts.txt": SampleFile.text("a.test\n"),
        ]
        for (role, names) in Self.named {
            for name in names where files[name] == nil {
                files[name] =
                    switch role {
                    case .certificate, .certificates: SampleFile.certificate
                    case .key: SampleFile.key
                    default: SampleFile.text("a-secret-of-some-length")
                    }
            }
        }
        let configuration = try configuration(
            Self.text,
            files: Dictionary(uniqueKeysWithValues: files.map { ("/etc/lupin/\($0)", $1) })
        )
        let programs = configuration.paths.filter { $0.role == .program }
        #expect(programs == [NamedPath(.program, "/opt/vault")])
        for role in PathRole.allCases where role != .program {
            let found = configuration.paths.filter { $0.role == role }.map(\.path).sorted()
            #expect(found == Self.named[role]?.map { "/etc/lupin/\($0)" }, "\(role)")
        }
        let open = PathRole.allCases.filter(\.isPublic)
        #expect(open == [.certificates, .certificate, .authority])
    }

    private static let certificate = SampleFile.pem("CERTIFICATE", "MAMCAQE=")
    private static let key = SampleFile.pem("PRIVATE KEY", "MAMCAQE=")

    @Test func `a file of certificates is one as long as no key lies with them`() {
        func isOpen(_ text: String) -> Bool { PEM.holdsCertificatesAlone(Array(text.utf8)) }
        let certificate = Self.certificate
        #expect(isOpen(certificate) && isOpen("# An issuer\n\(certificate)\n\(certificate)"))
        #expect(isOpen(certificate.replacing("CERTIFICATE", with: "TRUSTED CERTIFICATE")))
        #expect(PEM.holdsCertificatesAlone([0x30, 0x03, 0x02, 0x01, 0x01]))
        for other in [
            "", "text", Self.key, certificate + Self.key, Self.key + certificate,
            certificate + Self.key.replacing("PRIVATE", with: "EC PRIVATE"),
            certificate + Self.key.replacing("PRIVATE", with: "ENCRYPTED PRIVATE"),
            certificate + "-----BEGIN RSA PRIVATE KEY-----\nMAMC", certificate + "private key: x",
            certificate + SampleFile.pem("OPENSSH PRIVATE KEY", "MAMCAQE="),
            certificate + SampleFile.pem("SOMETHING NEW", "MAMCAQE="),
        ] {
            #expect(!isOpen(other), "\(other)")
        }
        #expect(!PEM.holdsCertificatesAlone([0x30, 0x03, 0x02, 0x01]))
    }
}
