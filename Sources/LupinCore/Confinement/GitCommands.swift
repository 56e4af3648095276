// Which commands in git's settings are known to hold no credential.

/// Commands of aliases, of ssh, and of helpers that know credentials.
enum GitCommands {
    /// Arguments of git; behind `!`, commands of a shell of which each is a known program.
    static func isHarmless(alias: String) -> Bool {
        guard SettingsText.isHarmless(alias) else { return false }
        guard alias.hasPrefix("!") else { return true }
        return commands(of: alias.dropFirst()).allSatisfy { isKnown($0, in: alias) }
    }

    /// ssh itself, with options that say which key, or nothing.
    static func isHarmless(ssh command: String) -> Bool {
        guard SettingsText.isPlain(command) else { return false }
        var words = command.split(separator: " ").map { $0.filter { $0 != "\"" && $0 != "'" } }
        guard !words.isEmpty else { return true }
        let program = words.removeFirst()
        guard
            program.split(whereSeparator: { "/\\".contains($0) }).last.map({ sshs.contains($0) })
                == true
        else { return false }
        var isValue = false
        for word in words {
            if isValue || word.hasPrefix("-o") {
                isValue = word == "-o"
                if let equals = word.firstIndex(of: "=") {
                    let name = word[..<equals].lowercased()
                    if !options.contains(name.hasPrefix("-o") ? String(name.dropFirst(2)) : name) {
                        return false
                    }
                }
            } else if ["-i", "-F", "-p", "-l"].contains(word) {
                isValue = true
            } else if word.count > 2 || !word.hasPrefix("-") {
                return false
            }
        }
        return true
    }

    /// A program in a folder, without arguments; or none.
    static func isProgram(_ value: String) -> Bool {
        SettingsText.isPlain(value) && !value.contains { $0.isWhitespace || $0 == "=" }
            && (value.isEmpty || value.hasPrefix("/") || value.hasPrefix("~/"))
    }

    /// A helper with its usual options, which are times and files.
    static func isHarmless(helper: String) -> Bool {
        guard SettingsText.isPlain(helper) else { return false }
        let words = helper.split(separator: " ")
        if helper.hasPrefix("!") {
            let program = words.first?.dropFirst().split(separator: "/").last ?? ""
            let rest = words.dropFirst().map(String.init)
            return ["gh", "glab"].contains(program) && rest == ["auth", "git-credential"]
                || program == "aws" && rest == ["codecommit", "credential-helper", "$@"]
        }
        return words.dropFirst().allSatisfy { word in
            if NumberReader.unsigned(word) != nil { return true }
            if word.hasPrefix("/") || word.hasPrefix("~/") { return true }
            let parts = word.split(separator: "=", maxSplits: 1)
            guard word.hasPrefix("--"), let name = parts.first else { return word == "-f" }
            return ["--timeout", "--file", "--socket"].contains(name)
        }
    }

    private static let sshs: Set<Substring> = ["ssh", "ssh.exe"]
    private static let options: Set<String> = [
        "identitiesonly", "identityfile", "identityagent", "stricthostkeychecking",
        "userknownhostsfile", "addkeystoagent", "controlmaster", "controlpath", "controlpersist",
        "serveraliveinterval", "serveralivecountmax", "connecttimeout", "batchmode", "loglevel",
        "forwardagent", "user", "port",
    ]

    // MARK: Commands of a shell

    /// What stands between `&&`, `|`, `;`, braces and the like outside of quotes.
    private static func commands(of script: Substring) -> [Substring] {
        var found: [Substring] = []
        var start = script.startIndex
        var quote: Character?
        for i in script.indices {
            let character = script[i]
            if let open = quote {
                if character == open { quote = nil }
            } else if character == "\"" || character == "'" {
                quote = character
            } else if "&|;()\n`".contains(character) {
                found.append(script[start..<i])
                start = script.index(after: i)
            }
        }
        return found + [script[start...]]
    }

    private static func isKnown(_ command: Substring, in script: String) -> Bool {
        var words = command.split { $0.isWhitespace }
        while let first = words.first, keywords.contains(first) || isTaken(first) {
            words.removeFirst()
        }
        guard let program = words.first else { return true }
        let name = program.split(separator: "/").last ?? program
        // A function of the alias itself.
        return programs.contains(String(name)) || script.contains("\(program)()")
            || script.contains("\(program) ()")
            || ["$", "\"$", "-", "2>", ">"].contains {
                program.hasPrefix($0)
            }
    }

    /// A variable that takes its value from elsewhere.
    private static func isTaken(_ word: Substring) -> Bool {
        let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0].allSatisfy({ $0.isLetter || $0 == "_" }) else {
            return false
        }
        let value = parts[1].drop { $0 == "\"" }
        return value.isEmpty || value.hasPrefix("$") || NumberReader.unsigned(value) != nil
    }

    private static let keywords: Set<Substring> = [
        "if", "then", "else", "elif", "fi", "while", "do", "done", "!", "{", "}", "exec", "local",
    ]
    private static let programs: Set<String> = [
        "git", "gitk", "tig", "gh", "glab", "lazygit", "grep", "egrep", "fgrep", "rg", "sed", "awk",
        "cut", "tr", "sort", "uniq", "head", "tail", "wc", "xargs", "cd", "test", "[", "true",
        "false", ":", "fzf", "less", "cat", "column", "vim", "nvim", "code", "open", "xdg-open",
        "exit", "return", "shift", "basename", "dirname", "read", "pbcopy", "xclip", "delta", "nl",
        "tac", "rm", "mkdir", "find", "ls", "date", "make",
    ]
}
