// A temporary directory that no other user can read and that is removed with its owner.
import CLinux
import Glibc

/// A directory of mode 0700 for files that live as long as one command.
package struct PrivateFolder: ~Copyable {
    package let path: String
    private static let prefix = "lupin-"
    /// The length of its name, with six random letters.
    package static let nameLength = 12
    /// Locked (flock(2)) as long as it is in use: the kernel lets go of it with the process.
    private let lock: Descriptor?

    /// Makes a directory with a random name below `parent`.
    /// - Throws: The error of mkdtemp(3); EPERM where another user could put another directory in
    ///   its place.
    package init(in parent: String) throws(SystemError) {
        guard ProtectedFile.isClosed(parent) else { throw .unsafeDirectory }
        var name = Array("\(parent)/\(Self.prefix)XXXXXX".utf8CString)
        let code = SystemCall.value {
            // Safety: mkdtemp writes over the X's of the NUL-terminated array, nothing else.
            unsafe mkdtemp(&name) == nil ? -1 : 0
        }
        guard code == 0 else { throw SystemError(code: Int32(truncatingIfNeeded: -code)) }
        path = String(decoding: name.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
        lock = PrivateFolder.lock(path)
    }

    /// Holds the lock of a directory of this user's; nil if another process does.
    private static func lock(_ path: String) -> Descriptor? {
        // Safety: the path is NUL-terminated for the call.
        let raw = unsafe open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard raw >= 0 else { return nil }
        let descriptor = Descriptor(owning: raw)
        guard FileStatus(raw)?.user == geteuid(), flock(raw, LOCK_EX | LOCK_NB) == 0 else {
            return nil
        }
        return descriptor
    }

    /// In which a new directory may not have its lock yet, in seconds.
    private static let youth = 60

    /// Removes directories below `parent` whose process was killed.
    package static func removeAbandoned(in parent: String) {
        for name in entries(of: parent) where name.hasPrefix(prefix) && name.count == nameLength {
            let path = "\(parent)/\(name)"
            guard let lock = lock(path) else { continue }
            if let status = FileStatus(lock.raw), status.modified[0] < time(nil) - youth {
                removeTree(path, depth: 0)
            }
        }
    }

    /// Removes it now instead of at the end of its life.
    package consuming func remove() {}

    deinit { PrivateFolder.removeTree(path, depth: 0) }

    /// The greatest depth of a tree that is removed: tools nest caches, and a loop of mounts must
    /// end.
    private static let depthMax = 64

    private static func removeTree(_ path: String, depth: Int) {
        guard depth < depthMax else { return }
        // Never through a symbolic link: unlink(2) removes the link itself.
        // Safety: paths are NUL-terminated for the calls.
        if unsafe unlink(path) == 0 { return }
        for name in entries(of: path) { removeTree("\(path)/\(name)", depth: depth + 1) }
        _ = unsafe rmdir(path)
    }

    private static func hasNoRights(_ path: String) -> Bool {
        var status = stat()
        // Safety: the path is NUL-terminated for the call, which fills the struct.
        return unsafe lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
            && status.st_mode & 0o500 != 0o500
    }

    private static func entries(of path: String) -> [String] {
        let flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC
        // Safety: the stream takes the descriptor over and is closed once, at the end.
        let raw = unsafe open(path, flags)
        guard raw >= 0 else {
            // As overlays leave one behind; what can't be listed is no link.
            guard hasNoRights(path), unsafe chmod(path, 0o700) == 0 else { return [] }
            return entries(of: path)
        }
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

/// Whole files of this user.
package enum WholeFile {
    /// Replaces a file atomically: readers see the old content or the new one.
    ///
    /// - Parameters:
    ///   - bytes: The new content.
    ///   - path: The file's path; its directory must exist.
    ///   - isExecutable: Whether its owner may run it.
    /// - Throws: The kernel's error.
    package static func write(
        _ bytes: [UInt8],
        to path: String,
        isExecutable: Bool = false
    ) throws(SystemError) {
        // Another user can't foresee the name, and so can't put a link there.
        let temporary = "\(path).\(UInt64.random(in: .min ... .max))"
        try replace(path, with: bytes, by: temporary, mode: isExecutable ? 0o700 : 0o600)
    }

    /// Replaces a file atomically; it keeps its mode, or has 0600 if it is new.
    ///
    /// Missing folders are made, for this user alone.
    /// - Throws: The kernel's error.
    package static func rewrite(
        _ path: String,
        with bytes: [UInt8]
    ) throws(SystemError) {
        var status = stat()
        // Safety: the path is NUL-terminated for the call, which fills the struct.
        let isThere = unsafe stat(path, &status) == 0
        if !isThere { try makeFolders(above: path) }
        try replace(
            path,
            with: bytes,
            by: "\(path).\(UInt64.random(in: .min ... .max))",
            mode: isThere ? status.st_mode & 0o777 : 0o600,
            ignoringUmask: true
        )
    }

    private static func makeFolders(above path: String) throws(SystemError) {
        let folder = ProtectedFile.parts(of: path).folder
        if folder == path || PublicFile.exists(folder) { return }
        try makeFolders(above: folder)
        do throws(SystemError) {
            // Safety: the path is NUL-terminated for the call.
            try SystemCall.check { unsafe mkdir(folder, 0o700) }
        } catch {
            // Another process may have made it meanwhile.
            if error.code != EEXIST { throw error }
        }
    }

    /// Writes a new file called `temporary`, which then becomes `path`.
    ///
    /// The umask clears bits of `mode`, unless it is ignored.
    static func replace(
        _ path: String,
        with bytes: [UInt8],
        by temporary: String,
        mode: mode_t,
        ignoringUmask: Bool = false
    ) throws(SystemError) {
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
        let descriptor = Descriptor(
            // Safety: the path is NUL-terminated for the call.
            owning: try SystemCall.check { unsafe open(temporary, flags, mode) }
        )
        do throws(SystemError) {
            var written = 0
            while written < bytes.count {
                let count = SystemCall.value {
                    // Safety: the kernel reads what is left of the array, no more.
                    unsafe bytes[written...].withUnsafeBytes {
                        unsafe Glibc.write(descriptor.raw, $0.baseAddress, $0.count)
                    }
                }
                guard count > 0 else {
                    throw SystemError(code: count == 0 ? ENOSPC : Int32(truncatingIfNeeded: -count))
                }
                written += count
            }
            if ignoringUmask { try SystemCall.check { fchmod(descriptor.raw, mode) } }
            descriptor.close()
            try FileRename.rename(temporary, to: path)
        } catch {
            try? FileRename.remove(temporary)
            throw error
        }
    }

    /// The content of a file; nil when it cannot be read or is not a regular file.
    package static func content(of path: String, bytesMax: Int = 16 << 20) -> [UInt8]? {
        guard FileStatus(path: path)?.isRegular == true else { return nil }
        return ProcessFiles.content(of: path, bytesMax: bytesMax)
    }

    /// Makes a directory of mode 0700 and its missing parents; existing ones stay as they are.
    /// - Throws: The error of mkdir(2).
    package static func makeDirectories(_ path: String) throws(SystemError) {
        var parents: [Substring] = []
        for part in path.split(separator: "/") {
            parents.append(part)
            let prefix = (path.hasPrefix("/") ? "/" : "") + parents.joined(separator: "/")
            let code = SystemCall.value {
                // Safety: the path is NUL-terminated for the call.
                unsafe Int(mkdir(prefix, 0o700))
            }
            if code < 0, code != -Int(EEXIST) {
                // A parent directory may be one that this process may not search.
                if FileStatus(path: prefix) != nil { continue }
                throw SystemError(code: Int32(truncatingIfNeeded: -code))
            }
        }
    }
}

extension SystemError {
    /// A directory is not safe: another user could change what is put there.
    package static let unsafeDirectory = SystemError(code: EPERM)
}
