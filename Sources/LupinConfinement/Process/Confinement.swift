// Namespaces of its own for a process: another network, other processes, hidden files.
import CLinux
import Glibc
package import LupinIO

/// Why a command can't be confined.
package struct ConfinementProblem: Error, Sendable, Equatable {
    /// What could not be done.
    package let step: String
    package let cause: SystemError

    /// A sentence for users.
    package var message: String {
        "the command can't be confined: \(step): \(cause.message); \(Self.ending)"
    }

    /// How the sentence ends: other reasons not to begin are no affair of the kernel's.
    package static let ending = "`lupin doctor` says more"
}

/// What is done between the start of a process and that of the command in it.
///
/// The process must have one thread only. No process inside can undo anything here: mounts that
/// come from another user namespace are locked together (mount_namespaces(7)), and the command has
/// no capability.
package enum Confinement {
    /// Where lupin listens for the command.
    ///
    /// Nothing else has a port in a new network, and the kernel gives no client a port that high by
    /// itself.
    package static let proxyPort: UInt16 = 61_080
    /// Where connections arrive that were for other addresses.
    package static let redirectedPort: UInt16 = 61_081
    /// The descriptor of the socket to lupin, until the command begins.
    package static let socket = ChildLaunch.passedNumber

    /// Enters new namespaces, with the loopback interface as the only one, and opens the listener
    /// for the proxy there.
    ///
    /// Where the kernel lets every user use nf_tables, all other connections are redirected to
    /// lupin, too; elsewhere, or unless `isRedirecting`, they fail at once.
    package static func enter(
        isRedirecting: Bool
    ) throws(ConfinementProblem) -> ConfinedSockets {
        try enter(
            CONFINE_NEW_USER | CONFINE_NEW_MOUNTS | CONFINE_NEW_IPC
                | CONFINE_NEW_PROCESSES | CONFINE_NEW_NETWORK
        )
        try attempt("the loopback interface") { () throws(SystemError) in
            try SystemCall.check { confine_raise_loopback() }
        }
        do throws(SystemError) {
            return try ConfinedSockets(inNewNetwork: (), isRedirecting: isRedirecting)
        } catch {
            throw ConfinementProblem(step: "lupin's sockets", cause: error)
        }
    }

    /// Enters new namespaces, among them one of users, as the same user.
    static func enter(_ namespaces: UInt32) throws(ConfinementProblem) {
        // Asked before: in a new user namespace they belong to no known user.
        let (user, group) = (geteuid(), getegid())
        try attempt("new namespaces") { () throws(SystemError) in
            try SystemCall.check { confine_unshare(Int32(bitPattern: namespaces)) }
        }
        try write("\(user) \(user) 1", to: "/proc/self/uid_map")
        // The kernel wants this before a group is mapped: a group can't be left to gain rights.
        try write("deny", to: "/proc/self/setgroups")
        try write("\(group) \(group) 1", to: "/proc/self/gid_map")
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
}
