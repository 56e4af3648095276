// Decodes values under `tokens:`: secrets, which are never shown, and the values beside them.

import LupinCore
import LupinPolicy

extension DecodingContext {
    // MARK: Secrets

    /// Decodes a secret and fills in what is known at load; returns nil after reporting a problem.
    ///
    /// `what` completes "expected …, found". `isSecret` is false for user names, which are not
    /// secret when they are literals.
    func secretText(
        _ node: YAMLNode,
        _ what: String,
        isSecret: Bool = true,
        mayBeEmpty: Bool = false
    ) -> SecretText? {
        let example = "\"${env:NAME}\" or \"${file:PATH}\""
        guard case .scalar(let raw, let isPlain) = node.content, !(raw.isEmpty && isPlain) else {
            tellUnexpected(node, expected: what, hint: "write \(example)")
            return nil
        }
        guard acceptsVariables(of: raw, isCredential: true, at: node) else { return nil }
        if isSecret { taintLiterals(raw) }
        guard let secret = secretText(pieces: ValuePiece.pieces(of: raw), at: node),
            let text = textNow(secret, at: node)
        else { return nil }
        if isSecret { add(secret: text) }
        guard mayBeEmpty || !text.isEmpty else {
            error(.type, "expected \(what), found nothing", at: node, hint: "write \(example)")
            return nil
        }
        if let problem = RequestStep.problem(withFieldValue: text) {
            let hint = "\(what) is one line without a line end"
            return refuse(.header, problem, at: node, hint: hint)
        }
        return secret
    }

    private func secretText(pieces: [ValuePiece], at node: YAMLNode) -> SecretText? {
        var parts: [SecretText.Part] = []
        var isComplete = true
        for piece in pieces {
            if case .reference("file", let name?, _, _) = piece, !name.isEmpty {
                if let part = secretFilePart(piece, at: node) {
                    parts.append(part)
                } else {
                    isComplete = false
                }
            } else if case .text(let more) = part(piece, role: .secret, at: node) {
                if case .text(let before) = parts.last {
                    parts[parts.count - 1] = .text(before + more)
                } else {
                    parts.append(.text(more))
                }
            } else {
                isComplete = false
            }
        }
        return isComplete ? SecretText(parts) : nil
    }

    /// Resolves the current text: a file may change later, and is checked again on each use.
    private func textNow(_ secret: SecretText, at node: YAMLNode) -> String? {
        let readFile = surroundings.readFile
        guard surroundings.secrets == .required else {
            return secret.parts.map { part in
                switch part {
                case .text(let text): text
                case .file(let path): secretAtHand(path)
                }
            }.joined()
        }
        do {
            return try secret.text { path throws(TokenFailure) in
                do throws(FileProblem) {
                    return try readFile(path).bytes
                } catch {
                    throw TokenFailure(.file(path: path, reason: error.reason))
                }
            }
        } catch {
            // The file could be read a moment ago.
            return refuse(.file, "a secret file changes while it is read", at: node)
        }
    }

    /// Marks literals as secret before any problem with them is reported.
    private func taintLiterals(_ raw: String) {
        for case .text(let literal) in ValuePiece.pieces(of: raw) {
            // A line break of the value is an escape or a line break in the file.
            let lines = literal.unicodeScalars.split { $0.value < 0x20 }
            for line in lines { add(secret: String(line)) }
        }
    }

    /// Reports an unexpected kind of value without repeating it, since it may be a secret.
    func tellUnexpected(_ node: YAMLNode, expected: String, hint: String) {
        var found = node.kindText
        if case .scalar(let text, _) = node.content, !node.isEmpty {
            found = "a text"
            taintLiterals(text)
        }
        error(.type, "expected \(expected), found \(found)", at: node, hint: hint)
    }

    /// Decodes text that is known at load; what comes from the environment is secret.
    func settledText(
        _ node: YAMLNode,
        expected: String,
        example: String,
        isForShell: Bool = false
    ) -> String? {
        guard case .scalar(let raw, let isPlain) = node.content, !(raw.isEmpty && isPlain) else {
            tellUnexpected(node, expected: expected, hint: "write \(example)")
            return nil
        }
        guard let text = resolved(raw, role: .secret, at: node, isForShell: isForShell)
        else { return nil }
        guard !text.isEmpty, !text.unicodeScalars.contains("\0") else {
            let message = "expected \(expected), found \(text.isEmpty ? "nothing" : "a NUL")"
            return refuse(.type, message, at: node, hint: "write \(example)")
        }
        return text
    }

