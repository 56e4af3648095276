// How user and password answer a Digest challenge without being sent (RFC 7616).

/// What is known of a server's last nonce, so that the next request is signed at once.
///
/// Several exchanges may share one, under their owner's lock: each gets a nonce count of its own.
package struct DigestSession: Sendable, Equatable {
    /// Which answer an exchange gave, for what it may hear of it.
    package struct Mark: Sendable, Equatable {
        package let nonce: String
        package let count: UInt32
    }

    /// What a 401 comes to.
    package enum Reaction: Sendable, Equatable {
        /// The request is sent again with the next `field`; once in an exchange.
        case replay
        /// User or password are wrong, or no challenge can be answered: the client gets its 401.
        case deliver
    }

    private var challenge: DigestChallenge
    /// How often the nonce was used.
    private var count: UInt32 = 0
    /// What a session algorithm is bound to; used again as long as the nonce is.
    private var firstCnonce: String?

    /// A session that begins with the best of a server's challenges; nil where none can be
    /// answered.
    package init?(_ challenges: [AuthenticationChallenge]) {
        guard let best = DigestChallenge.best(challenges) else { return nil }
        challenge = best
    }

    /// The answer that `field` gave last; kept by the exchange that sends it.
    package var mark: Mark { Mark(nonce: challenge.nonce, count: count) }

    // MARK: Answers

    /// The value of `Authorization` for one request.
    ///
    /// - Parameters:
    ///   - method: As it is sent.
    ///   - uri: The request target as it is sent.
    ///   - credentials: User and password.
    ///   - cnonce: Fresh random text of base64 or hex letters.
    ///   - hash: The digest of some bytes.
    /// - Returns: `Digest` with its parameters.
    package mutating func field(
        method: String,
        uri: String,
        credentials: UserPassword,
        cnonce: String,
        hash: (DigestAlgorithm.Hash, [UInt8]) -> [UInt8]
    ) -> String {
        // A server that counts sees a used nonce go round after 4 billion requests as a replay and
        // answers with the next nonce.
        count &+= 1
        // Some servers bind a session to the first cnonce, some to the current one.
        let cnonce = challenge.algorithm.isSession ? firstCnonce ?? cnonce : cnonce
        firstCnonce = firstCnonce ?? cnonce
        let function = challenge.algorithm.hash
        func digest(_ parts: String...) -> String {
            HexText.text(hash(function, Array(parts.joined(separator: ":").utf8)))
        }
        var secret = digest(credentials.user, challenge.realm, credentials.password)
        if challenge.algorithm.isSession { secret = digest(secret, challenge.nonce, cnonce) }
        let request = digest(method, uri)
        var digits: [UInt8] = []
        digits.append(hex: UInt64(count), digits: 8)
        let number = String(decoding: digits, as: UTF8.self)
        let response =
            challenge.hasQualityOfProtection
            ? digest(secret, challenge.nonce, number, cnonce, "auth", request)
            : digest(secret, challenge.nonce, request)
        var parts = [
            user(credentials.user, hashed: { digest(credentials.user, challenge.realm) }),
            "realm=\(DigestSession.quoted(challenge.realm))",
            "uri=\(DigestSession.quoted(uri))",
        ]
        if challenge.namesAlgorithm { parts.append("algorithm=\(challenge.algorithm.rawValue)") }
        parts.append("nonce=\(DigestSession.quoted(challenge.nonce))")
        if challenge.hasQualityOfProtection {
            parts += ["nc=\(number)", "cnonce=\(DigestSession.quoted(cnonce))", "qop=auth"]
        }
        parts.append("response=\"\(response)\"")
        if let opaque = challenge.opaque { parts.append("opaque=\(DigestSession.quoted(opaque))") }
        if challenge.wantsUserHash { parts.append("userhash=true") }
        return "Digest " + parts.joined(separator: ", ")
    }

    /// The user: hashed where the server can, as RFC 8187 where quotes cannot hold it.
    private func user(_ user: String, hashed: () -> String) -> String {
        if challenge.wantsUserHash { return "username=\"\(hashed())\"" }
        if user.utf8.allSatisfy({ $0 < 0x80 }) { return "username=\(DigestSession.quoted(user))" }
        return "username*=UTF-8''\(user.percentEncoded(except: DigestSession.isAttributeByte))"
    }

    // MARK: What comes back

    /// Takes the challenges of a 401 and says what becomes of its request.
    ///
    /// - Parameters:
    ///   - challenges: Of the 401.
    ///   - answered: The mark of the request's own answer; nil when it had none.
    /// - Returns: Whether the request is sent again.
    package mutating func challenged(
        _ challenges: [AuthenticationChallenge],
        answered: Mark?
    ) -> Reaction {
        guard let next = DigestChallenge.best(challenges) else { return .deliver }
        let isNew = next.nonce != challenge.nonce
        if isNew || next.isStale { adopt(next) }
        guard let answered else { return .replay }
        if next.isStale { return .replay }
        // Said of a nonce of its own at its first use: so user and password are wrong. At a later
        // use the nonce may have been too old, which servers before RFC 2617 do not say.
        return next.nonce != answered.nonce && answered.count > 1 ? .replay : .deliver
    }

    /// Takes the value of `Authentication-Info`, which may name the next nonce (RFC 7616 §3.5).
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
