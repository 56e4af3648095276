// What a listener demands of the connections that it accepts.

/// One listener's demands; nil where it has none.
final class Entrance: Sendable {
    /// Whom it asks about passwords.
    let authenticator: Authenticator?
    /// What it shows in TLS.
    let tls: ListenerTLS?

    init(authenticator: Authenticator? = nil, tls: ListenerTLS? = nil) {
        self.authenticator = authenticator
        self.tls = tls
    }
}
