// One worker's end of a listener: whether it is open, and its current requirements.
import LupinIO

/// The place where one worker accepts the connections of one listener; confined to its loop.
///
/// Connections keep their gate and query it, so that each request meets the current requirements.
final class Gate {
    let socket: ListeningSocket
    let listener: Listener
    let slot: ParkingSlot
    private(set) var entrance: Entrance
    /// The listener was removed: connections end after their current exchange.
    private(set) var isClosed = false

    init(_ open: OpenListener, _ listener: Listener, _ slot: ParkingSlot) {
        socket = open.socket
        entrance = open.entrance
        self.listener = listener
        self.slot = slot
    }

    /// Adopts other requirements after a reload.
    func adopt(_ entrance: Entrance) { self.entrance = entrance }

    /// Stops accepting connections.
    func close() {
        guard !isClosed else { return }
        isClosed = true
        listener.close()
        slot.wake(.ready | .cut)
    }
}
