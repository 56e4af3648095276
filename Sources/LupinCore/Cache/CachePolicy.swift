// What a cache policy of the rules file says: whose cache it is, and where it overrides the origin.

/// How responses are stored and reused; a policy under `cache:`.
package struct CachePolicy: Sendable, Equatable {
    /// Whose responses may be in it (RFC 9111 §1).
    package enum Mode: String, Sendable, CaseIterable {
        /// Many users': nothing that is meant for one of them.
        case shared
        /// One user's.
        case `private`
    }

    /// What the origin says and the policy does not hear.
    package struct Ignored: OptionSet, Sendable, Hashable {
        package let rawValue: UInt8

        package init(rawValue: UInt8) { self.rawValue = rawValue }

        /// `no-store` of a response.
        package static let noStore = Ignored(rawValue: 1 << 0)
        /// `private` of a response, in a shared cache.
        package static let `private` = Ignored(rawValue: 1 << 1)
        /// `Set-Cookie`, which is stored by nobody then.
        package static let cookies = Ignored(rawValue: 1 << 2)
        /// `Vary`: one response for all requests.
        package static let vary = Ignored(rawValue: 1 << 3)

        /// The words of the rules file.
        package static let words: [(word: String, value: Ignored)] = [
            ("no-store", .noStore), ("private", .private), ("cookies", .cookies), ("vary", .vary),
        ]
    }

    /// The name in the rules file; `cache@LINE` for one in place.
    package var name: String
    package var mode = Mode.shared
    /// The part of the time since Last-Modified that a response without a lifetime stays fresh,
    /// from 0 to 1; 0 for never.
    package var heuristic = defaultHeuristic
    /// How long a stale response may stand in for an error, where the origin allows less.
    package var staleIfError = Duration.zero
    /// How long a stale response may be served while it is validated, where the origin allows less.
    package var staleWhileRevalidate = Duration.zero
    /// Identical requests that come while a response is fetched wait for it.
    package var isCollapsing = true
    /// Targeted fields that are honoured (RFC 9213), first wins.
    package var targeted = defaultTargeted
    /// The lifetime of every response that may have one, whatever the origin says; nil for the
    /// origin's.
    package var ttl: Duration?
    package var ignored: Ignored = []
    /// Variants of one URL that are kept; beyond, the one that was used longest ago goes.
    package var variantsMax = defaultVariantsMax
    /// A response is for all URLs that its No-Vary-Search calls equivalent.
    package var obeysNoVarySearch = false
    /// Whose name Cache-Status has; nil for no such field.
    package var statusName: String? = defaultStatusName
    /// What changes in the fields of a response before it is stored; steps about fields, with texts
    /// that are known when the file is read.
    package var modify: [RequestStep] = []

    /// A policy with the values of `standard`.
    package init(name: String) { self.name = name }

    /// RFC 9111 §4.2.2 calls a tenth typical.
    package static let defaultHeuristic = 0.1
    /// No heuristic goes beyond a day.
    package static let heuristicMax = Duration.seconds(86400)
    package static let defaultTargeted = ["lupin-cache-control"]
    package static let defaultVariantsMax = 16
    package static let defaultStatusName = "lupin"

    /// What `cache: standard` is.
    package static let standard = CachePolicy(name: "standard")

    /// What of an origin's word it overrides, as the rules file says it, such as `ttl 1h`; empty
    /// for policies that keep to RFC 9111.
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
