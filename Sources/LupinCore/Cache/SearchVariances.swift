// What No-Vary-Search said of the URLs of a path lately: under which keys a look-up tries.

/// The variances that responses of a path were stored with, for paths in use.
///
/// Both limits only cost hits: the draft lets a cache miss what was stored before a response with
/// another No-Vary-Search. A path is one of `CacheKey.path`.
package struct SearchVariances: Sendable {
    /// Variances of one path; beyond, the one that was met longest ago is forgotten.
    package static let perPathMax = 4
    /// Paths that are remembered at least; beyond, those that were asked for longest ago go.
    package static let pathsMax = 4096

    private struct Known {
        /// The latest first.
        var variances: [NoVarySearch] = []
        var isWhole = false
    }

    /// What is used moves from `former` to `current`; when that is full it becomes `former`.
    private var current: [String: Known] = [:]
    private var former: [String: Known] = [:]

    package init() {}

    /// Those of a path, the latest first.
    package mutating func variances(of path: String) -> [NoVarySearch] {
        known(path)?.variances ?? []
    }

    /// Whether all that a disk has of a path were learnt.
    package mutating func isWhole(_ path: String) -> Bool { known(path)?.isWhole ?? false }

    /// A response with this variance is stored.
    package mutating func note(_ variance: NoVarySearch, of path: String) {
        var known = known(path) ?? Known()
        known.variances.removeAll { $0 == variance }
        known.variances.insert(variance, at: 0)
        keep(known, of: path)
    }

    /// What a disk has of a path, the latest first; it is older than what was noted.
    package mutating func learn(_ found: [NoVarySearch], of path: String) {
        var known = known(path) ?? Known()
        for variance in found where !known.variances.contains(variance) {
            known.variances.append(variance)
            if known.variances.count >= Self.perPathMax { break }
        }
        known.isWhole = true
        keep(known, of: path)
    }

    /// Another disk has other responses.
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
