// Resolves `${…}` in values, and checks which kinds are allowed at each place.

import LupinCore
import LupinPolicy

/// A part of a value that is split at its `${…}`.
enum ValuePiece: Equatable {
    case text(String)
    /// `${kind:argument}`; offset and count cover the whole reference, in scalars of the value.
    case reference(kind: String, argument: String?, offset: Int, count: Int)
    /// `${` without `}`.
    case unclosed(offset: Int)

    /// Splits `text` into pieces; `$$` is `$`.
    static func pieces(of text: String) -> [ValuePiece] {
        var pieces: [ValuePiece] = []
        var literal = String.UnicodeScalarView()
        let scalars = Array(text.unicodeScalars)
        var i = 0
        while i < scalars.count {
            let next = i + 1 < scalars.count ? scalars[i + 1] : " "
            guard scalars[i] == "$", next == "$" || next == "{" else {
                literal.append(scalars[i])
                i += 1
                continue
            }
            if next == "$" {
                literal.append("$")
                i += 2
                continue
            }
            guard let end = scalars[i...].firstIndex(of: "}") else {
                return pieces + [.unclosed(offset: i)]
            }
            if !literal.isEmpty { pieces.append(.text(String(literal))) }
            literal = String.UnicodeScalarView()
            let inside = String(String.UnicodeScalarView(scalars[(i + 2)..<end]))
            let colon = inside.firstIndex(of: ":")
            pieces.append(
                .reference(
                    kind: String(inside[..<(colon ?? inside.endIndex)]),
                    argument: colon.map { String(inside[inside.index(after: $0)...]) },
                    offset: i,
                    count: end + 1 - i
                )
            )
            i = end + 1
        }
        if !literal.isEmpty { pieces.append(.text(String(literal))) }
        return pieces
    }
}

/// The role of a value, which decides what it may refer to.
enum ValueRole {
    /// A setting, or a response of lupin's own: the environment only.
    case setting
    /// A value of a request step: the environment, secrets, tokens and the client's request.
    case step
    /// A value of a response step: the environment and the client's request; secrets must not reach
    /// the client.
    case response
    /// The body of a response of lupin's own: the same, and query parameters.
    case body
    /// User and password of a parent proxy: the environment and secrets.
    case userinfo
    /// A credential under `tokens`: the same, all of it secret; files are read on each use.
    case secret
}

extension DecodingContext {
    private static let kinds = ["env", "file", "secret", "token", "header", "query", "id"]

    /// Fills in all that is known at load; returns nil after reporting a problem.
    ///
    /// `isCredential` is true for the value of a field that holds one, and `isForShell` for one in
    /// which a shell may fill in variables of its own.
    func template(
        _ text: String,
        role: ValueRole,
        at node: YAMLNode,
        isCredential: Bool = false,
        isForShell: Bool = false
    ) -> Template? {
        let isSecret = isCredential || role == .secret || role == .userinfo
        guard isSecret || text.unicodeScalars.contains("$") else { return Template(text) }
        guard isForShell || acceptsVariables(of: text, isCredential: isSecret, at: node) else {
            return nil
        }
        var parts: [Template.Part] = []
        var isComplete = true
        for piece in ValuePiece.pieces(of: text) {
            if let part = part(piece, role: role, at: node) {
                parts.append(part)
            } else {
                isComplete = false
            }
        }
        return isComplete ? Template(joined(parts)) : nil
    }

    /// Resolves one piece of a value; returns nil after reporting a problem.
    func part(_ piece: ValuePiece, role: ValueRole, at node: YAMLNode) -> Template.Part? {
        switch piece {
        case .text(let literal):
            return .text(literal)
        case .unclosed(let offset):
            error(
                .syntax,
                "\"${\" is not closed",
                in: node,
                offset: offset,
                count: 2,
                hint: "write $${ for the characters themselves"
            )
            return nil
        case .reference(let kind, let argument, let offset, let count):
            let reference = Reference(
                kind: kind,
                argument: argument,
                offset: offset,
                count: count
            )
            return resolve(reference, role: role, at: node)
        }
    }

    /// Resolves a value of a role whose references all become text.
    func resolved(
        _ text: String,
        role: ValueRole,
        at node: YAMLNode,
        isCredential: Bool = false,
        isForShell: Bool = false
    ) -> String? {
        let template = template(
            text,
            role: role,
            at: node,
            isCredential: isCredential,
            isForShell: isForShell
        )
        guard let template else { return nil }
        var result = ""
        for case .text(let part) in template.parts { result += part }
        return result
    }

    /// Fills in `${env:…}` in a pattern.
    ///
    /// Nothing else is changed: `$` ends a regex.
    func resolvedPattern(_ text: String, at node: YAMLNode) -> String? {
        // Long lists usually have no `$`, and searching for one byte is quick.
        guard text.utf8.contains(0x24), text.contains("${env:") else { return text }
        var result = ""
        var rest = text[...]
        while let start = rest.firstRange(of: "${env:"),
            let end = rest[start.upperBound...].firstIndex(of: "}")
        {
            result += rest[..<start.lowerBound]
            let offset = text.unicodeScalars.distance(
                from: text.startIndex,
                to: start.lowerBound
            )
            let whole = rest[start.lowerBound...end]
            let reference = Reference(
                kind: "env",
                argument: String(rest[start.upperBound..<end]),
                offset: offset,
                count: whole.unicodeScalars.count
            )
            guard case .text(let value) = resolve(reference, role: .setting, at: node) else {
                return nil
            }
            result += value
            rest = rest[rest.index(after: end)...]
        }
        return result + rest
    }

