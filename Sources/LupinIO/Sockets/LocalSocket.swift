// Sockets with a path: listen for this user alone, identify the peer's user, and connect.
import CLinux
import Glibc

/// Why there is no listening socket at a path.
package enum LocalSocketProblem: Error, Equatable, Sendable {
    /// A process listens there already.
    case inUse
    /// The name exists, and is not a socket of this user; it is left alone.
    case occupied
    /// Other users may replace files in the directory.
    case unsafeDirectory
    case system(SystemError)

    /// A message for users.
    package var message: String {
        switch self {
        case .inUse: "another process listens there"
        case .occupied: "what lies there is no socket of ours"
        case .unsafeDirectory: "others may change its directory"
        case .system(let error): error.message
        }
    }

    init(_ problem: ProtectedFileProblem) {
        switch problem {
        case .system(let error): self = .system(error)
        default: self = .unsafeDirectory
        }
    }
}

/// A listening socket at a path, for the user who runs this process, on one loop.
package final class LocalListener: PausableListener {
    /// The result of an attempt to accept.
    package enum Accepted {
        case connection(Channel, LocalClient)
        case blocked
        /// No descriptor or memory is left: stop accepting for a while.
        case exhausted
    }

    package let path: String
    private let loop: EventLoop
    private let descriptor: Int32
    private let token: UInt64
    /// Identifies the socket's file, to distinguish it from a later one of the same name; empty if
    /// the file is another process's.
    private let identity: [UInt64]
    private var isOpen = true
    private var isWatching = true

    /// How often a locked directory is tried again, 10 ms each.
    private static let lockAttempts = 200
    /// Connections that wait in the kernel's queue until they are accepted.
    private static let backlog: Int32 = 1024

    /// Listens at `path`; wakes `slot` with `.ready` when a connection waits.
    ///
    /// The socket's file has mode 0600 from its creation. It replaces an existing file of that name
    /// only if that is a socket of this user on which no process listens any more.
    /// - Parameters:
    ///   - path: The socket's path; 107 bytes at most.
    ///   - makingDirectory: Whether to make missing directories, for this user alone.
    ///   - loop: The loop of the calling thread.
    ///   - slot: The slot to wake.
    /// - Throws: The reason; nothing has changed then.
    package init(
        path: String,
        makingDirectory: Bool = false,
        on loop: EventLoop,
        slot: ParkingSlot
    ) throws(LocalSocketProblem) {
        let (folder, name) = ProtectedFile.parts(of: path)
        let directory: Descriptor
        do throws(ProtectedFileProblem) {
            directory = try ProtectedFile.openDirectory(folder, makingIt: makingDirectory)
        } catch {
            throw LocalSocketProblem(error)
        }
        // Two processes that find a dead socket at once must not remove each other's new one.
        try Self.lock(directory.raw)
        try Self.clear(path, name, in: directory.raw)
        do throws(SystemError) {
            let owned = Descriptor(owning: try SystemCall.check { linux_local_socket() })
            let raw = owned.raw
            // The file that bind makes takes the socket's own mode. So this needs no umask, which
            // would affect all threads.
            try SystemCall.check { fchmod(raw, 0o600) }
            try unsafe LocalSocket.call(path) { unsafe linux_bind(raw, $0, $1) }
            try SystemCall.check { listen(raw, Self.backlog) }
            identity = Self.identity(of: name, in: directory.raw)
            token = try loop.register(watcher: slot, reading: raw)
            descriptor = owned.release()
        } catch {
            throw .system(error)
        }
        self.path = path
        self.loop = loop
    }

    /// Listens at a name without a file, which every user of this network may connect to (an
    /// abstract socket, unix(7)).
    /// - Throws: The reason.
    package init(
        name: String,
        on loop: EventLoop,
        slot: ParkingSlot
    ) throws(LocalSocketProblem) {
        do throws(SystemError) {
            let owned = Descriptor(owning: try SystemCall.check { linux_local_socket() })
            let raw = owned.raw
            try unsafe LocalSocket.call(name, isAbstract: true) { unsafe linux_bind(raw, $0, $1) }
            try SystemCall.check { listen(raw, Self.backlog) }
            token = try loop.register(watcher: slot, reading: raw)
            descriptor = owned.release()
        } catch {
            throw .system(error)
        }
        path = "@\(name)"
        identity = []
        self.loop = loop
    }

    /// Accepts from a socket whose file belongs to the service manager.
    /// - Throws: The kernel's error.
    package init(
        _ passed: PassedSocket,
        on loop: EventLoop,
        slot: ParkingSlot
    ) throws(LocalSocketProblem) {
        do throws(SystemError) {
            let owned = try passed.duplicate()
            token = try loop.register(watcher: slot, reading: owned.raw)
            descriptor = owned.release()
        } catch {
            throw .system(error)
        }
        path = passed.text
        identity = []
        self.loop = loop
    }

    deinit { assert(!isOpen, "a local listener was dropped without close()") }

    /// Refuses connections from now on, and removes the file if it is still this socket's.
    package func close() {
        guard isOpen else { return }
        isOpen = false
        pause()
        loop.unregister(token)
        removeFile()
        _ = Glibc.close(descriptor)
    }

    package func pause() {
        guard isWatching else { return }
        isWatching = false
        loop.poller.remove(descriptor)
    }

    package func resume() throws(SystemError) {
        guard isOpen, !isWatching else { return }
        try loop.poller.addReader(descriptor, token: token)
        isWatching = true
    }

    package var hasWaiting: Bool { SystemCall.isReadable(descriptor) }

    private func removeFile() {
        guard !identity.isEmpty else { return }
        let (folder, name) = ProtectedFile.parts(of: path)
        if let directory = try? ProtectedFile.openDirectory(folder, makingIt: false),
            Self.identity(of: name, in: directory.raw) == identity
        {
            // Safety: the name is NUL-terminated for the call.
            unsafe unlinkat(directory.raw, name, 0)
        }
    }

    /// Accepts one connection.
    package func accept() throws(SystemError) -> Accepted {
        var storage = sockaddr_storage()
        var length: socklen_t = 0
        // Safety: accept4 fills the storage it is given.
        let result = SystemCall.value { Int(unsafe linux_accept(descriptor, &storage, &length)) }
        guard result >= 0 else {
            let code = Int32(truncatingIfNeeded: -result)
            if SystemError.descriptorsExhausted.contains(code) { return .exhausted }
            if code == EBADF || code == EINVAL || code == ENOTSOCK { throw SystemError(code: code) }
            return .blocked
        }
        let accepted = Descriptor(owning: Int32(truncatingIfNeeded: result))
        let client = LocalClient(of: accepted.raw, from: descriptor)
        return .connection(try Channel(owning: accepted, on: loop), client)
    }

    // MARK: The file

    fileprivate static func lock(_ directory: Int32) throws(LocalSocketProblem) {
        for _ in 0..<lockAttempts {
            let code = SystemCall.value { Int(flock(directory, LOCK_EX | LOCK_NB)) }
            // Some file systems can't lock; then two simultaneous starts are not guarded against.
            if code != -Int(EWOULDBLOCK) { return }
            poll(nil, 0, 10)
        }
        throw .system(SystemError(code: EWOULDBLOCK))
    }

    /// Removes a dead socket of this user.
    private static func clear(
        _ path: String,
        _ name: String,
        in directory: Int32
    ) throws(LocalSocketProblem) {
        var status = stat()
        let found = SystemCall.value {
            // Safety: the name is NUL-terminated for the call, which fills the struct.
            Int(unsafe fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW))
        }
        if found == -Int(ENOENT) { return }
        guard found == 0, status.st_mode & S_IFMT == S_IFSOCK, status.st_uid == geteuid() else {
            throw .occupied
        }
        do throws(SystemError) {
            let probe = Descriptor(owning: try SystemCall.check { linux_local_socket() })
            let raw = probe.raw
            try unsafe LocalSocket.call(path) { unsafe linux_connect(raw, $0, $1) }
        } catch {
            guard error.isRefusal else {
                throw error.code == EAGAIN ? .inUse : .system(error)
            }
            // Safety: the name is NUL-terminated for the call.
            unsafe unlinkat(directory, name, 0)
            return
        }
        throw .inUse
    }

    private static func identity(of name: String, in directory: Int32) -> [UInt64] {
        var status = stat()
        // Safety: the name is NUL-terminated for the call, which fills the struct.
        guard unsafe fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0 else { return [] }
        return [UInt64(status.st_dev), UInt64(status.st_ino)]
    }
}

