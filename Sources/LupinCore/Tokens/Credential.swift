// A credential that was had, how long it is good for, and when it should be renewed.

/// What a source gave, and when.
///
/// All times are microseconds of one clock that never goes back. Best is one that goes on while
/// the machine sleeps; where it does not, a 401 tells that a credential has ended.
package struct Credential: Sendable, Equatable, Concealed {
    package enum Content: Sendable, Equatable, Concealed {
        case token(String)
        case password(UserPassword)
    }

    package let content: Content
    package let obtainedAt: UInt64
    /// From here on it is never handed out; nil where nobody knows an end.
    package let expiresAt: UInt64?

    /// A credential with an end where `life` is known.
    ///
    /// A life of 0 is no life: servers write it for tokens without an end, and a token that is over
    /// when it arrives would be asked for again and again.
    package init(_ content: Content, obtainedAt: UInt64, life: Duration? = nil) {
        self.content = content
        self.obtainedAt = obtainedAt
        expiresAt = life.flatMap { life in
            let length = life.boundedMicroseconds
            return length == 0 ? nil : obtainedAt &+ min(length, UInt64.max - obtainedAt)
        }
    }

    /// What `${token}` stands for in the value of its field.
    package var text: String {
        switch content {
        case .token(let token): token
        case .password(let pair): pair.base64
        }
    }

    /// Whether it may still be handed out.
    package func isValid(at now: UInt64) -> Bool { expiresAt.map { now < $0 } ?? true }

    /// Whether it is time to get the next one; `before` nil is 10 % of its life, at most 5 minutes.
    package func isDue(at now: UInt64, before: Duration?) -> Bool {
        guard let expiresAt else { return false }
        // Not below: a life was added to `obtainedAt`.
        let life = expiresAt - obtainedAt
        let wanted = before?.boundedMicroseconds ?? min(Credential.aheadMax, life / 10)
        // A lead as long as the life would renew what has just come.
        let lead = min(wanted, life / 2)
        return now >= expiresAt - lead
    }

    private static let aheadMax: UInt64 = 5 * 60 * 1_000_000
}

extension Duration {
    /// Whole microseconds, at least 0 and at most 100 years, so that sums of them fit.
    package var boundedMicroseconds: UInt64 {
        let (seconds, attoseconds) = components
        let secondsMax: Int64 = 100 * 366 * 86400
        guard seconds >= 0, attoseconds >= 0 else { return 0 }
        let whole = UInt64(min(seconds, secondsMax))
        return whole * 1_000_000 + UInt64(attoseconds / 1_000_000_000_000)
    }
}
