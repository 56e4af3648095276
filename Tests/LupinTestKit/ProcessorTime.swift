// What code costs, however busy the machine is on which it runs.
import Glibc

/// The processor time of the calling thread within `body`.
///
/// Time on the wall would count what others do meanwhile.
package func processorTime(of body: () throws -> Void) rethrows -> Duration {
    let start = processorTimeOfThread()
    try body()
    return processorTimeOfThread() - start
}

private func processorTimeOfThread() -> Duration {
    var time = timespec()
    // Safety: clock_gettime fills the struct it is given.
    unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
}
