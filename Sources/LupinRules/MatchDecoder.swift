// What `match:` says: a string, a map, or a list of them; and the patterns in it.

import LupinCore

struct MatchDecoder {
    let context: DecodingContext

    /// The alternatives of `match:`; nil when a problem was told.
    func matches(_ node: YAMLNode) -> [Match]? {
        if node.isEmpty {
            context.error(
                .type,
                "expected a match, found nothing",
                at: node,
                hint: "write {} for everything"
            )
            return nil
        }
        guard case .list(let items) = node.content else { return match(node).map { [$0] } }
        if items.isEmpty {
            context.error(
                .type,
                "an empty list matches nothing",
                at: node,
                hint: "write {} for everything"
            )
            return nil
        }
        let matches = items.map(match)
        return matches.contains { $0 == nil } ? nil : matches.compactMap { $0 }
    }

    private func match(_ node: YAMLNode) -> Match? {
        switch node.content {
        case .map(let entries):
            return match(entries)
        case .scalar:
            return context.pattern(node, expected: "a match") { text throws(PatternProblem) in
                try Match(string: text)
            }
        case .list:
            context.error(
                .type,
                "expected a match, found a list",
                at: node,
                hint: "write api.example/v1/** or {host: api.example}"
            )
            return nil
        }
    }

    private func match(_ entries: [YAMLNode.Entry]) -> Match? {
        var match = Match()
        var isComplete = true
        for entry in entries where !decode(entry, into: &match) { isComplete = false }
        return isComplete ? match : nil
    }

    /// Whether the key was understood; else a problem was told.
    private func decode(_ entry: YAMLNode.Entry, into match: inout Match) -> Bool {
        let node = entry.value
        let keys = RuleKeyTable.match
        guard let known = keys.first(where: { $0.key == entry.key }) else {
            context.unknownKey(entry, in: "match", known: keys.map(\.key))
            return false
        }
        if entry.key != "not", isEmptyList(node) {
            context.error(
                .type,
                "expected \(known.sentence), found \(node.kindText)",
                at: node,
                hint: "write \(known.form), or leave the key out"
            )
            return false
        }
        switch entry.key {
        case "host": return set(&match.hosts, all(node, host).map(context.gathered))
        case "scheme": return set(&match.schemes, all(node, scheme))
        case "port": return set(&match.ports, context.ports(node))
        case "path": return set(&match.paths, all(node, context.pathPattern))
        case "method": return set(&match.methods, all(node, context.method))
        case "client": return set(&match.clients, context.networks(node))
        case "program": return set(&match.programs, all(node, context.valuePattern))
        case "user": return set(&match.users, all(node, context.valuePattern))
        case "header":
            guard let headers = named(node, areFields: true) else { return false }
            match.headers = headers
        case "query":
            guard let query = named(node, areFields: false) else { return false }
            match.query = query
        default:
            guard let not = matches(node) else { return false }
            match.not = not
        }
        return true
    }

    // MARK: Values

    private func isEmptyList(_ node: YAMLNode) -> Bool {
        if case .list(let items) = node.content { return items.isEmpty }
        return node.isEmpty
    }

    private func set<Value>(_ target: inout Value?, _ value: Value?) -> Bool {
        guard let value else { return false }
        target = value
        return true
    }

    private func all<Value>(_ node: YAMLNode, _ read: (YAMLNode) -> Value?) -> [Value]? {
        let values = context.items(node).map(read)
        return values.contains { $0 == nil } ? nil : values.compactMap { $0 }
    }

    /// A pattern, or the file of a list.
    private func host(_ node: YAMLNode) -> HostPattern? {
        guard case .map(let entries) = node.content else { return context.hostPattern(node) }
        return context.hostList(entries, at: node)
    }

    private func scheme(_ node: YAMLNode) -> Scheme? {
        guard let text = context.text(node, expected: "http or https", example: "http") else {
            return nil
        }
        switch text {
        case "http": return .http
        case "https": return .https
        default:
            context.unknownWord(node, text, for: "scheme", known: ["http", "https"])
            return nil
        }
    }

