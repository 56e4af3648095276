// The loop as a Swift executor: which thread a job runs on, and at what cost.
import CLinux
import Glibc
import Synchronization

/// Runs jobs on one event loop's thread, both as an actor's and as a task's executor.
///
/// With an actor executor alone, every resumed continuation goes through the global pool and comes
/// back by eventfd. As the task executor too, it keeps them on the thread.
package final class LoopExecutor: SerialExecutor, TaskExecutor {
    package let mailbox = Mailbox()
    /// pthread_self of the thread that runs the loop; 0 before it runs.
    private let home = Atomic<UInt>(0)
    private let foreign = Atomic<Int>(0)
    // Safety: touched on the loop's thread only; every path there checks `isHome` or starts in
    // `EventLoop.run`.
    nonisolated(unsafe) private let ready = JobQueue()
    // Safety: set once in `adoptThread`, read on the loop's thread only.
    nonisolated(unsafe) private unowned var running: EventLoop?

    package init() {}

    /// The executor reference that an actor on this loop gives to the runtime.
    package var unowned: UnownedSerialExecutor {
        // Safety: the caller keeps the executor alive for as long as it keeps the reference.
        unsafe asUnownedSerialExecutor()
    }

    /// How many jobs came from other threads so far: tests assert no growth in steady state.
    package var foreignEnqueues: Int { foreign.load(ordering: .relaxed) }

    /// Whether the caller is on the loop's thread.
    package var isHome: Bool { home.load(ordering: .relaxed) == UInt(pthread_self()) }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        guard isHome else {
            foreign.add(1, ordering: .relaxed)
            mailbox.post(job: job)
            return
        }
        unsafe ready.append(job)
    }

    package func checkIsolated() {
        precondition(isHome, "code of a loop ran on another thread")
    }

    package func isIsolatingCurrentContext() -> Bool? { isHome }

    /// The loop, for code that runs on its thread.
    package var loop: EventLoop {
        guard isHome, let running = unsafe running else {
            preconditionFailure("a loop was asked for on a thread that is not its own")
        }
        return running
    }

    func adoptThread(running loop: EventLoop) {
        home.store(UInt(pthread_self()), ordering: .relaxed)
        unsafe running = loop
    }

    func adopt(_ jobs: [UnownedJob]) {
        for job in jobs { unsafe ready.append(job) }
    }

    var isIdle: Bool { unsafe ready.isEmpty }

    /// Runs every job that is ready, including those that become ready meanwhile.
    func runReady() {
        let serial = unsafe asUnownedSerialExecutor()
        let task = unsafe asUnownedTaskExecutor()
        while let job = unsafe ready.popFirst() {
            unsafe job.runSynchronously(isolatedTo: serial, taskExecutor: task)
        }
    }
}

/// A FIFO of jobs: a ring with a power of two of places, which grows and never shrinks.
///
/// A change moves the ring out and back, which saves exclusivity checks at run time.
private final class JobQueue {
    private var ring: [UnownedJob?] = Array(repeating: nil, count: 1024)
    private var head = 0
    private var tail = 0

    var isEmpty: Bool { head == tail }

    func append(_ job: UnownedJob) {
        if tail &- head == ring.count { grow() }
        var ring: [UnownedJob?] = []
        swap(&ring, &self.ring)
        ring[tail & (ring.count &- 1)] = job
        swap(&ring, &self.ring)
        tail &+= 1
    }

    func popFirst() -> UnownedJob? {
        guard head != tail else { return nil }
        defer { head &+= 1 }
        return ring[head & (ring.count &- 1)]
    }

    private func grow() {
        let waiting = (head..<tail).map { ring[$0 & (ring.count - 1)] }
        ring = waiting + Array(repeating: nil, count: ring.count)
        head = 0
        tail = waiting.count
    }
}

/// A reference that keeps nothing alive: for what passes through another thread, where nothing that
/// belongs to a loop may be released.
package final class Weak<Object: AnyObject> {
    package private(set) weak var object: Object?

    package init(_ object: Object) { self.object = object }
}

/// A loop-confined value that passes through another thread, to be read on its loop only.
package struct LoopLocal<Value>: Sendable {
    private let executor: LoopExecutor
    // Safety: `value` is the only access, and it checks the thread.
    nonisolated(unsafe) private let content: Value

    package init(_ value: Value, of executor: LoopExecutor) {
        self.executor = executor
        unsafe content = value
    }

    package var value: Value {
        executor.checkIsolated()
        return unsafe content
    }
}
