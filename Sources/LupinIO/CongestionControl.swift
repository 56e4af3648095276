// How fast the kernel sends on loopback: at once.
import CLinux
import LupinCore

extension SocketAddress {
    /// Has a socket for this address, not connected yet, send without pauses where it is loopback.
    ///
    /// Where BBR is the default it sets a timer for every packet, to find out what the way can
    /// carry: 10 MB then cost four times as much. Reno, which every kernel has and everybody may
    /// choose, sets none. A connection that began with BBR keeps its timers, so a listener says it
    /// for those that it accepts.
    func sendUnpaced(by descriptor: Int32) {
        if address.isLoopback { _ = linux_use_reno(descriptor) }
    }
}
