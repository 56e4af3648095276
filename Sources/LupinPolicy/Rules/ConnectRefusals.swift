// Finds the rules that refuse a CONNECT, so that no rule sees the requests inside.

import LupinCore

/// Looks up what refuses the CONNECTs of rules, for a whole file at little more than one look at
/// each rule.
package struct ConnectRefusals {
    /// How many rules are compared at most; beyond that nothing is certain.
    ///
    /// Regular expressions for hosts may all meet, so they are compared one by one.
    private static let comparisonsMax = 1_000_000

    private let rules: [Rule]
    /// Rules that answer a CONNECT, and those that end matching before them.
    private let answering: MeetingIndex
    private let stopping: MeetingIndex
    /// The rules that were compared so far.
    package private(set) var comparisons = 0

    package init(_ rules: RuleSet) {
        self.rules = rules.rules
        answering = MeetingIndex(rules.rules) { $0.respond != nil && $0.answersConnect }
        stopping = MeetingIndex(rules.rules) { $0.stop && !$0.testsClearText }
    }

    /// The rule that refuses every CONNECT by which a request could reach the `respond` of `rule`,
    /// so that it never answers https; nil where that isn't certain.
    package mutating func refusing(before rule: Int) -> Int? {
        var found: Int?
        for match in rules[rule].matches where match.mayHoldInsideTLS {
            guard let refusing = refusal(of: match.atConnect) else { return nil }
            found = found ?? refusing
        }
        return found
    }

    /// The rule that provably refuses whatever a match of CONNECTs does.
    private mutating func refusal(of connect: Match) -> Int? {
        let hosts = connect.hosts.map { $0.map(Optional.some) } ?? [nil]
        var last: Int?
        for host in hosts {
            for row in answering.rows(meeting: host) {
                for rule in row.reversed() {
                    if let last, rule <= last { break }
                    guard meets(rule, host) else { continue }
                    last = rule
                    break
                }
            }
        }
        guard let last, rules[last].respond?.isRefusal == true,
            rules[last].provablyContains(connect)
        else { return nil }
        for host in hosts {
            for row in stopping.rows(meeting: host) {
                for rule in row {
                    if rule >= last { break }
                    if meets(rule, host) { return nil }
                }
            }
        }
        return comparisons <= Self.comparisonsMax ? last : nil
    }

    /// Whether a rule may match a CONNECT to what a pattern matches, nil for any host; only hosts
    /// are compared.
    private mutating func meets(_ rule: Int, _ host: HostPattern?) -> Bool {
        comparisons += 1
        // What is not compared may meet, which ends every search.
        if comparisons > Self.comparisonsMax { return true }
        return rules[rule].matches.contains { own in
            guard own.methods?.contains(.connect) ?? true else { return false }
            guard let host, let hosts = own.hosts else { return true }
            return hosts.contains { $0.mayMeet(host) }
        }
    }
}

extension Match {
    /// The CONNECTs by which the requests come that it matches: what those have of its keys.
    fileprivate var atConnect: Match {
        var match = Match()
        match.schemes = [.https]
        match.methods = [.connect]
        match.hosts = hosts
        match.ports = ports
        match.clients = clients
        match.programs = programs
        match.users = users
        match.not = not.filter { !$0.testsClearText }
        return match
    }
}

/// Finds the rules of which a pattern may match a host that another pattern matches, too: then the
/// fixed suffix of one is a suffix of the other's, by whole labels.
private struct MeetingIndex {
    /// Rules by the fixed suffixes of their patterns.
    private var bySuffix: [UInt64: [Int]] = [:]
    /// The same by every suffix of those.
    private var byEverySuffix: [UInt64: [Int]] = [:]
    /// Those whose hosts have none.
    private var anyHost: [Int] = []
    private var all: [Int] = []

    init(_ rules: [Rule], where isMember: (Rule) -> Bool) {
        for index in rules.indices where isMember(rules[index]) {
            all.append(index)
            for match in rules[index].matches {
                for host in match.hosts.map({ $0.map(Optional.some) }) ?? [nil] {
                    guard let hashes = Self.suffixHashes(of: host), let own = hashes.last else {
                        if anyHost.last != index { anyHost.append(index) }
                        continue
                    }
                    Self.add(index, to: &bySuffix[own, default: []])
                    for hash in hashes { Self.add(index, to: &byEverySuffix[hash, default: []]) }
                }
            }
        }
    }

    /// Lists of rules, each ascending; a rule may be in several.
    func rows(meeting host: HostPattern?) -> [[Int]] {
        guard let hashes = Self.suffixHashes(of: host), let own = hashes.last else { return [all] }
        let rows = hashes.dropLast().map { bySuffix[$0] } + [byEverySuffix[own]]
        return rows.compactMap(\.self) + [anyHost]
    }

    /// A rule with several patterns is listed once.
    private static func add(_ index: Int, to row: inout [Int]) {
        if row.last != index { row.append(index) }
    }

    /// Of each suffix of whole labels, the shortest first; nil for a pattern without one.
    private static func suffixHashes(of host: HostPattern?) -> [UInt64]? {
        guard case .suffix(let suffix)? = host?.key else { return nil }
        var hash = SuffixHash()
        var hashes: [UInt64] = []
        for i in suffix.indices.reversed() {
            hash.prepend(suffix[i])
            if i == 0 || suffix[i - 1] == 0x2E { hashes.append(hash.value) }
        }
        return hashes
    }
}
