// The signals of a program that fills a terminal: its size, job control, its child, its end.
import CLinux
import Glibc

/// A stream of signals on one loop, for a program with a screen.
package final class TerminalSignals {
    /// What a signal means.
    package enum Event: Equatable, Sendable {
        case resized
        /// Stop as a job of the shell.
        case stopWanted
        /// The process goes on after a stop.
        case continued
        /// A child ended, stopped or went on.
        case childChanged
        /// End, by the signal of this number.
        case end(Int32)
    }

    private static let numbers = [
        SIGWINCH, SIGTSTP, SIGCONT, SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGQUIT,
    ]

    private let descriptor: Descriptor
    private let slot: ParkingSlot

    /// Blocks the signals' default action in this thread and all threads made after it, and
    /// ignores SIGPIPE; returns what a child needs to begin without that.
    ///
    /// Call on the main thread before any other thread is started.
    package static func block() -> SignalsBefore {
        var (mask, before) = (set(of: numbers), sigset_t())
        // Safety: the first set is only read, the second is filled.
        unsafe pthread_sigmask(SIG_BLOCK, &mask, &before)
        SystemCall.ignoreBrokenPipes()
        return SignalsBefore(mask: before, defaults: set(of: [SIGPIPE]))
    }

    /// Reads the blocked signals, on the calling thread's loop.
    /// - Throws: The error of signalfd(2) or epoll_ctl(2).
    package init(on loop: EventLoop) throws(SystemError) {
        var mask = TerminalSignals.set(of: TerminalSignals.numbers)
        // Safety: the mask is only read.
        let raw = try SystemCall.check { unsafe linux_signalfd(&mask) }
        descriptor = Descriptor(owning: raw)
        slot = ParkingSlot(on: loop)
        _ = try loop.register(watcher: slot, reading: raw)
    }

    /// The next signal.
    package func next() async -> Event {
        while true {
            var info = signalfd_siginfo()
            // Safety: signalfd fills whole structs; `info` has room for one.
            let count = unsafe read(descriptor.raw, &info, MemoryLayout<signalfd_siginfo>.size)
            guard count == MemoryLayout<signalfd_siginfo>.size else {
                _ = await slot.park(for: .ready)
                continue
            }
            switch Int32(bitPattern: info.ssi_signo) {
            case SIGWINCH: return .resized
            case SIGTSTP: return .stopWanted
            case SIGCONT: return .continued
            case SIGCHLD: return .childChanged
            case let number: return .end(number)
            }
        }
    }

    /// Stops this process, or its whole group as Ctrl-Z does, and returns when it goes on.
    ///
    /// By SIGTSTP, which the kernel discards where no shell could let the process go on.
    package static func stop(wholeGroup: Bool) {
        var mask = set(of: [SIGTSTP])
        _ = wholeGroup ? kill(0, SIGTSTP) : raise(SIGTSTP)
        // Safety: the set is only read. The signal waits, and acts as soon as it isn't blocked.
        unsafe pthread_sigmask(SIG_UNBLOCK, &mask, nil)
        unsafe pthread_sigmask(SIG_BLOCK, &mask, nil)
    }

    private static func set(of signals: [Int32]) -> sigset_t {
        var mask = sigset_t()
        // Safety: both calls fill the mask they are given.
        unsafe sigemptyset(&mask)
        for signal in signals { unsafe sigaddset(&mask, signal) }
        return mask
    }
}
