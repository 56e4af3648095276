// A cache policy of the rules file: its mode, and where it overrides the origin.

import LupinCore

/// The cache of a plan.
///
/// A reference, since every exchange with a cache holds its policy: a copy of that counts a
/// reference for each of its texts and lists.
package final class PlannedCache: Sendable {
    package let policy: CachePolicy
    /// Whether responses for all users may go to other machines.
    package let mayBeShared: Bool

    package init(_ policy: CachePolicy) {
        self.policy = policy
        mayBeShared = policy.sharingObstacle(isForAll: true) == nil
    }
}

/// How responses are stored and reused; a policy under `cache:`.
package struct CachePolicy: Sendable, Equatable {
    /// Whose responses the cache may hold (RFC 9111 §1).
    package enum Mode: String, SettingWord {
        /// For many users: holds no response that is meant for one of them.
        case shared
        /// For one user.
        case `private`
    }

    /// Directives and fields of the origin that the policy ignores.
    package struct Ignored: OptionSet, Sendable, Hashable {
        package let rawValue: UInt8

        package init(rawValue: UInt8) { self.rawValue = rawValue }

        /// `no-store` of a response.
        package static let noStore = Ignored(rawValue: 1 << 0)
        /// `private` of a response, in a shared cache.
        package static let `private` = Ignored(rawValue: 1 << 1)
        /// `Set-Cookie`, which is never stored then.
        package static let cookies = Ignored(rawValue: 1 << 2)
        /// `Vary`: one response for all requests.
        package static let vary = Ignored(rawValue: 1 << 3)

        /// The words of the rules file.
        package static let words: [(word: String, value: Ignored)] = [
            ("no-store", .noStore), ("private", .private), ("cookies", .cookies), ("vary", .vary),
        ]
    }

    /// The name in the rules file; `cache@LINE` for an inline policy.
    package var name: String
    package var mode = Mode.shared
    /// The fraction of the time since Last-Modified for which a response without a lifetime is
    /// fresh, from 0 to 1; 0 turns the heuristic off.
    package var heuristic = defaultHeuristic
    /// How long a stale response may replace an error, if the origin allows less.
    package var staleIfError = Duration.zero
    /// How long a stale response may be served while it is validated, if the origin allows less.
    package var staleWhileRevalidate = Duration.zero
    /// Identical requests wait while a response is fetched (single flight).
    package var isCollapsing = true
    /// Targeted fields that are honoured (RFC 9213); the first one wins.
    package var targeted = defaultTargeted
    /// The lifetime of every response that may have one, overriding the origin; nil for the
    /// origin's.
    package var ttl: Duration?
    package var ignored: Ignored = []
    /// The maximum number of stored variants of a URL; beyond it the oldest is dropped.
    package var variantsMax = defaultVariantsMax
    /// One response serves all URLs that its No-Vary-Search declares equivalent.
    package var obeysNoVarySearch = false
    /// The cache's name in Cache-Status; nil sends no such field.
    package var statusName: String? = defaultStatusName
    /// Changes to the fields of a response before it is stored: field steps whose texts are known
    /// when the file is read.
    package var modify: [RequestStep] = []

    /// A policy with the values of `standard`.
    package init(name: String) { self.name = name }

    /// RFC 9111 §4.2.2 calls a tenth typical.
    package static let defaultHeuristic = 0.1
    /// The heuristic is limited to a day.
    package static let heuristicMax = Duration.seconds(86400)
    package static let defaultTargeted = ["lupin-cache-control"]
    package static let defaultVariantsMax = 16
    package static let defaultStatusName = "lupin"

    /// The policy of `cache: standard`.
    package static let standard = CachePolicy(name: "standard")

    /// The overrides of the origin as the rules file writes them, such as `ttl 1h`; empty for
    /// policies that follow RFC 9111.
    package var overrides: [String] {
        let lifetime = ttl.map {
            "ttl \($0 == .zero ? "0s" : UnitText.duration($0.milliseconds))"
        }
        let words = Ignored.words.filter { ignored.contains($0.value) }.map(\.word)
        return (lifetime.map { [$0] } ?? []) + words.map { "ignore \($0)" }
    }

    /// Whether it is a shared cache.
    package var isShared: Bool { mode == .shared }
}

extension CachePolicy {
    /// Why none of its responses goes to other machines, as the end of a sentence; nil if some may.
    ///
    /// `isForAll` says that nothing separates the responses of clients.
    package func sharingObstacle(isForAll: Bool) -> String? {
        if !isShared { return "its mode is private" }
        if !isForAll { return "credentials or content separate the responses" }
        // What the origin says of one user may not be in the stored head any more.
        guard ignored.isDisjoint(with: [.noStore, .private, .cookies, .vary]) else {
            return "it ignores what the origin says of one user"
        }
        return nil
    }
}
