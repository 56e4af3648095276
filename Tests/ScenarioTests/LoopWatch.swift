// Whether the loops of a proxy are gone: what it leaves in memory holds one of them, mostly.
import LupinIO
import Synchronization
import Testing

/// Watches loops that must end; nobody else may hold them.
final class LoopWatch: Sendable {
    private struct Loop {
        weak var executor: LoopExecutor?
    }

    private let loops = Mutex<[Loop]>([])

    func watch(_ executors: [LoopExecutor]) {
        loops.withLock { $0 += executors.map { Loop(executor: $0) } }
    }

    private var count: Int { loops.withLock { $0.count { $0.executor != nil } } }

    /// Expects that all are gone, or soon are: the last reference may be that of a thread which is
    /// about to end.
    func expectEnd() async {
        var pauses = 0
        while count > 0, pauses < 1000 {
            pauses += 1
            try? await Task.sleep(for: .milliseconds(10))
        }
        #expect(count == 0, "a task or an object of the stopped proxy is left")
    }
}
