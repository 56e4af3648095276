// The names whose values are secrets, wherever they stand: in heads, URLs, forms and JSON.

/// One table for fields of heads, parameters of URLs and forms, and members of JSON.
///
/// Names have no case, and `*` is any run of bytes. Of `user[token]` and `user.token` the last part
/// counts.
package enum SecretNames {
    /// Hidden in every place.
    package static let everywhere = [
        // Credentials under their usual names.
        "authorization", "*authorization", "proxy-authorization", "authentication-info",
        "proxy-authentication-info", "auth", "*-auth", "bearer", "dpop", "token", "*token", "jwt",
        "*-jwt", "*_jwt", "*assertion", "samlresponse", "samlart", "ticket", "credential",
        // Sessions.
        "cookie", "cookie2", "set-cookie", "set-cookie2", "session", "*session-id", "*session_id",
        "*sessionid", "*sessid", "sid", "csrf", "xsrf",
        // Passwords and keys.
        "*password*", "*passwd*", "*passphrase*", "passcode", "pwd", "*-pwd", "*_pwd", "*secret*",
        "apikey", "api-key", "x-api-key", "*apikey", "*api-key", "*api_key", "*private-key",
        "*private_key", "*privatekey", "*access-key", "*access_key", "*accesskey",
        "*access_key_id", "*accesskeyid", "account-key", "account_key", "accountkey",
        "*subscription-key", "connection_string", "connectionstring",
        // What is shown once, or proves that its sender has a key.
        "otp", "totp", "code_verifier", "device_code", "auth_code", "authorization_code", "hmac",
        "sig", "sign", "sas", "*signature", "*signature-256",
    ]

    /// Fields of heads besides: ordinary words in other places, or for the cache's list of names.
    package static let fields =
        everywhere + [
            "x-auth-token", "x-amz-security-token", "x-csrf-token", "*-key", "*cookie", "*cookie2",
            "*authentication", "x-jfrog-art-api", "x-honeycomb-team", "x-amzn-oidc-data",
            "*-sign", "x-forwarded-client-cert", "x-rh-identity", "x-session", "x-pin",
        ]

    /// Parameters of URLs besides: in JSON these are ordinary words.
    package static let parameters =
        everywhere + ["code", "state", "key", "x-amz-credential", "x-goog-credential"]

    /// Members of JSON, and fields of forms in bodies.
    package static let members = everywhere

    /// Whether a value of `Sec-WebSocket-Protocol` holds a credential, which pages put there since
    /// they can set no other field: behind `bearer` or the like, or as a long random word.
    package static func holdToken(inProtocols value: Span<UInt8>) -> Bool {
        var isBehindName = false
        for word in String(copying: value).split(separator: ",") {
            let word = word.drop { $0 == " " }.prefix { $0 != " " }
            if isBehindName, !word.isEmpty { return true }
            let parts = word.split { ".-_:".contains($0) }
            let name = ([word] + parts).first { carriers.contains($0.lowercased()) }
            isBehindName = name != nil
            // `base64url.bearer.authorization.k8s.io.TOKEN`
            if name != nil, let last = parts.last, last.utf8.count >= 8 { return true }
            if word.utf8.count >= 24, looksRandom(word) { return true }
        }
        return false
    }

    private static let carriers: Set<String> = [
        "bearer", "token", "access_token", "jwt", "auth", "authorization", "apikey", "ticket",
        "session",
    ]

    /// Whether a word has digits and letters of both cases, as no name of a protocol has.
    private static func looksRandom(_ word: Substring) -> Bool {
        word.utf8.contains { $0.isASCIIDigit } && word.utf8.contains { 0x41...0x5A ~= $0 }
            && word.utf8.contains { 0x61...0x7A ~= $0 }
    }
}