    // MARK: One reference

    private struct Reference {
        var kind: String
        var argument: String?
        var offset: Int
        var count: Int

        var text: String { argument.map { "${\(kind):\($0)}" } ?? "${\(kind)}" }
        /// The form for messages: a default could be a secret.
        var shown: String { "${\(kind):…}" }
        /// Without the default.
        var name: Substring {
            let whole = argument ?? ""
            return whole.firstRange(of: ":-").map { whole[..<$0.lowerBound] } ?? whole[...]
        }
        /// The same with the name.
        var shownName: String { "${\(kind):\(name)}" }
    }

    private func resolve(
        _ reference: Reference,
        role: ValueRole,
        at node: YAMLNode
    ) -> Template.Part? {
        func refuse(_ code: Diagnostic.Code, _ message: String, _ hint: String? = nil) {
            error(
                code,
                message,
                in: node,
                offset: reference.offset,
                count: reference.count,
                hint: hint
            )
        }
        let argument = reference.argument ?? ""
        switch (reference.kind, role) {
        case ("id", .step) where reference.argument == nil,
            ("id", .response) where reference.argument == nil,
            ("id", .body) where reference.argument == nil:
            return .id
        case ("query", .body) where !argument.isEmpty: return .query(argument)
        case ("header", .step) where isFieldName(argument),
            ("header", .response) where isFieldName(argument),
            ("header", .body) where isFieldName(argument):
            return .header(argument)
        case ("header", .step), ("header", .response), ("header", .body):
            refuse(.header, "\"\(argument)\" is not a field name", "write ${header:User-Agent}")
        case ("env", .secret) where !argument.isEmpty,
            ("secret", .userinfo) where !argument.isEmpty,
            ("secret", .secret) where !argument.isEmpty:
            return secretVariable(argument, at: node, refuse).map { .text($0) }
        case ("env", _) where !argument.isEmpty:
            note(variable: String(reference.name))
            guard let value = environmentValue(argument, at: node, refuse: refuse) else {
                return nil
            }
            note(drawn: value, for: reference.shownName, at: node.location)
            return .text(value)
        case ("file", .userinfo) where !argument.isEmpty:
            return secretFile(argument, at: node, refuse: refuse).map { .text($0.text) }
        case ("file", .secret) where !argument.isEmpty:
            refuse(
                .type,
                "\"\(reference.shown)\" is not allowed here",
                "only a credential itself comes from a file"
            )
        case ("secret", .step) where !argument.isEmpty:
            return secretVariable(argument, at: node, refuse).map { .secret($0) }
        case ("file", .step) where !argument.isEmpty:
            return secretFile(argument, at: node, refuse: refuse).map { .secret($0.text) }
        case ("token", .step) where !argument.isEmpty:
            guard knownTokens.contains(argument) else {
                let near = near(argument, tokenNames)
                let names = Self.names(tokenNames)
                let known = names.isEmpty ? "define it under tokens:" : "defined: \(names)"
                let hint = near.map { "did you mean \"\($0)\"?" } ?? known
                refuse(.name, "unknown token \"\(argument)\"", hint)
                return nil
            }
            return .token(argument)
        default: refuseReference(reference, role: role, refuse)
        }
        return nil
    }

    /// Reports why a reference is not allowed in this role.
    private func refuseReference(
        _ reference: Reference,
        role: ValueRole,
        _ refuse: (Diagnostic.Code, String, String?) -> Void
    ) {
        switch (reference.kind, role) {
        case ("token", .secret):
            refuse(.type, "\"\(reference.shown)\" is not allowed here", "a token has one source")
        case ("token", _):
            refuse(
                .type,
                "\"\(reference.text)\" is not allowed here",
                "only request steps send credentials"
            )
        case ("query", _) where role != .body:
            refuse(
                .type,
                "\"\(reference.text)\" is not allowed here",
                "only the body of respond knows the query"
            )
        case ("header", _) where role != .body, ("id", _) where role != .body:
            refuse(
                .type,
                "\"\(reference.text)\" is not allowed here",
                "only values of request steps know a request"
            )
        case ("secret", _), ("file", _):
            refuse(
                .type,
                "\"\(reference.shown)\" is not allowed here",
                "secrets belong to tokens, request steps and the userinfo of upstream.proxy"
            )
        default:
            if DecodingContext.kinds.contains(reference.kind) {
                refuse(
                    .syntax,
                    "\"\(reference.text)\" names nothing",
                    "write ${\(reference.kind):NAME}"
                )
            } else {
                refuse(
                    .name,
                    "unknown reference \"${\(reference.kind)}\"",
                    hint(forUnknown: reference.kind, among: DecodingContext.kinds)
                )
            }
        }
    }

