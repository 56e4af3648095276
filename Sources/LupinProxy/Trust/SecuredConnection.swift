// What is known of TLS with an origin once it stands.
import LupinCore
import LupinTLS

/// TLS with an origin or a parent proxy, as long as its connection lives.
final class SecuredConnection {
    let filter: TLSFilter
    /// What was thought of the certificates.
    let trust: TrustRecord
    /// When that was, in seconds since 1970: on resumption nobody is asked again.
    let judgedAt: Int64
    private var keptTicket: TLSTicket?

    init(_ filter: TLSFilter, trust: TrustRecord, judgedAt: Int64) {
        self.filter = filter
        self.trust = trust
        self.judgedAt = judgedAt
    }

    /// A ticket to resume with, if one came since the last time.
    func takeTicket() -> TLSTicket? {
        guard let ticket = filter.session.newTicket, ticket !== keptTicket else { return nil }
        keptTicket = ticket
        return ticket
    }
}
