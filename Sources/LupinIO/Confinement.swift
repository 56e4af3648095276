// Namespaces of its own for a process: another network, other processes, hidden files.
import CLinux
import Glibc
import LupinCore

/// Why a command can't be confined.
package struct ConfinementProblem: Error, Sendable, Equatable {
    /// What could not be done.
    package let step: String
    package let cause: SystemError

    /// A sentence for users.
    package var message: String {
        "the command can't be confined: \(step): \(cause.message); `lupin doctor` says more"
    }
}

/// What is done between the start of a process and that of the command in it.
///
/// The process must have one thread only. Nobody inside can undo anything here: mounts that
/// come from another user namespace are locked together (mount_namespaces(7)), and the command has
/// no capability.
package enum Confinement {
    /// Where lupin listens for the command.
    ///
    /// Nothing else has a port in a new network, and the kernel gives no client a port that high by
    /// itself.
    package static let proxyPort: UInt16 = 61_080
    /// The descriptor of the socket to lupin, until the command begins.
    package static let socket: Int32 = 3

    /// Enters new namespaces, with the loopback interface as the only one, and opens the listener
    /// for the proxy there.
    /// - Returns: The listening socket.
    package static func enter() throws(ConfinementProblem) -> ListeningSocket {
        // Asked before: they are nobody's in a new user namespace.
        let (user, group) = (geteuid(), getegid())
        let namespaces =
            CONFINE_NEW_USER | CONFINE_NEW_MOUNTS | CONFINE_NEW_IPC
            | CONFINE_NEW_PROCESSES | CONFINE_NEW_NETWORK
        try attempt("new namespaces") { () throws(SystemError) in
            try SystemCall.check { confine_unshare(Int32(bitPattern: namespaces)) }
        }
        try write("\(user) \(user) 1", to: "/proc/self/uid_map")
        // The kernel wants this before a group is mapped: a group can't be left to gain rights.
        try write("deny", to: "/proc/self/setgroups")
        try write("\(group) \(group) 1", to: "/proc/self/gid_map")
        try attempt("the loopback interface") { () throws(SystemError) in
            try SystemCall.check { confine_raise_loopback() }
        }
        let address = SocketAddress(address: .v4(0x7F00_0001), port: proxyPort)
        var listener: ListeningSocket?
        try attempt("lupin's socket") { () throws(SystemError) in
            listener = try ListeningSocket(address)
        }
        guard let listener else {
            throw ConfinementProblem(step: "lupin's socket", cause: SystemError(code: EBADF))
        }
        return listener
    }

    static func attempt(
        _ step: String,
        _ body: () throws(SystemError) -> Void
    ) throws(ConfinementProblem) {
        do throws(SystemError) {
            try body()
        } catch {
            throw ConfinementProblem(step: step, cause: error)
        }
    }

    static func write(_ text: String, to path: String) throws(ConfinementProblem) {
        try attempt(path) { () throws(SystemError) in
            // Safety: the path is NUL-terminated for the call.
            let raw = try SystemCall.check { unsafe open(path, O_WRONLY | O_CLOEXEC) }
            let file = Descriptor(owning: raw)
            let bytes = Array(text.utf8)
            // Safety: the bytes outlive the call, which reads `count` of them.
            let result = SystemCall.value {
                unsafe bytes.withUnsafeBytes { bytes in
                    unsafe Glibc.write(file.raw, bytes.baseAddress, bytes.count)
                }
            }
            if result < 0 { throw SystemError(code: Int32(-result)) }
        }
    }

    // MARK: The way to lupin

    /// Hands the listener to lupin and waits until it serves there.
    /// - Returns: Whether it does; false if it has ended.
    package static func handOver(_ listener: ListeningSocket) -> Bool {
        var passed = [listener.raw]
        // Safety: the list outlives the call, which reads its one element.
        let sent = SystemCall.value { unsafe Int(confine_send(socket, &passed, 1)) }
        guard sent == 1 else { return false }
        var answer: UInt8 = 0
        // Safety: read fills the one byte it is given.
        let count = SystemCall.value { unsafe Int(read(socket, &answer, 1)) }
        close(socket)
        return count == 1
    }
}

/// lupin's end of the socket to a process that is being confined.
package final class ConfinementSocket {
    private let own: Descriptor
    private var other: Descriptor?

    package init() throws(SystemError) {
        var ends: [Int32] = [-1, -1]
        // Safety: the list has room for the two descriptors.
        try SystemCall.check { unsafe linux_socket_pair(&ends) }
        own = Descriptor(owning: ends[0])
        other = Descriptor(owning: ends[1])
        // The process waits for an answer.
        let flags = fcntl(ends[1], F_GETFL)
        try SystemCall.check { fcntl(ends[1], F_SETFL, flags & ~O_NONBLOCK) }
    }

    /// The end for the process; -1 once it was closed here.
    package var otherEnd: Int32 { other?.raw ?? -1 }

    /// Closes the process's end here, so that its death is seen.
    package func closeOtherEnd() { other = nil }

    /// The listener that the process opened.
    ///
    /// nil if the process ended before, having said why.
    package func listener(on loop: EventLoop) async throws(PassedSocketProblem) -> PassedSocket? {
        let slot = ParkingSlot(on: loop)
        defer { slot.retire() }
        do throws(SystemError) {
            _ = try loop.register(watcher: slot, reading: own.raw)
        } catch {
            throw PassedSocketProblem(message: "no listener came: \(error.message)")
        }
        while true {
            var (passed, count) = ([Int32](repeating: -1, count: 8), 0)
            // Safety: the list has room for the eight descriptors that the call writes at most.
            let result = SystemCall.value { unsafe confine_receive(own.raw, &passed, &count) }
            if result == -Int(EAGAIN) {
                _ = await slot.park(for: .ready)
                continue
            }
            guard result == 1, count == 1 else {
                for raw in passed.prefix(count) { _ = Descriptor(owning: raw) }
                return nil
            }
            return try PassedSocket(owning: passed[0], name: "confined")
        }
    }

    /// Has the process go on.
    package func answer() {
        var byte: UInt8 = 1
        // Safety: the byte outlives the call.
        _ = SystemCall.value { unsafe send(own.raw, &byte, 1, Int32(MSG_NOSIGNAL)) }
    }
}
