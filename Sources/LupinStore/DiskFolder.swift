// The files of a store: their names, their permissions, and the lock against other processes.

import Glibc

/// A descriptor with one owner; a negative one means none.
struct OpenFile: ~Copyable, Sendable {
    let raw: Int32

    init(owning raw: Int32) { self.raw = raw }

    deinit { if raw >= 0 { _ = close(raw) } }
}

/// The folder of a store.
///
///     lock            held while the store is open, with the process's number in it
///     index.sqlite    the index
///     drafts/         bodies on their way in
///     bodies/00 … ff  bodies, named by their id, in the folder of its last eight bits
///
/// Everything below it is opened relative to its descriptor, never through a symbolic link.
final class DiskFolder: Sendable {
    let path: String
    private let root: OpenFile
    private let drafts: OpenFile
    private let bodies: OpenFile
    private let lock: OpenFile

    /// The number of folders for bodies.
    static let shelves = 256

    /// Makes the folder and its missing parents, and locks it.
    /// - Throws: `cannotOpen`, `foreignFolder` or `inUse`.
    init(_ path: String) throws(DiskProblem) {
        self.path = path
        do throws(DiskProblem) {
            try Self.makeDirectories(path)
            root = OpenFile(owning: try Self.openFolder(path))
            try Self.makePrivate(root.raw, path: path)
            lock = OpenFile(owning: try Self.takeLock(in: root.raw, path: path))
            drafts = OpenFile(owning: try Self.openFolder("drafts", in: root.raw))
            bodies = OpenFile(owning: try Self.openFolder("bodies", in: root.raw))
        } catch {
            switch error {
            case .full, .io: throw .cannotOpen(path: path, reason: error.description)
            default: throw error
            }
        }
    }

    /// Unlocks the folder, though drafts and bodies of this store may still be open.
    func release() { _ = flock(lock.raw, LOCK_UN) }

    // MARK: Drafts

    /// Makes an empty file for a new body.
    func makeDraft() throws(DiskProblem) -> (name: String, file: Int32) {
        let name = String(UInt64.random(in: .min ... .max), radix: 16)
        let flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
        let raw = try DiskCall.check {
            // Safety: the name is NUL-terminated for the call.
            unsafe openat(drafts.raw, name, flags, 0o600)
        }
        return (name, raw)
    }

    func removeDraft(_ name: String) {
        // Safety: the name is NUL-terminated for the call.
        _ = unsafe unlinkat(drafts.raw, name, 0)
    }

    /// Removes drafts that an earlier run left unfinished.
    func removeDrafts() {
        for name in Self.names(in: drafts.raw, ".") { removeDraft(name) }
    }

    /// Moves a draft to its place among the bodies, and replaces any file there.
    func shelve(draft: String, as id: Int64) throws(DiskProblem) {
        let name = Self.name(ofShelf: Self.shelf(of: id))
        let shelf = OpenFile(owning: try Self.openFolder(name, in: bodies.raw))
        let (from, to) = (drafts.raw, shelf.raw)
        try DiskCall.check {
            // Safety: both names are NUL-terminated for the call.
            unsafe renameat(from, draft, to, String(id))
        }
    }

    // MARK: Bodies

