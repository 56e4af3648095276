// The state of an established TLS connection with an origin.
package import LupinCore
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

    /// A ticket for resumption; nil when no new one came since the last call.
    func takeTicket() -> TLSTicket? {
        guard let ticket = filter.session.newTicket, ticket !== keptTicket else { return nil }
        keptTicket = ticket
        return ticket
    }
}
