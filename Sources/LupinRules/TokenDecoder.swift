// Decodes `tokens:`: named credentials, their sources, and the hosts that may get them.

import LupinPolicy

struct TokenDecoder {
    private static let sources = ["bearer", "basic", "digest", "command", "oauth2"]
    /// Keys that are only valid with `command`.
    private static let companions = ["every", "timeout", "env"]
    private static let options = [
        "header", "hosts", "plain_http", "refresh", "on_missing", "stand_in",
    ]
    private static let known = sources + companions + options

    let context: DecodingContext

    /// Decodes the credentials in the order of the file; those with an error are reported and
    /// skipped.
    func definitions(_ node: YAMLNode) -> [TokenDefinition] {
        let entries = entries(node)
        checkStandings(entries)
        return entries.compactMap(definition)
    }

    /// Every name that a rule may use, including credentials with an error.
    func names(_ node: YAMLNode) -> [String] {
        guard case .map(let entries) = node.content else { return [] }
        return entries.map(\.key)
    }

    private func entries(_ node: YAMLNode) -> [YAMLNode.Entry] {
        if node.isEmpty { return [] }
        if case .map(let entries) = node.content { return entries }
        context.tellUnexpected(
            node,
            expected: "names and credentials",
            hint: "write {github: {bearer: \"${env:GITHUB_TOKEN}\"}}"
        )
        return []
    }

    // MARK: One credential

    private func definition(_ entry: YAMLNode.Entry) -> TokenDefinition? {
        guard case .map(let entries) = entry.value.content else {
            context.tellUnexpected(
                entry.value,
                expected: "a credential",
                hint: "write \(entry.key): {bearer: \"${env:TOKEN}\"}"
            )
            return nil
        }
        let source = source(entries, of: entry)
        var common = CommonKeys()
        for option in entries where Self.options.contains(option.key) {
            decode(option, into: &common)
        }
        guard let source, !common.isBroken else { return nil }
        if let header = common.header, case .digest = source {
            let message = "\"header\" does not belong to \"digest\""
            let hint = "its answer stands in Authorization"
            return context.refuse(.key, message, at: header.entry, hint: hint)
        }
        var definition = TokenDefinition(
            name: entry.key,
            line: entry.keyLocation.line,
            source: source,
            field: common.header?.field
        )
        definition.column = entry.keyLocation.column
        definition.hosts = common.hosts
        definition.plainHTTP = common.plainHTTP
        definition.refresh = common.refresh
        definition.onMissing = common.onMissing
        definition.standIn = common.standIn
        return definition
    }

    /// Decodes the only source of a credential; returns nil after reporting a problem.
    private func source(_ entries: [YAMLNode.Entry], of token: YAMLNode.Entry) -> TokenSource? {
        let sources = entries.filter { Self.sources.contains($0.key) }
        let isCommand = sources.contains { $0.key == "command" }
        var isComplete = true
        for entry in entries {
            if !Self.known.contains(entry.key) {
                context.unknownKey(entry, in: token.key, known: Self.known)
                isComplete = false
            } else if Self.companions.contains(entry.key), !isCommand {
                let message = "\"\(entry.key)\" belongs to \"command\", and there is none"
                context.error(.key, message, at: entry)
                isComplete = false
            }
        }
        if sources.count > 1 {
            let message = "\"\(sources[0].key)\" and \"\(sources[1].key)\" are two sources"
            let hint = "a credential has one; give the other a name of its own"
            return context.refuse(.type, message, at: sources[1], hint: hint)
        }
        guard let source = sources.first else {
            // A mistyped key was reported, and is most likely the source.
            if isComplete {
                let message = "\"\(token.key)\" does not say where the credential comes from"
                let hint = "write one of \(Self.sources.joined(separator: ", "))"
                context.error(.key, message, at: token, hint: hint)
            }
            return nil
        }
        let decoded = decoded(source, beside: entries)
        return isComplete ? decoded : nil
    }

    private func decoded(
        _ source: YAMLNode.Entry,
        beside entries: [YAMLNode.Entry]
    ) -> TokenSource? {
        switch source.key {
        case "bearer":
            return context.secretText(source.value, "a token").map { .bearer($0) }
        case "basic":
            return context.userPassword(source, mayBePreemptive: true).map {
                .basic(user: $0.user, password: $0.password, preemptive: $0.preemptive)
            }
        case "digest":
            return context.userPassword(source, mayBePreemptive: false).map {
                .digest(user: $0.user, password: $0.password)
            }
        case "command":
            return context.command(source, beside: entries).map { .command($0) }
        default:
            return context.oauth2(source).map { .oauth2($0) }
        }
    }

    // MARK: Keys that all sources share

    private struct CommonKeys {
        var header: (field: TokenField, entry: YAMLNode.Entry)?
        var hosts: [HostPattern] = []
        var plainHTTP = false
        var refresh = RefreshSettings()
        var onMissing = TokenDefinition.OnMissing.fail
        var standIn = StandInTemplate.usual
        var isBroken = false
    }

    private func decode(_ entry: YAMLNode.Entry, into common: inout CommonKeys) {
        func set<Value>(_ path: WritableKeyPath<CommonKeys, Value>, _ value: Value?) {
            if let value { common[keyPath: path] = value } else { common.isBroken = true }
        }
        switch entry.key {
        case "header":
            set(\.header, context.tokenField(entry).map { (field: $0, entry: entry) })
        case "hosts":
            set(\.hosts, hosts(entry.value))
        case "plain_http":
            set(\.plainHTTP, context.boolean(entry.value))
        case "refresh":
            set(\.refresh, context.refresh(entry.value))
        case "stand_in":
            set(\.standIn, context.standIn(entry.value))
        default:
            let word = context.word(entry.value, ["fail", "send"], what: "value")
            set(\.onMissing, word.map { $0 == "send" ? .send : .fail })
        }
    }

    private func hosts(_ node: YAMLNode) -> [HostPattern]? {
        context.all(node) { item in
            guard let pattern = context.hostPattern(item) else { return nil }
            if !pattern.isExplicit {
                let message = "the pattern does not say in words to whom the credential goes"
                let hint = "write a host, such as *.corp.example"
                context.warning(.host, message, at: item, hint: hint)
            }
            return pattern
        }
    }

    // MARK: Owner and mode of the file

    /// Reports a file with `command:` that other users may write, since they could run programs.
    private func checkStandings(_ entries: [YAMLNode.Entry]) {
        let commands = entries.compactMap { entry -> YAMLNode.Entry? in
            guard case .map(let keys) = entry.value.content else { return nil }
            return keys.first { $0.key == "command" }
        }
        guard let command = commands.first else { return }
        context.refuseOpenFile("\"command\" runs programs", at: command)
    }
}
