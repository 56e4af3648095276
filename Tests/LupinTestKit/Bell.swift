// How a test's thread waits for something on another thread, for a bounded time.
import Dispatch
import LupinIO

/// Rung by any thread, waited for by another; rings are counted.
package final class Bell: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)

    package init() {}

    package func ring() { semaphore.signal() }

    /// False when it did not ring in time.
    package func wait(_ duration: Duration = PlainSocket.timeout) -> Bool {
        let microseconds = Int(clamping: duration.microseconds)
        return semaphore.wait(timeout: .now() + .microseconds(microseconds)) == .success
    }
}
