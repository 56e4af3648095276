// Time as a test moves it: loops that use this clock wait until it is advanced.
package import LupinIO
import Synchronization

/// A clock for any number of loops, that stands still until `advance`.
package final class VirtualClock: Sendable {
    /// A loop did not come round to take notice of the new time.
    package struct LoopIsStuck: Error, CustomStringConvertible {
        package var description: String { "a loop did not take notice of the time in time" }
    }

    // Some time after the epoch, so that tests may look back.
    private let microseconds = Atomic<UInt64>(1000 * TimerWheel.tickMicroseconds)
    private let executors = Mutex<[LoopExecutor]>([])

    package init() {}

    /// Microseconds now.
    package var now: UInt64 { microseconds.load(ordering: .sequentiallyConsistent) }

    /// What to make loops with.
    package var loopClock: LoopClock {
        LoopClock(isVirtual: true) { [self] in now }
    }

    /// Has `executor`'s loop woken by `advance`.
    package func add(_ executor: LoopExecutor) {
        executors.withLock { $0.append(executor) }
    }

    /// Forgets a loop that is about to stop.
    package func remove(_ executor: LoopExecutor) {
        executors.withLock { $0.removeAll { $0 === executor } }
    }

    /// Moves time by `duration`, rounded up to a tick of the loops' timers (8 ms): then all that
    /// is due within `duration` is due.
    ///
    /// Called from a test's thread it first lets each loop finish what it is doing, so that what
    /// the test has seen sent or received has also been followed by its wait; and it returns when
    /// those whose time was up have run. Called on a loop, that loop notices when the caller
    /// waits.
    package func advance(by duration: Duration) throws {
        let executors = executors.withLock { $0 }
        // Three visits: a connection that is accepted in one turn may be handed over in the next,
        // and is read in the third.
        for _ in 0..<3 {
            for executor in executors where !executor.isHome { try visit(executor) }
        }
        let tick = TimerWheel.tickMicroseconds
        let target = (now &+ duration.microseconds) / tick &+ 1
        microseconds.store(target &* tick, ordering: .sequentiallyConsistent)
        for executor in executors {
            if executor.isHome {
                executor.mailbox.ring()
                continue
            }
            // The first visit may fall into a batch that took its time before; the second one's
            // batch has the new time and wakes who is due; the third comes when they have run.
            for _ in 0..<3 { try visit(executor) }
        }
    }

    /// Moves time and waits for nobody: for loops that are about to stop.
    package func push(by duration: Duration) {
        microseconds.add(duration.microseconds, ordering: .sequentiallyConsistent)
        for executor in executors.withLock({ $0 }) { executor.mailbox.ring() }
    }

    /// Goes through a loop's mailbox and comes back.
    private func visit(_ executor: LoopExecutor) throws {
        let bell = Bell()
        executor.mailbox.post { bell.ring() }
        guard bell.wait() else { throw LoopIsStuck() }
    }
}
