// Whose program holds the other end of a connection within this machine: /proc on a helper thread.
import Glibc
import LupinCore

/// Asks the kernel which process a client is, shared by all loops.
///
/// Programs are for people and for rules that match on them; users are an identity.
package final class ProcessLookup: Sendable {
    /// The process that holds the client's socket.
    package struct Owner: Sendable, Equatable {
        /// The name in /proc/PID/comm, of which the kernel keeps 15 bytes.
        package var program: String
        package var pid: Int32

        package init(program: String, pid: Int32) {
            self.program = program
            self.pid = pid
        }
    }

    /// What is asked about a client.
    package enum Wish: Sendable, Equatable {
        /// Its program, which is for people: any program may call itself anything.
        case program
        /// The user who made its socket, which the kernel vouches for.
        case user
    }

    /// What was found out.
    package struct Finding: Sendable, Equatable {
        package var owner: Owner?
        package var user: UInt32?

        package init(owner: Owner? = nil, user: UInt32? = nil) {
            self.owner = owner
            self.user = user
        }
    }

    /// How long a caller waits, and how long one look-up may take.
    package static let patience = Duration.seconds(2)
    /// The same for users: on a machine that has much to do an owner waits rather than be refused.
    package static let userPatience = Duration.seconds(10)
    /// Look-ups of programs that may wait; beyond, the answer is nil at once.
    package static let queueLength = 64
    /// Look-ups of users that may wait.
    ///
    /// As many as there are ports: nobody is taken for a stranger because many come at once.
    private static let userQueueLength = 1 << 16

    private let thread: HelperThread
    /// Who somebody is must not wait for what many programs are called.
    private let userThread: HelperThread
    private let ask: Ask
    /// nil where a test answers.
    private let tables: RecentTables?
    /// nil where the kernel has no such thing.
    private let sockets: SocketDiagnosis?

    /// Finds out what is wished for about the client at `peer`; it may block.
    package typealias Ask =
        @Sendable (_ peer: SocketAddress, _ local: SocketAddress, _ wish: Wish) -> Finding

    /// Starts the helper thread.
    ///
    /// - Parameter ask: What the thread calls; it may block. Tests give their own.
    /// - Throws: When the kernel gives no thread.
    package init(asking ask: Ask? = nil) throws(SystemError) {
        self.ask = ask ?? { ProcessLookup.find(peer: $0, local: $1, $2) }
        tables = ask == nil ? RecentTables() : nil
        sockets = SocketDiagnosis()
        do {
            thread = try HelperThread(name: "lupin-procs", capacity: Self.queueLength)
            userThread = try HelperThread(name: "lupin-users", capacity: Self.userQueueLength)
        } catch {
            throw SystemError(code: error.code)
        }
    }

    /// Whether it is the kernel that answers, and not a test.
    package var asksKernel: Bool { tables != nil }

    /// Leaves a look-up that still runs to itself; later ones find nothing.
    package func abandon() {
        thread.abandon()
        userThread.abandon()
    }

    /// The process at the other end of a connection that was accepted here.
    ///
    /// Call on the loop of `slot`, with its task. Other reasons to wake are kept for later.
    /// - Returns: nil for a client on another machine or of another user, when too many look-ups
    ///   wait, and when the answer takes longer than ``patience``.
    package func owner(
        of peer: SocketAddress,
        to local: SocketAddress,
        slot: ParkingSlot
    ) async -> Owner? {
        await look(for: .program, peer, local, slot).owner
    }

    /// The user at the other end of a connection that was accepted here.
    ///
    /// As `owner(of:to:slot:)`; nil for a client on another machine.
    package func user(
        of peer: SocketAddress,
        to local: SocketAddress,
        slot: ParkingSlot
    ) async -> UInt32? {
        if let answer = diagnosed(peer, local) { return answer.user }
        return await look(for: .user, peer, local, slot).user
    }

    /// What the kernel says at once of the user at the other end.
    package enum KnownUser: Sendable {
        case user(UInt32)
        /// On another machine, or nobody's any more.
        case nobody

        package var user: UInt32? {
            if case .user(let number) = self { number } else { nil }
        }
    }

    /// The same without a wait; nil where that takes one.
    package func userAtOnce(of peer: SocketAddress, to local: SocketAddress) -> KnownUser? {
        // A test's answer is as good as the kernel's.
        if tables == nil { return ask(peer, local, .user).user.map(KnownUser.user) ?? .nobody }
        return diagnosed(peer, local)
    }

    private func diagnosed(_ peer: SocketAddress, _ local: SocketAddress) -> KnownUser? {
        guard tables != nil, let sockets else { return nil }
        guard Self.isWithinMachine(peer, local) else { return .nobody }
        return switch sockets.user(of: peer, connectedTo: local) {
        case .user(let number, _): .user(number)
        case .nobody: .nobody
        case .unavailable: nil
        }
    }

    /// Which of `processes` hold the socket at the other end; nil where nobody knows, and where the
    /// connection ends meanwhile.
    ///
    /// A process of which that can't be seen is taken for one that does. Where a test answers, all
    /// are: its clients and its proxies are one process.
    package func holders(
        of peer: SocketAddress,
        to local: SocketAddress,
        among processes: Set<Int32>,
        slot: ParkingSlot
    ) async -> Set<Int32>? {
        guard tables != nil else { return processes }
        return await wait(Self.userPatience, slot, on: userThread) { [sockets] in
            Self.holders(peer, local, processes, sockets)
        } ?? nil
    }

    /// What `body` finds, which may block; nil when that takes longer than ``userPatience``.
    package func ask<Answer: Sendable>(
        slot: ParkingSlot,
        _ body: @escaping @Sendable () -> Answer
    ) async -> Answer? {
        await wait(Self.userPatience, slot, on: userThread, for: body)
    }

    /// Whether somebody still holds the socket at the other end.
    package func isHeld(
        _ peer: SocketAddress,
        to local: SocketAddress,
        slot: ParkingSlot
    ) async -> Bool {
        await user(of: peer, to: local, slot: slot) != nil
    }

    private func look(
        for wish: Wish,
        _ peer: SocketAddress,
        _ local: SocketAddress,
        _ slot: ParkingSlot
    ) async -> Finding {
        let now = SystemCall.monotonicMicroseconds()
        let isForUser = wish == .user
        let patience = isForUser ? Self.userPatience : Self.patience
        let finding = await wait(patience, slot, on: isForUser ? userThread : thread) {
            [ask, tables] in
            isForUser
                ? tables?.user(of: peer, to: local, askedAt: now) ?? ask(peer, local, wish)
                : ask(peer, local, wish)
        }
        return finding ?? Finding()
    }

    /// What `look` finds on a thread; nil when it can't be asked, or takes longer than `patience`.
    private func wait<Answer: Sendable>(
        _ patience: Duration,
        _ slot: ParkingSlot,
        on thread: HelperThread,
        for look: @escaping @Sendable () -> Answer
    ) async -> Answer? {
        let question = Question<Answer>(slot)
        let reply = question.reply
        let clock = slot.loop.clock
        let expiry = clock.now() &+ patience.microseconds
        let isAccepted = thread.submit {
            // Whoever waited for this in a long queue has gone on without it.
            if clock.now() < expiry { reply(look()) }
        }
        guard isAccepted else { return nil }
        return await question.answer(until: slot.loop.deadline(in: patience))
    }
}