    private func named(
        _ node: YAMLNode,
        areFields: Bool
    ) -> [(name: String, values: [ValuePattern])]? {
        let example = areFields ? "{X-Env: staging}" : "{debug: \"1\"}"
        guard let entries = context.entries(node, of: "names and values", example: example) else {
            return nil
        }
        var result: [(name: String, values: [ValuePattern])] = []
        var isComplete = true
        for entry in entries {
            if areFields, !context.isFieldName(entry.key) {
                context.error(.header, "\"\(entry.key)\" is not a field name", atKey: entry)
                isComplete = false
            } else if isEmptyList(entry.value) {
                context.error(
                    .type,
                    "expected a value, found \(entry.value.kindText)",
                    at: entry.value,
                    hint: "write \"*\" for any value"
                )
                isComplete = false
            } else if let values = all(entry.value, context.valuePattern) {
                result.append((areFields ? entry.key.lowercased() : entry.key, values))
            } else {
                isComplete = false
            }
        }
        return isComplete ? result : nil
    }
}

// MARK: Patterns

extension DecodingContext {
    func hostPattern(_ node: YAMLNode) -> HostPattern? {
        let pattern = pattern(node, expected: "a host") { text throws(PatternProblem) in
            try HostPattern(text)
        }
        if let note = pattern?.canonicalNote {
            warning(.host, "the host is not in canonical form", at: node, hint: note)
        }
        return pattern
    }

    func pathPattern(_ node: YAMLNode) -> PathPattern? {
        pattern(node, expected: "a path") { text throws(PatternProblem) in try PathPattern(text) }
    }

    func valuePattern(_ node: YAMLNode) -> ValuePattern? {
        pattern(node, expected: "a value") { text throws(PatternProblem) in try ValuePattern(text) }
    }

    /// Reads a pattern and tells what is wrong with it at the character where it is.
    func pattern<Pattern>(
        _ node: YAMLNode,
        expected: String,
        _ read: (String) throws(PatternProblem) -> Pattern
    ) -> Pattern? {
        guard case .scalar(let raw, let isPlain) = node.content, !(raw.isEmpty && isPlain) else {
            error(.type, "expected \(expected), found \(node.kindText)", at: node)
            return nil
        }
        guard let text = resolvedPattern(raw, at: node) else { return nil }
        do {
            return try read(text)
        } catch {
            tell(error, of: text, isVerbatim: text == raw, at: node)
            return nil
        }
    }

    func tell(_ problem: PatternProblem, of text: String, isVerbatim: Bool, at node: YAMLNode) {
        let code: Diagnostic.Code = looksLikeRegex(text) ? .regex : .glob
        var message = problem.message
        var hint: String?
        if let marker = message.firstRange(of: "; write ") {
            hint = "write " + message[marker.upperBound...]
            message = String(message[..<marker.lowerBound])
        }
        let prefix = String(text.prefix(max(0, problem.offset)))
        let offset = isVerbatim ? prefix.unicodeScalars.count : -1
        let isWhole = problem.offset == 0 && code == .glob
        if isWhole {
            error(code, message, at: node, hint: hint)
        } else {
            error(code, message, in: node, offset: offset, count: 1, hint: hint)
        }
    }

    /// Whether the author meant `/…/`: a path begins with a slash too, but has no such characters.
    private func looksLikeRegex(_ text: String) -> Bool {
        guard text.hasPrefix("/"), text.count > 2 else { return false }
        return (text.hasSuffix("/") || text.hasSuffix("/i"))
            && text.contains { "\\^$()[]{}+|?".contains($0) }
    }

    /// A method by its token.
    func method(_ node: YAMLNode) -> Method? {
        guard let text = text(node, expected: "a method", example: "GET") else {
            return nil
        }
        guard isFieldName(text) else {
            error(.type, "\"\(text)\" is not a method", at: node, hint: "write GET")
            return nil
        }
        let upper = text.uppercased()
        if upper != text, Method.defined.contains(Method(upper)) {
            error(
                .name,
                "methods are case-sensitive: \"\(text)\" is none",
                at: node,
                hint: "write \(upper)"
            )
            return nil
        }
        return Method(text)
    }
}
