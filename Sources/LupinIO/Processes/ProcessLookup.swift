// Finds the process at the other end of a local connection: reads /proc on a helper thread.
import CLinux
import Glibc
import LupinCore

/// Asks the kernel which process a client is; all loops share one.
///
/// A program's name serves for display and for rules; a user is an identity.
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

    /// What to find out about a client.
    package enum Wish: Sendable, Equatable {
        /// Its program, for display: a program may give itself any name.
        case program
        /// The user who made its socket, which the kernel guarantees.
        case user
    }

    /// The result of a look-up.
    package struct Finding: Sendable, Equatable {
        package var owner: Owner?
        package var user: UInt32?

        package init(owner: Owner? = nil, user: UInt32? = nil) {
            self.owner = owner
            self.user = user
        }
    }

    /// How long a caller waits, and how long one look-up may take.
    package static let timeout = Duration.seconds(2)
    /// The same for users: on a busy machine a client waits rather than being refused.
    package static let userTimeout = Duration.seconds(10)
    /// Programs' look-ups that may wait; with more, the answer is nil at once.
    package static let queueLength = 64
    /// Users' look-ups that may wait.
    ///
    /// The number equals that of ports, so a burst of clients never makes one count as unknown.
    private static let userQueueLength = 1 << 16

    private let thread: HelperThread
    /// A separate thread: look-ups of users must not wait for those of programs.
    private let userThread: HelperThread
    private let ask: Ask
    /// nil where the answers come from elsewhere: in a test, or from another network.
    private let tables: RecentTables?
    /// nil where the kernel does not support it.
    private let sockets: SocketDiagnosis?

    /// Looks up the wish for the client at `peer`; it may block.
    package typealias Ask =
        @Sendable (_ peer: SocketAddress, _ local: SocketAddress, _ wish: Wish) -> Finding

    /// Starts the helper thread.
    ///
    /// - Parameter ask: The look-up that the thread calls; it may block. Tests supply their own,
    ///   and clients in another network need another one.
    /// - Throws: When the kernel provides no thread.
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

    /// Whether this network's kernel tables supply the answers.
    package var asksKernel: Bool { tables != nil }

    /// Stops without waiting for a running look-up; later ones find nothing.
    package func abandon() {
        thread.abandon()
        userThread.abandon()
    }

    /// The process at the other end of a connection that was accepted here.
    ///
    /// Call it on the loop of `slot`, in its task. Other reasons to wake are kept for later.
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

    /// The kernel's immediate answer about the user at the other end.
    package enum KnownUser: Sendable {
        case user(UInt32)
        /// On another machine, or no process holds the socket any more.
        case nobody

        package var user: UInt32? {
            if case .user(let number) = self { number } else { nil }
        }
    }

    /// The same without a wait; nil where the answer requires one.
    package func userAtOnce(of peer: SocketAddress, to local: SocketAddress) -> KnownUser? {
        // A test's answer replaces the kernel's.
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

    /// Which of `processes` hold the socket at the other end; nil when that is not known, or the
    /// connection ends meanwhile.
    ///
    /// A process whose open files can't be read counts as a holder. Where a test supplies the
    /// answers, all processes do: its clients and its proxies are one process.
    package func holders(
        of peer: SocketAddress,
        to local: SocketAddress,
        among processes: Set<Int32>,
        slot: ParkingSlot
    ) async -> Set<Int32>? {
        guard tables != nil else { return processes }
        return await wait(Self.userTimeout, slot, on: userThread) { [sockets] in
            Self.holders(peer, local, processes, sockets)
        } ?? nil
    }

    /// The result of `body`, which may block; nil when it takes longer than ``userPatience``.
    package func ask<Answer: Sendable>(
        slot: ParkingSlot,
        _ body: @escaping @Sendable () -> Answer
    ) async -> Answer? {
        await wait(Self.userTimeout, slot, on: userThread, for: body)
    }

    /// Whether a process still holds the socket at the other end.
    package func isHeld(
        _ peer: SocketAddress,
        to local: SocketAddress,
        slot: ParkingSlot
    ) async -> Bool {
        await user(of: peer, to: local, slot: slot) != nil
    }

    /// The socket that serves new connections to an address of this machine, and its user.
    package func listener(
        at address: SocketAddress,
        slot: ParkingSlot
    ) async -> SocketDiagnosis.Answer {
        if let sockets, case let answer = sockets.listener(at: address), answer != .unavailable {
            return answer
        }
        return await ask(slot: slot) { Self.listeningSocket(at: address) } ?? .unavailable
    }

    private func look(
        for wish: Wish,
        _ peer: SocketAddress,
        _ local: SocketAddress,
        _ slot: ParkingSlot
    ) async -> Finding {
        let now = SystemCall.monotonicMicroseconds()
        let isForUser = wish == .user
        let timeout = isForUser ? Self.userTimeout : Self.timeout
        let finding = await wait(timeout, slot, on: isForUser ? userThread : thread) {
            [ask, tables] in
            isForUser
                ? tables?.user(of: peer, to: local, askedAt: now) ?? ask(peer, local, wish)
                : ask(peer, local, wish)
        }
        return finding ?? Finding()
    }

    /// The result of `look` on a thread; nil when its queue is full, or it takes longer than
    /// `timeout`.
    private func wait<Answer: Sendable>(
        _ timeout: Duration,
        _ slot: ParkingSlot,
        on thread: HelperThread,
        for look: @escaping @Sendable () -> Answer
    ) async -> Answer? {
        let promise = Promise<Answer>(slot)
        let reply = promise.reply
        let clock = slot.loop.clock
        let expiry = clock.now() &+ timeout.microseconds
        let isAccepted = thread.submit {
            // After the expiry the caller has stopped waiting, for example in a long queue.
            if clock.now() < expiry { reply(look()) }
        }
        guard isAccepted else { return nil }
        return await promise.answer(until: slot.loop.deadline(in: timeout))
    }
}