    /// Opens a body for reading.
    /// - Returns: A descriptor, or nil if no regular file is there.
    /// - Throws: `io`, if a file may exist nevertheless.
    func openBody(_ id: Int64) throws(DiskProblem) -> (file: Int32, length: UInt64)? {
        // O_NONBLOCK: a FIFO in its place must not block the open.
        let flags = O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK
        let shelf = openShelf(Self.shelf(of: id))
        let folder = shelf.raw
        let raw = DiskCall.value {
            // Safety: the name is NUL-terminated for the call.
            folder < 0 ? Int(folder) : unsafe Int(openat(folder, String(id), flags))
        }
        guard raw >= 0 else {
            let code = Int32(truncatingIfNeeded: -raw)
            if [ENOENT, ENOTDIR, ELOOP, EISDIR, ENXIO].contains(code) { return nil }
            throw DiskProblem(code: code)
        }
        let file = Int32(truncatingIfNeeded: raw)
        var status = stat()
        // Safety: fstat fills the struct it is given.
        guard unsafe fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            _ = close(file)
            return nil
        }
        return (file, UInt64(clamping: status.st_size))
    }

    func removeBody(_ id: Int64) { remove(named: String(id), inShelf: Self.shelf(of: id)) }

    /// Opens one of the folders of bodies; `-errno` if there is none, or a symbolic link.
    private func openShelf(_ shelf: Int) -> OpenFile {
        let (parent, name) = (bodies.raw, Self.name(ofShelf: shelf))
        let result = DiskCall.value {
            // Safety: the name is NUL-terminated for the call.
            unsafe Int(openat(parent, name, Self.folderFlags | O_NOFOLLOW))
        }
        return OpenFile(owning: Int32(truncatingIfNeeded: result))
    }

    /// The names in one of the folders of bodies.
    func names(inShelf shelf: Int) -> [String] {
        Self.names(in: bodies.raw, Self.name(ofShelf: shelf))
    }

    /// The body that a name in a folder stands for; nil for a name that the store doesn't use.
    func id(named name: String, inShelf shelf: Int) -> Int64? {
        guard let id = Int64(name), Self.shelf(of: id) == shelf, String(id) == name else {
            return nil
        }
        return id
    }

    func remove(named name: String, inShelf shelf: Int) {
        let folder = openShelf(shelf)
        guard folder.raw >= 0 else { return }
        // Safety: the name is NUL-terminated for the call.
        _ = unsafe unlinkat(folder.raw, name, 0)
    }

    private static func shelf(of id: Int64) -> Int {
        Int(truncatingIfNeeded: id) & (shelves - 1)
    }

    private static func name(ofShelf shelf: Int) -> String {
        (shelf < 16 ? "0" : "") + String(shelf, radix: 16)
    }

    // MARK: Room

    /// Bytes of the file system that this user may still use; nil when that is unknown.
    var freeBytes: UInt64? {
        var status = statvfs()
        // Safety: fstatvfs fills the struct it is given.
        guard unsafe fstatvfs(root.raw, &status) == 0 else { return nil }
        return UInt64(status.f_bavail).multipliedReportingOverflow(by: UInt64(status.f_frsize))
            .partialValue
    }

    // MARK: The index

    /// The index's file; SQLite keeps its journal beside it.
    var indexPath: String { "\(path)/\(Self.indexName)" }

    private static let indexName = "index.sqlite"
    private static let journalSuffixes = ["", "-wal", "-shm", "-journal"]

    /// Makes the index's file, so that it and its journal have this user's permissions from the
    /// beginning.
    /// - Throws: `full`, `io`, or `damaged` if something other than a file has its name.
    func makeIndexFile() throws(DiskProblem) {
        for suffix in Self.journalSuffixes {
            var status = stat()
            // Safety: the name is NUL-terminated for the call, which fills the struct.
            let result = unsafe fstatat(
                root.raw,
                Self.indexName + suffix,
                &status,
                AT_SYMLINK_NOFOLLOW
            )
            if result == 0, status.st_mode & S_IFMT != S_IFREG { throw .damaged }
        }
        let flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC
        let file = OpenFile(
            owning: try DiskCall.check {
                // Safety: the name is NUL-terminated for the call.
                unsafe openat(root.raw, Self.indexName, flags, 0o600)
            }
        )
        try DiskCall.check { fchmod(file.raw, 0o600) }
    }

    /// Removes the index with its journal.
    func removeIndex() {
        for suffix in Self.journalSuffixes {
            // Safety: the name is NUL-terminated for the calls. A folder in the way goes if empty.
            if unsafe unlinkat(root.raw, Self.indexName + suffix, 0) != 0 {
                _ = unsafe unlinkat(root.raw, Self.indexName + suffix, AT_REMOVEDIR)
            }
        }
    }
}

// MARK: Taking the folder

