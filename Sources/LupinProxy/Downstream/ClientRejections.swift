// Which clients refused lupin's certificate lately, and for which hosts.
import LupinCore
import Synchronization

/// Clients that refused a minted certificate: the same would happen again at the next CONNECT.
final class ClientRejections: Sendable {
    /// Who refused what: many programs share an address, and each has its own idea of whom to
    /// trust, so the name that it gives itself on the CONNECT tells them apart.
    struct Key: Hashable {
        var client: IPAddress
        var agent: String?
        var origin: Origin
    }

    /// Beyond this many the oldest are forgotten.
    private static let countMax = 1024

    private let until = Mutex<[Key: UInt64]>([:])

    /// Notes a rejection; false when it was known already.
    ///
    /// Times are microseconds of the loops' clock.
    func note(_ key: Key, now: UInt64, lifetime: UInt64) -> Bool {
        until.withLock { until in
            if until.count >= Self.countMax {
                until = until.filter { $0.value > now }
                if until.count >= Self.countMax,
                    let oldest = until.min(by: { $0.value < $1.value })
                {
                    until[oldest.key] = nil
                }
            }
            let isNew = until[key].map { $0 <= now } ?? true
            until[key] = now &+ lifetime
            return isNew
        }
    }

    func holds(_ key: Key, now: UInt64) -> Bool {
        until.withLock { $0[key].map { $0 > now } ?? false }
    }
}
