// The user's terminal as a screen: raw mode and back, its size, keys without waiting, output.
import CLinux
import Glibc

/// The terminal on standard input, opened again, so that non-blocking mode doesn't affect other
/// programs.
///
/// Confined to its loop. The owner gives the terminal back with `release` on every way out.
@safe
package final class TerminalDevice {
    /// What came from the keyboard.
    package enum Input: Equatable {
        case bytes([UInt8])
        /// Nothing up to the deadline.
        case silence
        /// The terminal is gone.
        case end
    }

    private let descriptor: Descriptor
    private let loop: EventLoop
    private let slot: ParkingSlot
    private var token: UInt64?
    /// The modes to go back to.
    private var modes = termios()
    private var pending: [UInt8] = []
    /// Whether this process has it in raw mode.
    package private(set) var isTaken = false

    /// How long a terminal that takes no output may delay the end.
    private static let farewellMilliseconds = 500

    /// Opens the terminal, and leaves it as it is.
    /// - Throws: The error of open(2) or tcgetattr(3).
    package init(on loop: EventLoop) throws(SystemError) {
        self.loop = loop
        slot = ParkingSlot(on: loop)
        let flags = O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC
        var name = [CChar](repeating: 0, count: 256)
        // Safety: ttyname_r writes a NUL-terminated name of at most that length, or fails.
        let hasName = unsafe ttyname_r(STDIN_FILENO, &name, name.count) == 0
        // Safety: the path is NUL-terminated.
        var raw = hasName ? unsafe open(name, flags) : -1
        // After su(1) the device may be another user's.
        if raw < 0 {
            // Safety: the path is a literal, which is NUL-terminated.
            raw = try SystemCall.check { unsafe open("/dev/tty", flags) }
        }
        descriptor = Descriptor(owning: raw)
        // Safety: tcgetattr fills the one struct.
        try SystemCall.check { unsafe tcgetattr(raw, &modes) }
    }

    /// Rows and columns; nil when the terminal doesn't tell.
    package var size: (rows: Int, columns: Int)? {
        var size = winsize()
        // Safety: TIOCGWINSZ fills the one struct.
        let result = unsafe ioctl(descriptor.raw, UInt(TIOCGWINSZ), &size)
        guard result == 0, size.ws_row > 0, size.ws_col > 0 else { return nil }
        return (Int(size.ws_row), Int(size.ws_col))
    }

    // MARK: Taking and giving back

    /// Makes it raw, and sends `opening`; does nothing for a job in the background.
    /// - Throws: The error of tcsetattr(3) or epoll_ctl(2).
    package func take(sending opening: String) throws(SystemError) {
        let owner = tcgetpgrp(descriptor.raw)
        guard owner < 0 || owner == getpgrp() else { return }
        // A shell may have changed them while this process was stopped.
        // Safety: tcgetattr fills the one struct.
        if !isTaken { try SystemCall.check { unsafe tcgetattr(descriptor.raw, &modes) } }
        var rawModes = modes
        // Safety: both calls only use the struct.
        unsafe cfmakeraw(&rawModes)
        try SystemCall.check { unsafe tcsetattr(descriptor.raw, TCSANOW, &rawModes) }
        isTaken = true
        if token == nil { token = try loop.register(watcher: slot, reading: descriptor.raw) }
        write(Array(opening.utf8))
    }

    /// Sends `closing` behind all that waits, and sets the modes that it had before.
    package func release(sending closing: String) {
        guard isTaken else { return }
        isTaken = false
        if let token {
            loop.poller.remove(descriptor.raw)
            loop.unregister(token)
        }
        token = nil
        pending += closing.utf8
        let start = SystemCall.monotonicMicroseconds()
        let limit = UInt64(Self.farewellMilliseconds) * 1000
        while !flush(), SystemCall.monotonicMicroseconds() &- start < limit {
            var wait = pollfd(fd: descriptor.raw, events: Int16(POLLOUT), revents: 0)
            // Safety: poll only uses the one struct.
            guard unsafe poll(&wait, 1, 50) >= 0, wait.revents & Int16(POLLHUP) == 0 else { break }
        }
        pending = []
        // Safety: the struct is only read.
        _ = SystemCall.value { unsafe Int(tcsetattr(descriptor.raw, TCSANOW, &modes)) }
    }

    // MARK: Input and output

    /// The next bytes; while it is given back, waits for the deadline.
    package func next(until deadline: UInt64 = .max) async -> Input {
        while true {
            if isTaken {
                var block = [UInt8](repeating: 0, count: 4096)
                let count = SystemCall.value {
                    // Safety: the kernel writes at most as many bytes as the block has.
                    unsafe block.withUnsafeMutableBytes {
                        unsafe Glibc.read(descriptor.raw, $0.baseAddress, $0.count)
                    }
                }
                if count > 0 { return .bytes(Array(block[..<count])) }
                if count != -Int(EAGAIN) { return .end }
            }
            if await slot.park(for: .ready, until: deadline).contains(.timedOut) { return .silence }
        }
    }

    /// Lets `next` look again, after the terminal was taken.
    package func wakeReader() { slot.wake(.ready) }

    /// Sends bytes; what the terminal doesn't take waits for `flush`.
    package func write(_ bytes: [UInt8]) {
        guard isTaken, !bytes.isEmpty else { return }
        pending += bytes
        _ = flush()
    }

    /// Sends what waits, as far as the terminal takes it; returns whether nothing is left.
    package func flush() -> Bool {
        while !pending.isEmpty {
            let count = SystemCall.value {
                // Safety: the kernel reads the array, no more.
                unsafe pending.withUnsafeBytes {
                    unsafe Glibc.write(descriptor.raw, $0.baseAddress, $0.count)
                }
            }
            if count == -Int(EAGAIN) { return false }
            guard count > 0 else {
                // It is gone; the reader learns of it, too.
                pending = []
                return true
            }
            pending.removeFirst(count)
        }
        return true
    }
}
