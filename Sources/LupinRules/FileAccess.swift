// Reads the rules file and the secret files it names, with their owners and modes.

import CLinux
import Glibc
import LupinCore

/// The content of a file, and which other users have access to it.
package struct FileContents: Sendable {
    package var bytes: [UInt8]
    /// Whether group or others may read it.
    package var isOpenToOthers = false
    /// Whether root owns it on a read-only file system or a tmpfs, as containers mount secrets.
    package var isMountedByRoot = false

    package init(bytes: [UInt8]) { self.bytes = bytes }
}

/// The owner and mode of a file or directory, which decide who else could have changed it.
package struct FileStanding: Sendable, Equatable {
    package var path: String
    package var isDirectory: Bool
    /// Whether the effective user or root owns it.
    package var isOwnedByUserOrRoot: Bool
    /// Whether users besides this one and root may write to it.
    package var isWritableByOthers: Bool

    /// Whether only this user and root can change it.
    package var isOwn: Bool { isOwnedByUserOrRoot && !isWritableByOthers }

    package init(
        path: String,
        isDirectory: Bool,
        isOwnedByUserOrRoot: Bool = true,
        isWritableByOthers: Bool = false
    ) {
        self.path = path
        self.isDirectory = isDirectory
        self.isOwnedByUserOrRoot = isOwnedByUserOrRoot
        self.isWritableByOthers = isWritableByOthers
    }
}

/// The reason for which a file could not be read; it completes "cannot read PATH: …".
package struct FileProblem: Error, Sendable, Equatable {
    package var reason: String

    package init(_ reason: String) { self.reason = reason }
}

