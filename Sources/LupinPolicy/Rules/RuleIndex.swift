// Finds candidate rules by host, so that ten thousand rules cost no more than ten.

import LupinCore

/// Rules by the fixed host suffix of their patterns.
///
/// A candidate may match, and must be fully evaluated, so a hash collision only costs time. The
/// table is made from the file alone, so peers cannot fill it.
struct RuleIndex: Sendable {
    private var bySuffix: [UInt64: [Int]] = [:]
    private var longestSuffix = 0
    /// Lists of hosts, with the rules that use them.
    private var lists: [(list: HostList, rule: Int)] = []
    /// Rules that may match any host.
    private(set) var anyHost: [Int] = []

    /// Indexes the rules of `rules` at `indices`, which ascend.
    init(_ rules: [Rule], at indices: some Sequence<Int>) {
        for index in indices {
            let keys = rules[index].matches.flatMap { match in
                match.hosts.map { $0.map(\.key) } ?? [.none]
            }
            if keys.contains(.none) {
                anyHost.append(index)
                continue
            }
            for key in keys {
                switch key {
                case .suffix(let suffix):
                    longestSuffix = max(longestSuffix, suffix.count)
                    let hash = SuffixHash(of: suffix.span).value
                    // A rule with several patterns is listed once.
                    if bySuffix[hash]?.last != index { bySuffix[hash, default: []].append(index) }
                case .list(let list): lists.append((list, index))
                case .none: break
                }
            }
        }
    }

    /// Returns the rules that may match `host`, ascending and each once.
    func candidates(for host: Host) -> [Int] { withAnyHost(naming(host)) }

    /// Those of them that name hosts.
    func naming(_ host: Host) -> [Int] {
        let found = named(host.text.utf8Span.span)
        if lists.isEmpty { return found }
        let listed = lists.filter { $0.list.contains(host) }.map(\.rule)
        return listed.isEmpty ? found : Self.merged(found + listed)
    }

    /// Returns the rules that may match hosts ending in `suffix`, ascending and each once.
    func candidates(endingIn suffix: Span<UInt8>) -> [Int] {
        withAnyHost(named(suffix) + lists.map(\.rule))
    }

    private func withAnyHost(_ named: [Int]) -> [Int] {
        named.isEmpty ? anyHost : Self.merged(named + anyHost)
    }

    /// Returns the rules that may match `host` by a pattern in the rule itself, rather than in a
    /// list, ascending and each once.
    private func named(_ host: Span<UInt8>) -> [Int] {
        guard !bySuffix.isEmpty else { return [] }
        var found: [Int] = []
        var matches = 0
        var hash = SuffixHash()
        var i = host.count - 1
        let end = host.count - min(host.count, longestSuffix)
        while i >= end {
            hash.prepend(host[i])
            if i == 0 || host[i - 1] == 0x2E, let indices = bySuffix[hash.value] {
                if matches == 0 { found = indices } else { found += indices }
                matches += 1
            }
            i -= 1
        }
        return matches > 1 ? Self.merged(found) : found
    }

    static func merged(_ indices: [Int]) -> [Int] {
        var unique: [Int] = []
        unique.reserveCapacity(indices.count)
        for index in indices.sorted() where unique.last != index { unique.append(index) }
        return unique
    }
}
