// The No-Vary-Search values seen lately for a path's URLs: they give the keys for a look-up.

/// The variances that responses of a path were stored with, for recently used paths.
///
/// Both limits only cost hits: the draft lets a cache miss a response stored before one with
/// another No-Vary-Search. Paths are in the form of `CacheKey.path`.
package struct SearchVariances: Sendable {
    /// The maximum number of variances of a path; beyond it the one noted longest ago is dropped.
    package static let perPathMax = 4
    /// The minimum number of remembered paths; beyond it those used longest ago are dropped.
    package static let pathsMax = 4096

    private struct Known {
        /// The latest first.
        var variances: [NoVarySearch] = []
        var isWhole = false
    }

    /// Used paths move from `former` to `current`; when that is full it replaces `former`.
    private var current: [String: Known] = [:]
    private var former: [String: Known] = [:]

    package init() {}

    /// The variances of a path, the latest first.
    package mutating func variances(of path: String) -> [NoVarySearch] {
        known(path)?.variances ?? []
    }

    /// Whether all variances that a disk has for a path were learnt.
    package mutating func isWhole(_ path: String) -> Bool { known(path)?.isWhole ?? false }

    /// Notes that a response with this variance is stored.
    package mutating func note(_ variance: NoVarySearch, of path: String) {
        var known = known(path) ?? Known()
        known.variances.removeAll { $0 == variance }
        known.variances.insert(variance, at: 0)
        keep(known, of: path)
    }

    /// Adds the variances that a disk has for a path, the latest first, behind the noted ones.
    package mutating func learn(_ found: [NoVarySearch], of path: String) {
        var known = known(path) ?? Known()
        for variance in found where !known.variances.contains(variance) {
            known.variances.append(variance)
            if known.variances.count >= Self.perPathMax { break }
        }
        known.isWhole = true
        keep(known, of: path)
    }

    /// Forgets what was learnt from disk, since another disk has other responses.
    package mutating func doubt() {
        for path in current.keys { current[path]?.isWhole = false }
        for path in former.keys { former[path]?.isWhole = false }
    }

    private mutating func known(_ path: String) -> Known? {
        if let known = current[path] { return known }
        guard let known = former[path] else { return nil }
        keep(known, of: path)
        return known
    }

    private mutating func keep(_ known: Known, of path: String) {
        if current.count >= Self.pathsMax, current[path] == nil {
            former = current
            current = [:]
        }
        var known = known
        known.variances = Array(known.variances.prefix(Self.perPathMax))
        current[path] = known
    }
}
