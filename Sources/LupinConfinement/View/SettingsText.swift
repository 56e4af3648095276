// Whether a text in settings looks like a credential, or leads to one.

import LupinCore

/// What is asked of values, names and comments, whatever tool they are for.
enum SettingsText {
    /// Whether no user stands in a URL and no word looks like a token.
    static func isPlain(_ text: String) -> Bool { !hasUser(text) && !hasToken(text) }

    /// The same of values that may be commands: they name no secret, and nothing that takes one.
    static func isHarmless(_ text: String) -> Bool {
        isPlain(text) && !namesSecret(text) && !words(text).contains(where: fetchers.contains)
    }

    /// The same of a line of a program that builds.
    static func isHarmless(build line: String) -> Bool {
        isHarmless(line) && !line.lowercased().contains("credential")
    }

    /// What is commented out counts as what is not, as far as a comment shows it.
    static func isHarmless(comment: String) -> Bool {
        guard isPlain(comment) else { return false }
        return !comment.contains("=") && !comment.contains(":") || !namesSecret(comment)
    }

    /// Whether a name, or a word of a command, is that of a secret.
    static func namesSecret(_ text: String) -> Bool {
        let lowercased = text.lowercased()
        return parts.contains { lowercased.contains($0) }
            || words(lowercased).contains(where: names.contains)
    }

    /// Whether a character stands in bare keys.
    static func isKey(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case "a"..."z", "A"..."Z", "0"..."9", "-", "_": true
        default: false
        }
    }

    private static let parts = [
        "passw", "passphrase", "passcode", "smtppass", "sshpass", "secret", "token", "apikey",
        "api-key", "api_key", "accesskey", "access-key", "access_key", "privatekey", "private-key",
        "private_key", "authorization", "bearer", "extraheader", "cookie", "sessionid",
    ]
    private static let names: Set<String> = [
        "pass", "pw", "pwd", "pat", "tok", "auth", "jwt", "otp", "session", "sid", "basic", "creds",
    ]
    /// Programs that are given credentials in their arguments.
    private static let fetchers: Set<String> = [
        "curl", "wget", "httpie", "xh", "sshpass", "expect", "ncat", "socat",
    ]

    /// Runs of letters and digits.
    private static func words(_ text: String) -> [String] {
        text.split { !($0.isLetter || $0.isNumber) }.map { $0.lowercased() }
    }

    /// Whether a URL names a user, other than those that all users of a server share.
    private static func hasUser(_ text: String) -> Bool {
        let ends: Set<Character> = ["/", "?", "#", "\"", "'", " ", "\t", "\n"]
        var rest = text[...]
        while let range = rest.firstRange(of: "://") {
            rest = rest[range.upperBound...]
            let authority = rest.prefix { !ends.contains($0) }
            guard let at = authority.lastIndex(of: "@") else { continue }
            if !["git", "hg", "svn"].contains(authority[..<at]) { return true }
        }
        return false
    }

    /// Whether a word begins as tokens of known services do, or is long and without sense.
    private static func hasToken(_ text: String) -> Bool {
        if tokenBeginnings.contains(where: { text.contains($0) }) { return true }
        let words = text.split { $0.isWhitespace || "\"'=".contains($0) }
        for word in words where !word.hasPrefix("/nix/store/") {
            for run in word.utf8.split(whereSeparator: { !isAlphanumeric($0) })
            where run.count >= 20 && run.contains(where: \.isASCIIDigit) {
                if !run.allSatisfy(\.isASCIIDigit) { return true }
            }
        }
        return false
    }

    private static func isAlphanumeric(_ byte: UInt8) -> Bool {
        byte.isASCIIDigit || 0x61...0x7A ~= byte | 0x20
    }

    private static let tokenBeginnings = [
        "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "gldt-", "xoxb-", "xoxp-",
        "npm_", "pypi-", "hf_", "sk-ant-", "sk-proj-", "sk_live_", "AKIA", "ATATT", "ATBB",
        "dop_v1_",
        "shpat_", "ya29.", "eyJ", "-----BEGIN",
    ]
}
