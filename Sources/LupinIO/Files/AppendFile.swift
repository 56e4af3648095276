// Appends lines to a file, or to one of the process's standard streams.
import CLinux
import Glibc

/// An open destination for whole lines.
///
/// It blocks, so it belongs to a helper thread.
package struct AppendFile: ~Copyable {
    /// Where to append.
    package enum Destination: Sendable, Equatable {
        case standardOutput, standardError
        case file(String)
    }

    /// Bytes that a pipe which reported room takes without blocking (POSIX's PIPE_BUF).
    private static let pieceBytes = 4096

    private let descriptor: Descriptor?
    private let raw: Int32
    /// A regular file: its size can be limited, and a write does not wait for a reader.
    package let isRegularFile: Bool
    /// Size of a regular file in bytes.
    package private(set) var size: Int

    /// Opens the place.
    ///
    /// A file is made with mode 0600; a symbolic link is refused, and what another user has put
    /// there.
    /// - Throws: The error of open(2); ELOOP for a symbolic link; `foreignFile`, `openFile`,
    ///   `sharedFile`.
    package init(_ destination: Destination) throws(SystemError) {
        switch destination {
        case .standardOutput:
            descriptor = nil
            raw = STDOUT_FILENO
        case .standardError:
            descriptor = nil
            raw = STDERR_FILENO
        case .file(let path):
            // O_NONBLOCK: opening a FIFO without a reader must fail, not hang.
            let flags = O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK
            let opened = try SystemCall.check {
                // Safety: the path is NUL-terminated for the call.
                unsafe open(path, flags, 0o600)
            }
            let owner = Descriptor(owning: opened)
            if let refusal = FileStatus(opened).map(\.refusal) ?? .foreignFile { throw refusal }
            if GroupAccess.admitsStrangers(to: opened) { throw .openFile }
            descriptor = consume owner
            raw = opened
        }
        let status = FileStatus(raw)
        isRegularFile = status?.isRegular ?? false
        size = isRegularFile ? status?.size ?? 0 : 0
    }

    /// Why a file was not opened, and what helps.
    package static func reason(_ error: SystemError, of path: String) -> String {
        switch error {
        case SystemError(code: ELOOP): "it is a link: name its target"
        case .foreignFile, .sharedFile: "\(error.message); name another file, or remove this one"
        case .openFile: "\(error.message); chmod go-w \(path) ends that"
        default: error.message
        }
    }

    /// Writes all of `bytes`.
    ///
    /// Returns how many were written and, if not all were, the error.
    ///
    /// While a pipe or terminal takes nothing, it calls `mayWait` every 100 ms; false gives up.
    package mutating func write(
        _ bytes: Span<UInt8>,
        mayWait: () -> Bool
    ) -> (written: Int, error: SystemError?) {
        var written = 0
        while written < bytes.count {
            if !isRegularFile {
                guard hasRoom(mayWait) else { return (written, .wouldBlock) }
            }
            let end = isRegularFile ? bytes.count : min(bytes.count, written + Self.pieceBytes)
            let rest = bytes.extracting(written..<end)
            let result = SystemCall.value {
                // Safety: the kernel reads `count` bytes at most, all inside the span.
                unsafe rest.withUnsafeBytes { unsafe Glibc.write(raw, $0.baseAddress, $0.count) }
            }
            if result == -Int(EAGAIN) { continue }
            guard result > 0 else {
                return (written, SystemError(code: Int32(truncatingIfNeeded: -result)))
            }
            written += result
            size &+= result
        }
        return (written, nil)
    }

    /// Waits until a write is possible.
    ///
    /// Returns false when `mayWait` returned false.
    private func hasRoom(_ mayWait: () -> Bool) -> Bool {
        while true {
            var entry = pollfd(fd: raw, events: Int16(POLLOUT), revents: 0)
            // Safety: poll only uses the one entry it is given.
            let ready = SystemCall.value { unsafe Int(poll(&entry, 1, 100)) }
            if ready != 0 { return true }
            if !mayWait() { return false }
        }
    }
}

/// What fstat(2) says about an open file.
package struct FileStatus: Equatable, Sendable {
    package let isRegular: Bool
    package let size: Int
    /// The user who owns it.
    package let user: UInt32
    /// Device and inode: they identify the file whatever its name is now.
    package let identity: [UInt64]
    /// When its content was changed, in seconds since 1970 and nanoseconds.
    package let modified: [Int]

    /// Returns nil when fstat(2) fails.
    package init?(_ descriptor: Int32) {
        var status = stat()
        // Safety: fstat fills the struct it is given.
        guard unsafe fstat(descriptor, &status) == 0 else { return nil }
        self.init(status)
    }

    /// The status of what a path leads to; nil when there is nothing.
    package init?(path: String) {
        var status = stat()
        // Safety: the path is NUL-terminated for the call, which fills the struct.
        guard unsafe stat(path, &status) == 0 else { return nil }
        self.init(status)
    }

    /// The status of what is at a path itself, be it a link; nil when there is nothing.
    package init?(itself path: String) {
        var status = stat()
        // Safety: the path is NUL-terminated for the call, which fills the struct.
        guard unsafe lstat(path, &status) == 0 else { return nil }
        self.init(status)
    }

    /// Whether this user may run the file.
    package static func isExecutable(_ path: String) -> Bool {
        // Safety: the path is NUL-terminated for the call.
        unsafe access(path, X_OK) == 0
    }

    /// Why others than this user and root can have made it, may change it, or have a name for it;
    /// devices are the system's affair.
    fileprivate let refusal: SystemError?

    /// Whether it is this user's, and neither the group nor others have any right to it.
    package let isPrivate: Bool
    /// Whether folders may lie in it: many file systems count them.
    package let mayHoldFolders: Bool

    private init(_ status: stat) {
        let kind = status.st_mode & S_IFMT
        refusal =
            if kind == S_IFCHR {
                nil
            } else if status.st_uid != geteuid(), status.st_uid != 0 {
                .foreignFile
            } else if status.st_mode & 0o002 != 0 {
                .openFile
            } else {
                kind == S_IFREG && status.st_nlink > 1 ? .sharedFile : nil
            }
        isPrivate = status.st_uid == geteuid() && status.st_mode & 0o077 == 0
        mayHoldFolders = kind == S_IFDIR && status.st_nlink != 2
        isRegular = kind == S_IFREG
        size = Int(status.st_size)
        user = status.st_uid
        identity = [UInt64(status.st_dev), UInt64(status.st_ino)]
        modified = [status.st_mtim.tv_sec, status.st_mtim.tv_nsec]
    }
}

/// Renames that keep old log files.
package enum FileRename {
    /// Renames a file atomically, and replaces any file with the new name.
    /// - Throws: The error of rename(2).
    package static func rename(_ from: String, to target: String) throws(SystemError) {
        _ = try SystemCall.check {
            // Safety: both paths are NUL-terminated for the call.
            unsafe Glibc.rename(from, target)
        }
    }

    /// Removes a name.
    /// - Throws: The error of unlink(2).
    package static func remove(_ path: String) throws(SystemError) {
        _ = try SystemCall.check {
            // Safety: the path is NUL-terminated for the call.
            unsafe unlink(path)
        }
    }
}
