// lupin's own diagnostics, without secrets.
import Logging
import LupinCore
import Synchronization

/// Knows what to hide in lupin's own diagnostics.
final class DiagnosticsMask: Sendable {
    private let redactor = Mutex<(@Sendable () -> Redactor?)>({ nil })

    /// Asks `redactor` before each message from now on.
    func ask(_ redactor: @escaping @Sendable () -> Redactor?) {
        self.redactor.withLock { $0 = redactor }
    }

    fileprivate func cleaned(_ text: String) -> String {
        redactor.withLock { $0 }()?.cleaned(text) ?? text
    }
}

/// Masks secrets in messages: many repeat what a file, a server or a program said.
private struct MaskedLog: LogHandler {
    var handler: any LogHandler
    let mask: DiagnosticsMask

    var logLevel: Logger.Level {
        get { handler.logLevel }
        set { handler.logLevel = newValue }
    }
    var metadata: Logger.Metadata {
        get { handler.metadata }
        set { handler.metadata = newValue }
    }
    var metadataProvider: Logger.MetadataProvider? {
        get { handler.metadataProvider }
        set { handler.metadataProvider = newValue }
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { handler[metadataKey: key] }
        set { handler[metadataKey: key] = newValue }
    }

    func log(event: LogEvent) {
        var event = event
        event.message = "\(mask.cleaned("\(event.message)"))"
        handler.log(event: event)
    }
}

extension Logger {
    /// The same logger without what the mask hides.
    func masked(by mask: DiagnosticsMask) -> Logger {
        var masked = self
        masked.handler = MaskedLog(handler: handler, mask: mask)
        return masked
    }
}
