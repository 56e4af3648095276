// How other threads send work to a loop: a locked queue and an eventfd.
import CLinux
import Glibc
import Synchronization

/// Work handed to a loop from any thread; it runs there, in order, between two batches of events.
package final class Mailbox: Sendable {
    /// nil once the loop has ended.
    private let letters = Mutex<[@Sendable () -> Void]?>([])
    private let jobs = Mutex<[UnownedJob]>([])
    private let bell: Int32

    init() { bell = linux_eventfd() }

    deinit { _ = Glibc.close(bell) }

    var descriptor: Int32 { bell }

    /// Runs `letter` on the loop's thread soon.
    ///
    /// Blocks for no longer than an append takes. A loop that has ended runs nothing: then the
    /// letter is dropped.
    package func post(_ letter: @escaping @Sendable () -> Void) {
        letters.withLock { $0?.append(letter) }
        ring()
    }

    /// Wakes the loop without any work, as a test's clock does.
    package func ring() { _ = eventfd_write(bell, 1) }

    /// Drops the letters that wait, and later ones: what they hold would hold the loop.
    func close() {
        // Released outside the lock, since that may run any deinit.
        _ = letters.withLock { queue in
            defer { queue = nil }
            return queue
        }
    }

    func post(job: UnownedJob) {
        jobs.withLock { $0.append(job) }
        ring()
    }

    /// Empties the queue.
    ///
    /// Call it on the loop's thread after the eventfd was signalled.
    func collect() -> (letters: [@Sendable () -> Void], jobs: [UnownedJob]) {
        var count: UInt64 = 0
        // Safety: eventfd_read fills the integer it is given.
        _ = unsafe eventfd_read(bell, &count)
        let newLetters = letters.withLock { queue in
            defer { if queue != nil { queue = [] } }
            return queue ?? []
        }
        let newJobs = jobs.withLock { queue in
            defer { queue = [] }
            return queue
        }
        return (newLetters, newJobs)
    }
}
