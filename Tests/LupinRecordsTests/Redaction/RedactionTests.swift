// That planted secrets show up in nothing that lupin writes, whatever they were encoded with.

import LupinCore
import LupinRecords
import LupinTestKit
import Testing

struct RedactionTests {
    private static let redactor = makeRedactor(secrets: plantedSecrets)

    @Test(arguments: plantedSecrets, SecretForm.allCases)
    func `no part of a record gives a secret away`(secret: String, form: SecretForm) {
        let planted = form.text(of: secret)
        var record = makeFullRecord()
        record.headers = .all
        record.client.program = planted
        record.request = makeRequest("/x/\(planted)?q=\(planted)")
        record.request?.fields.add(name: "X-Note", value: planted)
        record.request?.fields.add(name: planted, value: "x")
        record.request?.method = .other(planted)
        record.response?.fields.add(name: "Location", value: "/cb?x=\(planted)")
        record.rules.matched = [planted]
        record.rules.steps = [planted]
        record.attempts[0].reason = planted
        record.attempts[1].url = "http://x/\(planted)"
        record.attempts[0].error?.detail = planted
        let error = LupinError(.tlsProtocolError, host: "h", detail: planted)
        record.error = error
        record.outcome = .error
        let redactor = Self.redactor
        var output = [
            jsonLine(of: record, redactor: redactor),
            ProxyStatus.value(for: error, redactor: redactor),
        ]
        for form in ErrorBody.Form.allCases {
            output.append(
                ErrorBody.text(
                    for: error,
                    as: form,
                    id: record.id,
                    redactor: redactor
                )
            )
        }
        var bytes: [UInt8] = []
        var text = SummaryText(isColoured: true)
        text.append(RecordSummary(record, dropped: 0, redactor: redactor), to: &bytes)
        output.append(String(decoding: bytes, as: UTF8.self))
        for line in output {
            for text in [planted, planted.lowercased(), secret] {
                #expect(!line.contains(text), "\(line)")
            }
            #expect(line.contains("REDACTED."))
        }
    }

    @Test func `equal secrets have equal marks and others do not`() {
        let redactor = makeRedactor(secrets: ["aaaaaa", "bbbbbb"])
        #expect(
            redactor.cleaned("aaaaaa bbbbbb aaaaaa")
                == "REDACTED.0246 REDACTED.024c REDACTED.0246"
        )
    }

    @Test func `user and password are secrets each`() {
        let redactor = makeRedactor(secrets: ["longuser:longpassword"])
        #expect(!redactor.cleaned("x=longuser").contains("longuser"))
        #expect(!redactor.cleaned("x=longpassword").contains("longpassword"))
    }

    @Test func `a short text is no secret`() {
        #expect(makeRedactor(secrets: ["abcde", ""]).cleaned("abcdef") == "abcdef")
    }

    @Test(arguments: [
        ("http://u:p@h/x", "http://h/x"), ("http://u@h@i/x@y", "http://i/x@y"),
        ("//u:p@h?a=1", "//h?a=1"), ("http://h/x?u@h", "http://h/x?u@h"),
        ("/?token=abc", "/?token=REDACTED.0126"), ("/?TOKEN=abc&x=1", "/?TOKEN=REDACTED.0126&x=1"),
        ("/?to%6ben=abc", "/?to%6ben=REDACTED.0126"),
        ("/?x=1;token=abc", "/?x=1;token=REDACTED.0126"),
        ("/?X-Amz-Signature=abc#f", "/?X-Amz-Signature=REDACTED.0126#f"),
        ("/cb#access_token=abc&y=2", "/cb#access_token=REDACTED.0126&y=2"),
        ("/?tokens=abc", "/?tokens=abc"), ("/?token", "/?token"), ("/?token=", "/?token="),
        ("/?code=abc&code=abc", "/?code=REDACTED.0126&code=REDACTED.0126"),
        ("<http://h/?sig=abc>; rel=next", "<http://h/?sig=REDACTED.0126>; rel=next"),
        ("5; url=http://u:p@h/?key=abc", "5; url=http://h/?key=REDACTED.0126"),
        ("/?custom=abc", "/?custom=REDACTED.0126"),
        ("/?user%5Bpassword%5D=abc", "/?user%5Bpassword%5D=REDACTED.0126"),
        ("/?%=1&%zz=2", "/?%=1&%zz=2"),
    ])
    func `URLs lose userinfo and the values of some parameters`(url: String, cleaned: String) {
        var settings = RedactionSettings()
        settings.query = ["custom"]
        #expect(makeRedactor(settings: settings).cleaned(url) == cleaned)
    }

    @Test(arguments: [
        ("Authorization", true), ("proxy-authorization", true), ("COOKIE", true),
        ("Set-Cookie", true), ("X-Api-Key", true), ("x-custom-token", true), ("Some-Key", true),
        ("client-secret", true), ("X-Password-Hint", true), ("X-Mine", true), ("-token", true),
        ("token", true), ("Accept", false), ("Keys", false), ("X-Token-Kind", false), ("", false),
    ])
    func `values of some fields are never written`(name: String, isHidden: Bool) {
        var settings = RedactionSettings()
        settings.headers = ["x-m*e"]
        #expect(hides(makeRedactor(settings: settings), name) == isHidden)
    }

    @Test(arguments: [
        ("<s3cr3t?key=abcdef/xyz>", ["s3cr3t?key=abcdef/xyz"]),
        ("<s3cr3t//user@xyz>", ["s3cr3t//user@xyz"]),
        ("<s3cr3t%3Fx%26key=abcdef/xyz>", ["s3cr3t?x&key=abcdef/xyz"]),
        ("<http://h.test/s3cr3t/path>", ["http://h.test/s3cr3t/path"]),
        ("<http://u:p@h.test/s3cr3t/path>", ["http://h.test/s3cr3t/path"]),
    ])
    func `a secret with a part that URLs lose is hidden with the rest of it`(
        text: String,
        secrets: [String]
    ) {
        let cleaned = makeRedactor(secrets: secrets).cleaned(text)
        #expect(cleaned.wholeMatch(of: /<REDACTED\.[0-9a-f]{4}>/) != nil, "\(cleaned)")
    }

    @Test(arguments: [
        ("/?key=abcdef", "/?key=REDACTED.0255"), ("/?key=abcdef-x", "/?key=REDACTED.02fa"),
        ("/?key=%61bcdef&x", "/?key=REDACTED.0280&x"), ("http://abcdef@h/", "http://h/"),
        ("/?key=abc&x=abcdef", "/?key=REDACTED.0126&x=REDACTED.0255"),
    ])
    func `what a URL loses is lost as a whole, also if a secret is in it`(
        url: String,
        cleaned: String
    ) {
        #expect(makeRedactor(secrets: ["abcdef"]).cleaned(url) == cleaned)
    }

    @Test func `--unsafe-log-secrets leaves everything as it is`() {
        let redactor = Redactor(
            settings: RedactionSettings(),
            secrets: ["secret"],
            isOff: true,
            digest: sumDigest
        )
        #expect(redactor.cleaned("http://u:p@h/?token=secret") == "http://u:p@h/?token=secret")
        #expect(!hides(redactor, "cookie"))
    }

    @Test func `a secret that lies across the cut is still redacted`() {
        var record = makeFullRecord()
        let secret = "ghp_0123456789abcdefghij"
        record.attempts[0].reason = String(repeating: "x", count: 4090) + secret
        let line = jsonLine(of: record, redactor: makeRedactor(secrets: [secret]))
        #expect(!line.contains("ghp_"))
    }
}