/// The client's side of a socket with a path.
package enum LocalSocket {
    /// Connects at once, or not at all.
    /// - Throws: The kernel's error: ENOENT for no socket, ECONNREFUSED for a dead one.
    package static func connect(
        to path: String,
        on loop: EventLoop
    ) throws(SystemError) -> Channel {
        try Channel(owning: open(path), on: loop)
    }

    /// Connects to a name without a file, at once or not at all.
    package static func connect(
        toName name: String,
        on loop: EventLoop
    ) throws(SystemError) -> Channel {
        try Channel(owning: open(name, isAbstract: true), on: loop)
    }

    /// The same without a loop: a connected socket that does not block.
    /// - Throws: The kernel's error.
    package static func open(
        _ name: String,
        isAbstract: Bool = false
    ) throws(SystemError) -> Descriptor {
        let owned = Descriptor(owning: try SystemCall.check { linux_local_socket() })
        let raw = owned.raw
        try unsafe call(name, isAbstract: isAbstract) { unsafe linux_connect(raw, $0, $1) }
        return owned
    }

    /// A connected socket, which the caller owns; nil when no process listens there.
    private static func openIfThere(
        _ name: String,
        isAbstract: Bool
    ) throws(SystemError) -> Int32? {
        do throws(SystemError) {
            return try open(name, isAbstract: isAbstract).release()
        } catch {
            if error.isAbsence || error.isRefusal { return nil }
            throw error
        }
    }

    /// Sends a few bytes and reads all that comes until the end; blocks.
    ///
    /// - Returns: nil when no process listens there, or none of this user.
    /// - Throws: ETIMEDOUT when the end doesn't come in time, or the kernel's error.
    package static func ask(
        _ question: String,
        at name: String,
        isAbstract: Bool = false,
        timeout: Duration
    ) throws(SystemError) -> [UInt8]? {
        guard let raw = try openIfThere(name, isAbstract: isAbstract) else { return nil }
        let socket = Descriptor(owning: raw)
        guard peer(of: socket.raw)?.user == geteuid() else { return nil }
        let bytes = Array(question.utf8)
        // Safety: the kernel reads the bytes of the array; they fit into any socket's buffer.
        let sent = SystemCall.value { unsafe Glibc.write(socket.raw, bytes, bytes.count) }
        guard sent == bytes.count else { return nil }
        let end = ContinuousClock.now + timeout
        var answer: [UInt8] = []
        var block = [UInt8](repeating: 0, count: 64 << 10)
        while answer.count < answerBytesMax {
            var poll = pollfd(fd: socket.raw, events: Int16(POLLIN), revents: 0)
            let left = Int32(clamping: (end - .now).components.seconds * 1000 + 100)
            // Safety: poll reads and fills the one struct; read fills the block at most.
            guard .now < end, unsafe Glibc.poll(&poll, 1, left) > 0 else { break }
            let count = SystemCall.value { unsafe read(socket.raw, &block, block.count) }
            if count <= 0 { return answer }
            answer += block[..<count]
        }
        throw SystemError(code: ETIMEDOUT)
    }

    /// More is no answer of lupin's.
    private static let answerBytesMax = 16 << 20

    /// The user at the other end, where the kernel reports it.
    package static func user(of channel: Channel) -> UInt32? { peer(of: channel.descriptor)?.user }

    /// The number of the process that listens there; 0 where it has none here, as that of another
    /// container, and nil where nothing listens.
    package static func process(at name: String, isAbstract: Bool = false) -> Int32? {
        guard let raw = try? openIfThere(name, isAbstract: isAbstract) else { return nil }
        let socket = Descriptor(owning: raw)
        return peer(of: socket.raw)?.process
    }

    static func peer(of descriptor: Int32) -> linux_peer? {
        var peer = linux_peer()
        // Safety: the call fills the struct it is given.
        return unsafe linux_read_peer(descriptor, &peer) == 0 ? peer : nil
    }

    /// Whether the path is a directory that this user owns and no other user can change.
    package static func isOwnFolder(_ path: String) -> Bool {
        var status = stat()
        // Safety: the path is NUL-terminated for the call, which fills the struct.
        guard unsafe lstat(path, &status) == 0 else { return false }
        return status.st_mode & S_IFMT == S_IFDIR && status.st_uid == geteuid()
            && status.st_mode & 0o022 == 0
    }

    /// The names in a directory of this user; empty where there is none.
    /// - Throws: Why the names can't be read, or not be believed: another user may change them.
    package static func names(in folder: String) throws(SystemError) -> [String] {
        do throws(SystemError) {
            return try ProcessFiles.names(in: folder, isPrivate: true).sorted()
        } catch {
            if error.isAbsence || error.code == ENOTDIR { return [] }
            throw error
        }
    }

    /// Makes an empty file that tells by its name; one that is there already stays.
    package static func leaveMark(at path: String) throws(SystemError) {
        let flags = O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC
        // Safety: the path is NUL-terminated for the call.
        _ = Descriptor(owning: try SystemCall.check { unsafe Glibc.open(path, flags, 0o600) })
    }

    /// Whether there is something of that name, be it a link or a dead socket.
    package static func exists(_ path: String) -> Bool {
        var status = stat()
        // Safety: the path is NUL-terminated for the call, which fills the struct.
        return unsafe lstat(path, &status) == 0
    }

    /// Removes such a file.
    package static func removeMark(at path: String) {
        // Safety: the path is NUL-terminated for the call.
        unsafe unlink(path)
    }

    /// File systems whose directories are read without a wait for a server.
    private static let localFileSystems: Set<UInt32> = [
        UInt32(EXT4_SUPER_MAGIC), UInt32(XFS_SUPER_MAGIC), UInt32(BTRFS_SUPER_MAGIC),
        UInt32(F2FS_SUPER_MAGIC), UInt32(TMPFS_MAGIC), UInt32(OVERLAYFS_SUPER_MAGIC),
        // ZFS, which is not part of the kernel.
        0x2FC1_2FC1,
    ]

    /// Whether a path lies on one of them; its longest existing part decides.
    package static func isOnLocalDisk(_ path: String) -> Bool {
        var rest = path
        var type: UInt32 = 0
        while true {
            // Safety: the path is NUL-terminated for the call, which fills the number.
            let code = SystemCall.value { Int(unsafe linux_file_system(rest, &type)) }
            if code == 0 { return localFileSystems.contains(type) }
            guard code == -Int(ENOENT), rest.count > 1 else { return false }
            rest = ProtectedFile.parts(of: rest).folder
        }
    }

    /// Removes those sockets of a folder on which no process listens any more.
    /// - Returns: The paths of the removed sockets, and when each was made, in seconds since 1970.
    package static func removeDead(
        _ paths: [String],
        in folder: String
    ) -> [(path: String, madeAt: Int64)] {
        // A process that makes a socket holds the lock until it listens on the socket.
        guard let directory = try? ProtectedFile.openDirectory(folder, makingIt: false),
            (try? LocalListener.lock(directory.raw)) != nil
        else { return [] }
        return paths.compactMap { path in
            var status = stat()
            // Safety: the path is NUL-terminated for the calls; lstat fills the struct.
            guard unsafe lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFSOCK else {
                return nil
            }
            do throws(SystemError) {
                _ = try open(path)
                return nil
            } catch {
                guard error.isRefusal, unsafe unlink(path) == 0 else { return nil }
                return (path: path, madeAt: Int64(status.st_mtim.tv_sec))
            }
        }
    }

    /// Calls a kernel function with the kernel's form of a path, or of a name without a file.
    fileprivate static func call(
        _ name: String,
        isAbstract: Bool = false,
        _ body: (UnsafePointer<sockaddr_storage>, socklen_t) -> Int32
    ) throws(SystemError) {
        var storage = sockaddr_storage()
        // Safety: the name is NUL-terminated for the call, which fills the storage.
        let length = unsafe linux_make_local_address(name, isAbstract, &storage)
        guard length > 0 else { throw SystemError(code: ENAMETOOLONG) }
        // Safety: the storage outlives the call, which only reads it.
        try SystemCall.check { unsafe body(&storage, length) }
    }
}
