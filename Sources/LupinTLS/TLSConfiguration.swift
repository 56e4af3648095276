// What one side of TLS is set to: versions, ciphers, protocols, and what it thinks of certificates.
package import LupinCore

/// What connections to servers have in common.
package struct ClientTLSConfiguration: Sendable {
    package var minimum = TLSVersion.tls12
    package var maximum = TLSVersion.tls13
    /// Cipher names of TLS 1.2 and suites of TLS 1.3, parted by colons; nil is ours.
    package var ciphers: String?
    /// What ALPN offers, the preferred first; empty offers nothing.
    package var protocols: [String] = []
    /// Shown to servers that ask for a certificate.
    package var identity: TLSIdentity?

    package init() {}
}

/// What connections of clients have in common.
package struct ServerTLSConfiguration: Sendable {
    package var minimum = TLSVersion.tls12
    package var maximum = TLSVersion.tls13
    /// As for ``ClientTLSConfiguration/ciphers``.
    package var ciphers: String?
    /// Seals the tickets; connections of contexts that share the keys can resume one another's.
    package var ticketKeys: TicketKeys

    package init(ticketKeys: TicketKeys) { self.ticketKeys = ticketKeys }
}

/// What is thought of the certificates that a peer presented.
package enum CertificateVerdict: Sendable, Hashable {
    case accepted
    /// The handshake ends with an alert, before anything of ours is sent to that peer.
    case refused(CertificateRefusal)
    /// More must be found out first: the handshake stops with `wantsVerdict` and asks again when it
    /// is called again. A server refuses instead.
    case undecided
    /// The stapled response must be seen first: TLS 1.2 sends it after the certificates, and so the
    /// question comes a second time, which must be decided.
    ///
    /// Refuses where ``PeerCertificates/mayBeStapledLater`` is false.
    case awaitsStaple
}

/// Why a peer's certificates were refused; each is an alert of its own where TLS has one.
package enum CertificateRefusal: Sendable, Hashable {
    /// The general case: malformed, weak, not pinned; `bad_certificate`.
    case badCertificate
    /// It is another host's; `bad_certificate`.
    case badName
    /// `certificate_expired`.
    case expired
    /// `bad_certificate`, for want of an alert of its own.
    case notYetValid
    /// `certificate_revoked`.
    case revoked
    /// No path to an anchor; `unknown_ca`.
    case unknownAuthority
    /// Not made for this purpose; `unsupported_certificate`.
    case badPurpose
}

/// Judges what a peer presented, in the middle of the handshake; must not call the session.
package typealias CertificateCheck = (PeerCertificates) -> CertificateVerdict
