// A thread for a test that blocks, so that the threads all tests share stay free.
import LupinIO

/// Runs a test's code on a thread of its own, where it may block.
package final class ScriptThread: TaskExecutor {
    /// For short work that must go on while tests block the threads that all of them share.
    package static let spare = try? ScriptThread()

    private let thread: HelperThread

    private init() throws { thread = try HelperThread(name: "test-client", capacity: 64) }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        thread.submit { [self] in
            // Safety: the closure keeps the executor while the job runs.
            unsafe job.runSynchronously(on: asUnownedTaskExecutor())
        }
    }

    /// Runs `body` on a new thread; what it expects counts for the test that called.
    @concurrent package static func run<Value: Sendable>(
        _ body: @Sendable () async throws -> Value
    ) async throws -> Value {
        let executor = try ScriptThread()
        defer { executor.thread.join() }
        return try await withTaskExecutorPreference(executor) { try await body() }
    }
}
