// What either side of a channel has acknowledged.
import CLinux
import Glibc

extension Channel {
    /// Whether bytes came since any were sent.
    package var isUnacknowledged: Bool { hasUnacknowledged }

    /// Acknowledges what was received, where the peer may hold back the rest of its message until
    /// then (Nagle's algorithm, RFC 9293 §3.7.4).
    ///
    /// The kernel delays that by 40 ms on connections that answer. It does so again after the next
    /// bytes, so call this wherever a read is blocked within a message. Bytes that were sent
    /// meanwhile carried the acknowledgement, and then this is no system call.
    package func acknowledge() {
        guard hasUnacknowledged else { return }
        hasUnacknowledged = false
        // On a socket that isn't TCP it fails, and nothing is delayed.
        _ = linux_set_option(descriptor, Int32(IPPROTO_TCP), TCP_QUICKACK, 1)
    }

    /// For how many microseconds the peer has acknowledged nothing of what is on its way; 0 if all
    /// is acknowledged.
    package var unacknowledgedTime: UInt64 { UInt64(linux_unacknowledged(descriptor)) * 1000 }

    /// Ends both directions here, as if the peer had: its user learns that as any other event.
    package func breakOff() { _ = shutdown(descriptor, Int32(SHUT_RDWR)) }
}