package enum FileAccess {
    /// A rules file with 10,000 rules has about 1 MiB.
    static let bytesMax = 16 << 20

    /// Reads the whole file at `path`.
    package static func read(_ path: String) throws(FileProblem) -> FileContents {
        let (bytes, status) = try wholeFile(path)
        var contents = FileContents(bytes: bytes)
        contents.isOpenToOthers = status.st_mode & 0o044 != 0
        if status.st_uid == 0, contents.isOpenToOthers {
            let table = (try? wholeFile("/proc/self/mountinfo"))?.bytes
            contents.isMountedByRoot = MountTable.isSecretMount(
                device: UInt64(status.st_dev),
                in: String(decoding: table ?? [], as: UTF8.self)
            )
        }
        return contents
    }

    private static func wholeFile(
        _ path: String
    ) throws(FileProblem) -> (bytes: [UInt8], status: stat) {
        // Safety: the string outlives the call, and no flag requires a third argument. Without
        // O_NONBLOCK, opening a named pipe without a writer would block. What a shell passes as
        // `<(…)` has a writer, which may take its time.
        let flags = O_RDONLY | O_CLOEXEC | (path.hasPrefix("/dev/fd/") ? 0 : O_NONBLOCK)
        let descriptor = unsafe open(path, flags)
        guard descriptor >= 0 else { throw problem(with: path) }
        defer { close(descriptor) }
        var status = stat()
        // Safety: `status` is ours and outlives the call.
        guard unsafe fstat(descriptor, &status) == 0 else { throw problem(with: path) }
        guard status.st_mode & S_IFMT != S_IFDIR else { throw FileProblem("it is a directory") }
        return (try readAll(descriptor), status)
    }

    /// What lets another user change the file or folder at `path`.
    ///
    /// That is itself, if it is there, and directories on the way that let it be replaced. The way
    /// leads from the root through the directory of every link.
    ///
    /// In a sticky directory, no other user can replace what belongs to this user or root; but they
    /// can add to it.
    package static func openWay(to path: String) -> [FileStanding] {
        var status = stat()
        // Safety: the string outlives the call, and `status` is ours.
        let file = unsafe stat(path, &status) == 0 ? standing(path, status) : nil
        return [file].compactMap { $0 }.filter { !$0.isOwn } + openDirectories(onTheWayTo: path)
    }

    private static func openDirectories(onTheWayTo path: String) -> [FileStanding] {
        var found: [FileStanding] = []
        var directory = ""
        var names = Array(
            (path.hasPrefix("/") ? path : "\(workingDirectory)/\(path)").reversedNames
        )
        var linksLeft = linksMax
        while let name = names.popLast() {
            if name == "." || name.isEmpty { continue }
            if name == ".." {
                directory = RulesFile.directory(of: directory)
                if directory == "/" || directory == "." { directory = "" }
                continue
            }
            let entry = "\(directory)/\(name)"
            var status = stat()
            // Safety: the string outlives the call, and `status` is ours.
            let isThere = unsafe lstat(entry, &status) == 0
            let standing = standing(
                ofDirectory: directory.isEmpty ? "/" : directory,
                with: isThere ? status : nil
            )
            if !standing.isOwn, !found.contains(standing) { found.append(standing) }
            guard isThere else { break }
            guard status.st_mode & S_IFMT == S_IFLNK else {
                directory = entry
                continue
            }
            linksLeft -= 1
            guard linksLeft > 0, let target = target(ofLink: entry) else { break }
            if target.hasPrefix("/") { directory = "" }
            names += target.reversedNames
        }
        return found
    }

    /// As many as the kernel follows.
    private static let linksMax = 40

    /// A path that means the same in every working directory.
    static func absolute(_ path: String) -> String {
        if path.hasPrefix("/") { return path }
        return path == "." ? workingDirectory : "\(workingDirectory)/\(path)"
    }

    private static var workingDirectory: String {
        // Safety: without a buffer of ours the call allocates one, which is freed once it is read.
        guard let path = unsafe getcwd(nil, 0) else { return "/" }
        defer { unsafe free(path) }
        return unsafe String(cString: path)
    }

    private static func target(ofLink path: String) -> String? {
        var bytes = [CChar](repeating: 0, count: Int(PATH_MAX))
        // Safety: the call writes no more than the given length into the array.
        let count = unsafe readlink(path, &bytes, bytes.count)
        guard count > 0 else { return nil }
        return String(decoding: bytes.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    private static func standing(ofDirectory path: String, with entry: stat?) -> FileStanding {
        var status = stat()
        // Safety: the string outlives the call, and `status` is ours.
        guard unsafe stat(path, &status) == 0 else {
            return FileStanding(path: path, isDirectory: true, isOwnedByUserOrRoot: false)
        }
        var standing = standing(path, status)
        if status.st_mode & S_ISVTX != 0, let entry, isOwnOrRoots(entry.st_uid) {
            standing.isWritableByOthers = false
        }
        return standing
    }

    private static func standing(_ path: String, _ status: stat) -> FileStanding {
        let mode = status.st_mode
        return FileStanding(
            path: path,
            isDirectory: mode & S_IFMT == S_IFDIR,
            isOwnedByUserOrRoot: isOwnOrRoots(status.st_uid),
            isWritableByOthers: mode & 0o002 != 0
                || mode & 0o020 != 0 && (!isPrivate(status.st_gid) || hasAccessList(path))
        )
    }

    private static func isOwnOrRoots(_ user: uid_t) -> Bool {
        user == geteuid() || user == 0 || user == unmappedUser && !isMapped(user)
    }

    /// Stands for all users of the machine that a user namespace doesn't know; there root is one
    /// of them.
    private static let unmappedUser: uid_t = 65534

    private static func isMapped(_ user: uid_t) -> Bool {
        guard let map = try? wholeFile("/proc/self/uid_map").bytes else { return true }
        return UserMap(table: map).outer(of: user) != nil
    }

    private static func isPrivate(_ group: gid_t) -> Bool {
        guard let groups = try? wholeFile("/etc/group").bytes,
            let users = try? wholeFile("/etc/passwd").bytes
        else { return false }
        return PrivateGroup.isPrivate(
            group,
            of: geteuid(),
            groups: String(decoding: groups, as: UTF8.self),
            users: String(decoding: users, as: UTF8.self)
        )
    }

    private static func hasAccessList(_ path: String) -> Bool {
        // Safety: the string outlives the call.
        unsafe linux_has_access_list(path) != 0
    }

    /// Whether something exists at `path`.
    static func exists(_ path: String) -> Bool {
        // Safety: the string outlives the call.
        unsafe access(path, F_OK) == 0
    }

    /// Whether this user may read what is at `path`.
    static func isReadable(_ path: String) -> Bool {
        // Safety: the string outlives the call.
        unsafe access(path, R_OK) == 0
    }

    /// Whether a path leads to a directory.
    static func isDirectory(_ path: String) -> Bool {
        var status = stat()
        // Safety: the path is NUL-terminated for the call, which fills the struct.
        return unsafe stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }

    /// Whether a path leads to a regular file.
    static func isFile(_ path: String) -> Bool {
        var status = stat()
        // Safety: the path is NUL-terminated for the call, which fills the struct.
        return unsafe stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
    }

    /// Whether a path leads to a regular file that the user may run.
    static func isProgram(_ path: String) -> Bool {
        // Safety: the string outlives the call.
        let mayRun = unsafe access(path, X_OK) == 0
        return mayRun && isFile(path)
    }

    /// The home directory: `HOME`, if that is a directory of the effective user, or else the one in
    /// the user database.
    static func home(_ environment: [String: String]) -> String? {
        var status = stat()
        // Safety: the path is NUL-terminated for the call, which fills the struct.
        if let own = environment["HOME"], own.hasPrefix("/"), unsafe stat(own, &status) == 0,
            status.st_uid == geteuid()
        {
            return own
        }
        // Safety: the entry is read before any other call could overwrite it.
        guard let entry = unsafe getpwuid(geteuid()), let home = unsafe entry.pointee.pw_dir else {
            return nil
        }
        return unsafe String(cString: home)
    }

    /// For the next bytes of a named pipe; a loop may be waiting.
    private static let pipeTimeout: CInt = 2000

    /// Waits for bytes, or for the end; false for a failed read of another kind, too.
    private static func isReadable(_ descriptor: CInt, withinMilliseconds time: CInt) -> Bool {
        var status = stat()
        // Safety: `status` is ours and outlives the call.
        guard unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFIFO else {
            return false
        }
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        // Safety: poll fills the one entry it is given.
        return unsafe poll(&entry, 1, time) > 0
    }

    private static func readAll(_ descriptor: CInt) throws(FileProblem) -> [UInt8] {
        var bytes: [UInt8] = []
        var block = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let size = block.count
            // Safety: the kernel writes at most `size` bytes into the block of that size.
            let count = unsafe block.withUnsafeMutableBytes {
                unsafe Glibc.read(descriptor, $0.baseAddress, size)
            }
            if count < 0, isReadable(descriptor, withinMilliseconds: pipeTimeout) { continue }
            guard count >= 0 else { throw FileProblem("reading it fails") }
            if count == 0 { return bytes }
            bytes += block[..<count]
            guard bytes.count <= bytesMax else { throw FileProblem("it is larger than 16MiB") }
        }
    }

    /// Finds the reason of a failure for users by probing the path again, without errno.
    private static func problem(with path: String) -> FileProblem {
        guard exists(path) else { return FileProblem("there is no such file") }
        // Safety: the string outlives the call.
        let isReadable = unsafe access(path, R_OK) == 0
        return FileProblem(isReadable ? "it cannot be opened" : "permission denied")
    }
}

/// Reads file systems from `/proc/self/mountinfo`.
package enum MountTable {
    /// Whether the device is a tmpfs or mounted read-only, as containers mount secrets.
    package static func isSecretMount(device: UInt64, in table: String) -> Bool {
        let major = device >> 8 & 0xFFF | device >> 32 & ~0xFFF
        let minor = device & 0xFF | device >> 12 & ~0xFF
        for line in table.split(separator: "\n") {
            let fields = line.split(separator: " ")
            guard fields.count > 6, fields[2] == "\(major):\(minor)",
                let dash = fields.firstIndex(of: "-"), dash + 1 < fields.count
            else { continue }
            let isReadOnly = fields[5].split(separator: ",").contains("ro")
            if isReadOnly || fields[dash + 1] == "tmpfs" { return true }
        }
        return false
    }
}

extension String {
    /// The names of a path, the last one first.
    fileprivate var reversedNames: [String] {
        split(separator: "/").reversed().map(String.init)
    }
}
