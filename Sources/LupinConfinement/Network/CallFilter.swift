// Filters of system calls (seccomp(2)) for a confined command.
import CLinux
import Glibc
import LupinIO

/// What a confined command is refused, and may wonder about.
package enum RefusedCall: Sendable {
    /// A unix socket without connections.
    case datagrams
    /// A file whose program gets the rights of its owner or its group (setuid, setgid).
    case rights
    /// A mount namespace, while something is covered where the command may write.
    case mounts

    fileprivate static let all: [Self] = [.datagrams, .rights, .mounts]

    var error: Int32 {
        switch self {
        case .datagrams: ESOCKTNOSUPPORT
        case .rights, .mounts: EPERM
        }
    }
}

/// Filters of this process's system calls, and those of all that it starts, for good.
enum CallFilter {
    /// Forbids what namespaces don't keep in.
    ///
    /// - Parameter isCovering: See ``watch(isCovering:)``.
    /// - Throws: The kernel's error.
    static func forbid(isCovering: Bool) throws(SystemError) {
        let (refused, absent) = (refusal(EPERM), refusal(ENOSYS))
        // Calls of another machine's, with other numbers.
        try apply(
            [
                step(load, CONFINE_CALL_MACHINE), step(isEqual, CONFINE_MACHINE, yes: 1),
                step(result, absent),
                // The x32 numbers of x86-64.
                step(load, CONFINE_CALL_NUMBER), step(CONFINE_IF_AT_LEAST, 0x4000_0000, no: 1),
                step(result, absent), step(result, CONFINE_ALLOW),
            ]
        )
        // io_uring is past any filter, and the kernel's keyrings belong to a user or a session.
        try answer([CONFINE_RING, CONFINE_ADD_KEY, CONFINE_REQUEST_KEY, CONFINE_KEYS], absent)
        // Keys typed into the caller's terminal: TIOCSTI, TIOCLINUX.
        try answer([CONFINE_IOCTL], refused, if: [Test(.second, isOneOf: [0x5412, 0x541C])])
        // Sockets of virtual machines know no network: AF_VSOCK.
        try answer([CONFINE_SOCKET], refused, if: [Test(.first, isOneOf: [40])])
        // Their flags and modes lie in memory, where no filter looks: programs use the older calls.
        let unseen = isCovering ? [CONFINE_CLONE_BY_STRUCT] : []
        try answer([CONFINE_OPEN_BY_STRUCT] + unseen, absent)
    }

    /// Forbids unix sockets but connected pairs, and the rest, for who is not asked.
    static func forbidUnasked(isCovering: Bool) throws(SystemError) {
        try apply(
            steps(for: [CONFINE_SOCKET], refusal(EACCES), if: [localSocket])
                + refusals(isCovering) { refusal($0.error) }
        )
    }

    /// Has the kernel ask before every connect(2), and before what is always refused.
    ///
    /// - Parameter isCovering: Whether something is covered where the command may write. The kernel
    ///   lets nobody rename what something is mounted at in his own mount namespace. In another one
    ///   that has left these mounts behind, a folder of these that is still open is changed, and
    ///   moved out from below what covers it. So the command makes and enters none.
    /// - Returns: Where it asks (seccomp_unotify(2)).
    /// - Throws: EINVAL where the kernel can't, EBUSY where somebody else is asked already.
    static func watch(isCovering: Bool) throws(SystemError) -> Descriptor {
        let steps =
            steps(for: [CONFINE_CONNECT], CONFINE_ASK) + refusals(isCovering) { _ in CONFINE_ASK }
        let raw = unsafe try pass(steps) { unsafe confine_watch_calls($0, $1) }
        return Descriptor(owning: raw)
    }

    /// What a call with this number is refused as, if it is asked about.
    static func refused(_ number: UInt32) -> RefusedCall? {
        RefusedCall.all.first { Self.calls(of: $0).contains { $0.numbers.contains(number) } }
    }

    private static func refusals(
        _ isCovering: Bool,
        _ outcome: (RefusedCall) -> UInt32
    ) -> [sock_filter] {
        let refused = RefusedCall.all.filter { $0 != .mounts || isCovering }
        let refusals = refused.flatMap { refused in
            calls(of: refused).flatMap { steps(for: $0.numbers, outcome(refused), if: $0.tests) }
        }
        return refusals + [step(result, CONFINE_ALLOW)]
    }

    // MARK: Filters

    private static var localSocket: Test { Test(.first, isOneOf: [1]) }

    /// S_ISUID and S_ISGID.
    private static let rights: UInt32 = 0o6000
    /// O_CREAT and O_TMPFILE: else the mode means nothing.
    private static let creating: UInt32 = 0o20_000_100

    /// CLONE_NEWNS.
    private static let newMounts = CONFINE_NEW_MOUNTS
    /// What unshare(2) knows but that: what it learns may be about mounts, too.
    ///
    /// CLONE_VM, CLONE_FS, CLONE_FILES, CLONE_SIGHAND, CLONE_THREAD, CLONE_SYSVSEM, and the other
    /// namespaces.
    private static let unsharable: UInt32 = 0x7E05_0F80

