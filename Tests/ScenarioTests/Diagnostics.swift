// What lupin says of itself during a test: notices, warnings and errors, kept.
import Logging
import Synchronization

/// Collects the messages of notice level and above.
final class Diagnostics: Sendable {
    private let messages = Mutex<[(level: Logger.Level, text: String)]>([])

    var warnings: [String] {
        messages.withLock { $0.filter { $0.level >= .warning }.map(\.text) }
    }
    /// What is no warning: of a proxy for one command it is not told.
    var notices: [String] {
        messages.withLock { $0.filter { $0.level < .warning }.map(\.text) }
    }

    /// A logger that ends here.
    var logger: Logger { Logger(label: "scenario") { _ in Handler(diagnostics: self) } }

    private struct Handler: LogHandler {
        let diagnostics: Diagnostics
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.notice

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            diagnostics.messages.withLock { $0.append((event.level, "\(event.message)")) }
        }
    }
}
