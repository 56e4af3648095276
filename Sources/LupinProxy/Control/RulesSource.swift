// Where the rules come from while the proxy runs, and what became of them.
package import LupinCore

/// How the rules are read anew; whoever starts the proxy knows.
package struct RulesSource: Sendable {
    /// What a reading came to.
    package struct Reading: Sendable {
        /// nil when there is any error.
        package var configuration: Configuration?
        /// As `lupin check` prints them.
        package var errors: [String]
        package var warnings: [String]
        /// Files besides the rules file whose changes are watched; those of a configuration that
        /// has an error too.
        package var files: [String]

        package init(
            configuration: Configuration?,
            errors: [String] = [],
            warnings: [String] = [],
            files: [String] = []
        ) {
            self.configuration = configuration
            self.errors = errors
            self.warnings = warnings
            self.files = files
        }
    }

    /// The file whose changes are watched; nil for none.
    package var file: String?
    /// Reads and checks; it may block for as long as a file takes.
    package var read: @Sendable () -> Reading

    package init(file: String?, read: @escaping @Sendable () -> Reading) {
        self.file = file
        self.read = read
    }
}

/// Why a configuration was not taken: the old one stays in every part.
package struct ReloadFailure: Error, Sendable, Equatable {
    /// Sentences, at least one.
    package var errors: [String]

    init(_ errors: [String]) { self.errors = errors }
}

/// What became of an attempt to change the rules.
package enum ReloadResult: Sendable, Equatable {
    case loaded(version: String, warnings: [String])
    /// The file says what it said before.
    case unchanged(version: String)
    case rejected(errors: [String])
}
