// How the user stops a benchmark: signals become a flag, and the flag ends the children.
import Foundation
import Synchronization

/// Signals that ask the benchmark to end.
///
/// Handlers and not a signalfd: a handler is gone in a child after exec, while a blocked signal
/// stays blocked there, and a proxy would never hear that it is to stop.
enum Interruption {
    private static let isRequested = Atomic(false)

    /// Ends `children` when a signal comes, and lets broken pipes be errors of `write`.
    static func watch(over children: Children) {
        // Made before a handler could be the first to ask for it.
        isRequested.store(false, ordering: .relaxed)
        for number in [SIGINT, SIGTERM, SIGHUP] {
            _ = signal(number) { _ in Interruption.isRequested.store(true, ordering: .relaxed) }
        }
        _ = signal(SIGPIPE) { _ in }
        Thread.detachNewThread {
            while !isRequested.load(ordering: .relaxed) { Thread.sleep(forTimeInterval: 0.05) }
            children.interrupt()
        }
    }
}
