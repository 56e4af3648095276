// Signals as events of a loop, by signalfd.
import CLinux
import Glibc
import LupinCore

/// The signals that lupin handles.
package enum ProcessSignal: Int32, Sendable, CaseIterable {
    /// Stop gracefully.
    case terminate = 15
    case interrupt = 2
    /// Reload the rules.
    case hangUp = 1
    /// Reopen the log file.
    case user1 = 10
}

/// A stream of signals on one loop.
package final class SignalReader {
    private let descriptor: Descriptor
    private let loop: EventLoop
    private let slot: ParkingSlot
    private let token: UInt64

    /// Blocks the default action of `signals` in this thread and all threads made after it.
    ///
    /// Call on the main thread before any other thread is started.
    package static func block(_ signals: [ProcessSignal]) {
        var mask = SignalReader.mask(of: signals)
        // Safety: the mask is only read.
        unsafe pthread_sigmask(SIG_BLOCK, &mask, nil)
    }

    /// Whether the process was started with the signal ignored, as by nohup(1).
    ///
    /// A blocked signal arrives even if it is ignored.
    package static func isIgnored(_ signal: ProcessSignal) -> Bool {
        let status = ProcessFiles.content(of: "/proc/self/status", bytesMax: 64 << 10) ?? []
        for line in status.split(separator: 0x0A) {
            let words = String(decoding: line, as: UTF8.self).pieces(between: ":\t")
            guard words.count == 2, words[0] == "SigIgn" else { continue }
            let mask = NumberReader.hexadecimal(words[1]) ?? 0
            return mask >> UInt64(signal.rawValue - 1) & 1 == 1
        }
        return false
    }

    package init(_ signals: [ProcessSignal], on loop: EventLoop) throws(SystemError) {
        var mask = SignalReader.mask(of: signals)
        // Safety: the mask is only read.
        let raw = try SystemCall.check { unsafe linux_signalfd(&mask) }
        descriptor = Descriptor(owning: raw)
        self.loop = loop
        slot = ParkingSlot(on: loop)
        token = try loop.register(watcher: slot, reading: raw)
    }

    /// The next signal that arrives.
    package func next() async -> ProcessSignal {
        while true {
            var info = signalfd_siginfo()
            // Safety: signalfd fills whole structs; `info` has room for one.
            let count = unsafe read(descriptor.raw, &info, MemoryLayout<signalfd_siginfo>.size)
            if count == MemoryLayout<signalfd_siginfo>.size,
                let signal = ProcessSignal(rawValue: Int32(bitPattern: info.ssi_signo))
            {
                return signal
            }
            if count <= 0 { _ = await slot.park(for: .ready) }
        }
    }

    private static func mask(of signals: [ProcessSignal]) -> sigset_t {
        var mask = sigset_t()
        // Safety: both calls fill the mask they are given.
        unsafe sigemptyset(&mask)
        for signal in signals { unsafe sigaddset(&mask, signal.rawValue) }
        return mask
    }
}