extension DiskFolder {
    static func makeDirectories(_ path: String) throws(DiskProblem) {
        var prefix = path.hasPrefix("/") ? "/" : ""
        for part in path.split(separator: "/") {
            prefix += "\(part)/"
            let code = DiskCall.value {
                // Safety: the path is NUL-terminated for the call.
                unsafe Int(mkdir(prefix, 0o700))
            }
            if code == 0 || code == -Int(EEXIST) { continue }
            var status = stat()
            // A folder above ours may exist without write permission for this user.
            // Safety: the path is NUL-terminated for the call, which fills the struct.
            if unsafe stat(prefix, &status) == 0 { continue }
            throw DiskProblem(code: Int32(truncatingIfNeeded: -code))
        }
    }

    private static let folderFlags = O_RDONLY | O_DIRECTORY | O_CLOEXEC

    /// Opens the store's folder; follows a symbolic link only if this user or root owns it.
    static func openFolder(_ path: String) throws(DiskProblem) -> Int32 {
        var status = stat()
        // Safety: the path is NUL-terminated for the calls; lstat fills the struct.
        try DiskCall.check { unsafe lstat(path, &status) }
        if status.st_mode & S_IFMT == S_IFLNK, status.st_uid != geteuid(), status.st_uid != 0 {
            throw .foreignFolder(path: path)
        }
        return try DiskCall.check { unsafe open(path, folderFlags) }
    }

    /// Makes a folder inside the store's if it is missing, and opens it.
    static func openFolder(_ name: String, in root: Int32) throws(DiskProblem) -> Int32 {
        // Safety: the name is NUL-terminated for the calls.
        _ = unsafe mkdirat(root, name, 0o700)
        return try DiskCall.check { unsafe openat(root, name, folderFlags | O_NOFOLLOW) }
    }

    /// Refuses another user's folder, and removes other users' access to this user's own.
    static func makePrivate(_ root: Int32, path: String) throws(DiskProblem) {
        var status = stat()
        // Safety: fstat fills the struct it is given.
        try DiskCall.check { unsafe fstat(root, &status) }
        guard status.st_uid == geteuid() else { throw .foreignFolder(path: path) }
        guard status.st_mode & 0o7777 != 0o700 else { return }
        try DiskCall.check { fchmod(root, 0o700) }
    }

    /// Takes the lock, which the kernel releases when the process ends in any way.
    static func takeLock(in root: Int32, path: String) throws(DiskProblem) -> Int32 {
        let flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC
        let raw = try DiskCall.check {
            // Safety: the name is NUL-terminated for the call.
            unsafe openat(root, "lock", flags, 0o600)
        }
        do throws(DiskProblem) {
            try DiskCall.check { flock(raw, LOCK_EX | LOCK_NB) }
            try DiskCall.check { ftruncate(raw, 0) }
            try DiskCall.write(Array("\(getpid())\n".utf8).span, to: raw, at: 0)
            return raw
        } catch {
            let owner = Self.owner(inLock: raw)
            _ = close(raw)
            if error == .io(EWOULDBLOCK) { throw .inUse(path: path, pid: owner) }
            throw error
        }
    }

    private static func owner(inLock file: Int32) -> Int32? {
        var text = [UInt8](repeating: 0, count: 16)
        var room = text.mutableSpan
        guard let count = try? DiskCall.read(from: file, at: 0, into: &room, count: 16) else {
            return nil
        }
        return Int32(String(decoding: text.prefix(count).prefix { $0 > 0x20 }, as: UTF8.self))
    }

    /// The names in a folder, without `.` and `..`; empty if it can't be read.
    private static func names(in parent: Int32, _ folder: String) -> [String] {
        // Safety: the stream takes the descriptor over and is closed once, at the end.
        let raw = unsafe openat(parent, folder, folderFlags | O_NOFOLLOW)
        guard raw >= 0 else { return [] }
        guard let stream = unsafe fdopendir(raw) else {
            _ = close(raw)
            return []
        }
        defer { unsafe closedir(stream) }
        var names: [String] = []
        while let entry = unsafe readdir(stream) {
            guard let offset = MemoryLayout<dirent>.offset(of: \.d_name) else { break }
            // Safety: readdir's entry stays until the next call; its name is NUL-terminated.
            let start = unsafe UnsafeRawPointer(entry).advanced(by: offset)
            let name = unsafe String(cString: start.assumingMemoryBound(to: CChar.self))
            if name != "." && name != ".." { names.append(name) }
        }
        return names
    }
}