    func missing(_ key: String, in entry: YAMLNode.Entry, hint: String) {
        let message = "\"\(entry.key)\" has no \"\(key)\""
        error(.key, message, at: entry, hint: hint)
    }

    // MARK: User and password

    /// Decodes `{user, password}`, and `preemptive` if allowed; returns nil after reporting a
    /// problem.
    func userPassword(
        _ entry: YAMLNode.Entry,
        mayBePreemptive: Bool
    ) -> (user: SecretText, password: SecretText, preemptive: Bool)? {
        let example = "{user: ci, password: \"${file:PATH}\"}"
        guard case .map(let entries) = entry.value.content else {
            tellUnexpected(entry.value, expected: "a map", hint: "write \(example)")
            return nil
        }
        let known = ["user", "password"] + (mayBePreemptive ? ["preemptive"] : [])
        var user: SecretText?
        var password: SecretText?
        var preemptive = true
        let isComplete = every(entries, in: entry.key, known: known) { part in
            switch part.key {
            case "user": set(&user, self.user(part.value))
            case "password":
                set(&password, secretText(part.value, "a password", mayBeEmpty: true))
            default: set(&preemptive, boolean(part.value))
            }
        }
        for key in ["user", "password"] where !entries.contains(where: { $0.key == key }) {
            missing(key, in: entry, hint: "write \(entry.key): \(example)")
        }
        guard isComplete, let user, let password else { return nil }
        taint(user, password)
        return (user: user, password: password, preemptive: preemptive)
    }

    private func user(_ node: YAMLNode) -> SecretText? {
        guard let user = secretText(node, "a user", isSecret: false),
            let text = textNow(user, at: node)
        else { return nil }
        guard !text.contains(":") else {
            let hint = "behind the first colon the password begins (RFC 7617)"
            return refuse(.type, "a user has no colon", at: node, hint: hint)
        }
        return user
    }

    /// The pair is secret, and also a user alone that is an API key without a password.
    private func taint(_ user: SecretText, _ password: SecretText) {
        guard let user = user.constant, let password = password.constant else { return }
        add(secret: password.isEmpty ? user : "\(user):\(password)")
    }

    // MARK: Command

    /// Decodes `command:` and the keys beside it; returns nil after reporting a problem.
    func command(_ entry: YAMLNode.Entry, beside entries: [YAMLNode.Entry]) -> CommandSource? {
        let example = "[vault, read, -field=token, secret/api]"
        var words: [String] = []
        var isComplete = true
        let items = items(entry.value)
        for (index, item) in items.enumerated() {
            guard holdsNoSecret(item),
                var word = settledText(
                    item,
                    expected: "a word",
                    example: example,
                    isForShell: true
                )
            else {
                isComplete = false
                continue
            }
            // A name without a slash is searched in PATH.
            if index == 0, word.contains("/") || word.hasPrefix("~") {
                guard let path = path(word, as: .program, at: item) else {
                    isComplete = false
                    continue
                }
                word = path
            }
            if index == 0, items.count == 1, !word.contains("/"), word.contains(" ") {
                let message = "one text is one program, without arguments"
                error(.type, message, at: item, hint: "write a list of words: \(example)")
                isComplete = false
            }
            noteProgram(word, isFirst: index == 0, at: item)
            // Behind -c it is the script of a shell.
            if words.last != "-c" { warnOfVariable(word, at: item) }
            words.append(word)
        }
        if items.isEmpty {
            error(.type, "\"command\" names no program", at: entry, hint: "write \(example)")
        }
        var every: Duration?? = .some(nil)
        var timeout: Duration? = .seconds(5)
        var variables: [CommandSource.Variable]? = []
        for companion in entries {
            switch companion.key {
            case "env": variables = self.variables(companion)
            case "every":
                every = time(companion, in: 1000...7 * 86_400_000, or: "none", example: "10m")
            case "timeout":
                timeout = time(companion, in: 100...600_000, example: "5s") ?? nil
            default: break
            }
        }
        guard isComplete, !words.isEmpty, let every, let timeout, let variables else { return nil }
        var command = CommandSource(arguments: words)
        command.variables = variables
        command.every = every
        command.timeout = timeout
        return command
    }

