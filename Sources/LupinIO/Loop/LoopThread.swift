// A thread that is an event loop.
import CLinux
import Glibc

/// Runs a loop on its own thread, and waits for its end.
package final class LoopThread: Sendable {
    package let executor: LoopExecutor
    private let thread: HelperThread

    /// Starts a thread called `name` that runs a loop; returns when the loop exists.
    /// - Throws: When the kernel provides no thread or no epoll instance.
    package init(name: String, clock: LoopClock = .system) throws(SystemError) {
        let executor = LoopExecutor()
        self.executor = executor
        do {
            thread = try HelperThread(name: name, capacity: 1)
        } catch {
            throw SystemError(code: error.code)
        }
        // Carries one number back: 1 for a loop, 1 + errno for a failure. Reading it blocks.
        let answer = Descriptor(owning: try SystemCall.check { eventfd(0, Int32(O_CLOEXEC)) })
        let bell = answer.raw
        thread.submit {
            do throws(SystemError) {
                let loop = try EventLoop(executor: executor, clock: clock)
                _ = eventfd_write(bell, 1)
                loop.run()
            } catch {
                _ = eventfd_write(bell, 1 + UInt64(error.code))
            }
        }
        var result: UInt64 = 0
        // Safety: eventfd_read fills the integer it is given.
        _ = SystemCall.value { Int(unsafe eventfd_read(bell, &result)) }
        guard result == 1 else { throw SystemError(code: Int32(result) - 1) }
    }

    /// Ends the loop after its current batch and waits for the thread.
    package func stop() {
        executor.mailbox.post { [executor] in executor.loop.stop() }
        thread.join()
    }
}
