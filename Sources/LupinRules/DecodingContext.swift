// The state that all decoders share: the file, its surroundings, and the problems found so far.

import LupinCore

/// Confined to one load.
final class DecodingContext {
    let source: SourceFile
    let surroundings: Surroundings
    private(set) var errors: [Diagnostic] = []
    private(set) var warnings: [Diagnostic] = []
    private(set) var secrets: [String] = []
    /// The paths of the host lists that the file names.
    var files: [String] = []
    var hostLists: [String: HostList?] = [:]
    /// The hash of the content of those lists.
    var listHash = ContentHash()
    /// The names under `tokens`, including those with a problem.
    var tokenNames: [String] = []
    /// The keys `share` of tokens that machines share.
    var sharedTokens: [YAMLNode.Entry] = []

    init(source: SourceFile, surroundings: Surroundings) {
        self.source = source
        self.surroundings = surroundings
    }

    func add(errors more: [Diagnostic]) { errors += more }

    func add(secret: String) {
        if !secret.isEmpty, !secrets.contains(secret) { secrets.append(secret) }
    }

    // MARK: Problems

    func error(
        _ code: Diagnostic.Code,
        _ message: String,
        at place: some DiagnosticPlace,
        hint: String? = nil
    ) {
        errors.append(diagnostic(code, message, at: place, hint))
    }

    func error(_ code: Diagnostic.Code, _ message: String, at place: Place, hint: String?) {
        errors.append(source.diagnostic(code, message, at: place, count: 1, hint: hint))
    }

    /// Reports a problem and returns nil as the value.
    func refuse<Value>(
        _ code: Diagnostic.Code,
        _ message: String,
        at place: some DiagnosticPlace,
        hint: String? = nil
    ) -> Value? {
        error(code, message, at: place, hint: hint)
        return nil
    }

    func warning(
        _ code: Diagnostic.Code,
        _ message: String,
        at place: some DiagnosticPlace,
        hint: String? = nil
    ) {
        note(warning: diagnostic(code, message, at: place, hint))
    }

    func warning(_ code: Diagnostic.Code, _ message: String, at place: Place, hint: String?) {
        note(warning: source.diagnostic(code, message, at: place, count: 1, hint: hint))
    }

    private func note(warning: Diagnostic) {
        var warning = warning
        warning.isWarning = true
        warnings.append(warning)
    }

    private func diagnostic(
        _ code: Diagnostic.Code,
        _ message: String,
        at place: some DiagnosticPlace,
        _ hint: String?
    ) -> Diagnostic {
        source.diagnostic(code, message, at: place.place, value: place.markedText, hint: hint)
    }

    /// Reports a problem at `count` scalars from `offset` in a scalar's text, or at the whole
    /// scalar when escapes or line breaks make its text differ from the file.
    func error(
        _ code: Diagnostic.Code,
        _ message: String,
        in node: YAMLNode,
        offset: Int,
        count: Int,
        hint: String? = nil
    ) {
        guard case .scalar(let text, let isPlain) = node.content, offset >= 0 else {
            return error(code, message, at: node, hint: hint)
        }
        let lead = isPlain ? 0 : 1
        let before = text.unicodeScalars.prefix(offset + count)
        guard source.rest(at: node.place).dropFirst(lead).starts(with: before) else {
            return error(code, message, at: node, hint: hint)
        }
        errors.append(
            source.diagnostic(
                code,
                message,
                at: node.place.shifted(by: lead + offset),
                count: max(1, count),
                hint: hint
            )
        )
    }

    /// Masks secrets in the excerpts of problems: reports go to logs too.
    func concealed(_ diagnostics: [Diagnostic]) -> [Diagnostic] {
        // Shorter ones would occur in ordinary words.
        let hidden = secrets.filter { $0.count >= 4 }
        return diagnostics.map { diagnostic in
            var diagnostic = diagnostic
            for secret in hidden where diagnostic.excerpt.contains(secret) {
                let stars = String(repeating: "*", count: secret.count)
                diagnostic.excerpt = diagnostic.excerpt.replacing(secret, with: stars)
            }
            return diagnostic
        }
    }

    // MARK: Sentences that many decoders need

    func unknownKey(_ entry: YAMLNode.Entry, in section: String, known: [String]) {
        let place = section.isEmpty ? "" : " in \"\(section)\""
        let hint: String
        if let near = nearest(to: entry.key, among: known) {
            hint = "did you mean \"\(near)\"?"
        } else {
            hint = "known: \(known.joined(separator: ", "))"
        }
        error(.key, "unknown key \"\(entry.key)\"\(place)", at: entry, hint: hint)
    }

