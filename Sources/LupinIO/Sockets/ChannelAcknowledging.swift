// When a channel acknowledges what it received without the kernel's delay.
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
}
