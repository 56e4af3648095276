// Filters of system calls (seccomp(2)) for a confined command.
import CLinux
import Glibc

/// Filters of this process's system calls, and those of all that it starts, for good.
enum CallFilter {
    /// Forbids what namespaces don't keep in.
    static func forbid() throws(SystemError) {
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
    }

    /// Forbids unix sockets but connected pairs, for who is not asked about them.
    static func forbidLocalSockets() throws(SystemError) {
        try apply(
            steps(for: [CONFINE_SOCKET], refusal(EACCES), if: [localSocket])
                + stepsForDatagrams(refusal(noDatagrams)) + [step(result, CONFINE_ALLOW)]
        )
    }

    /// Has the kernel ask before every connect(2), and before a unix socket without connections is
    /// made, which is always refused.
    ///
    /// - Returns: Where it asks (seccomp_unotify(2)).
    /// - Throws: EINVAL where the kernel can't, EBUSY where somebody else is asked already.
    static func watchSockets() throws(SystemError) -> Descriptor {
        let steps =
            steps(for: [CONFINE_CONNECT], CONFINE_ASK) + stepsForDatagrams(CONFINE_ASK)
            + [step(result, CONFINE_ALLOW)]
        let raw = unsafe try pass(steps) { unsafe confine_watch_calls($0, $1) }
        return Descriptor(owning: raw)
    }

    /// The error of who makes a unix socket without connections.
    static let noDatagrams = ESOCKTNOSUPPORT

    // MARK: Filters

    private static var localSocket: Test { Test(.first, isOneOf: [1]) }

    /// Every message of a unix socket without connections may go elsewhere: SOCK_DGRAM, and
    /// SOCK_RAW, which means the same.
    private static func stepsForDatagrams(_ outcome: UInt32) -> [sock_filter] {
        steps(
            for: [CONFINE_SOCKET, CONFINE_SOCKET_PAIR],
            outcome,
            if: [localSocket, Test(.second, below: 0x10, isOneOf: [2, 3])]
        )
    }

    /// A comparison of an argument of a call.
    private struct Test {
        enum Argument { case first, second }

        private let place: UInt32
        private let mask: UInt32
        private let values: [UInt32]

        /// Whether the argument, as far as it lies below a power of two, is one of some values.
        init(_ argument: Argument, below bound: UInt64 = 1 << 32, isOneOf values: [UInt32]) {
            place = argument == .first ? CONFINE_CALL_FIRST : CONFINE_CALL_SECOND
            mask = UInt32(truncatingIfNeeded: bound &- 1)
            self.values = values
        }

        var count: Int { values.count + 2 }

        /// Goes on behind the last step if it holds, else leaves out as many more.
        func steps(leavingOut others: Int) -> [sock_filter] {
            let comparisons = values.indices.map { index in
                let rest = values.count - 1 - index
                return step(isEqual, values[index], yes: rest, no: rest == 0 ? others : 0)
            }
            return [step(load, place), step(CONFINE_AND, mask)] + comparisons
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
