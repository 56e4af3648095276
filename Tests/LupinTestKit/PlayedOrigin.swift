// An origin (or a parent proxy) that the test's own thread plays, step by step.
package import LupinIO

/// Listens on a port of the kernel's choice; the test accepts, reads and answers itself, so that
/// what happens on both sides of the proxy stands in one column.
package final class PlayedOrigin: Sendable {
    package let listener: PlainListener

    package init(at host: SocketAddress = .loopback(port: 0), backlog: Int32 = 128) throws {
        listener = try PlainListener(at: host, backlog: backlog)
    }

    package var address: SocketAddress { listener.address }
    /// `127.0.0.1:port`.
    package var authority: String { address.description }
    /// `host:port`, for a host that is resolved to here.
    package func authority(_ host: String) -> String { "\(host):\(address.port)" }
    /// `http://127.0.0.1:port/path`.
    package func url(_ path: String = "/") -> String { "http://\(authority)\(path)" }

    /// The next connection.
    package func accept() throws -> OriginConnection {
        OriginConnection(try listener.accept(), number: 0)
    }

    /// The next connection, with TLS on it.
    package func acceptSecurely(_ server: SecureSocket.Server) throws -> OriginConnection {
        try accept().secure(server)
    }

    /// Whether a connection waits to be accepted now.
    package var hasWaiting: Bool { listener.hasWaiting }

    /// Later connections are refused.
    package func close() { listener.close() }
}
