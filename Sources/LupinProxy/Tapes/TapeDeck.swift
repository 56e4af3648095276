// The tape that a proxy answers everything from, and what was played of it.
package import LupinRecords
import Synchronization

/// A tape that is played, shared by all workers.
///
/// A proxy with one has no network: every request is answered from the tape, or with 502.
package final class TapeDeck: Sendable {
    private struct State {
        var played: Set<Int> = []
        var misses = 0
        var withoutContent = 0
    }

    private let tape: Tape
    private let state = Mutex(State())

    package init(_ tape: Tape) { self.tape = tape }

    /// How many requests were not on the tape.
    package var misses: Int { state.withLock { $0.misses } }

    /// How many requests got no answer since the tape has theirs without its content.
    package var withoutContent: Int { state.withLock { $0.withoutContent } }

    /// The recorded exchange that answers a request, which counts as played.
    func play(_ request: TapeRequest) -> ArchivedExchange? {
        state.withLock { state in
            guard let index = tape.entry(for: request, played: state.played) else { return nil }
            state.played.insert(index)
            return tape.entries[index].exchange
        }
    }

    /// What a request that is not on the tape is told.
    func miss(of request: TapeRequest) -> TapeMiss {
        noteMiss()
        return tape.miss(of: request)
    }

    func noteWithoutContent() { state.withLock { $0.withoutContent += 1 } }

    func noteMiss() { state.withLock { $0.misses += 1 } }
}