    /// The placeholder of a secret that is not read; its default could be a secret and is left out.
    private static func placeholder(_ kind: String, _ argument: String) -> String {
        let name = argument.firstRange(of: ":-").map { argument[..<$0.lowerBound] } ?? argument[...]
        return "<\(kind) \(name)>"
    }

    /// Resolves `N` or `N:-default` of a secret, which is hidden everywhere from now on.
    private func secretVariable(
        _ argument: String,
        at node: YAMLNode,
        _ refuse: (Diagnostic.Code, String, String?) -> Void
    ) -> String? {
        let placeholder = Self.placeholder("env", argument)
        switch surroundings.secrets {
        case .named: return placeholder
        case .unread:
            note(unreadAt: node.location)
            return placeholder
        case .required, .available: break
        }
        guard let text = environmentValue(argument, at: node, refuse: refuse) else { return nil }
        // Pipelines set variables of secrets that they don't give to nothing.
        if text.isEmpty, surroundings.secrets == .available { return placeholder }
        if text != placeholder { add(secret: text) }
        return text
    }

    /// Resolves `N` or `N:-default`; the default is for a variable that is unset or empty.
    private func environmentValue(
        _ argument: String,
        at node: YAMLNode,
        refuse: (Diagnostic.Code, String, String?) -> Void
    ) -> String? {
        var name = argument
        var fallback: String?
        if let marker = argument.firstRange(of: ":-") {
            name = String(argument[..<marker.lowerBound])
            fallback = String(argument[marker.upperBound...])
        }
        if isUnread {
            note(unreadAt: node.location)
            return Self.placeholder("env", name)
        }
        // As at the start of a file: what a shell read of one has it, too.
        let value = surroundings.environment[name].map { value in
            value.unicodeScalars.first == "\u{FEFF}"
                ? String(value.unicodeScalars.dropFirst()) : value
        }
        if let value, !value.isEmpty || fallback == nil { return value }
        if let fallback { return fallback }
        if surroundings.secrets != .required { return Self.placeholder("env", name) }
        refuse(
            .environment,
            "the environment has no variable \"\(name)\"",
            "set it, or write ${env:\(name):-default}"
        )
        return nil
    }

    /// Decodes `${file:P}` of a credential, which is checked now and read again on each use;
    /// returns nil after reporting a problem.
    func secretFilePart(_ piece: ValuePiece, at node: YAMLNode) -> SecretText.Part? {
        guard case .reference("file", let name?, let offset, let count) = piece, !name.isEmpty
        else { return nil }
        let file = secretFile(name, at: node) { code, message, hint in
            error(code, message, in: node, offset: offset, count: count, hint: hint)
        }
        return file.map { .file(path: $0.path) }
    }

    /// Reads a secret file without one trailing newline; only its owner may have access to it.
    private func secretFile(
        _ name: String,
        at node: YAMLNode,
        refuse: (Diagnostic.Code, String, String?) -> Void
    ) -> (path: String, text: String)? {
        guard let path = path(name, as: .secret, at: node) else { return nil }
        guard surroundings.secrets == .required else {
            note(unreadAt: node.location)
            return (path, secretAtHand(path))
        }
        let contents: FileContents
        do {
            contents = try surroundings.readFile(path)
        } catch {
            refuse(.file, "cannot read \(path): \(error.reason)", nil)
            return nil
        }
        if let problem = secrecyProblem(contents, path, at: node) {
            refuse(.file, problem.message, problem.hint)
            return nil
        }
        guard let text = SecretText.text(ofFile: contents.bytes) else {
            refuse(.file, "the secret file \(path) is not UTF-8 text", nil)
            return nil
        }
        add(secret: text)
        return (path, text)
    }

    /// The text of a secret file that need not be there, or its name.
    ///
    /// Who may read the file does not count: its text is not sent.
    func secretAtHand(_ path: String) -> String {
        guard surroundings.secrets == .available,
            let bytes = try? surroundings.readFile(path).bytes,
            let text = SecretText.text(ofFile: bytes), !text.isEmpty
        else { return Self.placeholder("file", path) }
        add(secret: text)
        return text
    }

    /// Returns why a file must not hold a secret; only warns when root mounted it.
    func secrecyProblem(
        _ contents: FileContents,
        _ path: String,
        at node: YAMLNode
    ) -> (message: String, hint: String)? {
        guard contents.isOpenToOthers else { return nil }
        let message = "the secret file \(path) is readable by group or others"
        guard contents.isMountedByRoot else { return (message, "chmod 600 \(path)") }
        warning(.file, message, at: node, hint: "root mounted it; nobody else should see it")
        return nil
    }

    private func joined(_ parts: [Template.Part]) -> [Template.Part] {
        var result: [Template.Part] = []
        for part in parts {
            if case .text(let more) = part, case .text(let before) = result.last {
                result[result.count - 1] = .text(before + more)
            } else {
                result.append(part)
            }
        }
        return result
    }

    func isFieldName(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { $0.isTokenByte }
    }
}
