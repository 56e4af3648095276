// How a problem of the rules file is told: place, sentence, code, and the line with carets below.

/// One problem of a rules file.
package struct Diagnostic: Sendable, Equatable, Error {
    /// What kind of problem it is, in a word that people can search for.
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
        /// A list that demands nothing.
        case trustEmpty = "E-TRUST-1"
        case trustPin = "E-TRUST-2"
        /// `self_signed` without the certificates that it speaks of.
        case trustSelfSigned = "E-TRUST-3"
        /// `disabled` on a rule that does not name its hosts.
        case trustDisabled = "E-TRUST-4"
        /// A later rule would replace pins without a word.
        case trustReplaced = "E-TRUST-5"
        /// A token server that a credential must not be sent to, or a token that would get lost.
        case oauth = "E-OAUTH"
        /// A credential that would go to another machine in clear.
        case auth = "E-AUTH"
        /// A retry that could do harm, or that could never be made.
        case retry = "E-RETRY"
        /// Caching that goes beyond an origin's word, or that stores nothing.
        case cache = "E-CACHE"
        case loop = "E-LOOP"
        case shadow = "E-SHADOW"
        case bind = "E-BIND"
        /// The key or value belongs to the format and this version of lupin cannot do it yet.
        case unavailable = "E-AVAIL"
    }

    package var code: Code
    /// What is wrong, without place and code.
    package var message: String
    /// What to write instead; stands behind the carets.
    package var hint: String?
    /// The file as the user named it.
    package var file: String
    /// 1-based; 0 when the problem is the file as a whole.
    package var line: Int
    /// 1-based, in characters.
    package var column: Int
    /// The line of the file without its indentation; empty when there is none to show.
    package var excerpt: String
    /// Characters between the start of `excerpt` and the carets.
    package var caretOffset: Int
    package var caretCount: Int
    /// It does not keep lupin from starting.
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

extension [Diagnostic] {
    /// All of them as `lupin check` prints them: the first `limit`, then how many more there are.
    package func report(limit: Int = 20) -> String {
        var lines = prefix(limit).map(\.text)
        if count > limit { lines.append("… and \(count - limit) more") }
        return lines.joined(separator: "\n")
    }

    /// In the order of the file, each only once: an alias repeats the problems of its anchor.
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
