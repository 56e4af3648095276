// Files of certificates and keys: which forms are read, and that a key is its owner's alone.

import LupinCore
import LupinPolicy
import LupinRules
import Testing

struct CertificateValuesTests {
    private static let certificate = SampleFile.pem("CERTIFICATE", "MAMCAQE=")

    /// The certificates that a policy reads from a file with `contents`.
    private func encodings(_ contents: [UInt8]) -> [[UInt8]]? {
        let result = decode(
            "trust: {lab: {certificates: [ca]}}\nrules: [{match: a.dev, trust: lab}]",
            files: ["/etc/lupin/ca": FileContents(bytes: contents)]
        )
        guard let policy = result.configuration?.rules.rules.first?.trust?.policy.policy,
            case .certificates(let pinned) = policy
        else { return nil }
        return pinned.encodings
    }

    private static let first: [UInt8] = [0x30, 3, 2, 1, 1]
    private static let second: [UInt8] = [0x30, 0x81, 3, 2, 1, 2]

    @Test func `PEM holds several certificates, with remarks and keys between them`() {
        let text =
            "a remark: yes\r\n" + Self.certificate.split(separator: "\n").joined(separator: "\r\n")
            + "\r\n" + SampleFile.pem("PRIVATE KEY", "AAAA") + "-----\n"
            + SampleFile.pem("CERTIFICATE", "MIEDAg\nEC")
        #expect(encodings(Array(text.utf8)) == [Self.first, Self.second])
    }

    @Test(arguments: [
        ("\u{FEFF}" + SampleFile.pem("CERTIFICATE", "MAMCAQE="), [Self.first]),
        (SampleFile.pem("X509 CERTIFICATE", "MAMCAQE="), [Self.first]),
        // OpenSSL's own wishes for the certificate follow it.
        (SampleFile.pem("TRUSTED CERTIFICATE", "MAMCAQEwAwIBAg=="), [Self.first]),
    ])
    func `a byte order mark and OpenSSL's labels are understood`(text: String, seen: [[UInt8]]) {
        #expect(encodings(Array(text.utf8)) == seen)
    }

    @Test func `DER holds one certificate or several`() {
        #expect(encodings(Self.first) == [Self.first])
        #expect(encodings(Self.first + Self.second) == [Self.first, Self.second])
    }

    @Test(arguments: [
        "", "text", "0", SampleFile.pem("PRIVATE KEY", "MAMCAQE="),
        SampleFile.pem("CERTIFICATE", "MAMCAQ"), SampleFile.pem("CERTIFICATE", "AAAA"),
        SampleFile.pem("CERTIFICATE", "MAMCAQEA"), SampleFile.pem("CERTIFICATE", ""),
        "-----BEGIN CERTIFICATE-----\nMAMCAQE=\n",
        "-----BEGIN CERTIFICATE-----\nMAMCAQE=\n-----END X-----\n",
        "-----BEGIN A-----\n" + SampleFile.pem("CERTIFICATE", "MAMCAQE="),
    ])
    func `what is no certificate is not taken for one`(text: String) {
        #expect(encodings(Array(text.utf8)) == nil)
    }

    @Test(
        arguments: [
            [0x30], [0x30, 0], [0x30, 5, 1], [0x30, 0x80, 0, 0], [0x30, 0x85, 0, 0, 0, 0, 1, 1],
            [0x30, 0x84, 0xFF, 0xFF, 0xFF, 0xFF, 1], [0x30, 1, 1, 0x31, 1, 1], [0xFF, 0xFE],
        ] as [[UInt8]]
    )
    func `lengths that do not fit are not believed`(bytes: [UInt8]) {
        #expect(encodings(bytes) == nil)
    }

    // MARK: Keys

    private func problems(_ key: FileContents) -> LoadResult {
        decode(
            "upstream: {tls: {client_cert: {cert: cert.pem, key: key.pem}}}",
            files: ["/etc/lupin/cert.pem": SampleFile.certificate, "/etc/lupin/key.pem": key]
        )
    }

    @Test func `a key that others can read is used, with a warning`() {
        var key = SampleFile.key
        key.isOpenToOthers = true
        #expect(problems(key).errors.isEmpty)
        #expect(
            problems(key).warnings.report() == """
                lupin.yaml:2:53: warning: the secret file /etc/lupin/key.pem is readable by \
                group or others  [E-FILE]
                    upstream: {tls: {client_cert: {cert: cert.pem, key: key.pem}}}
                                                                        ^^^^^^^  chmod 600 \
                /etc/lupin/key.pem
                """
        )
        key.isMountedByRoot = true
        #expect(problems(key).errors.isEmpty)
        #expect(problems(key).warnings.map(\.code) == [.file])
    }

    @Test(arguments: ["PRIVATE KEY", "EC PRIVATE KEY", "RSA PRIVATE KEY"])
    func `keys come in several blocks, parameters before them`(label: String) {
        let text = SampleFile.pem("EC PARAMETERS", "AAAA") + SampleFile.pem(label, "AAAA")
        #expect(problems(SampleFile.text(text)).errors.isEmpty)
        let key = SampleFile.text("\u{FEFF}" + SampleFile.pem(label, "AAAA"))
        #expect(problems(key).errors.isEmpty)
    }

    @Test(arguments: [
        SampleFile.pem("ENCRYPTED PRIVATE KEY", "AAAA"),
        SampleFile.pem("RSA PRIVATE KEY", "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES,00\n\nAAAA"),
    ])
    func `a key with a password is refused before anybody is asked for it`(text: String) {
        let errors = problems(SampleFile.text(text)).errors
        #expect(errors.map(\.message) == ["the private key in /etc/lupin/key.pem is encrypted"])
        #expect(errors.map(\.code) == [.file])
    }

    @Test func `what the environment says of a credential's file stays out of records`() throws {
        let configuration = try configuration(
            "upstream: {tls: {client_cert: {cert: cert.pem, key: \"${env:KEY}\"}}}",
            environment: ["KEY": "key.pem"],
            files: SampleFile.all
        )
        #expect(configuration.secrets == ["key.pem"])
    }
}
