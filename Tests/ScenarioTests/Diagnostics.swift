// What lupin says of itself during a test: its warnings and errors, kept.
import Logging
import Synchronization

/// Collects the messages of warning level and above.
final class Diagnostics: Sendable {
    private let messages = Mutex<[String]>([])

    var warnings: [String] { messages.withLock { $0 } }

    /// A logger that ends here.
    var logger: Logger { Logger(label: "scenario") { _ in Handler(diagnostics: self) } }

    private struct Handler: LogHandler {
        let diagnostics: Diagnostics
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.warning

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            diagnostics.messages.withLock { $0.append("\(event.message)") }
        }
    }
}
