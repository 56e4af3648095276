// Which names hide their values, in every place where a name can stand.
import LupinCore
import Testing

struct SecretNamesTests {
    private let redactor = Redactor(
        settings: RedactionSettings(),
        secrets: [],
        digest: { _ in 0 }
    )

    private func shown(member name: String, as form: (String) -> String) -> Bool {
        let bytes = Array(form(name).utf8)
        let masked = redactor.masked(
            bytes.span,
            upTo: bytes.count,
            isStart: true,
            isLast: true,
            isCut: false
        )
        return masked.text.map { String(decoding: $0, as: UTF8.self).contains("hunter22") } ?? true
    }

    private func isShown(_ name: String, in context: Context) -> Bool {
        switch context {
        case .field:
            let (field, value) = (Array(name.utf8), Array("hunter22".utf8))
            return !redactor.hides(field: field.span, value.span, known: .other)
        case .query:
            return redactor.cleaned("http://a.example/?a=1&\(name)=hunter22").contains("hunter22")
        case .encodedQuery:
            let encoded = name.replacing("[", with: "%5B").replacing("]", with: "%5D")
            return redactor.cleaned("/x?\(encoded)=hunter22").contains("hunter22")
        case .form: return shown(member: name) { "a=1&\($0)=hunter22&b=2" }
        case .multipart:
            return shown(member: name) {
                "--b\r\nContent-Disposition: form-data; name=\"\($0)\"\r\n\r\nhunter22\r\n--b--"
            }
        case .json: return shown(member: name) { "{\"a\":1,\"\($0)\": \"hunter22\"}" }
        }
    }

    enum Context: CaseIterable { case field, query, encodedQuery, form, multipart, json }

    private static let hidden = [
        "Authorization", "X-Forwarded-Authorization", "Set-Cookie2", "Cookie2", "DPoP",
        "X-Signature", "X-Otp", "X-Auth-Key", "X-Hub-Signature-256", "X-Session-Id",
        "X-Goog-Iap-Jwt-Assertion", "apikey", "api_key",
        "X-Api-Key", "pw", "pwd", "passwd", "user_password", "auth", "session", "sessionId",
        "PHPSESSID", "jwt", "assertion", "client_assertion", "SAMLResponse", "ticket", "sas", "sig",
        "token",
        "accessToken", "refresh_token", "X-Auth-Token", "client_secret", "privateKey",
        "AWSAccessKeyId", "code_verifier", "otp", "passphrase", "pin", "card-pin", "auth-code",
        "id_token_hint", "pass", "_csrf", "session_key", "sessionKey", "auth_key", "authkey",
        "user_session", "auth_session", "__Host-session", "__Secure-id", "oauth_verifier",
        "masterKey", "psk", "x-ms-authorization-auxiliary", "X-Registry-Config", "Macaroons",
        "Grpc-Metadata-Macaroon", "X-LC-Session", "X-Session", "DD-APPLICATION-KEY",
        "OK-ACCESS-SIGN", "X-Api-Sign", "X-Cookie", "X-Forwarded-Cookie", "X-Cookie2",
        "Authentication", "X-Authentication", "Ocp-Apim-Subscription-Key", "password_hint",
        "db_pass", "db-pass", "dbPass", "pat", "github_pat", "pass-phrase", "key_pass_phrase",
        "encryption_key", "encryptionKey", "signing_key", "hmac_key", "ssh_key", "sshKey",
        "shared_key", "client_key", "db_pw", "creds", "db_creds", "pin_code", "pincode",
    ]

    @Test(arguments: hidden + SecretNames.everywhere.map { $0.replacing("*", with: "x") })
    func `a secret's name hides it in every place`(name: String) {
        for context in Context.allCases {
            #expect(!isShown(name, in: context), "\(name) in \(context)")
        }
    }

    @Test(arguments: [
        "user[token]", "user[api_key]", "token[]", "token[0]", "user.password", "a[b][pwd]",
        "token[value]", "token.value", "session[user][name]", "tokens[]", "tokens[0]",
    ])
    func `of a name with parts each one counts`(name: String) {
        for context in Context.allCases where context != .field {
            #expect(!isShown(name, in: context), "\(name) in \(context)")
        }
    }

    @Test(arguments: ["%20", "%00", "%00x", "+", "%09", "%0D%0A", "%7F"])
    func `what readers ignore in a name changes nothing`(odd: String) {
        let isBehindName = !odd.hasSuffix("x")
        for name in ["token\(odd)"] + (isBehindName ? ["\(odd)token"] : []) {
            #expect(!isShown(name, in: .query) || name.hasPrefix("%00"), "\(name)")
            #expect(!isShown(name, in: .form) || name.hasPrefix("%00"), "\(name)")
        }
    }

