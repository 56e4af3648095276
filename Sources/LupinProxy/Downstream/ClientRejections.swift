// Which clients refused lupin's certificate lately, and for which hosts.
import LupinCore
import Synchronization

/// Clients that refused a minted certificate: the same would happen again at the next CONNECT.
final class ClientRejections: Sendable {
    private struct Key: Hashable {
        var client: IPAddress
        var origin: Origin
    }

    /// Beyond this many the oldest are forgotten.
    private static let countMax = 1024

    private let until = Mutex<[Key: UInt64]>([:])

    /// Notes a rejection; false when it was known already.
    ///
    /// Times are microseconds of the loops' clock.
    func note(
        _ client: IPAddress,
        _ origin: Origin,
        now: UInt64,
        lifetime: UInt64
    ) -> Bool {
        until.withLock { until in
            if until.count >= Self.countMax {
                until = until.filter { $0.value > now }
                if until.count >= Self.countMax,
                    let oldest = until.min(by: { $0.value < $1.value })
                {
                    until[oldest.key] = nil
                }
            }
            let key = Key(client: client, origin: origin)
            let isNew = until[key].map { $0 <= now } ?? true
            until[key] = now &+ lifetime
            return isNew
        }
    }

    func holds(_ client: IPAddress, _ origin: Origin, now: UInt64) -> Bool {
        until.withLock { $0[Key(client: client, origin: origin)].map { $0 > now } ?? false }
    }
}
