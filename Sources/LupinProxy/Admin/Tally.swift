// Counters: the outcomes and bytes of exchanges, and the results of reloads.
import LupinCore
import Synchronization

/// The counts of one worker's exchanges; those of all workers are added up on request.
struct Tally: Sendable {
    /// By `Outcome.allCases`.
    private var outcomes = (ok: 0, error: 0, aborted: 0, truncated: 0, denied: 0)
    private(set) var attempts = 0
    private var repeats = (retry: 0, hedge: 0, resume: 0)
    private(set) var bytes = ByteCounts()
    private(set) var durations = DurationTable()
    /// The number of exchanges that got a task, by why.
    private(set) var tasks: [Need: Int] = [:]

    /// Counts an exchange that has ended.
    ///
    /// `rule` is the number of its rule, and `firstByte` when the client got the first byte.
    /// Tunnels have no duration that says anything.
    mutating func note(_ record: borrowing ExchangeRecord, rule: Int, firstByte: Int64?) {
        if record.mode == .http || record.mode == .intercept, let total = record.timing.total {
            durations.note(record.outcome, rule: rule, total: total, firstByte: firstByte)
        }
        switch record.outcome {
        case .ok: outcomes.ok &+= 1
        case .error: outcomes.error &+= 1
        case .aborted: outcomes.aborted &+= 1
        case .truncated: outcomes.truncated &+= 1
        case .denied: outcomes.denied &+= 1
        }
        attempts &+= record.attempts.count
        if record.attempts.count > 1 { note(repeats: record.attempts) }
        bytes.clientIn &+= record.bytes.clientIn
        bytes.clientOut &+= record.bytes.clientOut
        bytes.upstreamIn &+= record.bytes.upstreamIn
        bytes.upstreamOut &+= record.bytes.upstreamOut
    }

    private mutating func note(repeats attempts: [AttemptRecord]) {
        for attempt in attempts {
            switch attempt.cause {
            case .retry: repeats.retry &+= 1
            case .hedge: repeats.hedge &+= 1
            case .resume: repeats.resume &+= 1
            case .first, .auth, .redirect, .revalidate, .collapseLeader: break
            }
        }
    }

    /// Counts an exchange that got a task.
    mutating func note(_ need: Need) { tasks[need, default: 0] &+= 1 }

    mutating func add(_ other: Tally) {
        durations.add(other.durations)
        tasks.merge(other.tasks, uniquingKeysWith: &+)
        outcomes.ok &+= other.outcomes.ok
        outcomes.error &+= other.outcomes.error
        outcomes.aborted &+= other.outcomes.aborted
        outcomes.truncated &+= other.outcomes.truncated
        outcomes.denied &+= other.outcomes.denied
        attempts &+= other.attempts
        repeats.retry &+= other.repeats.retry
        repeats.hedge &+= other.repeats.hedge
        repeats.resume &+= other.repeats.resume
        bytes.clientIn &+= other.bytes.clientIn
        bytes.clientOut &+= other.bytes.clientOut
        bytes.upstreamIn &+= other.bytes.upstreamIn
        bytes.upstreamOut &+= other.bytes.upstreamOut
    }

    /// The number of exchanges with this outcome.
    func exchanges(_ outcome: ExchangeRecord.Outcome) -> Int {
        switch outcome {
        case .ok: outcomes.ok
        case .error: outcomes.error
        case .aborted: outcomes.aborted
        case .truncated: outcomes.truncated
        case .denied: outcomes.denied
        }
    }

    /// Attempts made because others had failed or were slow, with their names in records.
    var repeated: [(name: String, count: Int)] {
        [("retry", repeats.retry), ("hedge", repeats.hedge), ("resume", repeats.resume)]
    }

    /// The four directions, with their names in records.
    var directions: [(name: String, count: UInt64)] {
        [
            ("client_in", bytes.clientIn), ("client_out", bytes.clientOut),
            ("upstream_out", bytes.upstreamOut), ("upstream_in", bytes.upstreamIn),
        ]
    }
}

/// Counts accepted and rejected reloads.
final class ReloadCounter: Sendable {
    private let taken = Atomic(0)
    private let refused = Atomic(0)

    var loaded: Int { taken.load(ordering: .relaxed) }
    var rejected: Int { refused.load(ordering: .relaxed) }

    func noteLoaded() { taken.add(1, ordering: .relaxed) }
    func noteRejected() { refused.add(1, ordering: .relaxed) }
}