    @Test(
        arguments: [
            ("Bearer abc", true), ("bearer  eyJhbGciOi", true), ("DPoP abc", true),
            ("Basic dTpw", true), ("Basic dXNlcjpwdw==", true), ("Token 0a1b2c", true),
            ("NTLM TlRMTVNTUAAB", true), ("AWS4-HMAC-SHA256 Credential=a, Signature=b", true),
            ("Basic Authentication", false), ("Basic plan", false), ("token expired", false),
            ("Bearer", false), ("Bearer ", false), ("bearer of bad news", false), ("a b", false),
            ("Negotiate later", false), ("", false),
        ]
    )
    func `a field with a credential is hidden, whatever it is called`(_ row: (String, Bool)) {
        let (name, value) = (Array("X-Unknown".utf8), Array(row.0.utf8))
        #expect(redactor.hides(field: name.span, value.span, known: .other) == row.1)
    }

    /// How a URL with `access_token=hunter22` lies in another text.
    @Test(arguments: [
        "http://a/?to=http://h/%23access_token=hunter22", "/?x=access_token%3Dhunter22",
        "/?x=access_token%253Dhunter22", "/?x=access_token=hunter22&b=1",
        "/?to=http%3A%2F%2Fh%2F%3Faccess_token%3Dhunter22%26b%3D1",
        "/?to=http%253A%252F%252Fh%252F%253Fb%253D1%2526access_token%253Dhunter22",
        "/#to=%3Faccess_token=hunter22", "/#%23access_token%3Dhunter22",
        "/%3Faccess_token=hunter22",
        "/p%253Faccess_token=hunter22", "/p;x=%26access_token=hunter22",
        "http%3A%2F%2Fhunter22%3Apw@h/", "/?u=http%3A%2F%2Fme:hunter22@h%2F",
        "/?u=https:%252F%252Fme%253Ahunter22%2540h", "/?x=%61ccess_token%3Dhunter22",
        "/?x=acce%2573s_token=hunter22", "/?x=a%26access%5Ftoken=hunter22%20",
        #"{"u":"http:\/\/h\/?a=1\u0026access_token=hunter22"}"#,
        #"{"u":"http:\/\/me:hunter22@h\/"}"#, #"{"u":"\/?to=%3Faccess_token%3Dhunter22"}"#,
        "<http://h/%3Faccess_token=hunter22>; rel=next", "0;url=/?to=%23access_token=hunter22",
        "/?a=b=c=access_token=hunter22", "/?next=/?next=%2F%3Ftoken%3Dhunter22",
    ])
    func `a URL within another text hides its secrets`(text: String) {
        let cleaned = redactor.cleaned(text)
        #expect(!cleaned.contains("hunter22"), "\(cleaned)")
        let bytes = Array(text.utf8)
        let masked = redactor.masked(
            bytes.span,
            upTo: text.utf8.count,
            isStart: true,
            isLast: true,
            isCut: false
        )
        let body = masked.text.map { String(decoding: $0, as: UTF8.self) } ?? text
        let isPlainPath = text.hasPrefix("http%3A")
        #expect(isPlainPath || !body.contains("hunter22"), "\(body)")
    }

    @Test(arguments: [
        "/?x=a%3Db", "/?to=http%3A%2F%2Fh%2F%3Fq%3D1%26page%3D2", "/@scope%2fname", "/a%2Fb%40c",
        "/?q=100%25", "/?data=YWJj==", "/?q=tokens%3D1", #"{"a":"\/b\/c?d=e"}"#, "/?f=a=b=c",
        "mailto:me%40h", "C:\\a\\b@c",
    ])
    func `a text without a secret's name stays as it is`(text: String) {
        #expect(redactor.cleaned(text) == text)
    }

    @Test func `what stands around a nested secret stays`() {
        let mark = "REDACTED.0000"
        for (text, cleaned) in [
            ("/?to=%3Ftoken%3Dabc%26b%3D1&c=2", "/?to=%3Ftoken%3D\(mark)%26b%3D1&c=2"),
            ("/?token=a%26b&c=2", "/?token=\(mark)&c=2"),
            ("/?x=token=abc&token=def", "/?x=token=\(mark)&token=\(mark)"),
            ("http://u:p@h/?to=http%3A%2F%2Fv:q@i%2Fx", "http://h/?to=http%3A%2F%2F\(mark)i%2Fx"),
        ] {
            #expect(redactor.cleaned(text) == cleaned)
        }
    }

    @Test(
        arguments: [
            "author", "authority", "keyboard", "signal", "tokenizer", "tokens", "max_tokens",
            "token_type", "monkey", "turkey", "design", "assigned", "sessions", "ticketing",
            "passage", "compass", "cookies", "user[name]", "token_count.name", "authenticated",
            "expires_in", "scope", "bearing", "signed", "pinned", "mapping", "x-pinned",
            "password_policy", "passwordPolicy", "secret-policies", "pass_count", "bypass",
            "session_count", "user_sessions", "pages_per_session", "hosts", "host-name",
            "publickey", "name", "value", "passenger", "psks", "signing", "design_key_count",
            "sort_key", "sortKey", "primary_key", "foreign_key", "public_key", "partition_key",
            "auth_bypass", "cache-bypass", "encompass", "path", "pattern", "patch", "dispatch",
            "spin_code", "incredible",
        ]
    )
    func `other names hide nothing`(name: String) {
        for context in Context.allCases {
            #expect(isShown(name, in: context), "\(name) in \(context)")
        }
    }

