// Reads files that hold secrets, and reports which other users may access them.
import CLinux
import Glibc

/// Why a protected file can't be read or written; the description completes "PATH: …".
package enum ProtectedFileProblem: Error, Equatable, Sendable, CustomStringConvertible {
    case system(SystemError)
    /// A directory, a pipe or a device.
    case notRegular
    /// Longer than the given number of bytes.
    case tooLong(Int)
    /// The file exists and must not be replaced.
    case exists
    /// The directory belongs to another user, or other users may rename its files.
    case unsafeDirectory

    /// Whether there is no such file.
    package var isAbsence: Bool { self == .system(SystemError(code: ENOENT)) }

    package var description: String {
        switch self {
        case .system(let error): error.message
        case .notRegular: "it is no regular file"
        case .tooLong(let bytesMax): "it is longer than \(bytesMax) bytes"
        case .exists: "it is there already"
        case .unsafeDirectory: "its directory is another user's, or open for all to write"
        }
    }
}

/// The content of a protected file, wiped from memory at the end of its life.
@safe
package struct ProtectedContents: ~Copyable {
    /// The owner of the file.
    package enum Owner: Sendable { case ourselves, root, somebodyElse }

    private let storage: UnsafeMutablePointer<UInt8>
    private let capacity: Int
    private let count: Int
    package let owner: Owner
    /// Whether the file's group or all other users may read it.
    package let isOpenToOthers: Bool
    /// The device of the file, as `/proc/self/mountinfo` numbers it.
    package let device: UInt64

    fileprivate init(
        _ storage: UnsafeMutablePointer<UInt8>,
        capacity: Int,
        count: Int,
        status: stat
    ) {
        // Safety: the storage is this value's own from here on, and `count` ≤ `capacity`.
        unsafe self.storage = storage
        self.capacity = capacity
        self.count = count
        owner =
            status.st_uid == geteuid()
            ? .ourselves : status.st_uid == 0 ? .root : .somebodyElse
        isOpenToOthers = status.st_mode & 0o044 != 0
        device = UInt64(status.st_dev)
    }

    deinit {
        // Safety: no borrow of the bytes is left; explicit_bzero isn't optimised away.
        unsafe explicit_bzero(storage, capacity)
        unsafe storage.deallocate()
    }

    /// The bytes, lent as long as this value lives.
    package var bytes: Span<UInt8> {
        @_lifetime(borrow self)
        get {
            // Safety: the storage is neither changed nor freed while `self` is borrowed.
            let span = unsafe Span(_unsafeStart: storage, count: count)
            return unsafe _overrideLifetime(span, borrowing: self)
        }
    }
}

/// Files that hold secrets.
package enum ProtectedFile {
    /// Reads a whole file, and reports which other users may read it.
    ///
    /// Follows a symbolic link: secrets are mounted and shared that way, and a user who may set the
    /// link may replace the file too.
    /// - Parameters:
    ///   - path: The file's path.
    ///   - bytesMax: The longest content that is read.
    /// - Returns: The content, which exists in memory only once.
    /// - Throws: `system`, `notRegular` or `tooLong`.
    package static func read(
        _ path: String,
        bytesMax: Int = 1 << 20
    ) throws(ProtectedFileProblem) -> ProtectedContents {
        // O_NONBLOCK: opening a pipe without a writer must not hang.
        let flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY
        let file = Descriptor(
            // Safety: the path is NUL-terminated for the call.
            owning: try checked { unsafe open(path, flags) }
        )
        var status = stat()
        // Safety: fstat fills the struct it is given.
        try checked { unsafe fstat(file.raw, &status) }
        guard status.st_mode & S_IFMT == S_IFREG else { throw .notRegular }
        // Allocated once: a buffer that grows would leave copies of the secret in memory.
        let capacity = max(0, min(Int(status.st_size), bytesMax)) + 1
        let storage = UnsafeMutablePointer<UInt8>.allocate(capacity: capacity)
        var count = 0
        var failure: ProtectedFileProblem?
        while count < capacity {
            let result = SystemCall.value {
                // Safety: the kernel writes into the rest of the storage only.
                unsafe Glibc.read(file.raw, storage + count, capacity - count)
            }
            if result < 0 {
                failure = .system(SystemError(code: Int32(truncatingIfNeeded: -result)))
            }
            if result <= 0 { break }
            count += result
        }
        // Safety: the contents own the storage, and wipe it when an error is thrown here too.
        let contents = unsafe ProtectedContents(
            storage,
            capacity: capacity,
            count: count,
            status: status
        )
        if let failure { throw failure }
        guard count < capacity else { throw .tooLong(min(bytesMax, capacity - 1)) }
        return contents
    }

    @discardableResult
    static func checked(_ call: () -> Int32) throws(ProtectedFileProblem) -> Int32 {
        do throws(SystemError) { return try SystemCall.check(call) } catch { throw .system(error) }
    }
}
