// Decodes the steps of `request:` and `response:`, in order; no step may break the framing.

import LupinCore
import LupinPolicy

struct StepDecoder {
    /// The direction of the message; `modify` changes what a cache stores.
    enum Side: String { case request, response, modify }

    let context: DecodingContext
    let listeners: [ListenerSettings]
    let side: Side

    private var role: ValueRole {
        switch side {
        case .request: .step
        case .response: .response
        // Data of one client's request must not be stored for others.
        case .modify: .setting
        }
    }
    /// The fields whose values are credentials.
    private static let credentials = SecretNames.set()
    /// The same of parameters.
    private static let secretParameters = SecretNames.parameters(besides: [])

    private var keys: [DocumentedKey] {
        switch side {
        case .request: RuleKeyTable.step
        case .response: RuleKeyTable.responseStep
        case .modify: RuleKeyTable.fieldStep
        }
    }

    /// Decodes the steps of `request:` or `response:`; those with an error are reported and
    /// skipped.
    func steps(_ node: YAMLNode) -> [RequestStep] {
        guard case .list(let items) = node.content else {
            if !node.isEmpty {
                let message = "expected a list of steps, found \(node.kindText)"
                context.error(.type, message, at: node, hint: "write - set: {X-Env: dev}")
            }
            return []
        }
        return items.flatMap(steps(ofItem:))
    }

    private func steps(ofItem node: YAMLNode) -> [RequestStep] {
        guard case .map(let entries) = node.content, let entry = entries.first else {
            let message = "expected a step, found \(node.kindText)"
            context.error(.type, message, at: node, hint: "write set: {X-Env: dev}")
            return []
        }
        if entries.count > 1 {
            let message = "one item is one step, because their order counts"
            let hint = "begin a new item: - \(entries[1].key): …"
            context.error(.type, message, at: entries[1], hint: hint)
        }
        guard keys.contains(where: { $0.key == entry.key }) else {
            tellUnknown(entry)
            return []
        }
        switch entry.key {
        case "set": return fields(entry.value).map { .set(name: $0.name, value: $0.value) }
        case "add": return fields(entry.value).map { .add(name: $0.name, value: $0.value) }
        case "default": return fields(entry.value).map { .default(name: $0.name, value: $0.value) }
        case "remove": return removals(entry.value)
        case "rewrite": return rewrite(entry.value).map { [$0] } ?? []
        case "compress":
            return context.compressStep(entry.value).map { [.compress($0)] } ?? []
        case "query": return query(entry.value).map { [$0] } ?? []
        case "auth": return auth(entry.value).map { [$0] } ?? []
        case "delay": return delay(entry.value).map { [$0] } ?? []
        case "body", "json":
            return context.bodyEdit(entry).map { [.edit($0)] } ?? []
        default: return url(entry.value).map { [$0] } ?? []
        }
    }

    private func tellUnknown(_ entry: YAMLNode.Entry) {
        guard side != .request, RuleKeyTable.step.contains(where: { $0.key == entry.key }) else {
            return context.unknownKey(entry, in: side.rawValue, known: keys.map(\.key))
        }
        let hint = "responses have: \(keys.map(\.key).joined(separator: ", "))"
        context.error(.key, "\"\(entry.key)\" is a step of requests", at: entry, hint: hint)
    }

    // MARK: Credentials and waits

    private func auth(_ node: YAMLNode) -> RequestStep? {
        guard let name = context.text(node, expected: "the name of a token", example: "github")
        else { return nil }
        guard context.knownTokens.contains(name) else {
            return context.undefinedName(node, name, of: "token", defined: context.tokenNames)
        }
        return .auth(token: name)
    }

    private func delay(_ node: YAMLNode) -> RequestStep? {
        guard case .some(.some(let time)) = context.duration(node, SettingsTable.delay),
            time > .zero
        else { return nil }
        return .delay(time)
    }

    // MARK: Fields

    private func fields(_ node: YAMLNode) -> [(name: String, value: Template)] {
        let example = "{X-Env: dev}"
        guard let entries = context.entries(node, of: "names and values", example: example) else {
            return []
        }
        return entries.compactMap { entry in
            let value = context.fieldValue(
                entry.value,
                role: role,
                isCredential: StepDecoder.credentials.contains(entry.key.utf8Span.span)
            )
            guard context.mayChange(entry.key, at: entry), let value else { return nil }
            return (entry.key, value)
        }
    }

