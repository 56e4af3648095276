// One loaded rules file: settings and rules together, immutable.

/// A snapshot: what an exchange is ruled by from its first byte to its last.
package struct Configuration: Sendable {
    package var settings: Settings
    package var rules: RuleSet
    /// Eight hex digits that change when the content of the file does, or that of a list which it
    /// names; the record's `rules.version`.
    package var version: String
    /// The same for the text of the file alone.
    package var textVersion: String
    /// The lists of hosts that the rules name, by their paths: what stands there is part of them.
    package var files: [String] = []
    /// Texts that came from `${env}`, `${file}` or `${secret}` in a secret place, to be redacted.
    package var secrets: [String]
    /// As the user named it; nil where no file was read.
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

    /// What lupin does without any file: the transparent proxy of the defaults.
    package static let defaults = Configuration(
        settings: Settings(),
        rules: RuleSet([]),
        version: "00000000",
        secrets: []
    )
}

extension Configuration {
    /// Whether the local authority will be needed: something is to be decrypted.
    package var needsAuthority: Bool {
        switch settings.intercept.mode {
        case .none: false
        case .all: true
        case .auto: rules.interceptionIndex.index != nil
        }
    }
}
