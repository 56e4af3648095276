// TLS sessions that earlier connections left, so that the next one to the same hop is cheaper.
import LupinCore
import LupinTLS
import Synchronization

/// Resumable TLS connections to origins, for all workers.
final class TicketStore: Sendable {
    /// A ticket with the verdict on the certificates of its session: a resumed session is not
    /// judged again.
    struct Entry: Sendable {
        let ticket: TLSTicket
        let trust: TrustRecord
        /// In seconds since 1970.
        let judgedAt: Int64
    }

    /// The maximum age of a verdict: after it, certificates are checked again, for revocation too.
    private static let judgementSecondsMax: Int64 = 86_400

    /// The maximum number of hops with a ticket; beyond it an arbitrary one is dropped.
    private static let countMax = 1024

    private let entries = Mutex<[NextHop: Entry]>([:])

    /// Returns a ticket for one connection to `hop`, and removes it when it is for one use.
    func take(for hop: NextHop, now: Int64) -> Entry? {
        entries.withLock { entries in
            guard let entry = entries[hop] else { return nil }
            if entry.ticket.isForOneUse { entries[hop] = nil }
            // A resumed session would not reveal that the certificate has expired meanwhile.
            guard entry.ticket.isUsable, entry.ticket.validUntil > now,
                entry.trust.notAfter ?? .max > now, now - entry.judgedAt < Self.judgementSecondsMax
            else {
                entries[hop] = nil
                return nil
            }
            return entry
        }
    }

    func keep(_ entry: Entry, for hop: NextHop) {
        entries.withLock { entries in
            if entries.count >= Self.countMax, entries[hop] == nil, let any = entries.keys.first {
                entries[any] = nil
            }
            entries[hop] = entry
        }
    }
}

extension TicketStore {
    /// Keeps the origin's session ticket if a new one came.
    func keepTicket(of secured: SecuredConnection, for hop: NextHop) {
        guard let ticket = secured.takeTicket() else { return }
        keep(
            Entry(ticket: ticket, trust: secured.trust, judgedAt: secured.judgedAt),
            for: hop
        )
    }
}
