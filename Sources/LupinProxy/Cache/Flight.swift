// A fetch under way, and the exchanges that wait for its result (single flight).
import LupinCaching
import Synchronization

/// A fetch that other exchanges wait for.
final class Flight: Sendable {
    enum Outcome: Sendable {
        case pending
        /// The response is being stored, and exchanges that it suits may read along.
        case joinable(StoredResponse, GrowingBody, length: UInt64)
        /// Waiting exchanges look into the store again.
        case landed
        /// No other exchange can use it: each makes its own fetch.
        case released
    }

    private struct State {
        var outcome = Outcome.pending
        var waiting: [@Sendable () -> Void] = []
        var followers = 0
    }

    private let state = Mutex(State())

    /// Whether exchanges wait for the outcome, or read along.
    var hasFollowers: Bool { state.withLock { $0.followers > 0 } }

    /// The fetch under way, or a new one that the caller leads.
    ///
    /// The place is one in a table, which is so searched once.
    static func join(_ current: inout Flight?) -> (flight: Flight, isLeader: Bool) {
        if let flight = current { return (flight, false) }
        let flight = Flight()
        current = flight
        return (flight, true)
    }

    /// Makes its place free, unless another fetch has it.
    func leave(_ current: inout Flight?) { if current === self { current = nil } }

    func resolve(_ outcome: Outcome) {
        let waiting = state.withLock { state in
            state.outcome = outcome
            defer { state.waiting = [] }
            return state.waiting
        }
        for wake in waiting { wake() }
    }

    /// The outcome; while it is pending, `wake` will be called when it is resolved.
    func outcome(wake: @escaping @Sendable () -> Void) -> Outcome {
        state.withLock { state in
            if case .pending = state.outcome { state.waiting.append(wake) }
            return state.outcome
        }
    }

    func follow() { state.withLock { $0.followers += 1 } }
    func leave() { state.withLock { $0.followers -= 1 } }
}