    /// Warns about a word that a shell would replace.
    private func warnOfVariable(_ word: String, at node: YAMLNode) {
        guard let found = ValuePiece.shellVariable(in: word),
            found.count == word.unicodeScalars.count
        else { return }
        warning(
            .environment,
            "\"$\(found.name)\" is no variable here: the program gets these characters",
            at: node,
            hint: "a shell knows variables: command: [sh, -c, 'PROGRAM \"$\(found.name)\"']"
        )
    }

    /// Notes the program of a command, and scripts among its arguments.
    private func noteProgram(_ word: String, isFirst: Bool, at node: YAMLNode) {
        var paths = word.contains("/") ? [word] : []
        if isFirst, paths.isEmpty {
            let folders = surroundings.environment["PATH"] ?? ""
            paths = folders.split(separator: ":").map { "\($0)/\(word)" }
        }
        if isFirst { demandProgram(word, paths, at: node) }
        // The first that is there runs.
        if let file = paths.first(where: surroundings.isFile) {
            note(file, as: .program, at: node)
        }
    }

    /// Warns about a program that can't be run now: requests get 502 until it can.
    private func demandProgram(_ word: String, _ paths: [String], at node: YAMLNode) {
        noteUnread()
        // Without PATH the system decides where it looks.
        guard !word.isEmpty, !paths.isEmpty, !paths.contains(where: surroundings.isProgram)
        else { return }
        let message =
            if let file = paths.first(where: surroundings.isFile) {
                "\(file) is not executable"
            } else if word.contains("/") {
                surroundings.isDirectory(word)
                    ? "\(word) is a folder" : "there is no program \(word) yet"
            } else {
                "there is no program \"\(word)\" in any folder of PATH"
            }
        let hint = "requests that need the token get 502 until lupin can run it"
        warning(.file, message, at: node, hint: hint)
    }

    /// Reports a reference in a word of a command: every user sees the arguments of programs.
    private func holdsNoSecret(_ node: YAMLNode) -> Bool {
        for piece in ValuePiece.pieces(of: node.scalarText ?? "") {
            guard case .reference(let kind, let name?, let offset, let count) = piece,
                ["env", "secret", "file", "token"].contains(kind)
            else { continue }
            error(
                .type,
                "every user of the machine sees the arguments of a program",
                in: node,
                offset: offset,
                count: count,
                hint: "write env: {NAME: \"${\(kind == "token" ? "secret" : kind):\(name)}\"} "
                    + "beside command; the program finds it in $NAME"
            )
            return false
        }
        return true
    }

    /// Decodes `env:` beside a command; returns nil after reporting a problem.
    private func variables(_ entry: YAMLNode.Entry) -> [CommandSource.Variable]? {
        let example = "env: {VAULT_TOKEN: \"${secret:VAULT_TOKEN}\"}"
        guard let entries = entries(entry.value, of: "names and values", example: example) else {
            return nil
        }
        var variables: [CommandSource.Variable] = []
        for part in entries {
            guard demandVariableName(part),
                let value = secretText(part.value, "a value", mayBeEmpty: true)
            else { return nil }
            variables.append(CommandSource.Variable(name: part.key, value: value))
        }
        return variables
    }

    // MARK: Field

    /// Decodes `header:`; returns nil after reporting a problem.
    func tokenField(_ entry: YAMLNode.Entry) -> TokenField? {
        let example = "{name: X-Api-Key, value: \"key ${token}\"}"
        guard case .map(let entries) = entry.value.content else {
            tellUnexpected(entry.value, expected: "a map", hint: "write \(example)")
            return nil
        }
        var name: String?
        var value: [TokenField.Part] = [.token]
        let isComplete = every(entries, in: entry.key, known: ["name", "value"]) { part in
            part.key == "name"
                ? set(&name, fieldName(part.value)) : set(&value, fieldParts(part.value))
        }
        if !entries.contains(where: { $0.key == "name" }) {
            missing("name", in: entry, hint: "write \(example)")
        }
        guard isComplete, let name else { return nil }
        return TokenField(name: name, value: value)
    }

