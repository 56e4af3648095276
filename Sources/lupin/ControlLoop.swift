// Runs asynchronous work of a synchronous command on the main thread.
import ArgumentParser
import LupinIO

enum ControlLoop {
    /// The result of the work, confined to the loop.
    private final class Ending<Value> {
        var value: Value?
    }

    /// Runs `work` on a loop of the calling thread until it is done, and returns its exit code.
    /// - Throws: When the kernel gives no loop.
    static func run(
        _ work: @escaping @Sendable (LoopExecutor) async -> ExitCode
    ) throws(SystemError) -> ExitCode {
        try value(of: work) ?? .failure
    }

    /// Runs `work` and returns its result; returns nil when the loop was stopped first.
    static func value<Value: Sendable>(
        of work: @escaping @Sendable (LoopExecutor) async -> Value
    ) throws(SystemError) -> Value? {
        let executor = LoopExecutor()
        let ending = LoopLocal(Ending<Value>(), of: executor)
        let loop = try EventLoop(executor: executor)
        Task(executorPreference: executor) {
            ending.value.value = await work(executor)
            // By message, since a loop that is stopped before it waits would wait once more.
            executor.mailbox.post { executor.loop.stop() }
        }
        loop.run()
        return ending.value.value
    }
}
