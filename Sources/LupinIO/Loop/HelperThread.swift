// A named thread for work that blocks: name look-ups, writing records, disk I/O.

import CLinux
import Glibc
import Synchronization

/// One thread with a bounded queue of jobs, which run one after the other in submission order.
///
/// Results return to a worker through its mailbox; the thread itself resumes no task.
package final class HelperThread: Sendable {
    /// The thread could not be started; `code` is an errno value.
    package struct CannotStart: Error, Sendable {
        package let code: Int32
    }

    private let queue: JobQueue
    private let thread: pthread_t

    /// Starts a thread called `name` (the kernel keeps 15 bytes of it) for at most `capacity`
    /// waiting jobs.
    ///
    /// It receives no signals. With `yields` it gets a processor only while the other threads leave
    /// it one, or a tenth of what each of them gets (nice 10).
    package init(name: String, capacity: Int, yields: Bool = false) throws(CannotStart) {
        queue = JobQueue(name: name, capacity: capacity, yields: yields)
        var all = sigset_t()
        var before = sigset_t()
        var thread = pthread_t()
        // Safety: the pointers live for the calls; the thread takes over the queue's retain count.
        let context = unsafe Unmanaged.passRetained(queue).toOpaque()
        unsafe sigfillset(&all)
        unsafe pthread_sigmask(SIG_SETMASK, &all, &before)
        let code = unsafe pthread_create(&thread, nil, runJobs, context)
        unsafe pthread_sigmask(SIG_SETMASK, &before, nil)
        guard code == 0 else {
            // Safety: no thread took over the retain count.
            unsafe Unmanaged<JobQueue>.fromOpaque(context).release()
            throw CannotStart(code: code)
        }
        // Last, so that `deinit` never sees a thread that was not made.
        self.thread = thread
    }

    deinit { abandon() }

    /// Submits a job; never blocks.
    ///
    /// Returns false when the queue is full or the thread is ending: then the job is not run.
    @discardableResult
    package func submit(_ job: @escaping @Sendable () -> Void) -> Bool {
        queue.append(job)
    }

    /// Runs every job that was submitted, then ends the thread and waits for it.
    ///
    /// Later submits are refused. Must not be called from a job.
    package func join() {
        guard queue.close(discarding: false) else { return }
        // `close` returns true once only, so the handle is joined once.
        pthread_join(thread, nil)
    }

    /// Drops the waiting jobs and does not wait for the running one.
    ///
    /// For work that may take longer than the caller wants to wait.
    ///
    /// The thread detaches itself when it ends: glibc's pthread_detach, called from another thread,
    /// accesses a thread that may have ended and been freed meanwhile (its bug 19951).
    package func abandon() { _ = queue.close(discarding: true) }
}

// MARK: The thread's side

private func runJobs(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let context = unsafe context else { return nil }
    // Safety: `init` passed a retained JobQueue and gave the retain count to this thread.
    let queue = unsafe Unmanaged<JobQueue>.fromOpaque(context).takeRetainedValue()
    nameThisThread(queue.name)
    // Linux: 0 is the calling thread, not its process. Without success it runs like the others.
    if queue.yields { _ = setpriority(Int32(bitPattern: PRIO_PROCESS.rawValue), 0, 10) }
    while let job = queue.next() { job() }
    // No thread joins it: `close` returns true once only.
    if queue.isAbandoned { pthread_detach(pthread_self()) }
    return nil
}

/// Names the calling thread for `ps -L` and debuggers; glibc's module lacks pthread_setname_np.
///
/// By prctl(2): `/proc/thread-self/comm` is root's where memory is kept from others.
private func nameThisThread(_ name: String) {
    // Safety: the name is NUL-terminated for the call.
    _ = unsafe linux_name_thread(name)
}

/// The waiting jobs, and the semaphore on which the thread sleeps while there are none.
private final class JobQueue: Sendable {
    private struct State {
        var jobs: [(@Sendable () -> Void)?] = []
        /// Jobs before this index have been taken.
        var taken = 0
        var isAsleep = false
        var isClosed = false
        /// Whether no caller waits for the end.
        var isAbandoned = false

        /// The next job; without one, whether the queue is closed.
        mutating func take() -> (job: (@Sendable () -> Void)?, isOver: Bool) {
            guard taken < jobs.count else {
                isAsleep = !isClosed
                return (nil, isClosed)
            }
            // Gone from here, so that nothing it holds is released under the lock.
            let job = jobs[taken].take()
            taken += 1
            // Compacts once half has been taken: each job moves once on average.
            if taken == jobs.count || (taken >= 32 && taken * 2 >= jobs.count) {
                jobs.removeFirst(taken)
                taken = 0
            }
            return (job, false)
        }
    }

    let name: String
    let yields: Bool
    private let capacity: Int
    private let state = Mutex(State())
    private let semaphore = Semaphore()

    init(name: String, capacity: Int, yields: Bool) {
        self.name = name
        self.yields = yields
        self.capacity = capacity
    }

    func append(_ job: @escaping @Sendable () -> Void) -> Bool {
        let (isAccepted, mustWake) = state.withLock { state in
            guard !state.isClosed, state.jobs.count - state.taken < capacity else {
                return (false, false)
            }
            state.jobs.append(job)
            defer { state.isAsleep = false }
            return (true, state.isAsleep)
        }
        if mustWake { semaphore.signal() }
        return isAccepted
    }

    /// Refuses later jobs.
    ///
    /// Returns true for the first caller only.
    func close(discarding: Bool) -> Bool {
        // Discarded jobs are released outside the lock: their captures may run any deinit.
        var discarded: [(@Sendable () -> Void)?] = []
        let (isFirst, mustWake) = state.withLock { state in
            guard !state.isClosed else { return (false, false) }
            state.isClosed = true
            if discarding {
                state.isAbandoned = true
                swap(&discarded, &state.jobs)
                state.taken = 0
            }
            defer { state.isAsleep = false }
            return (true, state.isAsleep)
        }
        if mustWake { semaphore.signal() }
        return isFirst
    }

    var isAbandoned: Bool { state.withLock { $0.isAbandoned } }

    /// Waits for the next job and returns it; nil when the queue is closed.
    func next() -> (@Sendable () -> Void)? {
        while true {
            let (job, isOver) = state.withLock { state in state.take() }
            if let job { return job }
            if isOver { return nil }
            semaphore.wait()
        }
    }
}

/// A POSIX semaphore.
///
/// Spurious wake-ups are possible; callers look again.
private final class Semaphore: Sendable {
    /// Address of the `sem_t`, as a number: an address may cross threads, and only the sem_*
    /// functions access the memory, which are thread-safe.
    private let address: UInt

    init() {
        // Safety: allocated here, initialised once, freed in deinit only.
        let pointer = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)
        unsafe sem_init(pointer, 0, 0)
        address = UInt(bitPattern: pointer)
    }

    deinit {
        // Safety: no thread waits, since every waiter holds a reference to this object.
        guard let pointer = unsafe UnsafeMutablePointer<sem_t>(bitPattern: address) else { return }
        unsafe sem_destroy(pointer)
        unsafe pointer.deallocate()
    }

    func signal() {
        // Safety: `address` is that of our live semaphore.
        guard let pointer = unsafe UnsafeMutablePointer<sem_t>(bitPattern: address) else { return }
        unsafe sem_post(pointer)
    }

    func wait() {
        // Safety: `address` is that of our live semaphore.
        guard let pointer = unsafe UnsafeMutablePointer<sem_t>(bitPattern: address) else { return }
        unsafe sem_wait(pointer)
    }
}
