// Hosts that inspectors want captured while lupin runs.
import LupinPolicy

extension Configuration {
    /// The same configuration with a rule for each host, behind those of the file.
    func capturing(_ hosts: [String]) -> Configuration {
        var copy = self
        let added = hosts.compactMap { host -> Rule? in
            guard let pattern = try? HostPattern(host) else { return nil }
            var match = Match()
            match.hosts = [pattern]
            var rule = Rule(name: "capture \(host)", line: 0, matches: [match])
            rule.capture = .on(bodyBytes: nil)
            return rule
        }
        if !added.isEmpty { copy.rules = RuleSet(rules.rules + added) }
        return copy
    }
}
