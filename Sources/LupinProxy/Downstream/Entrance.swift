// What a listener demands of the connections that it accepts.
import LupinCore

/// One listener's demands; nil where it has none.
final class Entrance: Sendable {
    /// Whom it asks about passwords.
    let authenticator: Authenticator?
    /// What it shows in TLS.
    let tls: ListenerTLS?
    /// The versions of HTTP that it takes.
    let protocols: ListenProtocols

    init(
        authenticator: Authenticator? = nil,
        tls: ListenerTLS? = nil,
        protocols: ListenProtocols = [.http1, .http2]
    ) {
        self.protocols = protocols
        self.authenticator = authenticator
        self.tls = tls
    }
}
