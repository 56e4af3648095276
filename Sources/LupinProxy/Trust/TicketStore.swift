// What earlier TLS connections left, so that the next one to the same hop is cheaper.
import LupinCore
import LupinTLS
import Synchronization

/// Resumable TLS connections to origins, for all workers.
final class TicketStore: Sendable {
    /// A ticket with what was thought of the certificates when it was made: on resumption nobody
    /// is asked again.
    struct Entry: Sendable {
        let ticket: TLSTicket
        let trust: TrustRecord
        /// In seconds since 1970.
        let judgedAt: Int64
    }

    /// How old a judgement may be: then certificates are looked at again, withdrawn ones too.
    private static let judgementSecondsMax: Int64 = 86_400

    /// Hops with a ticket; beyond it an arbitrary one goes.
    private static let countMax = 1024

    private let entries = Mutex<[NextHop: Entry]>([:])

    /// A ticket for one connection to `hop`; one that must not be used twice is taken out.
    func take(for hop: NextHop, now: Int64) -> Entry? {
        entries.withLock { entries in
            guard let entry = entries[hop] else { return nil }
            if entry.ticket.isForOneUse { entries[hop] = nil }
            // On resumption nobody would notice that the certificate has ended meanwhile.
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
    /// Keeps what the origin gave to resume its TLS with, if it gave something new.
    func keepTicket(of secured: SecuredConnection, for hop: NextHop) {
        guard let ticket = secured.takeTicket() else { return }
        keep(
            Entry(ticket: ticket, trust: secured.trust, judgedAt: secured.judgedAt),
            for: hop
        )
    }
}
