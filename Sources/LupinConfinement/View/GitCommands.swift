// Which commands in git's settings are known to hold no credential.

import LupinCore

/// Commands of ssh, and of helpers that know credentials.
enum GitCommands {
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
}
