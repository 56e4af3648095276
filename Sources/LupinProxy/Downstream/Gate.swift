// One worker's end of a listener: whether it is still open, and what it demands now.
import LupinIO

/// Where the connections of one listener come in on one worker; confined to the worker's loop.
///
/// Connections keep their gate and ask it, so that each request meets what holds when it begins.
final class Gate {
    let socket: ListeningSocket
    let listener: Listener
    let slot: ParkingSlot
    private(set) var entrance: Entrance
    /// The listener was removed: connections end with what they are doing.
    private(set) var isClosed = false

    init(_ open: OpenListener, _ listener: Listener, _ slot: ParkingSlot) {
        socket = open.socket
        entrance = open.entrance
        self.listener = listener
        self.slot = slot
    }

    /// Goes on with other demands, after the rules have changed.
    func adopt(_ entrance: Entrance) { self.entrance = entrance }

    /// Takes no more connections.
    func close() {
        guard !isClosed else { return }
        isClosed = true
        listener.close()
        slot.wake(.ready)
    }
}
