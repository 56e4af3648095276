// Which line of a tool's settings may hold a credential: each that isn't known to be harmless.

/// Settings of git, cargo or sbt, judged line by line.
package struct ToolSettings: Sendable, Equatable {
    /// Whose settings they are.
    package enum Tool: Sendable { case git, cargo, sbt }

    /// A line that isn't known to be harmless.
    package struct Doubt: Sendable, Equatable {
        package let line: Int
        /// The key, such as `sendemail.smtpPass`, for users.
        package let key: String

        package init(line: Int, key: String) {
            self.line = line
            self.key = key
        }
    }

    /// The first such line; nil if all are harmless.
    package private(set) var doubt: Doubt?
    /// The files that are read with these, as they are written.
    package private(set) var includes: [String] = []

    /// Judges a file such as `~/.gitconfig` or `~/.cargo/config.toml`.
    package init(_ text: String, of tool: Tool) {
        switch tool {
        case .git:
            var reader = GitSettingsReader(text)
            judge({ reader.next() }, GitSettingsTable.verdict)
        case .cargo:
            var reader = TOMLReader(text)
            judge({ reader.next() }, CargoSettingsTable.verdict)
        case .sbt:
            for (index, line) in text.split(
                omittingEmptySubsequences: false,
                whereSeparator: \.isNewline
            ).enumerated() where !SettingsText.isHarmless(build: String(line)) {
                note(index + 1, "a word that credentials have")
            }
        }
    }

    private mutating func judge(
        _ next: () -> SettingsItem?,
        _ verdict: (SettingsEntry) -> SettingsVerdict
    ) {
        while let item = next() {
            switch item {
            case .unreadable(let line): note(line, "not understood")
            case .comment(let line, let text):
                if !SettingsText.isHarmless(comment: text) { note(line, "a comment") }
            case .entry(let entry):
                switch verdict(entry) {
                case .harmless: break
                case .include: includes.append(entry.value)
                case .doubtful: note(entry.line, entry.name)
                }
            }
        }
    }

    private mutating func note(_ line: Int, _ key: String) {
        if doubt == nil { doubt = Doubt(line: line, key: key) }
    }
}

/// What a reader of settings finds, one after another; after `unreadable` there is no more.
enum SettingsItem: Sendable, Equatable {
    case entry(SettingsEntry)
    case comment(line: Int, String)
    case unreadable(line: Int)
}

/// A value with the keys that lead to it.
struct SettingsEntry: Sendable, Equatable {
    /// Where it begins, from 1.
    let line: Int
    /// For git the section, in lower case, and the key as it is written.
    let path: [String]
    /// What stands between section and key in git's settings: a URL, a branch.
    var subsection: String?
    let value: String

    /// The path for users, of plain characters alone: a subsection may hold a credential itself.
    var name: String {
        let plain = path.map { part in
            String(String.UnicodeScalarView(part.unicodeScalars.filter(SettingsText.isKey)))
        }
        return String(plain.joined(separator: ".").prefix(60))
    }
}

enum SettingsVerdict: Sendable {
    case harmless
    /// The value is the path of more settings.
    case include
    case doubtful
}
