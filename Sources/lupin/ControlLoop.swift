// How a command that is synchronous to the outside does asynchronous work on the main thread.
import ArgumentParser
import LupinIO

enum ControlLoop {
    /// What the work came to, confined to the loop.
    private final class Ending {
        var code = ExitCode.failure
    }

    /// Runs `work` on a loop of the calling thread until it is done, and returns its exit code.
    /// - Throws: When the kernel gives no loop.
    static func run(
        _ work: @escaping @Sendable (LoopExecutor) async -> ExitCode
    ) throws(SystemError) -> ExitCode {
        let executor = LoopExecutor()
        let ending = LoopLocal(Ending(), of: executor)
        let loop = try EventLoop(executor: executor)
        Task(executorPreference: executor) {
            ending.value.code = await work(executor)
            // By letter, since a loop that is told before it waits would wait once more.
            executor.mailbox.post { executor.loop.stop() }
        }
        loop.run()
        return ending.value.code
    }
}
