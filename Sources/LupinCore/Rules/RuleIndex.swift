// Which rules are worth asking about a host, so that ten thousand rules cost what ten do.

/// Rules by the host suffix that their patterns end in.
///
/// A candidate is only a rule that may match: whoever takes one asks it in full, so two suffixes
/// with one hash are slow, never wrong. The table is made from the file alone; strangers cannot
/// fill it.
struct RuleIndex: Sendable {
    private var bySuffix: [UInt64: [Int]] = [:]
    private var longestSuffix = 0
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
            for case .suffix(let suffix) in keys {
                longestSuffix = max(longestSuffix, suffix.count)
                var hash = SuffixHash()
                for byte in suffix.reversed() { hash.prepend(byte) }
                // A rule with several patterns is visited once.
                if bySuffix[hash.value]?.last != index {
                    bySuffix[hash.value, default: []].append(index)
                }
            }
        }
    }

    /// The rules that may match `host`, ascending and each once.
    func candidates(for host: Span<UInt8>) -> [Int] {
        guard !bySuffix.isEmpty else { return anyHost }
        var found: [Int] = []
        var lists = 0
        var hash = SuffixHash()
        var i = host.count - 1
        let end = host.count - min(host.count, longestSuffix)
        while i >= end {
            hash.prepend(host[i])
            if i == 0 || host[i - 1] == 0x2E, let indices = bySuffix[hash.value] {
                if lists == 0 { found = indices } else { found += indices }
                lists += 1
            }
            i -= 1
        }
        if lists == 0 { return anyHost }
        if lists == 1, anyHost.isEmpty { return found }
        return Self.merged(found + anyHost)
    }

    private static func merged(_ indices: [Int]) -> [Int] {
        var unique: [Int] = []
        unique.reserveCapacity(indices.count)
        for index in indices.sorted() where unique.last != index { unique.append(index) }
        return unique
    }
}

/// FNV-1a over the bytes of a suffix from its last to its first.
private struct SuffixHash {
    var value: UInt64 = 0xCBF2_9CE4_8422_2325

    mutating func prepend(_ byte: UInt8) {
        value = (value ^ UInt64(byte)) &* 0x0000_0100_0000_01B3
    }
}
