// The content of a small file, and whether it has changed since. It blocks: for helper threads.
import CLinux
import Glibc

/// Distinguishes one version of a file from another.
package struct FileVersion: Equatable, Sendable {
    private let device: UInt64
    private let inode: UInt64
    private let size: Int64
    /// In nanoseconds since 1970.
    private let modified: Int64
    private let changed: Int64

    /// The version of what a path leads to; nil when there is nothing.
    package init?(path: String) {
        var status = stat()
        // Safety: the path is NUL-terminated for the call, which fills the struct.
        guard unsafe stat(path, &status) == 0 else { return nil }
        self.init(status)
    }

    init?(_ descriptor: borrowing Descriptor) {
        var status = stat()
        // Safety: fstat fills the struct it is given.
        guard unsafe fstat(descriptor.raw, &status) == 0 else { return nil }
        self.init(status)
    }

    private init(_ status: stat) {
        device = UInt64(status.st_dev)
        inode = UInt64(status.st_ino)
        size = Int64(status.st_size)
        modified = Int64(status.st_mtim.tv_sec) &* 1_000_000_000 &+ Int64(status.st_mtim.tv_nsec)
        changed = Int64(status.st_ctim.tv_sec) &* 1_000_000_000 &+ Int64(status.st_ctim.tv_nsec)
    }

    /// Whether a later change would show.
    ///
    /// File times advance in steps, so a file that was changed just before `now` (microseconds
    /// since 1970) may change again without a new time.
    package func isSettled(at now: Int64 = SystemCall.wallMicroseconds()) -> Bool {
        now &- changed / 1000 > Self.stepMicroseconds
    }

    /// Some file systems count in whole seconds.
    private static let stepMicroseconds: Int64 = 2_000_000
}

/// A file that was read whole.
package struct FileContent: Sendable {
    package let bytes: [UInt8]
    /// The version when reading began.
    package let version: FileVersion?

    /// Reads a file; a file longer than `bytesMax` yields one byte more than that.
    /// - Throws: The error of open(2) or read(2).
    package init(path: String, bytesMax: Int) throws(SystemError) {
        let raw = try SystemCall.check {
            // Safety: the path is NUL-terminated for the call. O_NONBLOCK, since a FIFO would
            // block.
            unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        }
        let descriptor = Descriptor(owning: raw)
        version = FileVersion(descriptor)
        var bytes: [UInt8] = []
        var block = [UInt8](repeating: 0, count: 16 << 10)
        while bytes.count <= bytesMax {
            let count = SystemCall.value {
                // Safety: the kernel writes `count` bytes at most, all inside the block.
                unsafe block.withUnsafeMutableBytes {
                    unsafe read(descriptor.raw, $0.baseAddress, $0.count)
                }
            }
            guard count >= 0 else { throw SystemError(code: Int32(truncatingIfNeeded: -count)) }
            if count == 0 { break }
            bytes.append(contentsOf: block[..<min(count, bytesMax + 1 - bytes.count)])
        }
        self.bytes = bytes
    }
}
