// Writes a rules file with every effective value: the author's with line numbers, and defaults.

import LupinPolicy

extension WrittenFile {
    /// A complete rules file with the same meaning as this one.
    ///
    /// The author's values are followed by their line numbers; the rest are the defaults of this
    /// version. A rule without a name gets its derived name. Relative paths stay relative.
    package var effectiveYAML: String {
        var lines = [
            "# Every value that holds: `line N` is what the rules file says, the rest is default.",
            "",
        ]
        var isFirst = true
        for key in SettingsTable.keys(in: "") {
            if !isFirst { lines.append("") }
            isFirst = false
            let entry = root.first { $0.key == key }
            switch key {
            case "retry": lines += retryLines(entry)
            case "cache": lines += cacheLines(entry)
            default: lines += Self.lines(key, name: key, entry, indentation: "")
            }
        }
        lines.append("")
        lines += ruleLines
        return lines.joined(separator: "\n") + "\n"
    }

    // MARK: Settings

    /// A key of the table with the author's value, or with its default.
    static func lines(
        _ key: String,
        name: String,
        _ entry: YAMLNode.Entry?,
        indentation: String
    ) -> [String] {
        if let setting = SettingsTable.setting(name) {
            return lines(setting, entry, indentation: indentation)
        }
        if name == "listen" { return listeners(entry) }
        // `log: off` and similar scalars are not sections.
        if let entry, case .scalar(let word, _) = entry.value.content, !word.isEmpty {
            return WrittenText.lines(entry, indentation: indentation, remark: remark(entry))
        }
        let isLater = SettingsTable.unavailability(of: name) != nil
        let inside = entries(of: entry)
        let sign = isLater ? "# " : ""
        var lines = [
            WrittenText.remarked("\(indentation)\(sign)\(key):", isLater ? later : nil)
        ]
        for child in SettingsTable.keys(in: name) {
            lines += Self.lines(
                child,
                name: "\(name).\(child)",
                inside.first { $0.key == child },
                indentation: indentation + "  "
            )
        }
        return lines
    }

    private static func lines(
        _ setting: Setting,
        _ entry: YAMLNode.Entry?,
        indentation: String
    ) -> [String] {
        if setting.isAvailable, let entry, !entry.value.isEmpty {
            // Names and their definitions, each on separate lines.
            if setting.section.isEmpty, case .map(let named) = entry.value.content, !named.isEmpty {
                return ["\(setting.key):"]
                    + named.flatMap {
                        WrittenText.lines($0, indentation: "  ", remark: remark($0))
                    }
            }
            return WrittenText.lines(entry, indentation: indentation, remark: remark(entry))
        }
        let line = "\(setting.key): \(setting.defaultText)"
        if !setting.isAvailable {
            return [WrittenText.remarked("\(indentation)# \(line)", later)]
        }
        guard !isBetterLeftOut(setting.name) else {
            return [WrittenText.remarked("\(indentation)# \(line)", "default")]
        }
        return [WrittenText.remarked(indentation + line, "default")]
    }

    private static let later = "not available yet"

    /// An explicit `auth: none` would open lupin to other machines without a password as soon as
    /// the address is edited; the default places of the CA and of folders depend on the
    /// environment.
    private static func isBetterLeftOut(_ name: String) -> Bool {
        [
            "listen.auth", "intercept.ca.cert", "intercept.ca.key", "cache.store.path",
            "capture.path",
        ].contains(name)
    }

    static func remark(_ entry: YAMLNode.Entry) -> String {
        "line \(entry.keyLocation.line)"
    }

    static func entries(of entry: YAMLNode.Entry?) -> [YAMLNode.Entry] {
        guard case .map(let entries)? = entry?.value.content else { return [] }
        return entries
    }

    private static func listeners(_ entry: YAMLNode.Entry?) -> [String] {
        var items: [[YAMLNode.Entry]] = [[]]
        switch entry?.value.content {
        case .list(let nodes)? where !nodes.isEmpty:
            items = nodes.map { node in
                guard case .map(let entries) = node.content else { return [] }
                return entries
            }
        case .map(let entries)?: items = [entries]
        default: break
        }
        var lines = ["listen:"]
        for item in items {
            var isFirst = true
            for key in SettingsTable.keys(in: "listen") {
                let own = item.first { $0.key == key }
                var more = Self.lines(key, name: "listen.\(key)", own, indentation: "    ")
                if isFirst, let first = more.first {
                    more[0] = "  - \(first.dropFirst(4))"
                    isFirst = false
                }
                lines += more
            }
        }
        return lines
    }

    // MARK: Rules

    private var ruleLines: [String] {
        guard case .list(let items)? = root.first(where: { $0.key == "rules" })?.value.content,
            !items.isEmpty
        else { return ["rules: []"] }
        var lines = ["rules:"]
        for (index, item) in items.enumerated() {
            guard case .map(let entries) = item.content, let first = entries.first else { continue }
            if index > 0 { lines.append("") }
            let line = first.keyLocation.line
            let named = entries.first { $0.key == "name" }
            let name = named.map { WrittenText.flow($0.value) } ?? "rule@\(line)"
            lines.append(WrittenText.remarked("  - name: \(name)", "line \(line)"))
            for entry in entries where entry.key != "name" {
                switch entry.key {
                case "retry": lines += retryLines(ofRule: entry)
                case "cache": lines += cacheLines(ofRule: entry)
                default:
                    lines += WrittenText.lines(
                        entry,
                        indentation: "    ",
                        remark: Self.remark(entry),
                        isOpen: entry.key == "request" || entry.key == "response"
                    )
                }
            }
        }
        return lines
    }
}