// MARK: The helper thread's side

extension ProcessLookup {
    /// Bytes of a socket table that are read: some 100,000 sockets.
    static let tableBytesMax = 16 << 20
    /// An IPv4 client with an IPv6 socket is in the second table.
    static let tablePaths = ["/proc/self/net/tcp", "/proc/self/net/tcp6"]

    /// The look-up of clients in the network of another process, all of which are on this machine.
    package static func asking(inNetworkOf process: Int32) -> Ask {
        let paths = ["/proc/\(process)/net/tcp", "/proc/\(process)/net/tcp6"]
        return { peer, local, wish in
            socket(peer, local, in: paths).map { finding(wish, about: $0) } ?? Finding()
        }
    }

    private static let processesMax = 32768
    private static let descriptorsMax = 65536

    /// Looks up one wish about a client.
    ///
    /// Blocks for ``patience`` at most, usually some milliseconds.
    package static func find(
        peer: SocketAddress,
        local: SocketAddress,
        _ wish: Wish
    ) -> Finding {
        guard isWithinMachine(peer, local), let socket = socket(peer, local) else {
            return Finding()
        }
        return finding(wish, about: socket)
    }

    private static func finding(_ wish: Wish, about socket: SocketTableEntry) -> Finding {
        if wish == .user { return Finding(user: socket.uid) }
        return Finding(owner: program(holding: socket), user: socket.uid)
    }

    /// The process that listens at `address`, or at every address with its port; nil when there is
    /// none, or it is another user's.
    ///
    /// Blocks as `find` does.
    package static func listener(at address: SocketAddress) -> Owner? {
        listeningEntry(at: address).flatMap(program)
    }

    /// The user whose socket serves new connections to an address of this machine; nil when the
    /// kernel does not tell.
    package static func userServing(_ address: SocketAddress) -> UInt32? {
        let answer = SocketDiagnosis()?.listener(at: address) ?? .unavailable
        return (answer == .unavailable ? listeningSocket(at: address) : answer).user
    }

    /// The user who accepted a connection of this process; nil when the kernel does not tell.
    package static func userAccepting(
        _ ends: (peer: SocketAddress, local: SocketAddress)
    ) -> UInt32? {
        switch SocketDiagnosis()?.user(of: ends.peer, connectedTo: ends.local) {
        case .user(let user, _): user
        case .nobody: nil
        case .unavailable, nil: find(peer: ends.peer, local: ends.local, .user).user
        }
    }

    private static func listeningSocket(at address: SocketAddress) -> SocketDiagnosis.Answer {
        guard tablePaths.contains(where: { FileStatus(path: $0) != nil }) else {
            return .unavailable
        }
        return listeningEntry(at: address).map { .user($0.uid, inode: $0.inode) } ?? .nobody
    }

    private static func listeningEntry(at address: SocketAddress) -> SocketTableEntry? {
        let everywhere = [IPAddress.v4(0), .v6(high: 0, low: 0)]
        for own in [address.address] + everywhere {
            let local = SocketAddress(address: own, port: address.port)
            for nobody in everywhere {
                let remote = SocketAddress(address: nobody, port: 0)
                if let socket = socket(local, remote) { return socket }
            }
        }
        return nil
    }

    private static func program(holding socket: SocketTableEntry) -> Owner? {
        let expiry = SystemCall.monotonicMicroseconds() &+ timeout.microseconds
        for process in candidates(user: socket.uid) {
            guard SystemCall.monotonicMicroseconds() < expiry else { return nil }
            guard holds(socket.inode, process) else { continue }
            return ProcessFiles.program(of: process).map { Owner(program: $0, pid: process) }
        }
        return nil
    }

    /// Whether a connection is within the machine: over loopback, or from an address to itself.
    static func isWithinMachine(_ peer: SocketAddress, _ local: SocketAddress) -> Bool {
        let (from, to) = (peer.address.unmapped, local.address.unmapped)
        return from == to || (from.isLoopback && to.isLoopback)
    }

    private static func socket(
        _ peer: SocketAddress,
        _ local: SocketAddress,
        in paths: [String] = tablePaths
    ) -> SocketTableEntry? {
        for path in paths {
            if let table = ProcessFiles.content(of: path, bytesMax: tableBytesMax),
                let entry = SocketTableEntry.find(in: table, local: peer, remote: local)
            {
                return entry
            }
        }
        return nil
    }

    /// The processes in order of likelihood: first those of the user who made the socket, and of
    /// these the youngest, since most clients are commands that have just started.
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
            // This user's processes can be inspected, unless a process has more rights than this
            // one.
            ProcessFiles.areDescriptorsReadable(of: process)
                ? holds(inode, process) : ProcessFiles.user(of: process) != nil
        }
        // A process that closed the socket meanwhile was not found.
        if found.isEmpty, self.inode(peer, local, sockets) != inode { return nil }
        return found
    }

    /// The inode of the socket at the other end; nil when no process holds it.
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
}
