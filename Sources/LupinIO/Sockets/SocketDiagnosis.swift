// Asks the kernel directly which user made the socket at the other end of a local connection
// (sock_diag(7)).
import CLinux
import Glibc
import LupinCore
import Synchronization

/// A netlink socket for queries about single TCP sockets.
///
/// A query takes two system calls that don't block, some 5 µs, however many sockets exist. So a
/// loop may query directly, whereas the tables of /proc require a helper thread.
package final class SocketDiagnosis: Sendable {
    /// The kernel's answer about a socket.
    package enum Answer: Sendable, Equatable {
        /// A process holds it, and this user made it; with the inode that /proc shows for it.
        case user(UInt32, inode: UInt64)
        /// No such socket exists, or no process holds it any more. Its user is not known then: the
        /// kernel reports 0, which is root.
        case nobody
        /// The kernel does not support such queries.
        case unavailable

        package var user: UInt32? {
            if case .user(let number, _) = self { number } else { nil }
        }
    }

    private struct State: ~Copyable {
        let descriptor: Descriptor
        /// The sequence number of the last query.
        var number: UInt32 = 0
    }

    private let state: Mutex<State>

    /// The most stale answers skipped before the expected one; more are an error.
    private static let answersMax = 8

    /// Returns nil when the kernel has no such sockets, forbids them, or lacks TCP support in them:
    /// such a kernel reports for every socket that there is none.
    package init?() {
        guard let raw = try? SystemCall.check({ linux_diagnosis_socket() }) else { return nil }
        state = Mutex(State(descriptor: Descriptor(owning: raw)))
        let loopbacks = [IPAddress.v4(0x7F00_0001), .v6(high: 0, low: 1)]
        guard loopbacks.contains(where: tellsOfOwnSocket) else { return nil }
    }

    /// Whether the kernel finds a test socket of this process.
    ///
    /// The socket is connected to itself: it is both ends of the connection, and needs no listener.
    private func tellsOfOwnSocket(at address: IPAddress) -> Bool {
        let any = SocketAddress(address: address, port: 0)
        let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        guard let raw = try? SystemCall.check({ Glibc.socket(any.family, kind, 0) }) else {
            return false
        }
        let socket = Descriptor(owning: raw)
        // Frees its port at once when it closes.
        _ = linux_set_linger_zero(socket.raw)
        // Safety: the kernel's form outlives the calls, which only read it.
        guard unsafe any.withKernelForm({ unsafe linux_bind(socket.raw, $0, $1) }) == 0,
            let end = SocketAddress.local(of: socket.raw),
            unsafe end.withKernelForm({ unsafe linux_connect(socket.raw, $0, $1) }) == 0,
            case .user(geteuid(), _) = user(of: end, connectedTo: end)
        else { return false }
        return true
    }

    /// The user of the socket at `local` that is connected to `remote`.
    ///
    /// An IPv4-mapped address counts as the IPv4 address: the kernel finds both forms by it.
    package func user(of local: SocketAddress, connectedTo remote: SocketAddress) -> Answer {
        let (from, to) = (local.unmapped, remote.unmapped)
        guard from.family == to.family else { return .nobody }
        return ask(from, to) { found in
            // If no socket matches both ends, the kernel reports one that listens at the first.
            SocketAddress(found.local)?.unmapped == from
                && SocketAddress(found.remote)?.unmapped == to
        }
    }

    /// The socket that serves new connections to `address`, be it bound to that or to every
    /// address of this machine.
    package func listener(at address: SocketAddress) -> Answer {
        let target = address.unmapped
        let nobody: IPAddress = target.family == AF_INET ? .v4(0) : .v6(high: 0, low: 0)
        return ask(target, SocketAddress(address: nobody, port: 0)) { found in
            SocketAddress(found.remote)?.port == 0
        }
    }

    private func ask(
        _ from: SocketAddress,
        _ to: SocketAddress,
        isMeant: (linux_diagnosed_socket) -> Bool
    ) -> Answer {
        state.withLock { state in
            state.number &+= 1
            let number = state.number
            let descriptor = state.descriptor.raw
            let (near, far) = (from.networkBytes, to.networkBytes)
            let sent = SystemCall.value {
                // Safety: both arrays have the bytes that the family says, and outlive the call.
                unsafe near.withUnsafeBufferPointer { near in
                    unsafe far.withUnsafeBufferPointer { far in
                        guard let near = near.baseAddress, let far = far.baseAddress else {
                            return -1
                        }
                        return unsafe linux_diagnosis_ask(
                            descriptor,
                            from.family,
                            number,
                            near,
                            from.port,
                            far,
                            to.port
                        )
                    }
                }
            }
            guard sent > 0 else { return .unavailable }
            return Self.answer(to: number, from: descriptor, isMeant: isMeant)
        }
    }

    private static func answer(
        to number: UInt32,
        from descriptor: Int32,
        isMeant: (linux_diagnosed_socket) -> Bool
    ) -> Answer {
        for _ in 0..<answersMax {
            var (answered, type, error) = (UInt32(0), UInt16(0), Int32(0))
            var found = linux_diagnosed_socket()
            let count = SystemCall.value {
                // Safety: the call fills the four values it is given.
                unsafe linux_diagnosis_read(descriptor, &answered, &type, &error, &found)
            }
            guard count > 0 else { return .unavailable }
            // A stale answer to an earlier query.
            if answered != number { continue }
            guard type == LINUX_DIAGNOSIS_SOCKET else {
                return type == LINUX_DIAGNOSIS_ERROR && error == -ENOENT ? .nobody : .unavailable
            }
            guard isMeant(found) else { return .nobody }
            return found.inode == 0 ? .nobody : .user(found.user, inode: UInt64(found.inode))
        }
        return .unavailable
    }
}
