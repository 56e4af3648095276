// The requirements of a listener for the connections that it accepts.
import LupinCore

/// The requirements of one listener; nil members require nothing.
final class Entrance: Sendable {
    /// Checks passwords.
    let authenticator: Authenticator?
    /// The TLS context and certificate.
    let tls: ListenerTLS?
    /// The accepted versions of HTTP.
    let protocols: ListenProtocols
    /// The user of all clients; nil where the kernel is asked.
    let user: UInt32?

    init(
        authenticator: Authenticator? = nil,
        tls: ListenerTLS? = nil,
        protocols: ListenProtocols = [.http1, .http2],
        user: UInt32? = nil
    ) {
        self.user = user
        self.protocols = protocols
        self.authenticator = authenticator
        self.tls = tls
    }
}