// MARK: The helper thread's side

extension ProcessLookup {
    /// Bytes of a socket table that are read: some 100,000 sockets.
    static let tableBytesMax = 16 << 20
    /// A client that uses an IPv6 socket for an IPv4 address stands in the other table.
    static let tablePaths = ["/proc/self/net/tcp", "/proc/self/net/tcp6"]
    private static let processesMax = 32768
    private static let descriptorsMax = 65536

    /// Looks up what is wished for.
    ///
    /// Blocks, for ``patience`` at most and some milliseconds as a rule.
    package static func find(
        peer: SocketAddress,
        local: SocketAddress,
        _ wish: Wish
    ) -> Finding {
        guard isWithinMachine(peer, local), let socket = socket(peer, local) else {
            return Finding()
        }
        if wish == .user { return Finding(user: socket.uid) }
        return Finding(owner: program(holding: socket), user: socket.uid)
    }

    /// The process that listens at `address`, or at every address with its port; nil where nobody
    /// does, or it is another user's.
    ///
    /// Blocks as `find` does.
    package static func listener(at address: SocketAddress) -> Owner? {
        let everywhere = [IPAddress.v4(0), .v6(high: 0, low: 0)]
        for own in [address.address] + everywhere {
            let local = SocketAddress(address: own, port: address.port)
            for nobody in everywhere {
                let remote = SocketAddress(address: nobody, port: 0)
                if let socket = socket(local, remote) { return program(holding: socket) }
            }
        }
        return nil
    }

