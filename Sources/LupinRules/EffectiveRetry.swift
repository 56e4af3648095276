// Retry policies in the effective file: the author's values, and all omitted ones.

import LupinPolicy

extension WrittenFile {
    /// `retry:` at the top of the file, with the built-in policies as comments.
    func retryLines(_ entry: YAMLNode.Entry?) -> [String] {
        var lines: [String]
        if let entry, case .map(let named) = entry.value.content, !named.isEmpty {
            lines = [WrittenText.remarked("retry:", Self.remark(entry))]
            for policy in named {
                let key = WrittenText.scalar(policy.key, isPlain: true)
                lines.append(WrittenText.remarked("  \(key):", Self.remark(policy)))
                lines += Self.lines(completed(policy), indentation: "    ")
            }
        } else {
            lines = [WrittenText.remarked("retry: {}", "default")]
        }
        return lines + RetryText.builtIn
    }

    /// `retry:` of a rule.
    func retryLines(ofRule entry: YAMLNode.Entry) -> [String] {
        let standard = Self.base(RetryPolicy.standard)
        return policyLines(ofRule: entry, standard: standard, named: retryPolicy) {
            Self.completed($0.map(RetryText.completed), by: $1, RetryKeyTable.policy)
        }
    }

    /// Every value of the policy called `name`, as a base for others; nil when there is none.
    private func retryPolicy(_ name: String) -> [Line]? {
        if let policy = RetryPolicy.builtIn.first(where: { $0.name == name }) {
            return Self.base(policy)
        }
        guard case .map(let named)? = root.first(where: { $0.key == "retry" })?.value.content,
            let policy = named.first(where: { $0.key == name })
        else { return nil }
        return completed(policy).map { (entry: $0.entry, remark: "as in \(name)") }
    }

    private func completed(_ policy: YAMLNode.Entry) -> [Line] {
        let own = Self.entries(of: policy).map(RetryText.completed)
        return Self.completed(own, by: Self.base(RetryPolicy.standard), RetryKeyTable.policy)
    }

    private static func base(_ policy: RetryPolicy) -> [Line] {
        policy.written.map { (entry: $0, remark: "as in \(policy.name)") }
    }
}
