// Formats a problem of the rules file: place, sentence, code, and the line with carets below.

/// One problem of a rules file.
package struct Diagnostic: Sendable, Equatable, Error {
    /// The kind of a problem, as a word to search for.
    package enum Code: String, Sendable, CaseIterable {
        case syntax = "E-SYNTAX"
        case key = "E-KEY"
        case duplicate = "E-DUP"
        case type = "E-TYPE"
        case range = "E-RANGE"
        case name = "E-NAME"
        case environment = "E-ENV"
        case file = "E-FILE"
        case glob = "E-GLOB"
        case regex = "E-REGEX"
        case host = "E-HOST"
        case header = "E-HEADER"
        case intercept = "E-INTERCEPT"
        /// A list without demands.
        case trustEmpty = "E-TRUST-1"
        case trustPin = "E-TRUST-2"
        /// `self_signed` without certificates.
        case trustSelfSigned = "E-TRUST-3"
        /// `disabled` on a rule that does not name its hosts.
        case trustDisabled = "E-TRUST-4"
        /// A later rule would silently replace pins.
        case trustReplaced = "E-TRUST-5"
        /// A token server to which a credential must not be sent, or a token that would be lost.
        case oauth = "E-OAUTH"
        /// A credential that would be sent to another machine without TLS.
        case auth = "E-AUTH"
        /// A retry that could do harm, or that could never happen.
        case retry = "E-RETRY"
        /// Caching that overrides an origin, or that stores nothing.
        case cache = "E-CACHE"
        case loop = "E-LOOP"
        case shadow = "E-SHADOW"
        case bind = "E-BIND"
        /// The key or value belongs to the format, but this version of lupin does not support it
        /// yet.
        case unavailable = "E-AVAIL"
    }

    package var code: Code
    /// The problem, without place and code.
    package var message: String
    /// The text to write instead; printed after the carets.
    package var hint: String?
    /// The file as the user named it.
    package var file: String
    /// 1-based; 0 when the problem is about the whole file.
    package var line: Int
    /// 1-based, in characters.
    package var column: Int
    /// The line of the file without its indentation; empty when there is none.
    package var excerpt: String
    /// Characters between the start of `excerpt` and the carets.
    package var caretOffset: Int
    package var caretCount: Int
    /// Whether the line is too long to be shown whole.
    var isCut = false
    /// Whether lupin starts despite the problem.
    package var isWarning = false

    /// The problem as `lupin check` prints it: one to three lines without a final line break.
    package var text: String {
        let what = (isWarning ? "warning: " : "") + "\(message)  [\(code.rawValue)]"
        guard line > 0 else {
            return "\(file): \(what)" + (hint.map { "\n    \($0)" } ?? "")
        }
        var text = "\(file):\(line):\(column): \(what)"
        guard !excerpt.isEmpty else { return text + (hint.map { "\n    \($0)" } ?? "") }
        text += "\n    \(excerpt)\n    "
        text += String(repeating: " ", count: caretOffset)
        text += String(repeating: "^", count: max(1, caretCount))
        if let hint { text += "  \(hint)" }
        return text
    }
}

extension Diagnostic {
    /// Leaves of a cut line only what the carets mark: a secret could be cut, too, and would not be
    /// known by its rest.
    func withoutSurroundings() -> Diagnostic {
        guard isCut else { return self }
        var diagnostic = self
        let marked = excerpt.dropFirst(caretOffset).prefix(caretCount)
        diagnostic.excerpt = marked.last == "…" ? "" : "…\(marked)…"
        diagnostic.caretOffset = 1
        return diagnostic
    }
}

extension [Diagnostic] {
    /// Formats problems as `lupin check` prints them: the first `limit`, then the number of the
    /// rest.
    package func report(limit: Int = 20) -> String {
        var lines = prefix(limit).map(\.text)
        if count > limit { lines.append("… and \(count - limit) more") }
        return lines.joined(separator: "\n")
    }

    /// Sorts by place and removes duplicates: an alias repeats the problems of its anchor.
    func sortedByPosition() -> [Diagnostic] {
        var result: [Diagnostic] = []
        let sorted = enumerated().sorted {
            ($0.element.line, $0.element.column, $0.offset)
                < ($1.element.line, $1.element.column, $1.offset)
        }
        for (_, diagnostic) in sorted where !result.suffix(8).contains(diagnostic) {
            result.append(diagnostic)
        }
        return result
    }
}
