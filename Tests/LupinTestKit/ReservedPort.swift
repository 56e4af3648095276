// A port that nobody gets who does not ask for it by its number.
import Glibc
import LupinIO

/// A port of 127.0.0.1 for a listener that has to be told where to listen.
///
/// A socket is bound to it for as long as this lives, and never listens: the kernel gives the port
/// to nobody else, and lets who sets SO_REUSEADDR, as listeners do, listen there.
package final class ReservedPort: Sendable {
    package let number: UInt16
    private let descriptor: Int32

    package init() throws {
        let owned = try RawSocket.make(for: .loopback(port: 0))
        try RawSocket.bind(owned.raw, to: .loopback(port: 0))
        guard let address = SocketAddress.local(of: owned.raw) else {
            throw SocketFailure("no port of 127.0.0.1 could be had")
        }
        // Behind the bind: before it the kernel might choose a port that somebody else keeps.
        RawSocket.set(SO_REUSEADDR, to: 1, of: owned.raw)
        number = address.port
        descriptor = owned.release()
    }

    deinit { _ = Glibc.close(descriptor) }
}
