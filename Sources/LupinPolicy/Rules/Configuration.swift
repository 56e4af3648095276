// One loaded rules file: its settings and rules, immutable.

/// A snapshot that applies to an exchange from its first byte to its last.
package struct Configuration: Sendable {
    package var settings: Settings
    package var rules: RuleSet
    /// Eight hex digits that change with the content of the file or of a list that it names; the
    /// record's `rules.version`.
    package var version: String
    /// The same for the text of the file alone.
    package var textVersion: String
    /// The text of the file, so that commands can show the rules in force after the file changed;
    /// nil without a file.
    package var text: String?
    /// The paths of the host lists that the rules name, whose content counts as part of the rules.
    package var files: [String] = []
    /// All paths that the rules name, in the order of the file.
    package var paths: [NamedPath] = []
    /// The variables that `${env}` names where no secret may stand.
    package var variables: [String] = []
    /// The values of `${env}`, `${file}` or `${secret}` in secret places, to be redacted.
    package var secrets: [String]
    /// As the user named it; nil without a file.
    package var fileName: String?
    /// Where the key of each setting and section stands in the file, by dotted name, from 1.
    package var settingPlaces: [String: (line: Int, column: Int)] = [:]

    package init(settings: Settings, rules: RuleSet, version: String, secrets: [String]) {
        self.settings = settings
        self.rules = rules
        self.version = version
        textVersion = version
        self.secrets = secrets
    }

    /// The configuration without any file: a transparent proxy with defaults.
    package static let defaults = Configuration(
        settings: Settings(),
        rules: RuleSet([]),
        version: "00000000",
        secrets: []
    )
}

extension Configuration {
    /// Returns a sentence about a setting as diagnostics of the file have it: behind
    /// `lupin.yaml:12:3:`, or the place of its section, or that of the whole file, which lacks it.
    package func located(_ sentence: String, at setting: String) -> String {
        guard let fileName else { return sentence }
        var name = setting[...]
        while settingPlaces[String(name)] == nil, let dot = name.lastIndex(of: ".") {
            name = name[..<dot]
        }
        let place = settingPlaces[String(name)].map { ":\($0.line):\($0.column)" } ?? ""
        return "\(fileName)\(place): \(sentence)"
    }

    /// Why it can't follow `former` while lupin runs: a sentence for each setting that differs and
    /// is read at the start alone.
    package func restartDemands(after former: Configuration) -> [String] {
        SettingsTable.settings.filter { $0.demandsRestart?(former.settings, settings) ?? false }
            .map { located("a change of \($0.name) needs a restart", at: $0.name) }
    }
}

extension Configuration {
    /// Whether the local CA is needed, because some requests may be intercepted.
    package var needsAuthority: Bool {
        switch settings.intercept.mode {
        case .none: false
        case .all: true
        case .auto: rules.interceptionIndex.index != nil
        }
    }
}
