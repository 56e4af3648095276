// Retry policies in the effective file: what an author wrote, and all that it leaves out.

import LupinCore

extension WrittenFile {
    /// `retry:` at the top of the file, with the built-in policies as remarks.
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

    /// `retry:` of a rule: a name as it is, a map with all that holds.
    func retryLines(ofRule entry: YAMLNode.Entry) -> [String] {
        let indentation = "    "
        let plain = WrittenText.lines(
            entry,
            indentation: indentation,
            remark: Self.remark(entry)
        )
        guard case .map(let own) = entry.value.content else { return plain }
        var lines = [WrittenText.remarked("\(indentation)retry:", Self.remark(entry))]
        let rest = own.filter { $0.key != "use" }
        var base = Self.base(RetryPolicy.standard)
        if let use = own.first(where: { $0.key == "use" }) {
            // A name out of the environment stands for no policy that could be shown.
            guard let name = use.value.scalarText, let named = policy(name) else { return plain }
            lines += WrittenText.lines(
                use,
                indentation: indentation + "  ",
                remark: Self.remark(use)
            )
            if rest.isEmpty { return lines }
            base = named
        }
        let entries = RetryText.completed(rest, by: base, remark: Self.remark)
        return lines + Self.lines(entries, indentation: indentation + "  ")
    }

    /// Every value of the policy called `name`, as a base for others; nil where there is none.
    private func policy(_ name: String) -> [(entry: YAMLNode.Entry, remark: String)]? {
        if let policy = RetryPolicy.builtIn.first(where: { $0.name == name }) {
            return Self.base(policy)
        }
        guard case .map(let named)? = root.first(where: { $0.key == "retry" })?.value.content,
            let policy = named.first(where: { $0.key == name })
        else { return nil }
        return completed(policy).map { (entry: $0.entry, remark: "as in \(name)") }
    }

    private func completed(
        _ policy: YAMLNode.Entry
    ) -> [(entry: YAMLNode.Entry, remark: String)] {
        var own: [YAMLNode.Entry] = []
        if case .map(let entries) = policy.value.content { own = entries }
        let base = Self.base(RetryPolicy.standard)
        return RetryText.completed(own, by: base, remark: Self.remark)
    }

    private static func base(
        _ policy: RetryPolicy
    ) -> [(entry: YAMLNode.Entry, remark: String)] {
        policy.written.map { (entry: $0, remark: "as in \(policy.name)") }
    }

    private static func lines(
        _ entries: [(entry: YAMLNode.Entry, remark: String)],
        indentation: String
    ) -> [String] {
        entries.flatMap {
            WrittenText.lines($0.entry, indentation: indentation, remark: $0.remark)
        }
    }
}
