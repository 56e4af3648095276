// The names whose values are secrets, wherever they stand: in heads, URLs, forms and JSON.

/// One table for fields of heads, parameters of URLs and forms, and members of JSON.
///
/// Names have no case, and `*` is any run of bytes. Each part of `user[token]`, `token[value]` and
/// `user.token` counts. In JSON all that lies below a name is hidden with it, lists and objects,
/// too.
package enum SecretNames {
    /// Hidden in every place.
    package static let everywhere = [
        // Credentials under their usual names.
        "authorization", "*authorization", "*authorization-auxiliary", "proxy-authorization",
        "authentication-info", "proxy-authentication-info", "*authentication", "auth", "*-auth",
        "bearer", "*-bearer", "dpop", "token", "*token", "x-auth-token", "x-csrf-token",
        "x-amz-security-token", "id_token_hint", "jwt", "*-jwt", "*_jwt", "*assertion",
        "samlresponse", "samlart", "ticket", "*-ticket", "credential", "*-credential",
        "*-credentials", "macaroon", "*-macaroon", "macaroons", "x-registry-config",
        "x-jfrog-art-api", "x-honeycomb-team", "x-amzn-oidc-data", "x-forwarded-client-cert",
        "x-rh-identity",
        // Sessions.
        "cookie", "cookie2", "set-cookie", "set-cookie2", "*cookie", "*cookie2", "__host-*",
        "__secure-*", "session", "x-session", "x-*-session", "user_session", "user-session",
        "usersession", "auth_session", "auth-session", "authsession", "*session-id", "*session_id",
        "*sessionid", "*session-key", "*session_key", "*sessionkey", "*sessid", "sid", "*-sid",
        "csrf", "*-csrf", "*_csrf", "xsrf", "*-xsrf", "*_xsrf",
        // Passwords and keys.
        "pass", "*pass", "*password*", "*passwd*", "*passphrase*", "*pass-phrase*",
        "*pass_phrase*", "passcode", "pw", "*-pw", "*_pw", "pwd", "*-pwd", "*_pwd", "pat", "*-pat",
        "*_pat", "creds", "*-creds", "*_creds", "*secret*", "psk", "apikey", "api-key",
        "x-api-key", "*-key", "*apikey", "*api_key", "*private_key", "*privatekey", "*access_key",
        "*accesskey", "*access_key_id", "*accesskeyid", "account_key", "accountkey", "*auth_key",
        "*authkey", "*master_key", "*masterkey", "*application_key", "*encryption_key",
        "*encryptionkey", "*signing_key", "*signingkey", "*hmac_key", "*hmackey", "*ssh_key",
        "*sshkey", "*shared_key", "*sharedkey", "*client_key", "*clientkey", "connection_string",
        "connectionstring",
        // What is shown once, or proves that its sender has a key.
        "otp", "*-otp", "totp", "*-totp", "code_verifier", "oauth_verifier", "device_code",
        "auth_code", "auth-code", "authorization_code", "authorization-code", "pin", "*-pin",
        "*_pin", "pincode", "pin-code", "pin_code", "hmac", "sig", "sign", "*-sign", "sas",
        "*-sas", "*_sas", "*signature", "*signature-256",
    ]

    /// Names of rules about secrets, which those of `everywhere` with `*` do not mean.
    private static let ordinary = [
        "*policy", "*policies", "*bypass", "*compass", "*lowpass", "*highpass", "*bandpass",
        "*trespass", "*overpass", "*underpass", "*surpass",
    ]

    /// The names that hide values everywhere, and some besides.
    package static func set(besides names: [String] = [], readsParts: Bool = false) -> NameSet {
        NameSet(everywhere + names, except: ordinary, readsParts: readsParts)
    }

    /// The names of members of JSON that hide values everywhere.
    package static let members = set(readsParts: true)

    /// The same for parameters of URLs and fields of forms.
    package static func parameters(besides names: [String]) -> NameSet {
        set(besides: parameters + names, readsParts: true)
    }

    /// Parameters of URLs and fields of forms besides: in JSON these are ordinary words.
    package static let parameters =
        ["code", "state", "key"]
        + lists.filter { !$0.contains("*") }.map { $0 + "[*" }

    /// Members whose lists and objects hold secrets if they hold a text.
    ///
    /// A number under such a name is a count, as in `"max_tokens": 4096`.
    package static let lists = [
        "tokens", "*tokens", "jwts", "otps", "pins", "api_keys", "*api-keys", "*api_keys",
        "*apikeys", "*access_keys", "*accesskeys", "credentials", "*credentials", "cookies",
        "*session_ids", "*sessionids", "*backup_codes", "*backupcodes", "*recovery_codes",
        "*recoverycodes",
    ]

    /// Fields of heads and members of JSON that hold a code of OAuth or an ordinary one, such as
    /// that of an error: their values say which (`isRandomCode`).
    package static let codes = ["code", "*-code", "*_code"]

    /// Whether a value under one of `codes` was made at random, as RFC 6749 §10.10 wants it of
    /// authorization codes.
    ///
    /// Such a value changes between digits, capitals and small letters often: its parts have fewer
    /// than three characters on average.
    ///
    /// `404`, `not_found`, `ERR_TLS_CERT` and `InvalidParameterValue` do not.
    package static func isRandomCode(_ value: Span<UInt8>) -> Bool {
        var (digits, capitals, smalls, parts) = (0, 0, 0, 0)
        var hasUnderscore = false
        var last = CodeClass.separator
        // A capital alone and the small letters behind it are one part.
        var isLoneCapital = false
        for i in value.indices {
            guard let next = CodeClass(value[i]) else { return false }
            switch next {
            case .separator: hasUnderscore = hasUnderscore || value[i] == 0x5F
            case .digit: digits += 1
            case .capital: capitals += 1
            case .small: smalls += 1
            }
            let goesOn = next == last || (next == .small && isLoneCapital)
            if next != .separator, !goesOn { parts += 1 }
            isLoneCapital = next == .capital && last != .capital
            last = next
        }
        let isMixed = capitals > 0 && smalls > 0
        guard isMixed || (digits > 0 && capitals + smalls > 0 && !hasUnderscore) else {
            return false
        }
        let count = digits + capitals + smalls
        return count >= randomCodeBytesMin && count < parts * 3
    }

    /// Shorter codes are those of errors, countries and vouchers.
    private static let randomCodeBytesMin = 10

    private enum CodeClass {
        case separator, digit, capital, small

        /// Nil for what stands in no code.
        init?(_ byte: UInt8) {
            switch byte {
            case 0x30...0x39: self = .digit
            case 0x41...0x5A: self = .capital
            case 0x61...0x7A: self = .small
            case 0x2B, 0x2D, 0x2E, 0x2F, 0x3D, 0x5F, 0x7E: self = .separator
            default: return nil
            }
        }
    }

    /// Whether the value of a field that is not known is a credential, by the scheme at its start:
    /// one word behind it that looks made up, after `Bearer` any.
    package static func isCredential(_ value: Span<UInt8>) -> Bool {
        let space = value.offset(of: 0x20)
        guard space > 0, space <= schemeBytesMax, space < value.count else { return false }
        let scheme = value.extracting(first: space)
        guard schemes.contains(scheme) else { return false }
        let rest = String(copying: value.extracting(space..<value.count)).split(separator: " ")
        if bearer.contains(scheme) { return rest.count == 1 }
        return scheme.offset(of: 0x2D) < scheme.count
            || (rest.count == 1 && (rest[0].hasSuffix("=") || isMadeUp(rest[0])))
    }

    private static let schemeBytesMax = 24
    private static let bearer = NameSet(["bearer", "dpop"])
    private static let schemes = NameSet(
        ["bearer", "dpop", "aws4-hmac-sha256", "scram-sha-256", "basic", "token", "apikey"]
            + ConnectionLogin.allCases.map(\.rawValue)
    )

    /// Whether a word has a digit, or a capital behind a small letter, as few names have.
    private static func isMadeUp(_ word: Substring) -> Bool {
        word.utf8.contains { $0.isASCIIDigit }
            || zip(word.utf8, word.utf8.dropFirst()).contains {
                0x61...0x7A ~= $0 && 0x41...0x5A ~= $1
            }
    }

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
