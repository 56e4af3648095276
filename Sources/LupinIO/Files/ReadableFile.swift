// Opens files to serve, so that no name leads out of a folder. It blocks: for helper threads.
import CLinux
import Glibc

extension SystemError {
    /// There is no such file.
    package static let absence = SystemError(code: ENOENT)

    /// Whether a path names no file that may be served: there is none, a link leads out of the
    /// folder, the file may not be read, or it is no regular file.
    package var isDeadEnd: Bool {
        isAbsence || [EACCES, EINVAL, ELOOP, ENAMETOOLONG, EXDEV].contains(code)
    }
}

/// A regular file or a folder that is open for reading.
package struct ReadableFile: ~Copyable {
    package let descriptor: Descriptor
    package let isFolder: Bool
    /// Whether its mode lets its owner alone read it.
    package let isPrivate: Bool
    /// In bytes; 0 for a folder.
    package let length: UInt64
    /// When its content was changed last, in nanoseconds since 1970.
    package let modified: Int64

    /// Opens the file or folder at a path.
    /// - Throws: The error of open(2); EINVAL for a device, a pipe or a socket.
    package init(path: String) throws(SystemError) {
        let raw = try SystemCall.check {
            // Safety: the path is NUL-terminated for the call. Not blocking, lest a FIFO do.
            unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        }
        try self.init(owning: Descriptor(owning: raw))
    }

    /// Opens the file or folder `names` below `folder`; symbolic links may not lead out of it.
    ///
    /// `names` have no slash and no NUL, and none of them is `..`; without any it is the folder.
    /// - Throws: The error of open(2) or openat2(2): EXDEV where a link leads out.
    package init(_ names: [String], below folder: String) throws(SystemError) {
        let root = try SystemCall.check {
            // Safety: the path is NUL-terminated for the call.
            unsafe open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        }
        let base = Descriptor(owning: root)
        guard !names.isEmpty else {
            try self.init(owning: base)
            return
        }
        try self.init(owning: try Self.find(names, in: base))
    }

    private init(owning descriptor: consuming Descriptor) throws(SystemError) {
        let status = try Self.status(of: descriptor.raw)
        isFolder = status.st_mode & S_IFMT == S_IFDIR
        isPrivate = status.st_mode & (S_IRGRP | S_IROTH) == 0
        length = status.st_mode & S_IFMT == S_IFDIR ? 0 : UInt64(clamping: status.st_size)
        modified =
            Int64(status.st_mtim.tv_sec) &* 1_000_000_000 &+ Int64(status.st_mtim.tv_nsec)
        self.descriptor = descriptor
    }

    /// Gives up the descriptor, open, to another owner.
    package consuming func release() -> Int32 { descriptor.release() }

    private static func status(of raw: Int32) throws(SystemError) -> stat {
        var status = stat()
        // Safety: fstat fills the struct it is given.
        try SystemCall.check { unsafe fstat(raw, &status) }
        guard [S_IFDIR, S_IFREG].contains(status.st_mode & S_IFMT) else {
            throw SystemError(code: EINVAL)
        }
        return status
    }

    /// A rename elsewhere on the way makes the kernel give up, rarely.
    private static let attemptsMax = 8

    private static func find(
        _ names: [String],
        in base: borrowing Descriptor
    ) throws(SystemError) -> Descriptor {
        let path = names.joined(separator: "/")
        let root = base.raw
        for _ in 0..<attemptsMax {
            do throws(SystemError) {
                let raw = try SystemCall.check {
                    // Safety: the path is NUL-terminated for the call.
                    unsafe linux_open_below(root, path)
                }
                return Descriptor(owning: raw)
            } catch {
                // Kernels before 5.6, and containers whose filter doesn't know the call.
                if [ENOSYS, EPERM].contains(error.code) { return try walk(names, from: root) }
                guard error.code == EAGAIN else { throw error }
            }
        }
        throw SystemError(code: EAGAIN)
    }

    /// Does the same name by name, without following any symbolic link.
    private static func walk(
        _ names: [String],
        from root: Int32
    ) throws(SystemError) -> Descriptor {
        var current = Descriptor(owning: try SystemCall.check { dup(root) })
        for (index, name) in names.enumerated() {
            let isLast = index == names.count - 1
            let flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK
            let folder = current.raw
            let raw = try SystemCall.check {
                // Safety: the name is NUL-terminated for the call.
                unsafe openat(folder, name, isLast ? flags : flags | O_DIRECTORY)
            }
            current = Descriptor(owning: raw)
        }
        return current
    }
}
