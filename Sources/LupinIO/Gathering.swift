// How the bytes of a fast sender are waited for: many at a time.
import CLinux
import Glibc

/// What a channel whose bytes are spliced does not want to be woken for.
///
/// The kernel wakes whoever waits for every segment or two, and each costs more than moving the
/// bytes. While they come fast, SO_RCVLOWAT has it wait for many, and the loop looks every
/// millisecond at what came, so nothing waits longer than that.
struct Gathering {
    /// Bytes that were spliced since `since`, in microseconds of the loop's clock.
    fileprivate var bytes = 0
    fileprivate var since: UInt64 = 0
    /// SO_RCVLOWAT as it is set.
    fileprivate(set) var mark: Int32 = 1
    /// Looks in a row that found little: senders with many connections serve them in turns.
    fileprivate var leanLooks = 0
    /// When the loop looks again.
    fileprivate var due: UInt64 = 0
    fileprivate var isListed = false

    var isOn: Bool { mark > 1 }

    /// The largest mark, in bytes.
    fileprivate static let markMax = 256 << 10
    /// So much has to come before a sender is thought fast.
    fileprivate static let judgedBytes = 1 << 20
    /// In bytes per microsecond.
    fileprivate static let fastRate: UInt64 = 32
    fileprivate static let leanLooksMax = 32
    /// Time between two looks, in microseconds.
    fileprivate static let lookTime: UInt64 = 1_000
}

extension Channel {
    /// Whether the kernel waits for many bytes before it tells of them.
    package var isGathering: Bool { gathering.isOn }

    /// Counts bytes that were spliced.
    @inline(__always)
    func noteSpliced(_ count: Int) {
        if gathering.bytes == 0 { gathering.since = loop.now }
        gathering.bytes += count
    }

    /// Decides how the next bytes are waited for: nothing is left to splice, and no more than
    /// `wanted` bytes will be.
    func decideGathering(_ wanted: Int) {
        // Where a test moves the time, nobody would look.
        guard !loop.clock.isVirtual else { return }
        let now = loop.now
        let count = gathering.bytes
        if !gathering.isOn, count < Gathering.judgedBytes { return }
        let time = gathering.isOn ? Gathering.lookTime : now &- gathering.since
        gathering.bytes = 0
        if UInt64(count) >= time &* Gathering.fastRate {
            gathering.leanLooks = 0
        } else {
            gathering.leanLooks += 1
            if !gathering.isOn || gathering.leanLooks == Gathering.leanLooksMax {
                return endGathering()
            }
        }
        guard wanted >= InputBuffer.capacity else { return endGathering() }
        set(mark: min(wanted, Gathering.markMax))
        gathering.due = now &+ Gathering.lookTime
        if !gathering.isListed { loop.look(at: self) }
        gathering.isListed = true
    }

    /// Has the kernel tell of every byte again; if there are some it does so at once.
    func endGathering() {
        guard gathering.isOn else { return }
        set(mark: 1)
        gathering.bytes = 0
    }

    /// Looks at what came, if it is time to; false when nobody need look again.
    func lookAtGathered() -> Bool {
        // Who has not taken what is there is not waited for.
        guard isOpen, gathering.isOn, !isReadable else {
            gathering.isListed = false
            return false
        }
        if loop.now >= gathering.due {
            gathering.due = loop.now &+ Gathering.lookTime
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
