// Parses Digest challenges, and selects the one to answer.

package import LupinCore

/// An algorithm of RFC 7616 §6.1 that lupin supports.
package enum DigestAlgorithm: String, Sendable, Equatable, CaseIterable {
    case md5 = "MD5"
    case md5Session = "MD5-sess"
    case sha256 = "SHA-256"
    case sha256Session = "SHA-256-sess"
    case sha512 = "SHA-512-256"
    case sha512Session = "SHA-512-256-sess"

    /// The underlying hash function; `sha512` is SHA-512/256.
    package enum Hash: UInt8, Sendable, Equatable { case md5, sha256, sha512 }

    package var hash: Hash {
        switch self {
        case .md5, .md5Session: .md5
        case .sha256, .sha256Session: .sha256
        case .sha512, .sha512Session: .sha512
        }
    }

    /// Whether the password's hash is bound to the first nonce and cnonce.
    package var isSession: Bool { rawValue.hasSuffix("-sess") }

    /// The algorithm named `text`, ignoring case.
    package init?(name text: String) {
        let name = text.lowercased()
        guard
            let found = DigestAlgorithm.allCases.first(where: { $0.rawValue.lowercased() == name })
        else { return nil }
        self = found
    }
}

/// A Digest challenge that can be answered (RFC 7616 §3.3).
package struct DigestChallenge: Sendable, Equatable {
    package var realm: String
    package var nonce: String
    package var opaque: String?
    package var algorithm: DigestAlgorithm
    /// Whether the challenge names it: servers before RFC 2617 don't know the parameter and get
    /// none.
    package var namesAlgorithm: Bool
    /// What the answer protects.
    package enum Quality: Int, Sendable, Equatable {
        /// `qop=auth-int`: the content, too, which has to be known before the head is sent.
        case authInt
        /// The form of RFC 2069, without nonce count and cnonce.
        case none
        case auth
    }

    package var quality: Quality
    /// Whether only the nonce had expired: user and password were right.
    package var isStale: Bool
    /// Whether the user is sent hashed.
    package var wantsUserHash: Bool

    /// Parses a challenge; nil if it can't be answered.
    ///
    /// That is: no realm or nonce, or an unknown algorithm or quality. `auth-int` alone can be
    /// answered where the content is known. `domain` is ignored: the rules decide which requests
    /// get a credential. `charset` is ignored too: users and passwords are hashed as UTF-8, its
    /// only permitted value.
    package init?(_ challenge: AuthenticationChallenge) {
        guard challenge.isScheme("Digest"), let realm = challenge["realm"],
            let nonce = challenge["nonce"], !nonce.isEmpty
        else { return nil }
        let name = challenge["algorithm"]
        guard let algorithm = DigestAlgorithm(name: name ?? "MD5") else { return nil }
        // Some servers write an empty list for none.
        let qualities = challenge["qop"]?.lowercased().split { ", \t".contains($0) } ?? []
        guard let quality = Quality(offered: qualities), quality != .none || !algorithm.isSession
        else { return nil }
        // These are copied into a field of ours.
        for text in [realm, nonce, challenge["opaque"] ?? ""] {
            guard !text.unicodeScalars.contains(where: \.isControl) else { return nil }
        }
        self.realm = realm
        self.nonce = nonce
        opaque = challenge["opaque"]
        self.algorithm = algorithm
        namesAlgorithm = name != nil
        self.quality = quality
        isStale = challenge["stale"]?.lowercased() == "true"
        wantsUserHash = challenge["userhash"]?.lowercased() == "true"
    }

    /// Selects the challenge to answer: the strongest, and among equals the first (RFC 7616 §3.7).
    package static func best(_ challenges: [AuthenticationChallenge]) -> DigestChallenge? {
        var best: DigestChallenge?
        for case let challenge? in challenges.map(DigestChallenge.init) {
            if best.map({ challenge.strength > $0.strength }) ?? true { best = challenge }
        }
        return best
    }

    private var strength: Int {
        (algorithm.hash == .md5 ? 0 : 3) + quality.rawValue
    }
}

extension DigestChallenge.Quality {
    /// The one to use of those that are offered; nil if all are unknown.
    fileprivate init?(offered: [Substring]) {
        if offered.isEmpty {
            self = .none
        } else if offered.contains("auth") {
            self = .auth
        } else if offered.contains("auth-int") {
            self = .authInt
        } else {
            return nil
        }
    }
}
