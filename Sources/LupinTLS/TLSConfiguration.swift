// The settings of one side of TLS: versions, ciphers, protocols, and certificate checks.
package import LupinCore

/// The common settings of connections to servers.
package struct ClientTLSConfiguration: Sendable {
    package var minimum = TLSVersion.tls12
    package var maximum = TLSVersion.tls13
    /// Cipher names of TLS 1.2 and suites of TLS 1.3, separated by colons; nil for the default.
    package var ciphers: String?
    /// The ALPN offer in order of preference; empty offers nothing.
    package var protocols: [String] = []
    /// Presented to servers that request a certificate.
    package var identity: TLSIdentity?

    package init() {}
}

/// The common settings of connections from clients.
package struct ServerTLSConfiguration: Sendable {
    package var minimum = TLSVersion.tls12
    package var maximum = TLSVersion.tls13
    /// As for ``ClientTLSConfiguration/ciphers``.
    package var ciphers: String?
    /// Seals the tickets; contexts that share the keys can resume one another's connections.
    package var ticketKeys: TicketKeys

    package init(ticketKeys: TicketKeys) { self.ticketKeys = ticketKeys }
}

/// The verdict on the certificates that a peer presented.
package enum CertificateVerdict: Sendable, Hashable {
    case accepted
    /// The handshake ends with an alert, before any data is sent to that peer.
    case refused(CertificateRefusal)
    /// More must be known first: the handshake stops with `wantsVerdict`, and the next call asks
    /// the check again. On a server this refuses.
    case undecided
    /// The stapled response must be seen first.
    ///
    /// TLS 1.2 sends it after the certificates, so the check is called a second time, and must then
    /// decide. Refuses where ``PeerCertificates/mayBeStapledLater`` is false.
    case awaitsStaple
}

/// Why a peer's certificates were refused; each maps to an alert of its own where TLS has one.
package enum CertificateRefusal: Sendable, Hashable {
    /// The general case: malformed, weak, not pinned; `bad_certificate`.
    case badCertificate
    /// It is for another host; `bad_certificate`.
    case badName
    /// `certificate_expired`.
    case expired
    /// `bad_certificate`, since TLS has no alert for it.
    case notYetValid
    /// `certificate_revoked`.
    case revoked
    /// No path to an anchor; `unknown_ca`.
    case unknownAuthority
    /// Not valid for this purpose; `unsupported_certificate`.
    case badPurpose
}

/// Checks what a peer presented, during the handshake; it must not call the session.
package typealias CertificateCheck = (PeerCertificates) -> CertificateVerdict
