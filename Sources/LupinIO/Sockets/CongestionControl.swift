// Congestion control on loopback: sends without pacing.
import CLinux
import LupinCore

extension SocketAddress {
    /// Makes an unconnected socket for this address send without pacing, if it is loopback.
    ///
    /// Where BBR is the default, it sets a timer for every packet to measure the path: 10 MB then
    /// cost four times as much. Reno, which every kernel has and every process may choose, sets
    /// none. A connection that began with BBR keeps its timers, so a listener sets Reno for the
    /// connections that it accepts.
    func sendUnpaced(by descriptor: Int32) {
        if address.isLoopback { _ = linux_use_reno(descriptor) }
    }
}
