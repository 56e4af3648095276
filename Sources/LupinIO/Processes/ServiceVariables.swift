// The environment variables by which a service manager speaks to one process, and to no child.
import CLinux
import Glibc

/// What sd_listen_fds(3) and sd_notify(3) read from the environment.
package struct ServiceVariables: Sendable {
    private let values: [String: String]

    private static let names = [
        "LISTEN_PID", "LISTEN_PIDFDID", "LISTEN_FDS", "LISTEN_FDNAMES", "NOTIFY_SOCKET",
        "WATCHDOG_USEC", "WATCHDOG_PID",
    ]

    package init(_ values: [String: String]) { self.values = values }

    /// Reads the variables and removes them, so that children don't take them for theirs.
    ///
    /// Call it while the process has one thread.
    package static func take() -> ServiceVariables {
        var values: [String: String] = [:]
        for name in names {
            // Safety: the value is copied at once; no other thread changes the environment.
            if let value = unsafe getenv(name) { values[name] = unsafe String(cString: value) }
            unsafe unsetenv(name)
        }
        return ServiceVariables(values)
    }

    subscript(name: String) -> String? { values[name] }

    /// Whether the process number in a variable is this process's; nil without the variable.
    func isForThisProcess(_ name: String) -> Bool? {
        values[name].map { $0 == String(getpid()) }
    }
}