    private func removals(_ node: YAMLNode) -> [RequestStep] {
        context.items(node).compactMap { item in
            let expected = "a field name or a glob"
            guard let name = context.text(item, expected: expected, example: "\"X-Debug-*\"") else {
                return nil
            }
            if let problem = RequestStep.problem(withRemoval: name) {
                context.tellField(problem, at: item)
                return nil
            }
            return .remove(pattern: name.lowercased())
        }
    }

    private func rewrite(_ node: YAMLNode) -> RequestStep? {
        let example = "{header: User-Agent, from: /^curl/, to: lupin}"
        guard let entries = context.entries(node, of: "a rewrite", example: example) else {
            return nil
        }
        var name: String?
        var parts = RewriteParts()
        for entry in entries {
            switch entry.key {
            case "header":
                let text = context.text(
                    entry.value,
                    expected: "a field name",
                    example: "User-Agent"
                )
                guard let text else { return nil }
                if let problem = RequestStep.problem(withFieldName: text) {
                    context.tellField(problem, at: entry.value)
                    return nil
                }
                name = text
            case "from", "to":
                decode(entry, into: &parts)
            default:
                context.unknownKey(entry, in: "rewrite", known: ["header", "from", "to"])
            }
        }
        guard let (from, to) = checked(parts, at: node, example: example) else { return nil }
        guard let name else {
            context.error(.key, "\"rewrite\" has no \"header\"", at: node, hint: "write \(example)")
            return nil
        }
        return .rewrite(name: name, from: from, to: to)
    }

    // MARK: from and to

    private struct RewriteParts {
        var from: ValuePattern?
        var to: String?
        var toNode: YAMLNode?
        var isBroken = false
    }

    private func decode(_ entry: YAMLNode.Entry, into parts: inout RewriteParts) {
        if entry.key == "from" {
            parts.from = context.valuePattern(entry.value)
            if parts.from == nil { parts.isBroken = true }
            return
        }
        guard case .scalar(let text, let isPlain) = entry.value.content, !(text.isEmpty && isPlain)
        else {
            let message = "expected a replacement, found \(entry.value.kindText)"
            let hint = "write \"$1\", or \"\" for nothing"
            context.error(.type, message, at: entry.value, hint: hint)
            parts.isBroken = true
            return
        }
        parts.to = context.resolvedPattern(text, at: entry.value)
        parts.toNode = entry.value
        if parts.to == nil { parts.isBroken = true }
    }

    private func checked(
        _ parts: RewriteParts,
        at node: YAMLNode,
        example: String
    ) -> (from: ValuePattern, to: String)? {
        if parts.isBroken { return nil }
        guard let from = parts.from, let to = parts.to, let toNode = parts.toNode else {
            let missing = parts.from == nil ? "from" : "to"
            let message = "a rewrite has no \"\(missing)\""
            return context.refuse(.key, message, at: node, hint: "write \(example)")
        }
        if let problem = from.problem(inReplacement: to) {
            let isVerbatim = toNode.scalarText == to
            let offset = isVerbatim ? String(to.prefix(problem.offset)).unicodeScalars.count : -1
            context.error(.regex, problem.message, in: toNode, offset: offset, count: 1)
            return nil
        }
        if let problem = RequestStep.problem(withFieldValue: to) {
            return context.refuse(.header, problem, at: toNode)
        }
        return (from, to)
    }

    // MARK: query

    private func query(_ node: YAMLNode) -> RequestStep? {
        let example = "{set: {tenant: dev}, remove: [debug]}"
        guard let entries = context.entries(node, of: "set and remove", example: example) else {
            return nil
        }
        var set: [(name: String, value: Template)] = []
        var remove: [String] = []
        for entry in entries {
            switch entry.key {
            case "set":
                let pairs = context.entries(
                    entry.value,
                    of: "names and values",
                    example: "{tenant: dev}"
                )
                for pair in pairs ?? [] {
                    let isSecret = StepDecoder.secretParameters.contains(pair.key.utf8Span.span)
                    let value = context.stepValue(pair.value, isCredential: isSecret)
                    if let value { set.append((pair.key, value)) }
                }
            case "remove":
                let names = context.texts(entry.value, expected: "a parameter", example: "[debug]")
                remove += names ?? []
            default:
                context.unknownKey(entry, in: "query", known: ["set", "remove"])
            }
        }
        return .query(set: set, remove: remove)
    }

    // MARK: url

