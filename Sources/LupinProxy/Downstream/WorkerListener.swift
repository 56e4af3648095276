// One worker's end of a listener: whether it is open, and its current requirements.
import LupinIO

/// Where one worker accepts the connections of one listener; confined to its loop.
///
/// Connections keep their listener and query it, so each request meets the current requirements.
final class WorkerListener {
    let socket: ListeningSocket
    let inner: Listener
    let slot: ParkingSlot
    private(set) var policy: ListenerPolicy
    /// The listener was removed: connections end after their current exchange.
    private(set) var isClosed = false

    init(_ open: OpenListener, _ inner: Listener, _ slot: ParkingSlot) {
        socket = open.socket
        policy = open.policy
        self.inner = inner
        self.slot = slot
    }

    /// Adopts other requirements after a reload.
    func adopt(_ policy: ListenerPolicy) { self.policy = policy }

    /// Stops accepting connections.
    func close() {
        guard !isClosed else { return }
        isClosed = true
        inner.close()
        slot.wake(.ready | .cut)
    }
}
