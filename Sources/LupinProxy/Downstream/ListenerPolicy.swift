// The requirements of a listener for the connections that it accepts.
import LupinCore

/// The requirements of one listener; nil members require nothing.
final class ListenerPolicy: Sendable {
    /// Checks passwords.
    let authenticator: Authenticator?
    /// The TLS context and certificate.
    let tls: ListenerTLS?
    /// The accepted versions of HTTP.
    let protocols: ListenProtocols
    /// The user of all clients; nil where the kernel is asked.
    let user: UInt32?
    /// Whether its clients know of no proxy.
    let isForRedirected: Bool

    init(
        authenticator: Authenticator? = nil,
        tls: ListenerTLS? = nil,
        protocols: ListenProtocols = [.http1, .http2],
        user: UInt32? = nil,
        isForRedirected: Bool = false
    ) {
        self.isForRedirected = isForRedirected
        self.user = user
        self.protocols = protocols
        self.authenticator = authenticator
        self.tls = tls
    }
}
