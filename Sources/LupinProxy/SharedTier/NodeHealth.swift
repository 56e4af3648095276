// Which nodes of the shared store are left alone for now, as all workers know it.
import Synchronization

/// The failures of nodes; a node that failed is left alone, longer with each failure.
final class NodeHealth: Sendable {
    enum Permit {
        case pass
        /// It failed before. The caller probes whether it is back, and does without it meanwhile.
        case probe
        case leave
    }

    private struct Trouble {
        var failures = 0
        /// When it may be probed again, in µs of the loops' clock.
        var probeAt: UInt64 = 0
    }

    private let troubled = Mutex<[RedisTarget: Trouble]>([:])
    /// Lets requests see without the lock that all nodes are well.
    private let count = Atomic(0)

    /// In µs: 100 ms, doubled with each failure up to 30 s.
    private static let firstPause: UInt64 = 100_000
    private static let pauseMax: UInt64 = 30_000_000

    var isAllWell: Bool { count.load(ordering: .relaxed) == 0 }

    func permit(_ target: RedisTarget, now: UInt64) -> Permit {
        if isAllWell { return .pass }
        return troubled.withLock { troubled in
            guard var trouble = troubled[target] else { return .pass }
            guard now >= trouble.probeAt else { return .leave }
            trouble.failures = min(trouble.failures + 1, 16)
            trouble.probeAt = now &+ Self.pause(after: trouble.failures)
            troubled[target] = trouble
            return .probe
        }
    }

    func isWell(_ target: RedisTarget) -> Bool {
        if isAllWell { return true }
        return troubled.withLock { $0[target] == nil }
    }

    /// Notes a failure.
    /// - Returns: Whether it was well before.
    func noteFailure(of target: RedisTarget, now: UInt64) -> Bool {
        troubled.withLock { troubled in
            if troubled[target] != nil { return false }
            troubled[target] = Trouble(failures: 1, probeAt: now &+ Self.pause(after: 1))
            count.store(troubled.count, ordering: .relaxed)
            return true
        }
    }

    /// Notes an answer.
    /// - Returns: Whether the node had failed before.
    func noteSuccess(of target: RedisTarget) -> Bool {
        if isAllWell { return false }
        return troubled.withLock { troubled in
            defer { count.store(troubled.count, ordering: .relaxed) }
            return troubled.removeValue(forKey: target) != nil
        }
    }

    private static func pause(after failures: Int) -> UInt64 {
        min(firstPause << UInt64(min(max(failures, 1) - 1, 10)), pauseMax)
    }
}
