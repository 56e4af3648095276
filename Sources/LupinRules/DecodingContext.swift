// The state that all decoders share: the file, its surroundings, and the problems found so far.

import LupinPolicy

/// Confined to one load.
final class DecodingContext {
    let source: SourceFile
    let surroundings: Surroundings
    private(set) var errors: [Diagnostic] = []
    private(set) var warnings: [Diagnostic] = []
    private(set) var secrets: [String] = []
    private var knownSecrets: Set<String> = []
    /// The variables that `${env:…}` names where no secret may stand.
    private(set) var variables: Set<String> = []
    /// What stands in the file for values of variables, and where they were filled in.
    private var drawn: [DrawnValue] = []
    /// Where values are not known, since nothing is read.
    private var unreadLocations: Set<FileLocation> = []
    private(set) var unreadReferences = 0
    /// The paths of the host lists that the file names.
    var files: [String] = []
    var hostLists: [String: HostList?] = [:]
    /// The hash of the content of those lists.
    var listHash = ContentHash()
    /// The names under `tokens`, including those with a problem.
    var tokenNames: [String] = [] {
        didSet { knownTokens = Set(tokenNames) }
    }
    private(set) var knownTokens: Set<String> = []
    private var digestNames: Set<String>?
    /// Whether it was reported that others can change the file.
    var hasRefusedFile = false
    /// The paths that the file names, and where each is named first.
    private(set) var paths: [(named: NamedPath, location: any DiagnosticLocation)] = []
    private var knownPaths: Set<NamedPath> = []
    /// How many words may still be compared with a mistyped one.
    private var comparisonsLeft = 20_000
    /// The keys `share` of tokens that machines share.
    var sharedTokens: [YAMLNode.Entry] = []
    /// What is checked once `upstream` is known, wherever it stands in the file.
    var checksOfWays: [(UpstreamSettings) -> Void] = []

    init(source: SourceFile, surroundings: Surroundings) {
        self.source = source
        self.surroundings = surroundings
    }

    /// Whether no other file and no variable is read.
    var isUnread: Bool { surroundings.secrets == .unread }

    func add(errors more: [Diagnostic]) { errors += more }

    func add(secret: String) {
        if !secret.isEmpty, knownSecrets.insert(secret).inserted { secrets.append(secret) }
    }

    func note(variable name: String) { variables.insert(name) }

    /// Notes that the value of a variable stands at a node in the place of `reference`.
    func note(drawn value: String, for reference: String, at location: FileLocation) {
        if !value.isEmpty {
            drawn.append(DrawnValue(value: value, reference: reference, location: location))
        }
    }

    /// Notes that the value at a node isn't known: it can't be wrong.
    func note(unreadAt location: FileLocation) {
        guard isUnread else { return }
        unreadLocations.insert(location)
        noteUnread()
    }

    /// Notes that the existence of something was not checked.
    func noteUnread() {
        if isUnread { unreadReferences += 1 }
    }

    // MARK: Problems

    func error(
        _ code: Diagnostic.Code,
        _ message: String,
        at location: some DiagnosticLocation,
        hint: String? = nil
    ) {
        if unreadLocations.contains(location.location) { return }
        errors.append(diagnostic(code, message, at: location, hint))
    }

    func error(_ code: Diagnostic.Code, _ message: String, at location: FileLocation, hint: String?)
    {
        errors.append(diagnostic(code, message, at: location, hint))
    }

    /// More lines are shown of no file: the first problems are printed, the others counted.
    private var mayShowLine: Bool { errors.count + warnings.count < 200 }

    /// Reports a problem and returns nil as the value.
    func refuse<Value>(
        _ code: Diagnostic.Code,
        _ message: String,
        at location: some DiagnosticLocation,
        hint: String? = nil
    ) -> Value? {
        error(code, message, at: location, hint: hint)
        return nil
    }

    func warning(
        _ code: Diagnostic.Code,
        _ message: String,
        at location: some DiagnosticLocation,
        hint: String? = nil
    ) {
        if unreadLocations.contains(location.location) { return }
        note(warning: diagnostic(code, message, at: location, hint))
    }

    func warning(
        _ code: Diagnostic.Code,
        _ message: String,
        at location: FileLocation,
        hint: String?
    ) {
        note(warning: diagnostic(code, message, at: location, hint))
    }

    private func note(warning: Diagnostic) {
        var warning = warning
        warning.isWarning = true
        warnings.append(warning)
    }

    private func diagnostic(
        _ code: Diagnostic.Code,
        _ message: String,
        at location: FileLocation,
        _ hint: String?
    ) -> Diagnostic {
        source.diagnostic(
            code,
            message,
            at: location,
            count: 1,
            hint: hint,
            showsLine: mayShowLine
        )
    }

    private func diagnostic(
        _ code: Diagnostic.Code,
        _ message: String,
        at location: some DiagnosticLocation,
        _ hint: String?
    ) -> Diagnostic {
        source.diagnostic(
            code,
            message,
            at: location.location,
            value: location.markedText,
            hint: hint,
            showsLine: mayShowLine
        )
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
        guard source.rest(at: node.location).dropFirst(lead).starts(with: before) else {
            return error(code, message, at: node, hint: hint)
        }
        errors.append(
            source.diagnostic(
                code,
                message,
                at: node.location.shifted(by: lead + offset),
                count: max(1, count),
                hint: hint,
                showsLine: mayShowLine
            )
        )
    }

