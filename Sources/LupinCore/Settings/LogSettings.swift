// What the file says of records, and of what they hide.

/// Where exchange records go and what they hold.
package struct LogSettings: Sendable, Equatable {
    package enum Destination: Sendable, Equatable { case off, stdout, stderr, file(String) }
    package enum Format: String, SettingWord { case auto, json, text }
    package enum Headers: Sendable, Equatable { case none, names, all, listed([String]) }
    /// What gets a line of its own, besides what the levels before get.
    package enum Level: Int, SettingWord, Comparable {
        case exchange, attempt
        /// Every stage of an exchange.
        case event

        package static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }

        package var word: String {
            switch self {
            case .exchange: "exchange"
            case .attempt: "attempt"
            case .event: "event"
            }
        }
    }

    package var to = Destination.stdout
    package var format = Format.auto
    package var level = Level.exchange
    package var headers = Headers.names
    package var redact = RedactionSettings()
    /// Bytes after which a file is rotated; 0 never.
    package var rotateBytes = 100 << 20
    package var rotateKeep = 5
    /// Look up the client's program and pid for every connection (`log: {program: true}`).
    package var program = false

    package init() {}
}

/// What is redacted beyond the names that `Redactor` knows by itself.
package struct RedactionSettings: Sendable, Equatable {
    /// Globs over lower-case field names.
    package var headers: [String] = []
    /// Names of query parameters.
    package var query: [String] = []
    /// Names of members of JSON objects and of form fields, in captured bodies.
    package var json: [String] = []

    package init() {}
}
