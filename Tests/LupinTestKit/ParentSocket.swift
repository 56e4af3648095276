// Sockets as a service manager has them: bound by the test, handed to a lupin, kept over its end.
import Glibc
package import LupinIO

/// A socket that a test keeps open while lupins come and go.
package final class ParentSocket: Sendable {
    package let descriptor: Int32
    /// Where a TCP socket listens.
    package let address: SocketAddress?

    private init(_ owned: consuming Descriptor) {
        descriptor = owned.release()
        address = SocketAddress.local(of: descriptor)
        OpenSocket.leaveOut(descriptor)
    }

    deinit { _ = Glibc.close(descriptor) }

    /// Listens on a port of loopback.
    package static func listening() throws -> ParentSocket {
        let owned = try RawSocket.make(for: .loopback(port: 0))
        try RawSocket.bind(owned.raw, to: .loopback(port: 0))
        let raw = owned.raw
        try SystemCall.check { listen(raw, 1024) }
        return ParentSocket(owned)
    }

    /// Listens on a path.
    package static func listening(path: String) throws -> ParentSocket {
        let owned = try LocalSocketFile.bound(at: path)
        let raw = owned.raw
        try SystemCall.check { listen(raw, 1024) }
        return ParentSocket(owned)
    }

    /// Receives datagrams at a path, or at an abstract name that begins with "@".
    package static func datagrams(at name: String) throws -> ParentSocket {
        let kind = Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
        return ParentSocket(try LocalSocketFile.bound(at: name, kind: kind))
    }

    /// The next datagram.
    package func receive() throws -> String {
        var bytes: [UInt8] = []
        guard RawSocket.wait(descriptor, for: POLLIN, by: Countdown()),
            RawSocket.receive(descriptor, into: &bytes) > 0
        else { throw SocketFailure("no datagram came in time") }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// A copy of the descriptor; for tests of what takes one over.
    package func duplicate() throws -> Int32 {
        let descriptor = descriptor
        return try SystemCall.check { fcntl(descriptor, F_DUPFD_CLOEXEC, 3) }
    }
}