    /// Masks secrets in the excerpts of problems, and what variables say in all of their text:
    /// reports go to logs too.
    func concealed(_ diagnostics: [Diagnostic]) -> [Diagnostic] {
        // Shorter ones would occur in ordinary words.
        let hidden = HiddenTexts(
            secrets.filter { $0.count >= 4 }
                .map { (text: $0, mark: String(repeating: "*", count: $0.count)) }
        )
        let values = HiddenTexts(
            drawn.filter { $0.value.count >= 6 }.map { (text: $0.value, mark: $0.reference) }
        )
        let drawnHere = Dictionary(grouping: drawn, by: \.location.line)
        return diagnostics.map { diagnostic in
            var diagnostic =
                secrets.isEmpty ? diagnostic : diagnostic.withoutSurroundings()
            diagnostic.excerpt = hidden.masked(diagnostic.excerpt)
            let here = drawnHere[diagnostic.line]?.filter {
                $0.value.count >= 3 && diagnostic.isAt($0.location, in: source)
            }
            let own = HiddenTexts((here ?? []).map { (text: $0.value, mark: $0.reference) })
            func masked(_ text: String) -> String { values.masked(own.masked(text)) }
            diagnostic.message = masked(diagnostic.message)
            diagnostic.hint = diagnostic.hint.map(masked)
            return diagnostic
        }
    }

    // MARK: Sentences that many decoders need

    func unknownKey(_ entry: YAMLNode.Entry, in section: String, known: [String]) {
        let location = section.isEmpty ? "" : " in \"\(section)\""
        let words = entry.key.split(separator: " ", maxSplits: 1)
        if words.count == 2, entry.value.isEmpty, known.contains(String(words[0])) {
            let message = "\"\(entry.key)\"\(location) has no colon"
            return error(.key, message, at: entry, hint: "write \(words[0]): \(words[1])")
        }
        let hint: String
        if let advice = RulePlace(rawValue: section)?.advice(for: entry.key) {
            hint = advice
        } else if let near = near(entry.key, known) {
            hint = "did you mean \"\(near)\"?"
        } else {
            hint = "known: \(Self.names(known))"
        }
        error(.key, "unknown key \"\(entry.key)\"\(location)", at: entry, hint: hint)
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
        let all = known.isEmpty ? nil : "\(label): \(Self.names(known))"
        let near = near(word, known).map { "did you mean \"\($0)\"?" }
        let hint = [near, all].compactMap(\.self).joined(separator: " ")
        return refuse(
            .name,
            "unknown \(what) \"\(word)\"",
            at: node,
            hint: hint.isEmpty ? nil : hint
        )
    }

    /// The known word that a mistyped one was probably meant to be.
    ///
    /// It is no longer looked for when a file has very many mistyped or very many known ones.
    func near(_ word: String, _ known: [String]) -> String? {
        guard known.count <= comparisonsLeft else { return nil }
        comparisonsLeft -= known.count
        return nearest(to: word, among: known)
    }

    /// A file may define very many names.
    static func names(_ names: [String]) -> String {
        let shown = names.prefix(40).joined(separator: ", ")
        return names.count > 40 ? "\(shown) and \(names.count - 40) more" : shown
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

    func unavailable(
        _ subject: String,
        _ what: String,
        at location: some DiagnosticLocation,
        hint: String? = nil
    ) {
        let message = DecodingContext.unavailability(subject, what)
        error(.unavailable, message, at: location, hint: hint)
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

    /// The names of tokens that answer a challenge.
    func digestTokens(_ tokens: [TokenDefinition]) -> Set<String> {
        if let digestNames { return digestNames }
        let names = tokens.compactMap { token in
            if case .digest = token.source { token.name } else { nil }
        }
        digestNames = Set(names)
        return Set(names)
    }

    // MARK: Paths

    /// Resolves a path of the file to an absolute one, and notes what it is for; returns nil after
    /// reporting a problem.
    func path(_ text: String, as role: PathRole, at node: YAMLNode) -> String? {
        let path = resolved(text, at: node)
        if let path { note(path, as: role, at: node) }
        return path
    }

    /// Notes what a path is for.
    func note(_ path: String, as role: PathRole, at location: some DiagnosticLocation) {
        let named = NamedPath(role, path)
        if knownPaths.insert(named).inserted { paths.append((named, location)) }
    }

    /// `~` is the effective user's home; other relative paths start at the file's directory.
    private func resolved(_ text: String, at node: YAMLNode) -> String? {
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
    /// No secret, no other file and no variable: of another user's file only the form is checked.
    case unread
}

/// The value of a variable that was filled in.
private struct DrawnValue {
    let value: String
    let reference: String
    let location: FileLocation
}

extension Diagnostic {
    /// Whether the problem is shown at a place, or within a value that begins there.
    fileprivate func isAt(_ location: FileLocation, in source: SourceFile) -> Bool {
        line == location.line && column >= location.column
            && column <= location.column + 1 + source.rest(at: location).prefix(4096).count
    }
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
    /// Whether a path leads to a program that the user may run.
    package var isProgram: (String) -> Bool = { _ in true }
    /// What lets another user change a file: itself, and directories on the way to it.
    package var openWay: (String) -> [FileStanding] = { _ in [] }
    /// Which secrets are read.
    package var secrets = SecretReading.required
    /// What OpenSSL says of values that only it can judge; nil takes them as they are.
    package var tls: TLSJudgement?
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
