// The state of an established TLS connection with an origin.
package import LupinCore
import LupinIO
import LupinTLS

/// TLS with an origin or a parent proxy; lives as long as its connection.
package final class SecuredConnection {
    package let filter: TLSFilter
    /// The verdict on the certificates.
    package let trust: TrustRecord
    /// The time of the verdict, in seconds since 1970: a resumed session is not judged again.
    let judgedAt: Int64
    private var keptTicket: TLSTicket?

    init(_ filter: TLSFilter, trust: TrustRecord, judgedAt: Int64) {
        self.filter = filter
        self.trust = trust
        self.judgedAt = judgedAt
    }

    /// Why TLS with `hop` has failed behind the handshake, where it has: in TLS 1.3 an origin
    /// refuses or misses a client certificate only then.
    func error(at hop: NextHop) -> LupinError? {
        guard let failure = filter.failure else { return nil }
        var identity: ClientIdentity?
        if case .secure(_, let security, _) = hop {
            identity = security.clientIdentity(at: SystemCall.wallMicroseconds() / 1_000_000)
        }
        return LupinError(
            failure,
            host: hop.text,
            hasShownCertificate: true,
            identity: identity,
            ciphers: .standard
        )
    }

    /// A ticket for resumption; nil when no new one came since the last call.
    func takeTicket() -> TLSTicket? {
        guard let ticket = filter.session.newTicket, ticket !== keptTicket else { return nil }
        keptTicket = ticket
        return ticket
    }
}