    private static func calls(of refused: RefusedCall) -> [(numbers: [UInt32], tests: [Test])] {
        switch refused {
        // Every message of one may go elsewhere: SOCK_DGRAM, and SOCK_RAW, which means the same.
        case .datagrams:
            [
                (
                    [CONFINE_SOCKET, CONFINE_SOCKET_PAIR],
                    [localSocket, Test(.second, below: 0x10, isOneOf: [2, 3])]
                )
            ]
        case .rights:
            [
                (
                    [CONFINE_MODE, CONFINE_MODE_OF_OPEN, CONFINE_NODE, CONFINE_CREATE],
                    [Test(.second, hasAnyOf: rights)]
                ),
                (
                    [CONFINE_MODE_AT, CONFINE_MODE_AT_BY_FLAGS, CONFINE_NODE_AT],
                    [Test(.third, hasAnyOf: rights)]
                ),
                (
                    [CONFINE_OPEN],
                    [Test(.second, hasAnyOf: creating), Test(.third, hasAnyOf: rights)]
                ),
                (
                    [CONFINE_OPEN_AT],
                    [Test(.third, hasAnyOf: creating), Test(.fourth, hasAnyOf: rights)]
                ),
            ]
        case .mounts:
            [
                ([CONFINE_UNSHARE], [Test(.first, hasAnyOf: ~unsharable)]),
                ([CONFINE_CLONE], [Test(.first, hasAnyOf: newMounts)]),
                ([CONFINE_ENTER], [Test(.second, hasAnyOf: newMounts)]),
                // A namespace of any kind.
                ([CONFINE_ENTER], [Test(.second, isOneOf: [0])]),
            ]
        }
    }

    /// A comparison of an argument of a call.
    private struct Test {
        enum Argument {
            case first, second, third, fourth

            var offset: UInt32 {
                switch self {
                case .first: CONFINE_CALL_FIRST
                case .second: CONFINE_CALL_SECOND
                case .third: CONFINE_CALL_THIRD
                case .fourth: CONFINE_CALL_FOURTH
                }
            }
        }

        private let argument: Argument
        private let mask: UInt32
        private let values: [UInt32]

        /// Whether the argument, as far as it lies below a power of two, is one of some values.
        init(_ argument: Argument, below bound: UInt64 = 1 << 32, isOneOf values: [UInt32]) {
            self.argument = argument
            mask = UInt32(truncatingIfNeeded: bound &- 1)
            self.values = values
        }

        /// Whether the argument has one of some bits.
        init(_ argument: Argument, hasAnyOf bits: UInt32) {
            self.argument = argument
            mask = bits
            values = []
        }

        var count: Int { max(values.count, 1) + 2 }

        /// Goes on behind the last step if it holds, else leaves out as many more.
        func steps(leavingOut others: Int) -> [sock_filter] {
            let comparisons = values.indices.map { index in
                let rest = values.count - 1 - index
                return step(isEqual, values[index], yes: rest, no: rest == 0 ? others : 0)
            }
            let start = [step(load, argument.offset), step(CONFINE_AND, mask)]
            return start + (values.isEmpty ? [step(isEqual, 0, yes: others)] : comparisons)
        }
    }

    private static func answer(
        _ calls: [UInt32],
        _ outcome: UInt32,
        if tests: [Test] = []
    ) throws(SystemError) {
        try apply(steps(for: calls, outcome, if: tests) + [step(result, CONFINE_ALLOW)])
    }

    /// `outcome` for the calls with one of these numbers for which all tests hold; for others the
    /// steps behind these decide.
    private static func steps(
        for calls: [UInt32],
        _ outcome: UInt32,
        if tests: [Test] = []
    ) -> [sock_filter] {
        let conditions = tests.indices.flatMap { index in
            // Behind the outcome.
            tests[index].steps(leavingOut: tests[(index + 1)...].reduce(1) { $0 + $1.count })
        }
        let numbers = calls.indices.map { index in
            let rest = calls.count - 1 - index
            return step(
                isEqual,
                calls[index],
                yes: rest,
                no: rest == 0 ? conditions.count + 1 : 0
            )
        }
        return [step(load, CONFINE_CALL_NUMBER)] + numbers + conditions + [step(result, outcome)]
    }

    private static func apply(_ steps: [sock_filter]) throws(SystemError) {
        _ = unsafe try pass(steps) { unsafe confine_filter_calls($0, $1) }
    }

    private static func pass(
        _ steps: [sock_filter],
        _ call: (UnsafePointer<sock_filter>, UInt16) -> Int32
    ) throws(SystemError) -> Int32 {
        // Safety: the steps outlive the call, which copies them.
        try SystemCall.check {
            unsafe steps.withUnsafeBufferPointer { steps in
                guard let base = steps.baseAddress else { return -1 }
                return unsafe call(base, UInt16(steps.count))
            }
        }
    }

    // MARK: Steps

    private static let load = CONFINE_LOAD
    private static let isEqual = CONFINE_IF_EQUAL
    private static let result = CONFINE_RETURN

    private static func refusal(_ error: Int32) -> UInt32 { CONFINE_REFUSE | UInt32(error) }

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
