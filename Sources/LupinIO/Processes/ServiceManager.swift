// What this process tells the service manager that started it: sd_notify(3).
import CLinux
import Glibc
import LupinCore

/// The service manager, such as systemd.
package final class ServiceManager: Sendable {
    /// A state to report.
    package enum State: Sendable, Equatable {
        case ready, stopping
        /// Followed by `ready`, whether or not the reload changed anything.
        case reloading
        /// Every thread still does its work.
        case alive
    }

    /// How often it wants to hear `alive`; nil for never.
    package let watchdogMicroseconds: UInt64?
    private let name: String
    private let raw: Int32

    /// The manager that the variables name; nil if they name none.
    package init?(_ variables: ServiceVariables) {
        guard let name = variables["NOTIFY_SOCKET"], name.hasPrefix("/") || name.hasPrefix("@"),
            let raw = try? SystemCall.check({ linux_datagram_socket() })
        else { return nil }
        self.name = name
        self.raw = raw
        let isOurs = variables.isForThisProcess("WATCHDOG_PID") ?? true
        let time = isOurs ? variables["WATCHDOG_USEC"].flatMap { NumberReader.unsigned($0) } : nil
        watchdogMicroseconds = time == 0 ? nil : time
    }

    deinit { _ = Glibc.close(raw) }

    /// Reports a state, with a line for `systemctl status`.
    ///
    /// A manager that does not read misses it after a second, or at once for `alive`.
    package func tell(_ state: State, status: String? = nil) {
        var lines: [String] = []
        switch state {
        case .ready: lines.append("READY=1")
        case .stopping: lines.append("STOPPING=1")
        case .alive: lines.append("WATCHDOG=1")
        case .reloading:
            lines.append("RELOADING=1")
            lines.append("MONOTONIC_USEC=\(SystemCall.monotonicMicroseconds())")
        }
        if let status {
            lines.append("STATUS=\(String(status.map { $0.isNewline ? " " : $0 }))")
        }
        send(Array(lines.joined(separator: "\n").utf8), timeout: state == .alive ? 0 : 1000)
    }

    private func send(_ bytes: [UInt8], timeout milliseconds: Int32) {
        for attempt in 0...1 {
            let result = SystemCall.value {
                // Safety: the name is NUL-terminated for the call, which reads the bytes.
                unsafe bytes.withUnsafeBytes {
                    unsafe linux_send_datagram(raw, name, $0.baseAddress, $0.count)
                }
            }
            guard result == -Int(EAGAIN), attempt == 0, milliseconds > 0 else { return }
            var entry = pollfd(fd: raw, events: Int16(POLLOUT), revents: 0)
            // Safety: poll reads and fills the one entry.
            _ = SystemCall.value { Int(unsafe poll(&entry, 1, milliseconds)) }
        }
    }
}