    private func fieldName(_ node: YAMLNode) -> String? {
        guard let name = text(node, expected: "a field name", example: "X-Api-Key") else {
            return nil
        }
        guard let problem = RequestStep.problem(withFieldName: name) else { return name }
        tellField(problem, at: node)
        return nil
    }

    private func fieldParts(_ node: YAMLNode) -> [TokenField.Part]? {
        let example = "\"key ${token}\""
        guard case .scalar(let raw, let isPlain) = node.content, !(raw.isEmpty && isPlain) else {
            tellUnexpected(node, expected: "a value", hint: "write \(example)")
            return nil
        }
        guard acceptsVariables(of: raw, isCredential: true, at: node) else { return nil }
        var parts: [TokenField.Part] = []
        for piece in ValuePiece.pieces(of: raw) {
            if case .reference("token", nil, _, _) = piece {
                parts.append(.token)
                continue
            }
            if case .reference("token", _, _, _) = piece {
                let message = "the field of a token holds no other one"
                return refuse(.type, message, at: node, hint: "write \(example)")
            }
            guard case .text(let text) = part(piece, role: .secret, at: node) else { return nil }
            if let problem = RequestStep.problem(withFieldValue: text) {
                tellField(problem, at: node)
                return nil
            }
            parts.append(.text(text))
        }
        guard parts.contains(.token) else {
            let message = "the value does not hold the credential"
            return refuse(.type, message, at: node, hint: "write \(example)")
        }
        return parts
    }

    // MARK: Refresh

    /// Decodes `refresh:`; returns nil after reporting a problem.
    func refresh(_ node: YAMLNode) -> RefreshSettings? {
        guard let entries = entries(node, of: "a map", example: "refresh: {max: 5}") else {
            return nil
        }
        var settings = RefreshSettings()
        let known = ["before", "on", "window", "max", "replay"]
        let day: Int64 = 86_400_000
        let isComplete = every(entries, in: "refresh", known: known) { entry in
            switch entry.key {
            case "before":
                set(&settings.before, time(entry, in: 0...day, or: "auto", example: "30s"))
            case "on": set(&settings.on, refusals(entry.value))
            case "window":
                set(&settings.window, time(entry, in: 1000...day, or: "none", example: "30s"))
            case "max": set(&settings.max, number(entry.value, in: 1...100, what: "max"))
            default: set(&settings.replay, boolean(entry.value))
            }
        }
        return isComplete ? settings : nil
    }

    /// Decodes the responses that refuse a credential: statuses, or maps of conditions.
    private func refusals(_ node: YAMLNode) -> [ValidationPolicy]? {
        all(node) { refusal($0) }?.reduce(into: []) { result, policy in
            if !result.contains(policy) { result.append(policy) }
        }
    }

    private func refusal(_ node: YAMLNode) -> ValidationPolicy? {
        guard case .map = node.content else {
            return number(node, in: 400...599, what: "status").map {
                ValidationPolicy(status: UInt16(truncatingIfNeeded: $0))
            }
        }
        guard let policy = responseCondition(node) else { return nil }
        // A success that nothing else tells from others would be refreshed for ever.
        if policy.headers.isEmpty, policy.json.isEmpty,
            (200...399).contains(where: { status in
                policy.status?.contains(status) ?? true
            })
        {
            let message = "a status below 400 alone does not say that a credential was refused"
            return refuse(.range, message, at: node, hint: "add header or json")
        }
        return policy
    }

    // MARK: Small values

    /// Decodes a duration within a range of milliseconds; `.some(nil)` is the word; returns nil
    /// after reporting a problem.
    func time(
        _ entry: YAMLNode.Entry,
        in range: ClosedRange<Int64>,
        or word: String? = nil,
        example: String
    ) -> Duration?? {
        guard let text = text(entry.value, expected: "a duration", example: example) else {
            return nil
        }
        if let word, text == word { return .some(nil) }
        guard
            let value = units(
                entry.value,
                { () throws(Units.Problem) in try Units.duration(text) }
            )
        else { return nil }
        if range.contains(value) { return .milliseconds(value) }
        let bounds = [range.lowerBound, range.upperBound].map(UnitText.duration)
        let hint = "allowed: \(bounds.joined(separator: " to "))"
        return refuse(.range, "\(entry.key) \(text) is out of range", at: entry.value, hint: hint)
    }
}
