// How far the thread behind a test's TLS has come: a test must not run ahead of it.
import Glibc
import Synchronization

/// What has left for the peer of a TLS connection, told by the thread that makes the TLS.
///
/// Without it a test that has sent something and then has its proxy settle, or its clock advance,
/// would do so before the proxy could know.
final class ShuttleProgress: Sendable {
    private let carried = Atomic(0)
    private let isBlocked = Atomic(false)
    private let hasFinished = Atomic(false)

    /// Has all of the test's first `count` bytes be on the wire, or none of the later ones move on
    /// before the peer reads.
    func note(_ count: Int, isBlocked blocked: Bool) {
        if !blocked { carried.store(count, ordering: .sequentiallyConsistent) }
        isBlocked.store(blocked, ordering: .sequentiallyConsistent)
    }

    /// The wire has got the test's end, or there is no wire any more.
    func finish() { hasFinished.store(true, ordering: .sequentiallyConsistent) }

    /// Waits until the wire has so many of the test's bytes, or takes no more of them for now.
    func waitUntilCarried(_ count: Int) {
        wait { carried.load(ordering: .sequentiallyConsistent) >= count }
    }

    /// Waits until the wire has the test's end, or takes nothing for now.
    func waitUntilFinished() { wait { false } }

    private func wait(until isReached: () -> Bool) {
        let countdown = Countdown()
        while !isReached(), !hasFinished.load(ordering: .sequentiallyConsistent),
            !isBlocked.load(ordering: .sequentiallyConsistent), countdown.milliseconds > 0
        {
            usleep(50)
        }
    }
}
