// Makes the connections of a confined command for it, and decides which sockets of this machine it
// makes and reaches.
import CLinux
import Glibc
import LupinCore
package import LupinIO
import Synchronization

/// The connections that a confined command begins.
///
/// The kernel asks before each connect(2) (seccomp_unotify(2)). What it says of a call may be
/// changed meanwhile by another thread of the command, so a call never goes on by itself: its
/// address is read once, judged, and connected to from here, by a descriptor for the same socket.
///
/// A network namespace keeps all in but unix sockets with a path. A socket with a path is reached
/// if it was bound in the command's own network, or was given to the command.
package final class ConnectWatch: Sendable {
    /// A file, whatever its name.
    package struct FileIdentity: Hashable, Sendable {
        private let device: UInt64
        private let inode: UInt64

        /// What lies at a path; nil if that is no socket.
        package init?(ofSocket path: String) {
            var facts = stat()
            // Safety: stat fills the struct it is given.
            guard unsafe stat(path, &facts) == 0 else { return nil }
            self.init(facts)
        }

        fileprivate init?(_ facts: stat) {
            guard facts.st_mode & S_IFMT == S_IFSOCK else { return nil }
            (device, inode) = (UInt64(facts.st_dev), UInt64(facts.st_ino))
        }

        fileprivate init?(_ descriptor: borrowing Descriptor) {
            var facts = stat()
            // Safety: fstat fills the struct it is given.
            guard unsafe fstat(descriptor.raw, &facts) == 0 else { return nil }
            self.init(facts)
        }
    }

    /// What is told.
    package enum Event: Sendable {
        /// A connection by TCP to another address than the loopback interface's.
        case leaving(SocketAddress)
        /// One to a server of this machine, which listens on the loopback interface outside.
        case missing(SocketAddress)
        /// A refused one to a unix socket of a program outside, by the path that was asked for.
        case outside(String)
        /// A call was refused, whatever it was about.
        case refused(RefusedCall)
    }

    package typealias Note = @Sendable (_ event: Event, _ program: String?) -> Void

    /// The most calls that are dealt with at a time.
    private static let callsMax = 64
    /// How long the kernel may wait during a call at first, and when it is tried again, in
    /// nanoseconds.
    private static let timeout = (first: 2_000_000, again: 50_000)
    /// How long a connection is looked at each time, in microseconds: usual ones are soon there.
    private static let youth: UInt64 = 1_000_000

    /// How many waiting calls are checked at a time for signals and ends: that takes longer than to
    /// try the first of a line.
    private static let looksMax = 8

    private let descriptor: Descriptor
    private let sockets: BoundSockets
    /// Those of this process's network.
    private let outside: BoundSockets?
    private let given: Set<FileIdentity>
    private let note: Note
    private let listeners = SocketDiagnosis()
    /// Held by the thread that takes the next call.
    private let turn = Mutex(())
    private let threads = Mutex<(all: [HelperThread], waiting: Int)>(([], 0))
    private let waits = Mutex(WaitingCalls())

    /// - Parameters:
    ///   - passed: What ``begin(tellingAt:)`` passed.
    ///   - given: Sockets outside that the command reaches.
    ///   - note: Called from any thread.
    init?(_ passed: [Int32], given: Set<FileIdentity>, _ note: @escaping Note) {
        guard passed.count == 2 else {
            for raw in passed { close(raw) }
            return nil
        }
        descriptor = Descriptor(owning: passed[0])
        sockets = BoundSockets(owning: Descriptor(owning: passed[1]))
        outside = (try? SystemCall.check { linux_diagnosis_socket() }).map {
            BoundSockets(owning: Descriptor(owning: $0))
        }
        (self.given, self.note) = (given, note)
        _ = confine_take_interrupts()
        start()
    }

    deinit {
        for thread in threads.withLock({ $0.all }) { thread.abandon() }
        waits.withLock { $0.thread }?.abandon()
    }

    /// Begins to watch this process, and passes what is needed for it.
    ///
    /// - Parameters:
    ///   - socket: Through which it is passed.
    ///   - isCovering: See ``CallFilter/watch(isCovering:)``.
    /// - Returns: Whether the kernel can do that; else this process makes no unix sockets any more.
    /// - Throws: The kernel's error.
    static func begin(
        tellingAt socket: Int32,
        isCovering: Bool
    ) throws(SystemError) -> Bool {
        let sockets = Descriptor(owning: try SystemCall.check { linux_diagnosis_socket() })
        let watch: Descriptor
        do throws(SystemError) {
            watch = try CallFilter.watch(isCovering: isCovering)
        } catch {
            try CallFilter.forbidUnasked(isCovering: isCovering)
            return false
        }
        var passed = [watch.raw, sockets.raw]
        // Safety: the list outlives the call, which reads its elements.
        _ = SystemCall.value { unsafe Int(confine_send(socket, &passed, passed.count)) }
        return true
    }

    // MARK: Threads

    /// Starts a thread that takes calls, unless one waits for its turn or there are enough.
    private func start() {
        threads.withLock { threads in
            guard threads.waiting == 0, threads.all.count < Self.callsMax,
                let thread = try? HelperThread(name: "lupin-connect", capacity: 1)
            else { return }
            threads.waiting += 1
            threads.all.append(thread)
            thread.submit { [weak self] in self?.work() }
        }
    }

    /// Takes one call after another until the command has ended.
    private func work() {
        unblockInterrupts()
        while let call = turn.withLock({ _ in next() }) {
            threads.withLock { $0.waiting -= 1 }
            start()
            answer(call)
            threads.withLock { $0.waiting += 1 }
        }
        threads.withLock { $0.waiting -= 1 }
    }

    /// Lets the calls of this thread be interrupted.
    private func unblockInterrupts() {
        var set = sigset_t()
        // Safety: the first calls fill the set, the last one only reads it.
        unsafe sigemptyset(&set)
        unsafe sigaddset(&set, SIGURG)
        unsafe pthread_sigmask(SIG_UNBLOCK, &set, nil)
    }

    /// Waits for a call; nil at the end of the command.
    private func next() -> seccomp_notif? {
        while true {
            var entry = pollfd(fd: descriptor.raw, events: Int16(POLLIN), revents: 0)
            // Safety: poll fills the one entry it is given.
            let count = SystemCall.value { unsafe Int(poll(&entry, 1, -1)) }
            guard count == 1, Int32(entry.revents) & POLLIN != 0 else { return nil }
            var call = seccomp_notif()
            // Safety: the call fills the struct it is given.
            let result = SystemCall.value { unsafe Int(confine_next_call(descriptor.raw, &call)) }
            if result == 0 { return call }
            // The process may have ended meanwhile.
            guard result == -Int(ENOENT) else { return nil }
        }
    }

    // MARK: One call

    /// Does what a call asks for, if that is allowed.
    private func answer(_ notice: seccomp_notif) {
        if let refused = CallFilter.refused(UInt32(bitPattern: notice.data.nr)) {
            note(.refused(refused), ProcessFiles.process(ofThread: notice.pid).flatMap(program))
            return end(notice.id, refused.error)
        }
        do throws(SystemError) {
            let call = try read(notice)
            guard let line = try attempt(call) else { return end(notice.id) }
            try keep(call, in: line)
        } catch let problem {
            end(notice.id, problem.code)
        }
    }

    private func end(_ id: UInt64, _ error: Int32 = 0) {
        _ = SystemCall.value { Int(confine_answer(descriptor.raw, id, error)) }
    }

    private func isWaiting(_ id: UInt64) -> Bool { confine_is_waiting(descriptor.raw, id) == 0 }

    // Its arguments are those of connect(2).
    private func read(_ notice: seccomp_notif) throws(SystemError) -> ConnectCall {
        let (number, pointer, length) = (
            notice.data.args.0, notice.data.args.1, notice.data.args.2
        )
        guard let process = ProcessFiles.process(ofThread: notice.pid) else {
            throw SystemError(code: ESRCH)
        }
        return ConnectCall(
            id: notice.id,
            thread: notice.pid,
            process: process,
            number: Int32(truncatingIfNeeded: number),
            address: try address(in: notice.pid, at: pointer, UInt32(truncatingIfNeeded: length))
        )
    }

    /// Tries what a call asks for.
    ///
    /// One that waited is judged anew, as the kernel does it.
    ///
    /// - Returns: What it waits for; nil if it has its connection.
    private func attempt(
        _ call: ConnectCall,
        again: Bool = false
    ) throws(SystemError) -> ConnectCall.Line? {
        let raw = try SystemCall.check { confine_copy(call.process, call.number) }
        let socket = Descriptor(owning: raw)
        // Else what was read is another process's.
        guard isWaiting(call.id) else { throw SystemError(code: ESRCH) }
        if let path = LocalAddress.path(in: call.address) {
            let caller = CallerPath(thread: call.thread, process: call.process)
            let file = try caller.open(path)
            guard let identity = FileIdentity(file) else { throw SystemError(code: ECONNREFUSED) }
            guard given.contains(identity) || sockets.contain(file, of: call.process) else {
                // A socket whose program has ended belongs to no program: programs remove such
                // sockets.
                let isServed = outside?.contain(file, of: call.process) ?? false
                guard isServed else { throw SystemError(code: ECONNREFUSED) }
                note(.outside(path), program(of: call.process))
                throw SystemError(code: EACCES)
            }
            // To look took a while.
            guard isWaiting(call.id) else { throw SystemError(code: ESRCH) }
            let name = LocalAddress.bytes("/proc/self/fd/\(file.raw)")
            let isOver = try connect(socket, to: name, again: again)
            return isOver ? nil : .file(identity)
        }
        if again, !Self.isDecided(socket) { return .own(call.id) }
        let target = target(of: socket, call.address)
        if let target, !target.isLocal, !again { note(.leaving(target), program(of: call.process)) }
        do throws(SystemError) {
            return try connect(socket, to: call.address, again: again) ? nil : .own(call.id)
        } catch {
            if let target, target.isLocal, Self.isRefused(socket, error),
                listeners?.listener(at: target).user != nil
            {
                note(.missing(target), program(of: call.process))
            }
            throw error
        }
    }

    // MARK: Calls that wait

    /// Lets a call wait, without a thread.
    private func keep(_ call: ConnectCall, in line: ConnectCall.Line) throws(SystemError) {
        let raw = try SystemCall.check { confine_copy(call.process, call.number) }
        let limit = Self.timeLimit(of: Descriptor(owning: raw))
        let now = Self.now
        let until = limit.map { now &+ $0 } ?? .max
        let isTended = waits.withLock { waits in
            if waits.thread == nil {
                waits.thread = try? HelperThread(name: "lupin-waits", capacity: 1)
            }
            guard let thread = waits.thread else { return false }
            if waits.calls.isEmpty { thread.submit { [weak self] in self?.tend() } }
            waits.calls.append(
                WaitingCall(call: call, line: line, since: now, until: until)
            )
            return true
        }
        if !isTended { throw SystemError(code: EAGAIN) }
    }

    private static var now: UInt64 { SystemCall.monotonicMicroseconds() }

    /// Tries the calls that wait, until there are none.
    private func tend() {
        unblockInterrupts()
        var pause = ConnectPause()
        var (last, turn): (UInt64, Int) = (0, 0)
        while true {
            TailedFile.pause(milliseconds: pause.milliseconds)
            let (calls, begin) = (waits.withLock { $0.calls }, Self.now)
            let window = (0..<min(Self.looksMax, calls.count)).map { (turn + $0) % calls.count }
            let (lines, ended) = tend(calls, lookingAt: Set(window), at: begin)
            let isNews = !ended.isEmpty || calls.last?.call.id != last
            pause.grow(after: Self.now &- begin, isNews: isNews)
            (last, turn) = (calls.last?.call.id ?? 0, turn &+ window.count)
            let isOver = waits.withLock { waits in
                waits.calls.removeAll { ended.contains($0.call.id) }
                for index in waits.calls.indices {
                    waits.calls[index].line =
                        lines[waits.calls[index].call.id] ?? waits.calls[index].line
                }
                return waits.calls.isEmpty
            }
            if isOver { return }
        }
    }

    /// Tries the first call of each line for a listener, and looks at some others.
    /// - Returns: The lines in which those wait that were tried, and which calls have ended.
    private func tend(
        _ calls: [WaitingCall],
        lookingAt window: Set<Int>,
        at now: UInt64
    ) -> (lines: [UInt64: ConnectCall.Line], ended: Set<UInt64>) {
        var (full, ended): (Set<ConnectCall.Line>, Set<UInt64>) = ([], [])
        var lines: [UInt64: ConnectCall.Line] = [:]
        for (index, waiting) in calls.enumerated() {
            let isSeen = window.contains(index)
            let isTried =
                switch waiting.line {
                case .file: !full.contains(waiting.line)
                case .own: isSeen || now < waiting.since &+ Self.youth
                }
            guard isSeen || isTried || now >= waiting.until else { continue }
            do throws(SystemError) {
                let line = isTried ? try attempt(waiting.call, again: true) : waiting.line
                if let line {
                    full.insert(line)
                    lines[waiting.call.id] = line
                    try look(at: waiting, isSeen: isSeen, now)
                } else {
                    ended.insert(waiting.call.id)
                    end(waiting.call.id)
                }
            } catch {
                ended.insert(waiting.call.id)
                end(waiting.call.id, error.code)
            }
        }
        return (lines, ended)
    }

    /// Throws what ends a call but a connection.
    private func look(at waiting: WaitingCall, isSeen: Bool, _ now: UInt64) throws(SystemError) {
        let call = waiting.call
        if now >= waiting.until {
            throw SystemError(code: LocalAddress.isLocal(call.address) ? EAGAIN : EINPROGRESS)
        }
        guard isSeen else { return }
        guard isWaiting(call.id) else { throw SystemError(code: ESRCH) }
        // ERESTARTSYS: the kernel knows whether the call begins anew behind the signal.
        if ProcessFiles.hasSignal(call.thread, of: call.process) { throw SystemError(code: 512) }
    }

    /// How many microseconds a call on a socket may wait (SO_SNDTIMEO); nil for any time.
    private static func timeLimit(of socket: borrowing Descriptor) -> UInt64? {
        var (limit, size) = (timeval(), socklen_t(MemoryLayout<timeval>.size))
        // Safety: the call fills the struct, whose size it is given.
        let result = unsafe getsockopt(socket.raw, SOL_SOCKET, SO_SNDTIMEO, &limit, &size)
        let (seconds, rest) = (UInt64(clamping: limit.tv_sec), UInt64(clamping: limit.tv_usec))
        guard result == 0, seconds > 0 || rest > 0 else { return nil }
        return min(seconds, 1 << 40) * 1_000_000 + rest
    }

    /// Whether a connection that was begun is there, or has failed.
    private static func isDecided(_ socket: borrowing Descriptor) -> Bool {
        var entry = pollfd(fd: socket.raw, events: Int16(POLLOUT), revents: 0)
        // Safety: poll fills the one entry it is given, and does not wait.
        return SystemCall.value { unsafe Int(poll(&entry, 1, 0)) } != 0
    }

    /// Whether no program listens; a socket that doesn't wait learns it a moment later.
    private static func isRefused(_ socket: borrowing Descriptor, _ error: SystemError) -> Bool {
        guard error.code == EINPROGRESS else { return error.code == ECONNREFUSED }
        var entry = pollfd(fd: socket.raw, events: Int16(POLLOUT), revents: 0)
        // Safety: poll fills the one entry it is given. It leaves the error to the program.
        return unsafe poll(&entry, 1, 1) == 1 && Int32(entry.revents) & POLLERR != 0
    }

    private func program(of process: Int32) -> String? { ProcessFiles.program(of: process) }

    /// Connects, as far as that needs no wait.
    ///
    /// Whether the socket waits is shared with its program, and left alone: the kernel is
    /// interrupted in its wait.
    /// - Returns: Whether it is connected; else it has to wait.
    private func connect(
        _ socket: borrowing Descriptor,
        to address: [UInt8],
        again: Bool
    ) throws(SystemError) -> Bool {
        let (raw, count) = (socket.raw, socklen_t(address.count))
        let usual = again ? Self.timeout.again : Self.timeout.first
        let timeout = fcntl(raw, F_GETFL) & O_NONBLOCK == 0 ? usual : 0
        // Safety: the bytes outlive the call, which reads them.
        let result = SystemCall.once {
            unsafe address.withUnsafeBytes { bytes in
                guard let base = bytes.baseAddress else { return -1 }
                return unsafe Int(confine_connect(raw, base, count, timeout))
            }
        }
        if result == -Int(EINTR) { return false }
        if result < 0 { throw SystemError(code: Int32(truncatingIfNeeded: -result)) }
        return true
    }

    /// Where a connection by TCP goes.
    private func target(of socket: borrowing Descriptor, _ address: [UInt8]) -> SocketAddress? {
        guard confine_socket_type(socket.raw) == Int32(SOCK_STREAM.rawValue) else { return nil }
        return SocketAddress(kernelForm: address)
    }

    /// An address in the memory of a thread.
    private func address(
        in thread: UInt32,
        at pointer: UInt64,
        _ length: UInt32
    ) throws(SystemError) -> [UInt8] {
        guard length <= MemoryLayout<sockaddr_storage>.size, length >= 2 else {
            throw SystemError(code: EINVAL)
        }
        let flags = O_RDONLY | O_CLOEXEC
        // Safety: the path is NUL-terminated for the call.
        let raw = try SystemCall.check { unsafe open("/proc/\(thread)/mem", flags) }
        let memory = Descriptor(owning: raw)
        guard let offset = Int(exactly: pointer) else { throw SystemError(code: EFAULT) }
        var bytes = [UInt8](repeating: 0, count: Int(length))
        // Safety: as many bytes are filled at most as the array has.
        let read = SystemCall.value { unsafe pread(memory.raw, &bytes, bytes.count, offset) }
        guard read == bytes.count else { throw SystemError(code: EFAULT) }
        return bytes
    }
}

