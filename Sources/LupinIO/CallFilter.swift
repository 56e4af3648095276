// Filters of system calls (seccomp(2)) for a confined command.
import CLinux
import Glibc
import LupinCore

/// Filters of this process's system calls, and those of all that it starts, for good.
enum CallFilter {
    /// Forbids what namespaces don't keep in.
    ///
    /// Keys typed into the caller's terminal (TIOCSTI, TIOCLINUX), sockets of virtual machines,
    /// which know no namespace, io_uring, which is past any filter, and the kernel's keyrings,
    /// which belong to a user or a session.
    static func forbid() throws(SystemError) {
        let refuse = CONFINE_REFUSE | UInt32(EPERM)
        let absent = CONFINE_REFUSE | UInt32(ENOSYS)
        let missing = [CONFINE_RING, CONFINE_ADD_KEY, CONFINE_REQUEST_KEY, CONFINE_KEYS]
        let steps =
            [
                step(load, CONFINE_CALL_MACHINE),
                step(isEqual, CONFINE_MACHINE, yes: 1),
                step(result, absent),
                step(load, CONFINE_CALL_NUMBER),
                // The x32 numbers of x86-64.
                step(CONFINE_IF_AT_LEAST, 0x4000_0000, yes: missing.count + 9),
            ]
            + missing.indices.map { step(isEqual, missing[$0], yes: missing.count - $0 + 8) } + [
                step(isEqual, CONFINE_SOCKET, yes: 2),
                step(isEqual, CONFINE_IOCTL, yes: 4),
                step(result, CONFINE_ALLOW),
                // AF_VSOCK
                step(load, CONFINE_CALL_FIRST),
                step(isEqual, 40, yes: 5),
                step(result, CONFINE_ALLOW),
                step(load, CONFINE_CALL_SECOND),
                step(isEqual, 0x5412, yes: 2),
                step(isEqual, 0x541C, yes: 1, no: 2),
                step(result, absent),
                step(result, refuse),
                step(result, CONFINE_ALLOW),
            ]
        // Safety: the steps outlive the call, which copies them.
        try SystemCall.check {
            unsafe steps.withUnsafeBufferPointer { steps in
                guard let base = steps.baseAddress else { return -1 }
                return unsafe confine_filter_calls(base, UInt16(steps.count))
            }
        }
    }

    /// Has the kernel ask before every connect(2).
    ///
    /// - Returns: Where it asks (seccomp_unotify(2)).
    /// - Throws: EINVAL where the kernel can't; the call is not asked for then.
    static func watchConnections() throws(SystemError) -> Descriptor {
        let steps = [
            step(load, CONFINE_CALL_NUMBER),
            step(isEqual, CONFINE_CONNECT, yes: 1),
            step(result, CONFINE_ALLOW),
            step(result, CONFINE_ASK),
        ]
        // Safety: the steps outlive the call, which copies them.
        let raw = try SystemCall.check {
            unsafe steps.withUnsafeBufferPointer { steps in
                guard let base = steps.baseAddress else { return -1 }
                return unsafe confine_watch_calls(base, UInt16(steps.count))
            }
        }
        return Descriptor(owning: raw)
    }

    // MARK: Steps

    private static let load = CONFINE_LOAD
    private static let isEqual = CONFINE_IF_EQUAL
    private static let result = CONFINE_RETURN

    /// A step, and how many steps are left out behind it if its comparison is true or false.
    private static func step(
        _ code: UInt32,
        _ value: UInt32,
        yes: Int = 0,
        no: Int = 0
    ) -> sock_filter {
        confine_step(UInt16(code), UInt8(yes), UInt8(no), value)
    }
}
