// `cache:` in the effective file: the store, and the policies with all omitted keys.

import LupinCore
import LupinPolicy

extension WrittenFile {
    typealias Line = (entry: YAMLNode.Entry, remark: String)

    /// `cache:` at the top of the file, with `standard` as the first policy, since the others begin
    /// from it.
    func cacheLines(_ entry: YAMLNode.Entry?) -> [String] {
        let named = Self.entries(of: entry)
        var lines = ["cache:"]
        for key in SettingsTable.keys(in: "cache") {
            let own = named.first { $0.key == key }
            lines += Self.lines(key, name: "cache.\(key)", own, indentation: "  ")
        }
        for policy in named where SettingsTable.keys(in: "cache.\(policy.key)").isEmpty {
            let key = WrittenText.scalar(policy.key, isPlain: true)
            lines.append(WrittenText.remarked("  \(key):", Self.remark(policy)))
            lines += Self.lines(completed(policy), indentation: "    ")
        }
        return lines
    }

    /// `cache:` of a rule.
    func cacheLines(ofRule entry: YAMLNode.Entry) -> [String] {
        policyLines(ofRule: entry, standard: standardLines, named: policy) {
            Self.completed($0, by: $1, CacheKeyTable.policy)
        }
    }

    /// The policy of a rule: a name or `off` unchanged, a map with all effective values.
    func policyLines(
        ofRule entry: YAMLNode.Entry,
        standard: [Line],
        named: (String) -> [Line]?,
        completed: ([YAMLNode.Entry], [Line]) -> [Line]
    ) -> [String] {
        let indentation = "    "
        let plain = WrittenText.lines(entry, indentation: indentation, remark: Self.remark(entry))
        guard case .map(let own) = entry.value.content else { return plain }
        var lines = [WrittenText.remarked("\(indentation)\(entry.key):", Self.remark(entry))]
        let inner = indentation + "  "
        let rest = own.filter { $0.key != "use" }
        var base = standard
        if let use = own.first(where: { $0.key == "use" }) {
            // A name from an environment variable can't be resolved here.
            guard let name = use.value.scalarText, let other = named(name) else { return plain }
            lines += WrittenText.lines(use, indentation: inner, remark: Self.remark(use))
            if rest.isEmpty { return lines }
            base = other
        }
        return lines + Self.lines(completed(rest, base), indentation: inner)
    }

    // MARK: Values

    /// Every value of the policy called `name`, as a base for others; nil when there is none.
    private func policy(_ name: String) -> [Line]? {
        if name == CachePolicy.standard.name { return standardLines }
        guard let policy = namedPolicies.first(where: { $0.key == name }), name != "store" else {
            return nil
        }
        return completed(policy).map { (entry: $0.entry, remark: "as in \(name)") }
    }

    private var namedPolicies: [YAMLNode.Entry] {
        Self.entries(of: root.first { $0.key == "cache" })
    }

    /// The values of `standard`, from the file or by default.
    private var standardLines: [Line] {
        let name = CachePolicy.standard.name
        let own = Self.entries(of: namedPolicies.first { $0.key == name })
        return CacheKeyTable.policy.map { setting in
            let entry = own.first { $0.key == setting.key } ?? Self.defaultEntry(of: setting)
            return (entry: entry, remark: "as in \(name)")
        }
    }

    private func completed(_ policy: YAMLNode.Entry) -> [Line] {
        Self.completed(Self.entries(of: policy), by: standardLines, CacheKeyTable.policy)
    }

    /// Completes `entries` with those of `base` that they omit, in the order of the table.
    static func completed(
        _ entries: [YAMLNode.Entry],
        by base: [Line],
        _ table: [Setting]
    ) -> [Line] {
        table.compactMap { setting in
            if let own = entries.first(where: { $0.key == setting.key }) {
                return (entry: own, remark: remark(own))
            }
            return base.first { $0.entry.key == setting.key }
        }
    }

    private static func defaultEntry(of setting: Setting) -> YAMLNode.Entry {
        let text = setting.defaultText
        let value: YAMLNode
        switch setting.kind {
        case .list:
            let words = text.dropFirst().dropLast().pieces(between: ", ").map(String.init)
            value = .list(words)
        case .map: value = .map([])
        default: value = .word(text)
        }
        return .written(setting.key, value)
    }

    static func lines(_ entries: [Line], indentation: String) -> [String] {
        entries.flatMap {
            WrittenText.lines($0.entry, indentation: indentation, remark: $0.remark)
        }
    }
}
