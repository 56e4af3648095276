// The source of the rules while the proxy runs, and the results of reading them.
package import LupinPolicy

/// How the rules are read again; set by the program that starts the proxy.
package struct RulesSource: Sendable {
    /// The result of a reading.
    package struct Reading: Sendable {
        /// nil when there is any error.
        package var configuration: Configuration?
        /// As `lupin check` prints them.
        package var errors: [String]
        package var warnings: [String]
        /// Files besides the rules file whose changes are watched, even when the configuration has
        /// an error.
        package var files: [String]
        /// The rules file that was read; nil when it is the one of the source, or there is none.
        package var file: String?

        package init(
            configuration: Configuration?,
            errors: [String] = [],
            warnings: [String] = [],
            files: [String] = [],
            file: String? = nil
        ) {
            self.configuration = configuration
            self.errors = errors
            self.warnings = warnings
            self.files = files
            self.file = file
        }
    }

    /// The file whose changes are watched; nil for none.
    package var file: String?
    /// Where a file may appear later; watched when there is none yet.
    package var candidates: [String]
    /// Reads and checks the rules; it may block for as long as reading a file takes.
    package var read: @Sendable () -> Reading
    /// Checks a text as if it were the content of the file at the path.
    package var check: @Sendable (_ text: [UInt8], _ path: String) -> Reading

    package init(
        file: String?,
        candidates: [String] = [],
        check: @escaping @Sendable (_ text: [UInt8], _ path: String) -> Reading = { _, _ in
            Reading(configuration: nil, errors: ["this lupin's rules can't be changed here"])
        },
        read: @escaping @Sendable () -> Reading
    ) {
        self.check = check
        self.file = file
        self.candidates = candidates
        self.read = read
    }
}

/// Why a configuration was rejected; the old one stays in force completely.
package struct ReloadFailure: Error, Sendable, Equatable {
    /// The errors, one sentence each; at least one.
    package var errors: [String]

    init(_ errors: [String]) { self.errors = errors }
}

/// The result of an attempt to change the rules.
package enum ReloadResult: Sendable, Equatable {
    case loaded(version: String, warnings: [String])
    /// The file has the same meaning as before.
    case unchanged(version: String)
    case rejected(errors: [String])
}
