// Decodes `match:`: a string, a map, or a list of them, and the patterns in it.

import LupinCore
import LupinPolicy

struct MatchDecoder {
    let context: DecodingContext

    /// Decodes the alternatives of `match:`; returns nil after reporting a problem.
    func matches(_ node: YAMLNode) -> [Match]? {
        if node.isEmpty {
            let message = "expected a match, found nothing"
            return context.refuse(.type, message, at: node, hint: "write {} for everything")
        }
        guard case .list(let items) = node.content else { return match(node).map { [$0] } }
        if items.isEmpty {
            let message = "an empty list matches nothing"
            return context.refuse(.type, message, at: node, hint: "write {} for everything")
        }
        return context.all(items, match)
    }

    private func match(_ node: YAMLNode) -> Match? {
        switch node.content {
        case .map(let entries):
            return match(entries)
        case .scalar:
            let match = context.pattern(node, expected: "a match") { text throws(PatternProblem) in
                try Match(string: text)
            }
            for path in match?.paths ?? [] { context.warnOfForm(path, at: node, isAlone: false) }
            return match
        case .list:
            let hint = "write api.example/v1/** or {host: api.example}"
            return context.refuse(.type, "expected a match, found a list", at: node, hint: hint)
        }
    }

    private func match(_ entries: [YAMLNode.Entry]) -> Match? {
        var match = Match()
        var isComplete = true
        for entry in entries where !decode(entry, into: &match) { isComplete = false }
        return isComplete ? match : nil
    }

    /// Decodes a key; returns false after reporting a problem.
    private func decode(_ entry: YAMLNode.Entry, into match: inout Match) -> Bool {
        let node = entry.value
        let keys = RuleKeyTable.match
        guard let known = keys.first(where: { $0.key == entry.key }) else {
            context.unknownKey(entry, in: "match", known: keys.map(\.key))
            return false
        }
        if entry.key != "not", isEmptyList(node) {
            let message = "expected \(known.sentence), found \(node.kindText)"
            let hint = "write \(known.form), or leave the key out"
            context.error(.type, message, at: node, hint: hint)
            return false
        }
        switch entry.key {
        case "host": return set(&match.hosts, context.all(node, host).map(context.gathered))
        case "scheme": return set(&match.schemes, context.all(node, context.scheme))
        case "port": return set(&match.ports, context.ports(node))
        case "path": return set(&match.paths, context.all(node, context.pathPattern))
        case "method": return set(&match.methods, context.all(node, context.method))
        case "client": return set(&match.clients, context.networks(node))
        case "program": return set(&match.programs, context.all(node, context.valuePattern))
        case "user": return set(&match.users, context.all(node, context.valuePattern))
        case "header": return set(&match.headers, named(node, areFields: true))
        case "query": return set(&match.query, named(node, areFields: false))
        default: return set(&match.not, matches(node))
        }
    }

    /// Decodes `cross_site:`: `any`, or origins of pages; returns nil after reporting a problem.
    func crossSite(_ node: YAMLNode) -> CrossSite? {
        if case .scalar("any", _) = node.content { return .any }
        if node.isEmpty {
            let example = "[\"https://app.example\"]"
            return context.wrongType(node, "origins, or any", write: example)
        }
        return context.all(node) { item in
            context.pattern(item, expected: "an origin") { text throws(PatternProblem) in
                try PagePattern(text)
            }
        }.map(CrossSite.pages)
    }

    // MARK: Values

    private func isEmptyList(_ node: YAMLNode) -> Bool {
        if case .list(let items) = node.content { return items.isEmpty }
        return node.isEmpty
    }

    /// Decodes a pattern, or the file of a list.
    private func host(_ node: YAMLNode) -> HostPattern? {
        guard case .map(let entries) = node.content else { return context.hostPattern(node) }
        return context.hostList(entries, at: node)
    }

    private func named(
        _ node: YAMLNode,
        areFields: Bool
    ) -> [(name: String, values: [ValuePattern])]? {
        let example = areFields ? "{X-Env: staging}" : "{debug: \"1\"}"
        guard let entries = context.entries(node, of: "names and values", example: example) else {
            return nil
        }
        let pairs = entries.map { entry -> (name: String, values: [ValuePattern])? in
            if areFields, !context.isFieldName(entry.key) {
                let message = "\"\(entry.key)\" is not a field name"
                return context.refuse(.header, message, at: entry)
            }
            if isEmptyList(entry.value) {
                return context.wrongType(entry.value, "a value", write: "\"*\" for any value")
            }
            let values = context.all(entry.value, context.valuePattern)
            return values.map { (areFields ? entry.key.lowercased() : entry.key, $0) }
        }
        return pairs.contains { $0 == nil } ? nil : pairs.compactMap { $0 }
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
        let pattern = pattern(node, expected: "a path") { text throws(PatternProblem) in
            try PathPattern(text)
        }
        if let pattern { warnOfForm(pattern, at: node) }
        return pattern
    }

    /// Warns of a path that is not as requests are matched, or that matches less than it seems to.
    ///
    /// `isAlone` is false for the path of a match that is one text: `/` may be the end of a URL.
    func warnOfForm(_ pattern: PathPattern, at node: YAMLNode, isAlone: Bool = true) {
        if let form = pattern.normalForm {
            let message = "paths are compared in normal form, and this one is in another"
            warning(.glob, message, at: node, hint: "write \(form)")
        } else if pattern.hasEmptySegment {
            let message =
                "many servers read // as /, so access.paths: strict refuses requests with it "
                + "where this rule decides"
            warning(.glob, message, at: node, hint: "write a single slash")
        } else if pattern.endsWithSlash, !isAlone || pattern.source != "/" {
            let message = "only the path \(pattern.source) itself matches, and nothing below it"
            let whole = isAlone ? pattern.source : node.scalarText ?? pattern.source
            warning(.glob, message, at: node, hint: "write \(whole)** for all below it, too")
        }
    }

    func valuePattern(_ node: YAMLNode) -> ValuePattern? {
        pattern(node, expected: "a value") { text throws(PatternProblem) in try ValuePattern(text) }
    }

    /// Parses a pattern; reports a problem at the character that caused it.
    func pattern<Pattern>(
        _ node: YAMLNode,
        expected: String,
        _ read: (String) throws(PatternProblem) -> Pattern
    ) -> Pattern? {
        guard case .scalar(let raw, let isPlain) = node.content, !(raw.isEmpty && isPlain) else {
            return refuse(.type, "expected \(expected), found \(node.kindText)", at: node)
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

    /// Whether the author meant `/…/`: a path also begins with a slash, but has no such characters.
    private func looksLikeRegex(_ text: String) -> Bool {
        guard text.hasPrefix("/"), text.count > 2 else { return false }
        return (text.hasSuffix("/") || text.hasSuffix("/i"))
            && text.contains { "\\^$()[]{}+|?".contains($0) }
    }

    /// Decodes a method.
    func method(_ node: YAMLNode) -> Method? {
        guard let text = text(node, expected: "a method", example: "GET") else {
            return nil
        }
        guard isFieldName(text) else {
            return refuse(.type, "\"\(text)\" is not a method", at: node, hint: "write GET")
        }
        let upper = text.uppercased()
        if upper != text, Method.defined.contains(Method(upper)) {
            let message = "methods are case-sensitive: \"\(text)\" is none"
            return refuse(.name, message, at: node, hint: "write \(upper)")
        }
        return Method(text)
    }
}
