// What the rules file says about TLS: listeners, origins, interception and the local authority.

package import LupinCore

/// `listen.auth`: which clients a listener asks for a name and a password.
package enum ClientAuthentication: Sendable, Hashable {
    case none
    /// An htpasswd file and the realm of the challenge.
    case basic(file: String, realm: String)
}

/// `upstream.tls`.
package struct UpstreamTLSSettings: Sendable, Hashable {
    package var minimum = TLSVersion.tls12
    /// Protocols offered by ALPN, the preferred first: `h2`, `http/1.1` or both, each once.
    package var protocols = ["h2", "http/1.1"]
    package var roots = TrustAnchorSettings()
    package var clientCertificate: CertificateFiles?
    /// Refuses https origins and tunnels that no rule's `trust` covers.
    package var demandsTrustRule = false
}

/// `tls:` under a rule; nil inherits.
package struct TLSOverrides: Sendable, Hashable {
    package var minimum: TLSVersion?
    /// Protocols offered by ALPN, the preferred first; never empty.
    package var protocols: [String]?
    /// An OpenSSL cipher list for TLS 1.2, or TLS 1.3 suites.
    package var ciphers: String?
    package var closeNotify: CloseNotify?

    /// How to read the end of a connection without the alert close_notify (RFC 8446 §6.1).
    package enum CloseNotify: String, Sendable, Hashable, CaseIterable {
        /// An attacker may have cut it: a body that ends with the connection is incomplete.
        case required
        /// It is the end of the body: some origins never send the alert.
        case optional
    }

    package init() {}
}

/// `intercept`.
package struct InterceptSettings: Sendable, Equatable {
    package enum Mode: String, SettingWord { case auto, all, none }
    /// What becomes of a client that refused our certificate, when it comes again.
    package enum Rejection: String, SettingWord { case tunnel, fail }

    package var mode = Mode.auto
    /// Never decrypted.
    package var except: [HostPattern] = []
    package var rejection = Rejection.tunnel
    /// How long a refusal counts at most, where it leads to a tunnel.
    package var rejectionTime = Duration.seconds(3600)
    package var authority = CertificateAuthoritySettings()

    package init() {}

    /// How long a refusal of our certificate counts at most; with nil the client fails.
    package var tunnelsRejecting: Duration? { rejection == .tunnel ? rejectionTime : nil }
}
