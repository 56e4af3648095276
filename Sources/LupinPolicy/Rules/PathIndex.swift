// Finds candidate rules by path or method, when many rules share a host or name none.

import LupinCore

/// Rules by the whole literal segments at the beginning of their paths, or else by method.
///
/// A candidate may match, and must be fully evaluated. Paths are hashed in their normal form, which
/// rules match.
final class PathIndex: Sendable {
    /// Fewer rules are evaluated one by one.
    static let countMin = 16

    /// Rules that must be evaluated for any path and method; ascending.
    let others: [Int]
    private let byPath: [UInt64: [Int]]
    private let segmentsMax: Int
    private let byMethod: [Method: [Int]]

    /// Indexes the rules of `rules` at `indices`, which ascend; nil for too few rules.
    init?(_ rules: [Rule], at indices: [Int]) {
        guard indices.count >= Self.countMin else { return nil }
        var others: [Int] = []
        var byPath: [UInt64: [Int]] = [:]
        var byMethod: [Method: [Int]] = [:]
        var segmentsMax = 0
        for index in indices {
            let keys = rules[index].matches.map(\.pathKey)
            if keys.contains(.none) || rules[index].matches.isEmpty {
                others.append(index)
                continue
            }
            for key in keys {
                switch key {
                case .prefixes(let prefixes):
                    for prefix in prefixes {
                        segmentsMax = max(segmentsMax, prefix.count)
                        let hash = PrefixHash(of: prefix).value
                        // A rule with several patterns is listed once.
                        if byPath[hash]?.last != index { byPath[hash, default: []].append(index) }
                    }
                case .methods(let methods):
                    for method in methods where byMethod[method]?.last != index {
                        byMethod[method, default: []].append(index)
                    }
                case .none: break
                }
            }
        }
        self.others = others
        self.byPath = byPath
        self.byMethod = byMethod
        self.segmentsMax = segmentsMax
    }

    /// Adds the rules, in any order, that may match `subject`, except ``others``.
    func addCandidates(
        for subject: MatchSubject,
        _ facts: inout SubjectFacts,
        to found: inout [Int]
    ) {
        if !byMethod.isEmpty, let indices = byMethod[subject.method] { found += indices }
        // A CONNECT has no path, nor has a request about the server itself.
        guard !byPath.isEmpty, !subject.isConnect, subject.hasPath else { return }
        facts.withNormalPath(of: subject) { path in
            var hash = PrefixHash()
            var segments = 0
            var i = 1
            while i <= path.count, segments < segmentsMax {
                while i < path.count, path[i] != 0x2F {
                    hash.append(path[i])
                    i &+= 1
                }
                hash.append(0x2F)
                segments += 1
                i &+= 1
                if let indices = byPath[hash.value] { found += indices }
            }
        }
    }
}

/// The key of a match in an index.
private enum PathKey: Equatable {
    /// The path begins with one of these lists of segments.
    case prefixes([[[UInt8]]])
    case methods([Method])
    case none
}

extension Match {
    fileprivate var pathKey: PathKey {
        if let paths {
            let prefixes = paths.map(\.fixedSegments)
            if !prefixes.isEmpty, !prefixes.contains(where: \.isEmpty) {
                return .prefixes(prefixes)
            }
        }
        return methods.map(PathKey.methods) ?? .none
    }
}

/// A hash of segments, each followed by a slash.
private struct PrefixHash {
    private(set) var value: UInt64 = 0xCBF2_9CE4_8422_2325

    init() {}

    init(of segments: [[UInt8]]) {
        for segment in segments {
            for byte in segment { append(byte) }
            append(0x2F)
        }
    }

    mutating func append(_ byte: UInt8) {
        value = (value ^ UInt64(byte)) &* 0x0000_0100_0000_01B3
    }
}