extension SocketAddress {
    /// Whether the kernel takes it for the loopback interface: Linux does so for 0.0.0.0 and ::.
    fileprivate var isLocal: Bool {
        let own = address.unmapped
        return own.isLoopback || own == .v4(0) || own == .v6(high: 0, low: 0)
    }
}

/// An address of a unix socket, in the kernel's form: the family, and a path (unix(7)).
private enum LocalAddress {
    private static let start = MemoryLayout<sa_family_t>.size

    static func isLocal(_ address: [UInt8]) -> Bool {
        // Safety: an address has the two bytes of a family; see `address(in:at:)`.
        let family = unsafe address.withUnsafeBytes {
            unsafe $0.loadUnaligned(as: sa_family_t.self)
        }
        return family == AF_UNIX
    }

    /// The path; nil for another family, and for an address that is none in the file system.
    static func path(in address: [UInt8]) -> String? {
        guard isLocal(address), address.count > start, address[start] != 0 else { return nil }
        return String(decoding: address[start...].prefix { $0 != 0 }, as: UTF8.self)
    }

    static func bytes(_ path: String) -> [UInt8] {
        var family = sa_family_t(AF_UNIX)
        // Safety: the bytes are copied while the number lives.
        return unsafe withUnsafeBytes(of: &family) { unsafe Array($0) } + Array(path.utf8) + [0]
    }
}