    private static func program(holding socket: SocketTableEntry) -> Owner? {
        let expiry = SystemCall.monotonicMicroseconds() &+ patience.microseconds
        for process in candidates(user: socket.uid) {
            guard SystemCall.monotonicMicroseconds() < expiry else { return nil }
            guard holds(socket.inode, process) else { continue }
            return name(of: process).map { Owner(program: $0, pid: process) }
        }
        return nil
    }

    /// A connection within the machine is one over loopback, or one from an address to itself.
    static func isWithinMachine(_ peer: SocketAddress, _ local: SocketAddress) -> Bool {
        let (from, to) = (peer.address.unmapped, local.address.unmapped)
        return from == to || (from.isLoopback && to.isLoopback)
    }

    private static func socket(
        _ peer: SocketAddress,
        _ local: SocketAddress
    ) -> SocketTableEntry? {
        for path in tablePaths {
            if let table = ProcessFiles.content(of: path, bytesMax: tableBytesMax),
                let entry = SocketTableEntry.find(in: table, local: peer, remote: local)
            {
                return entry
            }
        }
        return nil
    }

    /// The processes in the order of likelihood: those of the user who made the socket first, of
    /// these the youngest, since most clients are commands that have just been started.
    private static func candidates(user: UInt32) -> [Int32] {
        let all = ProcessFiles.numbers(in: "/proc", countMax: processesMax).sorted(by: >)
        var others: [Int32] = []
        var likely: [Int32] = []
        for process in all {
            guard let owner = ProcessFiles.user(of: process) else { continue }
            if owner == user { likely.append(process) } else { others.append(process) }
        }
        return likely + others
    }

    private static func holds(_ inode: UInt64, _ process: Int32) -> Bool {
        let descriptors = ProcessFiles.numbers(
            in: "/proc/\(process)/fd",
            countMax: descriptorsMax
        )
        return descriptors.contains {
            ProcessFiles.socketInode(process: process, descriptor: $0) == inode
        }
    }

    fileprivate static func holders(
        _ peer: SocketAddress,
        _ local: SocketAddress,
        _ processes: Set<Int32>,
        _ sockets: SocketDiagnosis?
    ) -> Set<Int32>? {
        guard let inode = inode(peer, local, sockets) else { return nil }
        let found = processes.filter { process in
            // Files of this user can be seen, unless the process has more rights than this one.
            ProcessFiles.areDescriptorsReadable(of: process)
                ? holds(inode, process) : ProcessFiles.user(of: process) != nil
        }
        // One that let go of it meanwhile was not found.
        if found.isEmpty, self.inode(peer, local, sockets) != inode { return nil }
        return found
    }

    /// The number by which /proc calls the socket at the other end; nil when nobody holds it.
    private static func inode(
        _ peer: SocketAddress,
        _ local: SocketAddress,
        _ sockets: SocketDiagnosis?
    ) -> UInt64? {
        guard isWithinMachine(peer, local) else { return nil }
        let found: UInt64?
        switch sockets?.user(of: peer, connectedTo: local) {
        case .user(_, let inode): found = inode
        case .nobody: found = nil
        case .unavailable, nil: found = socket(peer, local)?.inode
        }
        return found == 0 ? nil : found
    }

    private static func name(of process: Int32) -> String? {
        guard let content = ProcessFiles.content(of: "/proc/\(process)/comm", bytesMax: 256) else {
            return nil
        }
        return String(decoding: content.last == 0x0A ? content.dropLast() : content, as: UTF8.self)
    }
}
