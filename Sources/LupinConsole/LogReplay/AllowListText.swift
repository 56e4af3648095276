// An allow list as a rules file: in the words of the file, with what was counted as comments.
import LupinCore

/// Writes names from a log into a rules file, so that YAML can't read anything else into them.
enum RuleName {
    /// The longest text that is accepted as a method.
    private static let methodBytesMax = 64
    /// The longest text of a log in a comment.
    private static let commentMax = 80

    /// Whether a rule can name a method.
    static func isMethod(_ token: String) -> Bool {
        guard !token.isEmpty, token.utf8.count <= methodBytesMax,
            token.utf8.allSatisfy(\.isTokenByte), token != Method.connect.token
        else { return false }
        // A rules file takes `get` for a mistake.
        let upper = token.uppercased()
        return upper == token || !Method.defined.contains(Method(upper))
    }

    /// A host, a pattern or a method as a scalar of YAML: in quotes unless it is a plain word.
    static func scalar(_ text: String) -> String {
        let isName =
            text.contains(".") && text.first?.isLetter == true
            && text.utf8.allSatisfy(\.isHostNameByte)
        if isName || Method.defined.contains(Method(text)) { return text }
        // `$` begins a variable, also in quotes.
        let escaped = text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
            .replacing("$", with: "$$")
        return "\"\(escaped)\""
    }

    /// Any text of a log for a comment: printable ASCII, since YAML ends a line at other
    /// characters than `\n`, too.
    static func comment(_ text: String) -> String {
        let scalars = text.unicodeScalars
        let shown = scalars.prefix(commentMax).map { scalar in
            0x20..<0x7F ~= scalar.value ? Character(scalar) : "?"
        }
        return String(shown) + (scalars.count > commentMax ? "..." : "")
    }
}

/// The text of `lupin suggest`.
package struct AllowListText {
    private let seen: SeenTargets
    private let list: AllowList
    private var lines: [String] = []

    /// Programs that a comment names.
    private static let programsShown = 4
    /// How many hosts that aren't allowed are listed.
    private static let unusedShown = 100

    /// Writes the allow list of what was seen.
    ///
    /// The text depends on `seen` alone, so that the same log gives the same file.
    package static func text(of seen: SeenTargets) -> String {
        var text = AllowListText(seen)
        text.addIntroduction()
        text.addRules()
        text.addUnused()
        return text.lines.joined(separator: "\n") + "\n"
    }

    private init(_ seen: SeenTargets) {
        self.seen = seen
        list = AllowList(seen)
    }

    private mutating func addIntroduction() {
        let span = "\(Self.second(seen.first)) to \(Self.second(seen.last))"
        lines += [
            "# An allow list by lupin suggest: what \(Self.exchanges(seen.exchanges)) needed"
                + (seen.first.isEmpty ? "." : ", \(span)."),
            "# Rehearse it before it counts: lupin check FILE --against LOG",
            "# Rules of your own go above these, since each of these ends matching.",
        ]
        if !seen.foreignClients.isEmpty {
            let clients = seen.foreignClients.map(\.text).sorted().joined(separator: ", ")
            lines += [
                "# Clients of other machines asked, too, and need listen and access.clients:",
                "#   \(clients)",
            ]
        }
        lines += ["lupin: 1", "", "rules:"]
    }

    private mutating func addRules() {
        for rule in list.rules {
            let name = RuleName.scalar(rule.host)
            lines.append("  # \(Self.comment(rule))")
            lines.append("  - name: \(RuleName.scalar(rule.name))")
            let parts = rule.parts.map { Self.match($0, rule.way, of: name) }
            if parts.count == 1 {
                lines.append("    match: \(parts[0])")
            } else {
                lines.append("    match:")
                lines += parts.map { "      - \($0)" }
            }
            // Methods inside https are known only where lupin decrypts.
            if rule.way == .decrypted { lines.append("    intercept: true") }
            lines.append("    stop: true")
        }
        lines += [
            "  # Everything else.", "  - name: nothing else", "    match: {}",
            "    respond: {status: 403}",
        ]
    }

    /// `{host: a.example, port: 443}`.
    private static func match(
        _ part: AllowList.Part,
        _ way: SeenTargets.Way,
        of host: String
    ) -> String {
        var keys = ["host: \(host)"]
        var methods = part.methods
        switch way {
        case .tunnel: break
        // Without a scheme: what is inside may be http, as for a WebSocket.
        case .decrypted: methods.insert(Method.connect.token, at: 0)
        case .http: keys.append("scheme: http")
        case .https: keys.append("scheme: https")
        }
        keys.append("port: \(flow(part.ports.map { "\($0)" }))")
        if !methods.isEmpty { keys.append("method: \(flow(methods.map(RuleName.scalar)))") }
        return "{\(keys.joined(separator: ", "))}"
    }

    private static func flow(_ values: [String]) -> String {
        values.count == 1 ? values[0] : "[\(values.joined(separator: ", "))]"
    }

    /// `412 exchanges by curl, pip, last 2026-11-25T20:58:58Z`.
    private static func comment(_ rule: AllowList.Rule) -> String {
        let use = rule.use
        var text = exchanges(use.count)
        if rule.hosts > 1 { text += " with \(rule.hosts) hosts" }
        // Programs with the same count are sorted by name, so that the text is always the same.
        let programs = use.programs.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
        if !programs.isEmpty {
            let names = programs.prefix(programsShown).map { RuleName.comment($0.key) }
            let more = programs.count > programsShown ? " and others" : ""
            text += " by \(names.joined(separator: ", "))\(more)"
        }
        return use.last.isEmpty ? text : "\(text), last \(second(use.last))"
    }

    private mutating func addUnused() {
        if seen.unnamed > 0 {
            lines += [
                "", "# \(Self.exchanges(seen.unnamed)) had no host or method that a rule can name.",
            ]
        }
        guard !seen.unused.isEmpty else { return }
        lines += [
            "",
            "# Not allowed, since nobody got through (what was answered needs its rule, above):",
        ]
        let rows = seen.unused.map { target, count in
            (
                target: "\(target.host.uriText):\(target.port)",
                text: "\(target.outcome.rawValue) \(count == 1 ? "once" : "\(count) times"): "
                    + RuleName.comment(target.reason)
            )
        }.sorted { ($0.target, $0.text) < ($1.target, $1.text) }
        lines += rows.prefix(Self.unusedShown).map { "#   \($0.target) \($0.text)" }
        var others = rows.count - Self.unusedShown
        if others > 0 { lines.append("#   and \(others) more") }
        others = seen.unusedElsewhere
        if others > 0 { lines.append("#   and \(Self.exchanges(others)) with others") }
    }

    /// A time of a record, to the second.
    private static func second(_ time: String) -> String { "\(time.prefix(19))Z" }

    private static func exchanges(_ count: Int) -> String {
        "\(count) \(count == 1 ? "exchange" : "exchanges")"
    }
}