    @Test(arguments: ["code", "state", "key"])
    func `words of OAuth are words in JSON`(name: String) {
        #expect(!isShown(name, in: .query))
        #expect(isShown(name, in: .json))
    }

    @Test(arguments: [
        "SplxlOBeZQQYbYS6WxSbIA", "4/0AX4XfWjKx-0bLq_Wt7", "3584d83530557fdd1f46af8289938c8e",
        "0.AXYAPa1bQ2xY.AgABAAIAAA", "7f9c24e8-3b1a-4f7e-9a53-2a3d7e1b9c10",
    ])
    func `a code that was made at random is hidden in fields and JSON`(code: String) {
        let (name, value) = (Array("X-OAuth-Code".utf8), Array(code.utf8))
        #expect(redactor.hides(field: name.span, value.span, known: .other) == true)
        #expect(SecretNames.isRandomCode(value.span) == true)
    }

    @Test(arguments: [
        "404", "200000", "not_found", "ERR_TLS_CERT", "InvalidParameterValue", "ENOTFOUND", "P2002",
        "EC2LimitExceeded", "ORA-00942", "err_v1_to_v2", "ERR_V1_TO_V2_API", "auth/invalid-email",
        "AADSTS50011", "US", "SAVE20", "2024-01-02", "print(x1)", "SW1A 1AA", "", "a1b2",
    ])
    func `a code of an error or a country stays`(code: String) {
        let (name, value) = (Array("X-Error-Code".utf8), Array(code.utf8))
        #expect(redactor.hides(field: name.span, value.span, known: .other) == false)
        #expect(SecretNames.isRandomCode(value.span) == false)
    }

    /// How JSON with `hunter22` below a secret name lies in a field's value or a URL.
    @Test(arguments: [
        #"{"token": "hunter22"}"#, #"[{"a":1},{"token":"hunter22"}]"#, #"{"token":["hunter22"]}"#,
        #"{"token":{"value":"hunter22"}}"#, #"v1;{"pin":"hunter22"}"#, #""token": "hunter22"#,
        #"{\"token\": \"hunter22\"}"#, #"{"a":"{\"token\":\"hunter22\"}"}"#,
        "%7B%22token%22%3A%22hunter22%22%7D", "%7b%22token%22:%20%22hunter22%22%7d",
        "%257B%2522token%2522%253A%2522hunter22%2522%257D",
        "%7B%22token%22%3A%5B%22hunter22%22%5D%7D",
        "/?data=%7B%22token%22%3A%22hunter22%22%7D&a=1", #"/?data={"token":"hunter22"}"#,
        "%7B%5C%22token%5C%22%3A%5C%22hunter22%5C%22%7D",
    ])
    func `JSON in a field or a URL hides its secrets`(text: String) {
        let cleaned = redactor.cleaned(text)
        #expect(!cleaned.contains("hunter22"), "\(cleaned)")
        // Other fields stand beside it, in whose values quotes may be open.
        let among = #"etag"a"b"name="token"; \"# + "x-data" + text
        #expect(!redactor.cleaned(among).contains("hunter22"))
    }

    @Test(arguments: [
        #"{"a": "hunter22"}"#, #"{"code":"not_found","tokens":5}"#, #"W/"token""#, #""token""#,
        #"form-data; name="token"; filename="a""#, #""Chromium";v="118", "Not"="8""#,
        "%7B%22a%22%3A%22b%22%7D", #"{"token": null}"#, "100%", "\\\"",
    ])
    func `JSON without a secret's name stays as it is`(text: String) {
        #expect(redactor.cleaned(text) == text)
    }

    @Test func `what stands around a secret of JSON stays`() {
        #expect(
            redactor.cleaned(#"{"a":1,"token":{"b":"c"},"d":"e"}"#)
                == #"{"a":1,"token":"REDACTED.0000","d":"e"}"#
        )
        #expect(
            redactor.cleaned("/?d=%7B%22token%22%3A%22x%22%2C%22a%22%3A1%7D&b=2")
                == "/?d=%7B%22token%22%3A%22REDACTED.0000%22%2C%22a%22%3A1%7D&b=2"
        )
    }

    @Test(
        arguments: [
            ("base64url.bearer.authorization.k8s.io.c2VjcmV0LXRva2Vu, base64.binary.k8s.io", true),
            ("bearer, abc", true), ("access_token, eyJhbGciOi", true), ("jwt, eyJhbGciOi", true),
            ("token-0123456789", true), ("chat, eyJhbGciOiJIUzI1NiIsInR5cCI6", true),
            ("graphql-transport-ws", false), ("wamp.2.msgpack.batched", false), ("mqtt", false),
            ("actioncable-v1-json, actioncable-unsupported", false), ("v4.channel.k8s.io", false),
        ]
    )
    func `a WebSocket's protocols are hidden where they hold a token`(_ row: (String, Bool)) {
        let (name, value) = (Array("Sec-WebSocket-Protocol".utf8), Array(row.0.utf8))
        #expect(redactor.hides(field: name.span, value.span, known: .other) == row.1)
    }
}
