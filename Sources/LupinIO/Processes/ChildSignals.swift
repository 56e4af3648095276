// The signals of a process that runs a child on behalf of its own caller: signals to pass on, and
// signals about the child.
import CLinux
import Glibc

/// How a process treated signals when it began; its children begin the same way.
package struct SignalsBefore: Sendable {
    let mask: sigset_t
    /// Signals that this process ignores and its children do not.
    let defaults: sigset_t
}

/// A stream of signals on one loop, for a process with a child.
package final class ChildSignals {
    /// What a signal means.
    package enum Event: Equatable, Sendable {
        /// A child ended, stopped or went on.
        case childChanged
        /// The kernel sent it, so it comes from the terminal: the child has received it too.
        case fromTerminal(Int32)
        /// Another process sent it to this process alone.
        case sent(Int32)
    }

    private static let numbers = [SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2]

    private let descriptor: Descriptor
    package let loop: EventLoop
    private let slot: ParkingSlot

    /// Blocks the signals' default action in this thread and all threads made after it.
    ///
    /// Call on the main thread before any other thread is started.
    package static func block() -> SignalsBefore {
        var (mask, before) = (ChildSignals.mask(of: numbers), sigset_t())
        var action = sigaction()
        // Safety: the first set is only read, the second and the struct are filled.
        unsafe pthread_sigmask(SIG_BLOCK, &mask, &before)
        unsafe sigaction(SIGPIPE, nil, &action)
        // Safety: handlers are compared, never called.
        let handler = unsafe unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
        let ignoresPipes = handler == 1
        return SignalsBefore(
            mask: before,
            defaults: ChildSignals.mask(of: ignoresPipes ? [] : [SIGPIPE])
        )
    }

    /// Reads the blocked signals, on the calling thread's loop.
    /// - Throws: The error of signalfd(2) or epoll_ctl(2).
    package init(on loop: EventLoop) throws(SystemError) {
        var mask = ChildSignals.mask(of: ChildSignals.numbers)
        // Safety: the mask is only read.
        let raw = try SystemCall.check { unsafe linux_signalfd(&mask) }
        descriptor = Descriptor(owning: raw)
        self.loop = loop
        slot = ParkingSlot(on: loop)
        _ = try loop.register(watcher: slot, reading: raw)
    }

    /// The next signal; nil when the loop's clock has passed `deadline`.
    package func next(until deadline: UInt64 = .max) async -> Event? {
        while true {
            var info = signalfd_siginfo()
            // Safety: signalfd fills whole structs; `info` has room for one.
            let count = unsafe read(descriptor.raw, &info, MemoryLayout<signalfd_siginfo>.size)
            if count == MemoryLayout<signalfd_siginfo>.size {
                let number = Int32(bitPattern: info.ssi_signo)
                if number == SIGCHLD { return .childChanged }
                // Codes above zero are the kernel's.
                return info.ssi_code > 0 ? .fromTerminal(number) : .sent(number)
            }
            if await slot.park(for: .ready, until: deadline).contains(.timedOut) { return nil }
        }
    }

    private static func mask(of signals: [Int32]) -> sigset_t {
        var mask = sigset_t()
        // Safety: both calls fill the mask they are given.
        unsafe sigemptyset(&mask)
        for signal in signals { unsafe sigaddset(&mask, signal) }
        return mask
    }
}