    func unknownWord<Value>(
        _ node: YAMLNode,
        _ word: String,
        for what: String,
        known: [String]
    ) -> Value? {
        unknown(node, word, what, "allowed", known)
    }

    func undefinedName<Value>(
        _ node: YAMLNode,
        _ name: String,
        of what: String,
        defined: [String]
    ) -> Value? {
        unknown(node, name, what, "defined", defined)
    }

    private func unknown<Value>(
        _ node: YAMLNode,
        _ word: String,
        _ what: String,
        _ label: String,
        _ known: [String]
    ) -> Value? {
        let all = "\(label): \(known.joined(separator: ", "))"
        let near = nearest(to: word, among: known).map { "did you mean \"\($0)\"? " } ?? ""
        return refuse(.name, "unknown \(what) \"\(word)\"", at: node, hint: near + all)
    }

    /// E-TYPE: reports that `expected` was expected; `example` is a valid value.
    func wrongType<Value>(
        _ node: YAMLNode,
        _ expected: String,
        write example: String
    ) -> Value? {
        let message = "expected \(expected), found \(node.kindText)"
        return refuse(.type, message, at: node, hint: "write \(example)")
    }

    func unavailable(_ subject: String, _ what: String, at place: some DiagnosticPlace) {
        error(.unavailable, DecodingContext.unavailability(subject, what), at: place)
    }

    static func unavailability(_ subject: String, _ what: String) -> String {
        "\"\(subject)\" is not available yet: \(what) arrives in a later version"
    }

    /// Whether the value requests nothing, so that its key is allowed before it is available.
    func isOff(_ node: YAMLNode, _ offValues: [String]) -> Bool {
        switch node.content {
        case .scalar("", isPlain: true): offValues.contains("{}") || offValues.contains("[]")
        case .scalar(let text, _): offValues.contains(text)
        case .list(let items): items.isEmpty && offValues.contains("[]")
        case .map(let entries): entries.isEmpty && offValues.contains("{}")
        }
    }

    // MARK: Paths

    /// Resolves a path of the file to an absolute one; returns nil after reporting a problem.
    ///
    /// `~` is the effective user's home; other relative paths start at the file's directory.
    func path(_ text: String, at node: YAMLNode) -> String? {
        if text.hasPrefix("/") { return text }
        if text == "~" || text.hasPrefix("~/") {
            guard let home = surroundings.home else {
                return refuse(.file, "the user has no home directory for \"~\"", at: node)
            }
            return home + text.dropFirst()
        }
        if text.hasPrefix("~") {
            return refuse(
                .file,
                "the home of another user is not supported",
                at: node,
                hint: "write the whole path"
            )
        }
        let directory = surroundings.directory
        return directory.isEmpty ? text : directory == "/" ? "/\(text)" : "\(directory)/\(text)"
    }
}

/// Which secrets are read with a rules file.
package enum SecretReading: Sendable {
    /// All of them; what can't be read is an error.
    case required
    /// Those that can be read. In the place of others, and of variables that are not set, stands
    /// their name, `<env NAME>` or `<file PATH>`.
    case available
    /// None: their names stand in their places.
    case named
}

/// The surroundings of a file: decoding uses the system only through them.
package struct Surroundings {
    /// lupin's own environment.
    package var environment: [String: String]
    /// The meaning of `~`; nil when the user has no home.
    package var home: String?
    /// The directory of the rules file, for relative paths; `""` leaves them unchanged.
    package var directory: String
    /// The ownership and modes of the rules file, followed by those of its directories.
    ///
    /// Empty without a file.
    package var standings: [FileStanding]
    /// Whether a path leads to a directory.
    package var isDirectory: (String) -> Bool = { _ in true }
    /// Whether a path leads to a file.
    package var isFile: (String) -> Bool = { _ in true }
    /// Which secrets are read.
    package var secrets = SecretReading.required
    /// Reads a file that the rules name.
    package var readFile: (String) throws(FileProblem) -> FileContents

    package init(
        environment: [String: String] = [:],
        home: String? = nil,
        directory: String = "",
        standings: [FileStanding] = [],
        readFile: @escaping (String) throws(FileProblem) -> FileContents = {
            _ throws(FileProblem) in
            throw FileProblem("there is no such file")
        }
    ) {
        self.environment = environment
        self.home = home
        self.directory = directory
        self.standings = standings
        self.readFile = readFile
    }
}
