// How a channel waits for the bytes of a fast sender: many at a time.
import CLinux
import Glibc

/// Saves wake-ups for a channel whose bytes are spliced.
///
/// The kernel wakes a waiting task for every segment or two, and a wake-up costs more than moving
/// the bytes. While bytes arrive fast, SO_RCVLOWAT makes the kernel wait for many, and the loop
/// polls the channel every millisecond, so no byte waits longer than that.
struct ReceiveCoalescing {
    /// Bytes spliced since `since`, in microseconds of the loop's clock.
    fileprivate var bytes = 0
    fileprivate var since: UInt64 = 0
    /// The current SO_RCVLOWAT.
    fileprivate(set) var mark: Int32 = 1
    /// Consecutive polls that found little: senders with many connections serve them in turns.
    fileprivate var leanLooks = 0
    /// When the loop polls next.
    fileprivate var due: UInt64 = 0
    fileprivate var isListed = false

    var isOn: Bool { mark > 1 }

    /// The largest mark, in bytes.
    fileprivate static let markMax = 256 << 10
    /// A sender counts as fast only after this many bytes.
    fileprivate static let judgedBytes = 1 << 20
    /// In bytes per microsecond.
    fileprivate static let fastRate: UInt64 = 32
    fileprivate static let leanLooksMax = 32
    /// Time between two polls, in microseconds.
    fileprivate static let lookTime: UInt64 = 1_000
}

extension Channel {
    /// Whether the kernel waits for many bytes before it reports them.
    package var isGathering: Bool { gathering.isOn }

    /// Counts bytes that were spliced.
    @inline(__always)
    func noteSpliced(_ count: Int) {
        if gathering.bytes == 0 { gathering.since = loop.now }
        gathering.bytes += count
    }

    /// Decides how to wait for the next bytes.
    ///
    /// Nothing is left to splice, and the caller wants at most `wanted` more bytes.
    func decideGathering(_ wanted: Int) {
        // With a test's virtual clock the loop does not poll.
        guard !loop.clock.isVirtual else { return }
        let now = loop.now
        let count = gathering.bytes
        if !gathering.isOn, count < ReceiveCoalescing.judgedBytes { return }
        let time = gathering.isOn ? ReceiveCoalescing.lookTime : now &- gathering.since
        gathering.bytes = 0
        if UInt64(count) >= time &* ReceiveCoalescing.fastRate {
            gathering.leanLooks = 0
        } else {
            gathering.leanLooks += 1
            if !gathering.isOn || gathering.leanLooks == ReceiveCoalescing.leanLooksMax {
                return endGathering()
            }
        }
        guard wanted >= InputBuffer.capacity else { return endGathering() }
        set(mark: min(wanted, ReceiveCoalescing.markMax))
        gathering.due = now &+ ReceiveCoalescing.lookTime
        if !gathering.isListed { loop.look(at: self) }
        gathering.isListed = true
    }

    /// Makes the kernel report every byte again; bytes already there are reported at once.
    func endGathering() {
        guard gathering.isOn else { return }
        set(mark: 1)
        gathering.bytes = 0
    }

    /// Polls the channel if it is due; returns false when it needs no more polls.
    func lookAtGathered() -> Bool {
        // Stop while the owner has not taken what is there.
        guard isOpen, gathering.isOn, !isReadable else {
            gathering.isListed = false
            return false
        }
        if loop.now >= gathering.due {
            gathering.due = loop.now &+ ReceiveCoalescing.lookTime
            signal(Readiness(bits: UInt32(LINUX_EPOLLIN)))
        }
        return true
    }

    private func set(mark: Int) {
        guard Int(gathering.mark) != mark else { return }
        gathering.mark = Int32(mark)
        _ = linux_set_option(descriptor, SOL_SOCKET, SO_RCVLOWAT, gathering.mark)
    }
}
