// Writes files that hold secrets: atomically, and for this user alone.
import CLinux
import Glibc

extension ProtectedFile {
    /// Writes a file that only this user may read, so that it always has its old or its new
    /// content.
    ///
    /// The content goes to a temporary file in the same directory, and is flushed to disk before
    /// that file gets the name. Missing directories are made for this user alone.
    /// - Parameters:
    ///   - bytes: The new content.
    ///   - path: The file's path.
    ///   - replacing: Whether to replace an existing file.
    /// - Throws: `exists`, `unsafeDirectory` or `system`.
    package static func write(
        _ bytes: Span<UInt8>,
        to path: String,
        replacing: Bool
    ) throws(ProtectedFileProblem) {
        let (folder, name) = parts(of: path)
        let directory = try openDirectory(folder, makingIt: true)
        let word = UInt64.random(in: .min ... .max)
        let temporary = "\(temporaryPrefix(name))\(String(word, radix: 16))"
        let written = try fill(temporary, in: directory, bytes)
        do throws(ProtectedFileProblem) {
            try publish(temporary, as: name, in: directory, replacing: replacing)
        } catch {
            _ = try? checked { unsafe unlinkat(directory.raw, temporary, 0) }
            throw error
        }
        try flush(directory)
        removeAbandoned(of: name, in: folder, directory, now: written)
    }

    /// Waits for the lock on a file, and takes it.
    ///
    /// The kernel releases it when the holder ends in any way. The file stays: removing it would
    /// let two processes lock two files of the same name.
    /// - Parameter path: The lock file, which is made if it is missing.
    /// - Returns: The lock, held until the end of its life.
    /// - Throws: `unsafeDirectory` or `system`.
    package static func lock(_ path: String) throws(ProtectedFileProblem) -> Descriptor {
        let file = try openLock(path)
        try checked { flock(file.raw, LOCK_EX) }
        return file
    }

    /// Takes a lock as `lock` does, but never waits.
    /// - Returns: nil when another process holds it.
    package static func tryLock(_ path: String) throws(ProtectedFileProblem) -> Descriptor? {
        let file = try openLock(path)
        do throws(ProtectedFileProblem) {
            try checked { flock(file.raw, LOCK_EX | LOCK_NB) }
        } catch {
            if error == .system(SystemError(code: EWOULDBLOCK)) { return nil }
            throw error
        }
        return file
    }

    private static func openLock(_ path: String) throws(ProtectedFileProblem) -> Descriptor {
        let (folder, name) = parts(of: path)
        let directory = try openDirectory(folder, makingIt: true)
        let flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK
        let file = Descriptor(
            // Safety: the name is NUL-terminated for the call.
            owning: try checked { unsafe openat(directory.raw, name, flags, 0o600) }
        )
        return file
    }

    // MARK: Steps

    /// Makes a new file with this content on disk; returns the file system's time.
    private static func fill(
        _ name: String,
        in directory: borrowing Descriptor,
        _ bytes: Span<UInt8>
    ) throws(ProtectedFileProblem) -> Int {
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
        let folder = directory.raw
        let file = Descriptor(
            // Safety: the name is NUL-terminated for the call.
            owning: try checked { unsafe openat(folder, name, flags, 0o600) }
        )
        do throws(ProtectedFileProblem) {
            var written = 0
            while written < bytes.count {
                let rest = bytes.extracting(written..<bytes.count)
                let result = SystemCall.value {
                    // Safety: the kernel reads `count` bytes at most, all inside the span.
                    unsafe rest.withUnsafeBytes {
                        unsafe Glibc.write(file.raw, $0.baseAddress, $0.count)
                    }
                }
                guard result > 0 else {
                    throw .system(SystemError(code: Int32(truncatingIfNeeded: -result)))
                }
                written += result
            }
            // The umask may have cleared this user's own permissions.
            try checked { fchmod(file.raw, 0o600) }
            try checked { fsync(file.raw) }
            var status = stat()
            // Safety: fstat fills the struct it is given.
            try checked { unsafe fstat(file.raw, &status) }
            return status.st_mtim.tv_sec
        } catch {
            // Safety: the name is NUL-terminated for the call.
            _ = try? checked { unsafe unlinkat(folder, name, 0) }
            throw error
        }
    }

    /// Gives the finished file its name.
    private static func publish(
        _ temporary: String,
        as name: String,
        in directory: borrowing Descriptor,
        replacing: Bool
    ) throws(ProtectedFileProblem) {
        let folder = directory.raw
        // Safety: both names are NUL-terminated for the calls.
        guard !replacing else {
            try checked { unsafe renameat(folder, temporary, folder, name) }
            return
        }
        // Unlike a rename, a link fails where the name exists.
        do throws(ProtectedFileProblem) {
            try checked { unsafe linkat(folder, temporary, folder, name, 0) }
        } catch {
            throw error == .system(SystemError(code: EEXIST)) ? .exists : error
        }
        try checked { unsafe unlinkat(folder, temporary, 0) }
    }

