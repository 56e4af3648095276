// A fetch that is under way, and those who wait for what it brings.
import LupinCore
import Synchronization

/// A fetch that others wait for.
final class Flight: Sendable {
    enum Outcome: Sendable {
        case pending
        /// The response is on its way into the store, and whoever it suits may read along.
        case joinable(StoredResponse, GrowingBody, length: UInt64)
        /// Whoever waits looks into the store again.
        case landed
        /// Nobody else can use it: each fetches for itself.
        case released
    }

    private struct State {
        var outcome = Outcome.pending
        var waiting: [@Sendable () -> Void] = []
        var followers = 0
    }

    private let state = Mutex(State())

    /// Somebody waits for the outcome, or reads along.
    var hasFollowers: Bool { state.withLock { $0.followers > 0 } }

    func resolve(_ outcome: Outcome) {
        let waiting = state.withLock { state in
            state.outcome = outcome
            defer { state.waiting = [] }
            return state.waiting
        }
        for wake in waiting { wake() }
    }

    /// What it came to; while that is open, `wake` is called when it is not.
    func outcome(wake: @escaping @Sendable () -> Void) -> Outcome {
        state.withLock { state in
            if case .pending = state.outcome { state.waiting.append(wake) }
            return state.outcome
        }
    }

    func follow() { state.withLock { $0.followers += 1 } }
    func leave() { state.withLock { $0.followers -= 1 } }
}
