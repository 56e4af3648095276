// How each shell spells that a variable is set for its children, or no longer set.
import ArgumentParser

/// A family of shells that share a syntax.
enum Shell: String, CaseIterable, ExpressibleByArgument {
    case sh, fish, powershell

    /// The family of the program at `path`, such as `$SHELL` names; `sh` for all others.
    init(path: String?) {
        switch path?.split(separator: "/").last {
        case "fish": self = .fish
        case "pwsh", "pwsh-preview", "powershell": self = .powershell
        default: self = .sh
        }
    }

    /// The family, or one of the shells that belong to it.
    init?(argument: String) {
        switch argument {
        case "bash", "zsh": self = .sh
        case "pwsh": self = .powershell
        default: self.init(rawValue: argument)
        }
    }

    /// A statement that gives a variable to all later commands.
    func export(_ name: String, _ value: String) -> String {
        switch self {
        case .sh: "export \(name)=\(quoted(value))"
        case .fish: "set -gx \(name) \(quoted(value));"
        case .powershell: "$Env:\(name) = \(quoted(value))"
        }
    }

    /// A statement that takes a variable away; one that is not set is no error.
    func unset(_ name: String) -> String {
        switch self {
        case .sh: "unset \(name)"
        case .fish: "set -e \(name);"
        case .powershell: "Remove-Item Env:\(name) -ErrorAction SilentlyContinue"
        }
    }

    /// What a person types to have the statements of `command` run.
    func evaluation(of command: String) -> String {
        switch self {
        case .sh: "eval \"$(\(command))\""
        case .fish: "\(command) | source"
        case .powershell: "\(command) | Out-String | Invoke-Expression"
        }
    }

    /// A text that the shell reads as one word and takes literally.
    func quoted(_ text: String) -> String {
        switch self {
        case .sh: "'\(text.replacing("'", with: "'\\''"))'"
        case .fish:
            "'\(text.replacing("\\", with: "\\\\").replacing("'", with: "\\'"))'"
        case .powershell: "'\(text.replacing("'", with: "''"))'"
        }
    }
}
