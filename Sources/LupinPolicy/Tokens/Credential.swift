// A credential, its expiry, and when to renew it.

import LupinCore

/// The credential from a source, and the time when it was obtained.
///
/// All times are microseconds of one monotonic clock. It should continue while the machine sleeps;
/// if it does not, a 401 reveals an expired credential.
package struct Credential: Sendable, Equatable, Concealed {
    package enum Content: Sendable, Equatable, Concealed {
        case token(String)
        case password(UserPassword)
    }

    package let content: Content
    package let obtainedAt: UInt64
    /// From this time on it is not used; nil if its expiry is unknown.
    package let expiresAt: UInt64?

    /// Makes a credential, with an expiry if `life` is known.
    ///
    /// A life of 0 counts as unknown: servers send it for tokens that don't expire, and a token
    /// that has expired on arrival would be requested again and again.
    package init(_ content: Content, obtainedAt: UInt64, life: Duration? = nil) {
        self.content = content
        self.obtainedAt = obtainedAt
        expiresAt = life.flatMap { life in
            let length = life.boundedMicroseconds
            return length == 0 ? nil : obtainedAt &+ min(length, UInt64.max - obtainedAt)
        }
    }

    /// The replacement of `${token}` in the field's value.
    package var text: String {
        switch content {
        case .token(let token): token
        case .password(let pair): pair.base64
        }
    }

    /// What takes the place of a stand-in: the token, or the password.
    package var secret: String {
        switch content {
        case .token(let token): token
        case .password(let pair): pair.password
        }
    }

    /// All texts that reveal it.
    package var secrets: [String] {
        switch content {
        case .token(let token): [token]
        case .password(let pair): [pair.password, pair.base64]
        }
    }

    /// Whether it may still be used.
    package func isValid(at now: UInt64) -> Bool { expiresAt.map { now < $0 } ?? true }

    /// Whether to refresh it; a nil `before` means 10 % of its life, at most 5 minutes.
    package func isDue(at now: UInt64, before: Duration?) -> Bool {
        guard let expiresAt else { return false }
        // Not negative: a life was added to `obtainedAt`.
        let life = expiresAt - obtainedAt
        let wanted = before?.boundedMicroseconds ?? min(Credential.aheadMax, life / 10)
        // A lead time as long as the life would renew a new credential at once.
        let lead = min(wanted, life / 2)
        return now >= expiresAt - lead
    }

    private static let aheadMax: UInt64 = 5 * 60 * 1_000_000
}
