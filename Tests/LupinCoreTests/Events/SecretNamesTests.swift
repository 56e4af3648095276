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
            MemberRedaction(names: []),
            upTo: bytes.count,
            isStart: true,
            isLast: true,
            isCut: false
        )
        return masked.text.map { String(decoding: $0, as: UTF8.self).contains("hunter22") } ?? true
    }

    private func isShown(_ name: String, in place: Place) -> Bool {
        switch place {
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

    enum Place: CaseIterable { case field, query, encodedQuery, form, multipart, json }

    private static let hidden = [
        "Authorization", "X-Forwarded-Authorization", "Set-Cookie2", "Cookie2", "DPoP",
        "X-Signature",
        "X-Hub-Signature-256", "X-Session-Id", "X-Goog-Iap-Jwt-Assertion", "apikey", "api_key",
        "X-Api-Key", "pwd", "passwd", "user_password", "auth", "session", "sessionId", "PHPSESSID",
        "jwt", "assertion", "client_assertion", "SAMLResponse", "ticket", "sas", "sig", "token",
        "accessToken", "refresh_token", "X-Auth-Token", "client_secret", "privateKey",
        "AWSAccessKeyId", "code_verifier", "otp", "passphrase",
    ]

    @Test(arguments: hidden)
    func `a secret's name hides it in every place`(name: String) {
        for place in Place.allCases {
            #expect(!isShown(name, in: place), "\(name) in \(place)")
        }
    }

    @Test(arguments: [
        "user[token]", "user[api_key]", "token[]", "token[0]", "user.password", "a[b][pwd]",
    ])
    func `of a name with parts the last one counts`(name: String) {
        for place in Place.allCases where place != .field {
            #expect(!isShown(name, in: place), "\(name) in \(place)")
        }
    }

    @Test(arguments: [
        "X-Cookie", "X-Forwarded-Cookie", "X-Cookie2", "Authentication", "X-Authentication",
        "X-Auth-Token", "Ocp-Apim-Subscription-Key",
    ])
    func `a field is hidden under its other names`(name: String) {
        #expect(!isShown(name, in: .field))
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
            MemberRedaction(names: []),
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
            "expires_in", "scope", "bearing", "signed",
        ]
    )
    func `other names hide nothing`(name: String) {
        for place in Place.allCases { #expect(isShown(name, in: place), "\(name) in \(place)") }
    }

    @Test(arguments: ["code", "state", "key"])
    func `words of OAuth are words in JSON`(name: String) {
        #expect(!isShown(name, in: .query))
        #expect(isShown(name, in: .json))
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
