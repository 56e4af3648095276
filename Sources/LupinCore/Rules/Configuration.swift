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
    /// The values of `${env}`, `${file}` or `${secret}` in secret places, to be redacted.
    package var secrets: [String]
    /// As the user named it; nil without a file.
    package var fileName: String?
    /// 1-based line of each setting and section that the file has, by dotted name.
    package var settingLines: [String: Int] = [:]

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
    /// Whether the local CA is needed, because some requests may be intercepted.
    package var needsAuthority: Bool {
        switch settings.intercept.mode {
        case .none: false
        case .all: true
        case .auto: rules.interceptionIndex.index != nil
        }
    }
}
