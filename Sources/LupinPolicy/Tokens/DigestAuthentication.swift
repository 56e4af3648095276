// Answers a Digest challenge without sending the password (RFC 7616).

package import LupinCore

/// The state of a server's last nonce, so that the next request can be authenticated at once.
///
/// Several exchanges may share one, under their owner's lock: each gets its own nonce count.
package struct DigestSession: Sendable, Equatable {
    /// Identifies an exchange's answer, to match a later challenge.
    package struct Mark: Sendable, Equatable {
        package let nonce: String
        package let count: UInt32
    }

    /// How to handle a 401.
    package enum Reaction: Sendable, Equatable {
        /// Resend the request with the next `field`; once in an exchange.
        case replay
        /// User or password are wrong, or no challenge can be answered: deliver the 401.
        case deliver
    }

    private var challenge: DigestChallenge
    /// How often the nonce was used.
    private var count: UInt32 = 0
    /// The cnonce that a session algorithm is bound to; reused as long as the nonce is.
    private var firstCnonce: String?

    /// Makes a session from the best of a server's challenges; nil if none can be answered.
    package init?(_ challenges: [AuthenticationChallenge]) {
        guard let best = DigestChallenge.best(challenges) else { return nil }
        challenge = best
    }

    /// Identifies the last answer of `field`; the exchange that sends it keeps this.
    package var mark: Mark { Mark(nonce: challenge.nonce, count: count) }

    // MARK: Answers

    /// The value of `Authorization` for one request.
    ///
    /// - Parameters:
    ///   - method: The method as sent.
    ///   - uri: The request target as sent.
    ///   - content: The body as sent, empty without one; nil where it is not known yet.
    ///   - credentials: User and password.
    ///   - cnonce: Fresh random text of base64 or hexadecimal characters.
    ///   - hash: The hash function.
    /// - Returns: `Digest` with its parameters, as an ``OctetText``: a realm goes back unchanged.
    ///   It is nil if it must protect a content that is not known.
    package mutating func field(
        method: String,
        uri: String,
        content: [UInt8]?,
        credentials: UserPassword,
        cnonce: String,
        hash: (DigestAlgorithm.Hash, [UInt8]) -> [UInt8]
    ) -> String? {
        if content == nil, challenge.quality == .authInt { return nil }
        // After 4 billion requests a server that checks the count treats the wrapped count as a
        // replay and answers with the next nonce.
        count &+= 1
        // Some servers bind a session to the first cnonce, some to the current one.
        let cnonce = challenge.algorithm.isSession ? firstCnonce ?? cnonce : cnonce
        firstCnonce = firstCnonce ?? cnonce
        let function = challenge.algorithm.hash
        func digest(_ parts: String...) -> String {
            HexText.text(hash(function, OctetText.bytes(parts.joined(separator: ":"))))
        }
        var secret = digest(credentials.user, challenge.realm, credentials.password)
        if challenge.algorithm.isSession { secret = digest(secret, challenge.nonce, cnonce) }
        var request = digest(method, uri)
        if challenge.quality == .authInt {
            // RFC 7616 §3.4.3.
            request = digest(method, uri, HexText.text(hash(function, content ?? [])))
        }
        var digits: [UInt8] = []
        digits.append(hex: UInt64(count), digits: 8)
        let number = String(decoding: digits, as: UTF8.self)
        let quality = challenge.quality == .authInt ? "auth-int" : "auth"
        let response =
            challenge.quality == .none
            ? digest(secret, challenge.nonce, request)
            : digest(secret, challenge.nonce, number, cnonce, quality, request)
        var parts = [
            user(credentials.user, hashed: { digest(credentials.user, challenge.realm) }),
            "realm=\(DigestSession.quoted(challenge.realm))",
            "uri=\(DigestSession.quoted(uri))",
        ]
        if challenge.namesAlgorithm { parts.append("algorithm=\(challenge.algorithm.rawValue)") }
        parts.append("nonce=\(DigestSession.quoted(challenge.nonce))")
        if challenge.quality != .none {
            parts += ["nc=\(number)", "cnonce=\(DigestSession.quoted(cnonce))", "qop=\(quality)"]
        }
        parts.append("response=\"\(response)\"")
        if let opaque = challenge.opaque { parts.append("opaque=\(DigestSession.quoted(opaque))") }
        if challenge.wantsUserHash { parts.append("userhash=true") }
        return "Digest " + parts.joined(separator: ", ")
    }

    /// The user: hashed if the server supports it; in RFC 8187 form if it can't be quoted.
    private func user(_ user: String, hashed: () -> String) -> String {
        if challenge.wantsUserHash { return "username=\"\(hashed())\"" }
        if user.utf8.allSatisfy({ $0 < 0x80 }) { return "username=\(DigestSession.quoted(user))" }
        return "username*=UTF-8''\(user.percentEncoded(except: DigestSession.isAttributeByte))"
    }

    // MARK: What comes back

    /// Processes the challenges of a 401 and decides about its request.
    ///
    /// - Parameters:
    ///   - challenges: The challenges of the 401.
    ///   - answered: The mark of the request's own answer; nil if it had none.
    /// - Returns: Whether to resend the request.
    package mutating func challenged(
        _ challenges: [AuthenticationChallenge],
        answered: Mark?
    ) -> Reaction {
        guard let next = DigestChallenge.best(challenges) else { return .deliver }
        let isNew = next.nonce != challenge.nonce
        if isNew || next.isStale { adopt(next) }
        guard let answered else { return .replay }
        if next.isStale { return .replay }
        // The server rejected its nonce at the first use: so user or password are wrong. At a later
        // use the nonce may have expired, which servers before RFC 2617 do not report.
        return next.nonce != answered.nonce && answered.count > 1 ? .replay : .deliver
    }

    /// Processes the value of `Authentication-Info`, which may contain the next nonce (RFC 7616
    /// §3.5).
    package mutating func note(authenticationInfo value: String) {
        guard let next = AuthenticationChallenge.parameters(in: value)["nextnonce"],
            !next.isEmpty, next != challenge.nonce,
            !next.unicodeScalars.contains(where: \.isControl)
        else { return }
        challenge.nonce = next
        count = 0
        firstCnonce = nil
    }

    private mutating func adopt(_ next: DigestChallenge) {
        challenge = next
        count = 0
        firstCnonce = nil
    }

    // MARK: Texts

    /// A quoted string (RFC 9110 §5.6.4).
    private static func quoted(_ text: String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
            if scalar == "\"" || scalar == "\\" { result.unicodeScalars.append("\\") }
            result.unicodeScalars.append(scalar)
        }
        return result + "\""
    }

    /// Whether the byte is an attr-char (RFC 8187 §3.2.1), which stands for itself.
    private static func isAttributeByte(_ byte: UInt8) -> Bool {
        byte.asciiLowercased &- 0x61 < 26 || byte.isASCIIDigit
            || "!#$&+-.^_`|~".utf8.contains(byte)
    }
}
