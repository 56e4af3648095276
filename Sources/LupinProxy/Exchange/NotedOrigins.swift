// What was learnt of origins by their responses, and is forgotten after a while.
import LupinCore
import Synchronization

/// Origins of which one thing was learnt lately, such as that they refuse compressed bodies; for
/// all workers.
final class NotedOrigins: Sendable {
    /// Beyond this many all are dropped.
    private static let countMax = 1024
    /// How long a note counts, in microseconds of the loops' clock.
    private static let lifetime: UInt64 = 3600 * 1_000_000

    private let until = Mutex<[Origin: UInt64]>([:])

    func note(_ origin: Origin, now: UInt64) {
        until.withLock { until in
            if until.count >= Self.countMax { until = [:] }
            until[origin] = now &+ Self.lifetime
        }
    }

    func holds(_ origin: Origin, now: UInt64) -> Bool {
        until.withLock { $0[origin].map { $0 > now } ?? false }
    }

    /// The origins whose note counts, and for how many microseconds it still does.
    func all(now: UInt64) -> [(origin: Origin, rest: UInt64)] {
        let known = until.withLock { $0.filter { $0.value > now } }
        return known.map { (origin: $0.key, rest: $0.value - now) }
            .sorted { ($0.origin.hostAndPort, $0.rest) < ($1.origin.hostAndPort, $1.rest) }
    }
}
