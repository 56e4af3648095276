// Makes the connections of a confined command for it, and decides which sockets of this machine it
// reaches.
import CLinux
import Glibc
import LupinCore
import Synchronization

/// The connections that a confined command begins.
///
/// The kernel asks before each connect(2) (seccomp_unotify(2)). What it says of a call may be
/// changed meanwhile by another thread of the command, so a call never goes on by itself: its
/// address is read once, judged, and connected to from here, by a descriptor for the same socket.
///
/// A network namespace keeps all in but unix sockets with a path. Such a one is reached if it was
/// bound in the command's own network, or was given to the command.
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

    /// What of connections by TCP is told.
    package enum Event: Sendable {
        /// To another address than the loopback interface's.
        case leaving
        /// To a server of this machine, which listens on the loopback interface outside.
        case missing
    }

    package typealias Note =
        @Sendable (_ event: Event, _ program: String?, _ target: SocketAddress) -> Void

    /// The most calls that are dealt with at a time: one may wait until a listener takes it.
    private static let callsMax = 64

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
        start()
    }

    deinit { for thread in threads.withLock({ $0.all }) { thread.abandon() } }

    /// Begins to watch this process, and passes what is needed for it through `socket`.
    ///
    /// - Returns: Whether the kernel can do that; else this process makes no unix sockets any more.
    static func begin(tellingAt socket: Int32) throws(SystemError) -> Bool {
        let sockets = Descriptor(owning: try SystemCall.check { linux_diagnosis_socket() })
        let watch: Descriptor
        do throws(SystemError) {
            watch = try CallFilter.watchConnections()
        } catch {
            try CallFilter.forbidLocalSockets()
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
        while let call = turn.withLock({ _ in next() }) {
            threads.withLock { $0.waiting -= 1 }
            start()
            answer(call)
            threads.withLock { $0.waiting += 1 }
        }
        threads.withLock { $0.waiting -= 1 }
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
    private func answer(_ call: seccomp_notif) {
        var error: Int32 = 0
        do throws(SystemError) {
            try connect(call)
        } catch let problem {
            error = problem.code
        }
        _ = SystemCall.value { Int(confine_answer(descriptor.raw, call.id, error)) }
    }

    // Its arguments are those of connect(2).
    private func connect(_ call: seccomp_notif) throws(SystemError) {
        let (number, place, length) = (call.data.args.0, call.data.args.1, call.data.args.2)
        guard let process = ProcessFiles.process(ofThread: call.pid) else {
            throw SystemError(code: ESRCH)
        }
        let raw = try SystemCall.check { confine_copy(process, Int32(truncatingIfNeeded: number)) }
        let socket = Descriptor(owning: raw)
        let address = try address(in: call.pid, at: place, UInt32(truncatingIfNeeded: length))
        // Else what was read is another process's.
        guard confine_is_waiting(descriptor.raw, call.id) == 0 else {
            throw SystemError(code: ESRCH)
        }
        if let path = LocalAddress.path(in: address) {
            let file = try file(at: path, for: call.pid, of: process)
            guard let identity = FileIdentity(file) else { throw SystemError(code: ECONNREFUSED) }
            guard given.contains(identity) || sockets.contain(file, of: process) else {
                // A socket whose program has ended is nobody's: programs remove such ones.
                let isServed = outside?.contain(file, of: process) ?? false
                throw SystemError(code: isServed ? EACCES : ECONNREFUSED)
            }
            try connect(socket, to: LocalAddress.bytes("/proc/self/fd/\(file.raw)"))
        } else {
            let target = target(of: socket, address)
            if let target, !target.isLocal { note(.leaving, program(of: process), target) }
            do throws(SystemError) {
                try connect(socket, to: address)
            } catch {
                if let target, target.isLocal, Self.isRefused(socket, error),
                    listeners?.listener(at: target).user != nil
                {
                    note(.missing, program(of: process), target)
                }
                throw error
            }
        }
    }

    /// Whether nobody listens; one that does not wait is told so a moment later.
    private static func isRefused(_ socket: borrowing Descriptor, _ error: SystemError) -> Bool {
        guard error.code == EINPROGRESS else { return error.code == ECONNREFUSED }
        var entry = pollfd(fd: socket.raw, events: Int16(POLLOUT), revents: 0)
        // Safety: poll fills the one entry it is given. It leaves the error to the program.
        return unsafe poll(&entry, 1, 1) == 1 && Int32(entry.revents) & POLLERR != 0
    }

    private func program(of process: Int32) -> String? { ProcessFiles.program(of: process) }

    private func connect(
        _ socket: borrowing Descriptor,
        to address: [UInt8]
    ) throws(SystemError) {
        let (raw, count) = (socket.raw, socklen_t(address.count))
        // Safety: the bytes outlive the call, which reads them.
        let result = SystemCall.value {
            unsafe address.withUnsafeBytes { bytes in
                guard let base = bytes.baseAddress else { return -Int(EINVAL) }
                return unsafe Int(confine_connect(raw, base, count))
            }
        }
        if result < 0 { throw SystemError(code: Int32(truncatingIfNeeded: -result)) }
    }

    /// Where a connection by TCP goes.
    private func target(of socket: borrowing Descriptor, _ address: [UInt8]) -> SocketAddress? {
        guard confine_socket_type(socket.raw) == Int32(SOCK_STREAM.rawValue) else { return nil }
        return SocketAddress(kernelForm: address)
    }

    /// An address in the memory of a thread.
    private func address(
        in thread: UInt32,
        at place: UInt64,
        _ length: UInt32
    ) throws(SystemError) -> [UInt8] {
        guard length <= MemoryLayout<sockaddr_storage>.size, length >= 2 else {
            throw SystemError(code: EINVAL)
        }
        let flags = O_RDONLY | O_CLOEXEC
        // Safety: the path is NUL-terminated for the call.
        let raw = try SystemCall.check { unsafe open("/proc/\(thread)/mem", flags) }
        let memory = Descriptor(owning: raw)
        guard let offset = Int(exactly: place) else { throw SystemError(code: EFAULT) }
        var bytes = [UInt8](repeating: 0, count: Int(length))
        // Safety: as many bytes are filled at most as the array has.
        let read = SystemCall.value { unsafe pread(memory.raw, &bytes, bytes.count, offset) }
        guard read == bytes.count else { throw SystemError(code: EFAULT) }
        return bytes
    }

    /// What a thread of a process finds at a path, held open so that nothing else gets there.
    private func file(
        at path: String,
        for thread: UInt32,
        of process: Int32
    ) throws(SystemError) -> Descriptor {
        if let (number, rest) = OpenFolder.parts(of: path) {
            let folder = Descriptor(owning: try SystemCall.check { confine_copy(process, number) })
            return Descriptor(
                // Safety: the path is NUL-terminated for the call.
                owning: try SystemCall.check { unsafe confine_name(folder.raw, rest) }
            )
        }
        let folder = path.hasPrefix("/") ? "" : ProcessFiles.link("/proc/\(thread)/cwd") ?? ""
        let flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC
        // Safety: the paths are NUL-terminated for the calls.
        let root = Descriptor(
            owning: try SystemCall.check { unsafe open("/proc/\(thread)/root", flags) }
        )
        return Descriptor(
            owning: try SystemCall.check { unsafe confine_name(root.raw, "\(folder)/\(path)") }
        )
    }
}

/// Paths by an open folder, which are a usual way round the length that a socket's may have: the
/// links of /proc lead who follows them to himself, and can't be followed for others.
private enum OpenFolder {
    private static let heads = ["/proc/self/fd/", "/proc/thread-self/fd/", "/dev/fd/"]

    /// The descriptor of the folder, and the path below it.
    static func parts(of path: String) -> (descriptor: Int32, rest: String)? {
        for head in heads where path.hasPrefix(head) {
            let parts = path.dropFirst(head.count).split(separator: "/", maxSplits: 1)
            guard parts.count == 2, let number = NumberReader.unsigned(parts[0]) else { return nil }
            return Int32(exactly: number).map { ($0, String(parts[1])) }
        }
        return nil
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

    /// The path; nil for another family, and for an address that is none in the file system.
    static func path(in address: [UInt8]) -> String? {
        // Safety: an address has the two bytes of a family; see `address(in:at:)`.
        let family = unsafe address.withUnsafeBytes {
            unsafe $0.loadUnaligned(as: sa_family_t.self)
        }
        guard family == AF_UNIX, address.count > start, address[start] != 0 else { return nil }
        return String(decoding: address[start...].prefix { $0 != 0 }, as: UTF8.self)
    }

    static func bytes(_ path: String) -> [UInt8] {
        var family = sa_family_t(AF_UNIX)
        // Safety: the bytes are copied while the number lives.
        return unsafe withUnsafeBytes(of: &family) { unsafe Array($0) } + Array(path.utf8) + [0]
    }
}