    /// Opens a directory whose files no other user can replace.
    static func openDirectory(
        _ path: String,
        makingIt: Bool
    ) throws(ProtectedFileProblem) -> Descriptor {
        let flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC
        let raw: Int32
        do throws(ProtectedFileProblem) {
            // Safety: the path is NUL-terminated for the call.
            raw = try checked { unsafe open(path, flags) }
        } catch {
            guard makingIt, error.isAbsence else { throw error }
            try makeDirectory(path)
            return try openDirectory(path, makingIt: false)
        }
        let directory = Descriptor(owning: raw)
        var status = stat()
        // Safety: fstat fills the struct it is given.
        try checked { unsafe fstat(directory.raw, &status) }
        guard isClosed(status) else { throw .unsafeDirectory }
        return directory
    }

    /// Whether no other user may rename what this user puts into a directory; true where there is
    /// none.
    static func isClosed(_ path: String) -> Bool {
        var status = stat()
        // Safety: the path is NUL-terminated for the call, which fills the struct.
        return unsafe stat(path, &status) != 0 || isClosed(status)
            || isSystems(path, status)
    }

    /// Whether it is the machine's own folder for temporary files, as a user namespace without
    /// the machine's root sees it.
    private static func isSystems(_ path: String, _ status: stat) -> Bool {
        ["/tmp", "/var/tmp"].contains(path) && status.st_uid == unmappedUser
            && status.st_mode & S_ISVTX != 0 && ProcessOwner.outerUserNumber != nil
    }

    /// Stands for all users of the machine that a user namespace doesn't know.
    private static let unmappedUser: uid_t = 65534

    private static func isClosed(_ status: stat) -> Bool {
        let isOurs = status.st_uid == geteuid() || status.st_uid == 0
        // With the sticky bit, as on /tmp, only the owner of a file renames or removes it.
        return isOurs && (status.st_mode & 0o002 == 0 || status.st_mode & S_ISVTX != 0)
    }

    /// Makes a directory for this user alone, and its parents; the path's length bounds the depth.
    private static func makeDirectory(_ path: String) throws(ProtectedFileProblem) {
        let (above, name) = parts(of: path)
        guard !name.isEmpty, above != path else {
            throw .system(SystemError(code: ENOENT))
        }
        let directory = try openDirectory(above, makingIt: true)
        do throws(ProtectedFileProblem) {
            // Safety: the name is NUL-terminated for the call.
            try checked { unsafe mkdirat(directory.raw, name, 0o700) }
        } catch {
            // Another process may have made it meanwhile.
            guard error == .system(SystemError(code: EEXIST)) else { throw error }
        }
        try flush(directory)
    }

    /// Flushes the names in a directory to disk.
    private static func flush(
        _ directory: borrowing Descriptor
    ) throws(ProtectedFileProblem) {
        let folder = directory.raw
        do throws(ProtectedFileProblem) {
            try checked { fsync(folder) }
        } catch {
            // Some FUSE file systems can't flush a directory.
            guard error == .system(SystemError(code: EINVAL)) else { throw error }
        }
    }

    // MARK: What a killed process left

    /// Older unfinished files are abandoned: writing one takes milliseconds.
    private static let abandonedSeconds = 600

    private static func temporaryPrefix(_ name: String) -> String { ".\(name).new-" }

    /// Removes the unfinished files of killed processes, since these hold secrets too.
    private static func removeAbandoned(
        of name: String,
        in folder: String,
        _ directory: borrowing Descriptor,
        now: Int
    ) {
        let prefix = temporaryPrefix(name)
        let entries = (try? ProcessFiles.names(in: folder)) ?? []
        for entry in entries where entry.hasPrefix(prefix) {
            var status = stat()
            // Safety: the name is NUL-terminated for the calls; fstatat fills the struct.
            guard unsafe fstatat(directory.raw, entry, &status, AT_SYMLINK_NOFOLLOW) == 0,
                status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid(),
                status.st_mtim.tv_sec < now - abandonedSeconds
            else { continue }
            unsafe unlinkat(directory.raw, entry, 0)
        }
    }

    /// The directory and the last component of a path; trailing slashes are ignored.
    package static func parts(of path: String) -> (folder: String, name: String) {
        var trimmed = path[...]
        while trimmed.count > 1, trimmed.hasSuffix("/") { trimmed.removeLast() }
        guard let slash = trimmed.lastIndex(of: "/") else { return (".", String(trimmed)) }
        let name = String(trimmed[trimmed.index(after: slash)...])
        return (slash == trimmed.startIndex ? "/" : String(trimmed[..<slash]), name)
    }
}
