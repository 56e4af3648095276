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
        "Authorization", "X-Forwarded-Authorization", "Set-Cookie2", "DPoP", "X-Signature",
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
