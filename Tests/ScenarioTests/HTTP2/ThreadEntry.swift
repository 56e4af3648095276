// Whether a thread of this process sleeps, as the kernel tells it.
import Foundation
import LupinIO
import LupinProxy
import LupinTestKit
import Synchronization

/// A thread's folder in `/proc`, once the thread has said which it is.
final class ThreadEntry: Sendable {
    private let path = Mutex("")

    /// Called on the thread that is meant.
    func takeThis() {
        let link = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/thread-self")
        path.withLock { $0 = "/proc/" + (link ?? "") }
    }

    /// Whether it waits for something just now: a loop that goes round and round never does.
    var isAsleep: Bool {
        let path = path.withLock { $0 } + "/stat"
        guard let line = try? String(contentsOfFile: path, encoding: .utf8) else { return false }
        // Behind the name in brackets, which may have brackets of its own.
        return line[(line.lastIndex(of: ")") ?? line.startIndex)...].hasPrefix(") S")
    }
}

extension ProxyFixture {
    /// Waits until no worker has anything to do: each sleeps whenever it is looked at.
    func waitUntilIdle() throws {
        for executor in proxy.executors {
            let bell = Bell()
            let thread = ThreadEntry()
            executor.mailbox.post {
                thread.takeThis()
                bell.ring()
            }
            guard bell.wait() else { throw SocketFailure("a worker is stuck") }
            var sleepingRounds = 0
            try eventually("a worker to have nothing to do") {
                sleepingRounds = thread.isAsleep ? sleepingRounds + 1 : 0
                return sleepingRounds > 20
            }
        }
    }
}
