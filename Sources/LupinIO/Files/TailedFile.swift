// Reads a file that others append to, rename and truncate. It blocks: for commands, not for loops.
import CLinux
import Glibc

/// A file or standard input, read from the start and then as it grows.
package struct TailedFile: ~Copyable {
    private let path: String?
    private var descriptor: Descriptor?
    private var position = 0
    private var identity: [UInt64] = []

    /// Opens `path`, or takes standard input for nil.
    /// - Throws: The error of open(2).
    package init(path: String?) throws(SystemError) {
        self.path = path
        if path != nil { try open() }
    }

    /// Appends what can be read now, at most 64 KiB.
    ///
    /// Returns false at the current end.
    /// - Throws: The error of read(2).
    package mutating func read(into bytes: inout [UInt8]) throws(SystemError) -> Bool {
        let raw = descriptor?.raw ?? STDIN_FILENO
        var block = [UInt8](repeating: 0, count: 64 << 10)
        let count = SystemCall.value {
            // Safety: the kernel writes `count` bytes at most, all inside the block.
            unsafe block.withUnsafeMutableBytes { unsafe Glibc.read(raw, $0.baseAddress, $0.count) }
        }
        guard count >= 0 else { throw SystemError(code: Int32(truncatingIfNeeded: -count)) }
        bytes.append(contentsOf: block[..<count])
        position += count
        return count > 0
    }

    /// Whether the path leads to another file now, or the file has become shorter.
    ///
    /// Standard input never changes.
    package var hasRotated: Bool {
        guard let path, let now = FileStatus(path: path) else { return false }
        return now.identity != identity || (now.isRegular && now.size < position)
    }

    /// Waits for the file to grow.
    package static func pause(milliseconds: Int32) {
        poll(nil, 0, milliseconds)
    }

    /// Reopens the path and starts at its beginning, if the file exists.
    ///
    /// Read the old file to its end first: lines may have been appended until it was renamed.
    /// - Throws: The error of open(2).
    package mutating func reopen() throws(SystemError) {
        do throws(SystemError) {
            try open()
        } catch {
            if error.code != ENOENT { throw error }
        }
    }

    private mutating func open() throws(SystemError) {
        guard let path else { return }
        let raw = try SystemCall.check {
            // Safety: the path is NUL-terminated for the call.
            unsafe Glibc.open(path, O_RDONLY | O_CLOEXEC)
        }
        descriptor = Descriptor(owning: raw)
        position = 0
        identity = FileStatus(raw)?.identity ?? []
    }
}
