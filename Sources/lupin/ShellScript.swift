// How each shell sets and unsets a variable for its children.
import ArgumentParser
import LupinCore

/// A family of shells with the same syntax.
enum Shell: String, CaseIterable, ExpressibleByArgument {
    case sh, fish, powershell

    /// The family of the program at `path`, such as the one in `$SHELL`; `sh` for unknown ones.
    init(path: String?) {
        switch path?.split(separator: "/").last {
        case "fish": self = .fish
        case "pwsh", "pwsh-preview", "powershell": self = .powershell
        default: self = .sh
        }
    }

    /// The shells that `--shell` lists: the usual names, not all that it takes.
    static let allValueStrings = ["sh", "bash", "zsh", "fish", "pwsh"]

    /// Parses the name of a family, or of a shell that belongs to one.
    init?(argument: String) {
        switch argument {
        case "bash", "zsh": self = .sh
        case "pwsh": self = .powershell
        default: self.init(rawValue: argument)
        }
    }

    /// A statement that sets a variable for all later commands.
    func export(_ name: String, _ value: String) -> String {
        switch self {
        case .sh: "export \(name)=\(quoted(value))"
        case .fish: "set -gx \(name) \(quoted(value));"
        case .powershell: "$Env:\(name) = \(quoted(value))"
        }
    }

    /// A statement that unsets a variable; it succeeds when the variable is not set.
    func unset(_ name: String) -> String {
        switch self {
        case .sh: "unset \(name)"
        case .fish: "set -e \(name);"
        case .powershell: "Remove-Item Env:\(name) -ErrorAction SilentlyContinue"
        }
    }

    /// The command line that evaluates the statements that `command` prints.
    func evaluation(of command: String) -> String {
        switch self {
        case .sh: "eval \"$(\(command))\""
        case .fish: "\(command) | source"
        case .powershell: "\(command) | Out-String | Invoke-Expression"
        }
    }

    /// Quotes a text, so that the shell reads it as one literal word.
    func quoted(_ text: String) -> String {
        switch self {
        case .sh: "'\(text.replacing("'", with: "'\\''"))'"
        case .fish:
            "'\(text.replacing("\\", with: "\\\\").replacing("'", with: "\\'"))'"
        case .powershell: "'\(text.replacing("'", with: "''"))'"
        }
    }
}

/// The forms in which `lupin env` prints variables.
enum VariableFormat: String, CaseIterable, ExpressibleByArgument {
    case sh, bash, zsh, fish, pwsh, dotenv, json, docker

    /// nil for what no shell reads.
    var shell: Shell? { Shell(argument: rawValue) }

    /// The variables for a reader that is no shell, with the end of the last line.
    func text(of variables: [(name: String, value: String)]) -> String {
        switch self {
        case .json:
            var line = JSONLine()
            line.openObject()
            for (name, value) in variables { line.add(name, text: value) }
            line.closeObject()
            return String(decoding: line.bytes, as: UTF8.self) + "\n"
        case .dotenv:
            return variables.map { "\($0.name)=\(Self.quoted($0.value))\n" }.joined()
        default: return variables.map { "\($0.name)=\($0.value)\n" }.joined()
        }
    }

    /// Between single quotes nothing is filled in.
    private static func quoted(_ value: String) -> String {
        guard value.contains("'") else { return "'\(value)'" }
        let escaped = value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
            .replacing("$", with: "\\$")
        return "\"\(escaped)\""
    }
}