    private func url(_ node: YAMLNode) -> RequestStep? {
        let example = "{host: staging.example, port: 8080}"
        guard let entries = context.entries(node, of: "a map", example: example) else { return nil }
        var step = URLStep()
        for entry in entries {
            switch entry.key {
            case "scheme": step.scheme = context.scheme(entry.value)
            case "host": step.host = targetHost(entry.value)
            case "port": step.port = context.port(entry.value)
            case "path": step.path = targetPath(entry.value)
            default:
                context.unknownKey(entry, in: "url", known: ["scheme", "host", "port", "path"])
            }
        }
        if let host = step.host {
            let port = step.port ?? step.scheme?.defaultPort ?? 0
            if listeners.containListener(at: host, port: port) {
                let message = "the new target is one of lupin's own listeners"
                context.error(.loop, message, at: node, hint: "write another host or port")
            }
        }
        return .url(step)
    }

    private func targetHost(_ node: YAMLNode) -> Host? {
        guard let text = context.text(node, expected: "a host", example: "staging.example") else {
            return nil
        }
        guard let host = Host(text) else {
            let hint = "write a name or an address; port and path have keys of their own"
            return context.refuse(.host, "\"\(text)\" is not a host", at: node, hint: hint)
        }
        if host.text != text.lowercased(), host.uriText != text.lowercased() {
            let message = "the host is not in canonical form"
            context.warning(.host, message, at: node, hint: "used as \(host.uriText)")
        }
        return host
    }

    private func targetPath(_ node: YAMLNode) -> URLStep.Path? {
        guard case .map(let entries) = node.content else {
            guard let value = context.stepValue(node) else { return nil }
            if case .text(let text) = value.parts.first, !text.hasPrefix("/") {
                context.error(.type, "a path begins with /", at: node, hint: "write /\(text)")
                return nil
            }
            return .literal(value)
        }
        var parts = RewriteParts()
        for entry in entries {
            if entry.key == "from" || entry.key == "to" {
                decode(entry, into: &parts)
            } else {
                context.unknownKey(entry, in: "path", known: ["from", "to"])
            }
        }
        let example = "{from: /^\\/api/, to: /v2}"
        guard let (from, to) = checked(parts, at: node, example: example) else { return nil }
        return .rewrite(from: from, to: to)
    }
}

// MARK: Values of steps

extension DecodingContext {
    /// Decodes a value with `${…}` of the environment and the client's request.
    ///
    /// `isCredential` is true where a parameter holds one.
    func stepValue(_ node: YAMLNode, isCredential: Bool = false) -> Template? {
        guard case .scalar(let raw, let isPlain) = node.content, !(raw.isEmpty && isPlain) else {
            return wrongType(node, "a value", write: "\"\" for an empty one")
        }
        warnOfGroup(raw, at: node)
        return template(raw, role: .step, at: node, isCredential: isCredential)
    }

    /// Warns of `$1`, which is a group in `to` alone.
    private func warnOfGroup(_ text: String, at node: YAMLNode) {
        guard let group = ValuePiece.group(in: text) else { return }
        let hint = "groups are for rewrite and {from, to}; write $\(group) for the text itself"
        warning(
            .regex,
            "`\(group)` is no group here, and is sent as it stands",
            at: node,
            hint: hint
        )
    }

    /// Decodes a value that is allowed in a field (RFC 9110 §5.5).
    ///
    /// `isCredential` is true where the field holds one.
    func fieldValue(
        _ node: YAMLNode,
        role: ValueRole,
        isCredential: Bool = false
    ) -> Template? {
        guard case .scalar(let raw, let isPlain) = node.content, !(raw.isEmpty && isPlain) else {
            return wrongType(
                node,
                "a value",
                write: "\"\" for an empty one; to delete a field, write remove: […]"
            )
        }
        if role != .setting, !isCredential { warnOfGroup(raw, at: node) }
        let template = template(raw, role: role, at: node, isCredential: isCredential)
        guard let value = template else { return nil }
        for case .text(let text) in value.parts {
            guard let problem = RequestStep.problem(withFieldValue: text) else { continue }
            return refuse(.header, problem, at: node)
        }
        return value
    }

    /// Whether a step or a response may set the field; returns false after reporting a problem.
    func mayChange(_ name: String, at entry: YAMLNode.Entry) -> Bool {
        guard let problem = RequestStep.problem(withFieldName: name) else { return true }
        let (message, hint) = split(problem)
        error(.header, message, at: entry, hint: hint)
        return false
    }

    func tellField(_ problem: String, at node: YAMLNode) {
        let (message, hint) = split(problem)
        error(.header, message, at: node, hint: hint)
    }

    private func split(_ problem: String) -> (message: String, hint: String?) {
        guard let marker = problem.firstRange(of: "; ") else { return (problem, nil) }
        return (String(problem[..<marker.lowerBound]), String(problem[marker.upperBound...]))
    }
}
