// Masks the texts of a rules file that must not be shown.

import LupinCore

/// Masks literal secrets of the file; references to secrets are shown unchanged.
struct WrittenSecrets {
    static let mark = "REDACTED"

    private let redactor: Redactor
    private let parameters: NameSet

    init(_ settings: RedactionSettings) {
        redactor = Redactor(settings: settings, secrets: [], digest: { _ in 0 })
        parameters = SecretNames.parameters(besides: settings.query)
    }

    /// The position of a value.
    private enum Context {
        case anywhere
        /// Below `tokens` or `admin`.
        case credentials
        /// A map of field names.
        case fields
        /// A map of field names and patterns.
        case patterns
        /// A map of parameters.
        case parameters
        /// A secret value.
        case secret
        /// A value that is secret unless it is a pattern.
        case secretPattern
    }

    /// Returns the file without its literal secrets.
    func concealed(_ root: YAMLNode) -> YAMLNode { concealed(root, .anywhere) }

    private func concealed(_ node: YAMLNode, _ context: Context) -> YAMLNode {
        var node = node
        switch node.content {
        case .scalar(let text, let isPlain):
            let shown = shown(text, context)
            node.content = .scalar(shown, isPlain: isPlain && shown == text)
        case .list(let items):
            node.content = .list(items.map { concealed($0, context) })
        case .map(let entries):
            let rewrites = entries.first { $0.key == "header" }?.value.scalarText
            node.content = .map(
                entries.map { entry in
                    var entry = entry
                    var inner = self.context(of: entry, in: context)
                    // The replacement of a `rewrite` becomes part of its field.
                    if entry.key == "to", let rewrites, hides(field: rewrites) { inner = .secret }
                    entry.value = concealed(entry.value, inner)
                    return entry
                }
            )
        }
        return node
    }

    private func context(of entry: YAMLNode.Entry, in context: Context) -> Context {
        let isMap = if case .map = entry.value.content { true } else { false }
        switch context {
        case .secret, .secretPattern: return context
        case .fields: return hides(field: entry.key) ? .secret : .anywhere
        case .patterns: return hides(field: entry.key) ? .secretPattern : .anywhere
        // The parameters of the step are below `set`.
        case .parameters where isMap: return .parameters
        case .parameters:
            return parameters.contains(entry.key.utf8Span.span) ? .secretPattern : .anywhere
        case .credentials:
            switch entry.key {
            case "bearer", "password", "secret", "refresh_token", "value", "token": return .secret
            case "params": return .secret
            case "env" where isMap: return .secret
            default: return .credentials
            }
        case .anywhere: break
        }
        switch entry.key {
        case "tokens", "admin": return .credentials
        case "set" where isMap, "add" where isMap, "default" where isMap, "headers" where isMap:
            return .fields
        case "header" where isMap: return .patterns
        case "query" where isMap: return .parameters
        default: return .anywhere
        }
    }

    private func hides(field name: String) -> Bool { redactor.hides(field: name.utf8Span.span) }

    // MARK: Texts

    private func shown(_ text: String, _ context: Context) -> String {
        switch context {
        case .secret: return references(of: text)
        case .secretPattern where !isPattern(text): return references(of: text)
        default: return withoutURLSecrets(text)
        }
    }

    private func isPattern(_ text: String) -> Bool {
        text.isEmpty || text.contains("*") || (text.hasPrefix("/") && text.count > 2)
    }

    /// Keeps the references of a secret value, and of the text around them only harmless parts.
    private func references(of text: String) -> String {
        guard !text.isEmpty else { return text }
        var result = ""
        var rest = text[...]
        while let start = rest.firstRange(of: "${"),
            let end = rest[start.upperBound...].firstIndex(of: "}")
        {
            result += literal(rest[..<start.lowerBound], isFirst: result.isEmpty)
            let inside = rest[start.upperBound..<end]
            if let cut = inside.firstRange(of: ":-") {
                result += "${\(inside[..<cut.lowerBound]):-\(Self.mark)}"
            } else {
                result += "${\(inside)}"
            }
            rest = rest[rest.index(after: end)...]
        }
        return result + literal(rest, isFirst: result.isEmpty)
    }

    private func literal(_ text: Substring, isFirst: Bool) -> String {
        if !text.contains(where: { $0.isLetter || $0.isNumber }) { return String(text) }
        let schemes = ["basic ", "bearer ", "digest ", "token "]
        for scheme in schemes where isFirst && text.lowercased().hasPrefix(scheme) {
            let rest = text.dropFirst(scheme.count)
            return text.prefix(scheme.count) + (rest.isEmpty ? "" : Self.mark)
        }
        return Self.mark
    }

    /// Masks passwords and secret parameters of the URLs in a text.
    private func withoutURLSecrets(_ text: String) -> String {
        let bytes = Array(text.utf8)
        let findings = URLRedaction(parameters: parameters).findings(in: bytes.span)
        if findings.isEmpty { return text }
        var result = ""
        var copied = 0
        for finding in findings {
            let range = finding.range
            result += String(decoding: bytes[copied..<range.lowerBound], as: UTF8.self)
            let found = String(decoding: bytes[range], as: UTF8.self)
            switch finding {
            case .value: result += references(of: found)
            case .userinfo:
                let user = found.prefix { $0 != ":" }
                let password = found.dropFirst(user.count + 1).dropLast()
                result +=
                    user.count < found.count
                    ? "\(user):\(references(of: String(password)))@" : found
            }
            copied = range.upperBound
        }
        return result + String(decoding: bytes[copied...], as: UTF8.self)
    }
}
