// A nameless temporary file for bytes that do not fit in memory.
import CLinux
import Glibc

/// Bytes that did not fit in memory, appended once and read as often as needed.
///
/// The file has no name: no other process can open it, and its space is freed when it is closed,
/// even when the process is killed.
///
/// Writes and reads usually copy to and from the page cache, so they run on the loop. Nothing is
/// ever flushed: after a crash the bytes are not needed.
///
/// Not Sendable: it belongs to one loop.
package final class SpillFile {
    private let file: Descriptor
    private var bytes: UInt64 = 0

    /// Opens an empty file.
    /// - Parameter folder: A directory on the file system that provides the space.
    /// - Throws: The error of open(2).
    package convenience init(in folder: String) throws(SystemError) {
        self.init(owning: try Self.open(in: folder))
    }

    /// Takes ownership of an empty file that is open for reading and writing.
    package init(owning file: consuming Descriptor) { self.file = file }

    /// How many bytes were appended.
    package var count: UInt64 { bytes }
    package var isEmpty: Bool { bytes == 0 }

    /// Appends bytes.
    ///
    /// A failure appends nothing: bytes written before it are not part of the content, and the next
    /// append overwrites them.
    /// - Throws: The error of pwrite(2): ENOSPC or EDQUOT when no space is left.
    package func append(_ bytes: Span<UInt8>) throws(SystemError) {
        // File offsets are signed in the kernel.
        guard let start = Int(exactly: self.bytes), bytes.count <= Int.max - start else {
            throw SystemError(code: EFBIG)
        }
        let raw = file.raw
        var written = 0
        while written < bytes.count {
            let rest = bytes.extracting(written..<bytes.count)
            let offset = start + written
            let result = SystemCall.value {
                // Safety: the kernel reads `count` bytes at most, all inside the span.
                unsafe rest.withUnsafeBytes {
                    unsafe pwrite(raw, $0.baseAddress, $0.count, offset)
                }
            }
            // Bytes were requested, so a result of 0 is a failure too.
            guard result != 0 else { throw SystemError(code: EIO) }
            guard result > 0 else { throw SystemError(code: Int32(truncatingIfNeeded: -result)) }
            written += result
        }
        self.bytes += UInt64(written)
    }

    /// Copies bytes from the file into `room`, as many as fit and are there.
    ///
    /// - Parameters:
    ///   - offset: The first byte to copy; at or after the end nothing is copied.
    ///   - room: The span to overwrite from its beginning.
    /// - Returns: How many bytes were copied: 0 only at the end, or if `room` is empty.
    /// - Throws: The error of pread(2); EIO where the file has become shorter.
    package func read(
        at offset: UInt64,
        into room: inout MutableSpan<UInt8>
    ) throws(SystemError) -> Int {
        guard offset < bytes, let start = Int(exactly: offset) else { return 0 }
        let wanted = Int(min(UInt64(room.count), bytes - offset))
        let raw = file.raw
        var done = 0
        while done < wanted {
            let (from, already) = (start + done, done)
            let result = unsafe room.withUnsafeMutableBytes { target in
                SystemCall.value {
                    // Safety: `wanted` is no more than the span has, and `already` is below it.
                    guard let base = target.baseAddress else { return 0 }
                    return unsafe pread(raw, base + already, wanted - already, from)
                }
            }
            guard result != 0 else { throw SystemError(code: EIO) }
            guard result > 0 else { throw SystemError(code: Int32(truncatingIfNeeded: -result)) }
            done += result
        }
        return done
    }

    /// Reads as `read(at:into:)` does, over an array's existing elements.
    package func read(
        at offset: UInt64,
        into array: inout [UInt8]
    ) throws(SystemError) -> Int {
        var room = array.mutableSpan
        return try read(at: offset, into: &room)
    }

    // MARK: Opening

    /// Another file may have the random name; more collisions than this are an error.
    private static let attemptsMax = 4

    private static func open(in folder: String) throws(SystemError) -> Descriptor {
        do throws(SystemError) {
            // Safety: the path is NUL-terminated for the call.
            let raw = try SystemCall.check { unsafe linux_nameless_file(folder) }
            return Descriptor(owning: raw)
        } catch {
            // The file system has no nameless files; kernels without the flag report a directory,
            // or a missing file.
            guard [EOPNOTSUPP, EISDIR, ENOENT].contains(error.code) else { throw error }
            return try openNamed(in: folder)
        }
    }

    /// Opens a new file for this user alone and unlinks it while it is still empty.
    ///
    /// For file systems without nameless files; a process that is killed in between leaves an empty
    /// file.
    /// - Throws: The error of open(2) or unlink(2).
    package static func openNamed(in folder: String) throws(SystemError) -> Descriptor {
        let flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
        for _ in 0..<attemptsMax {
            let word = UInt64.random(in: .min ... .max)
            let path = "\(folder)/.lupin-spill-\(String(word, radix: 16))"
            do throws(SystemError) {
                // Safety: the path is NUL-terminated for the calls.
                let raw = try SystemCall.check { unsafe Glibc.open(path, flags, 0o600) }
                let file = Descriptor(owning: raw)
                try SystemCall.check { unsafe unlink(path) }
                return file
            } catch {
                guard error.code == EEXIST else { throw error }
            }
        }
        throw SystemError(code: EEXIST)
    }

    /// The folder for such files: `$TMPDIR` if that is the absolute path of a directory, else
    /// `/var/tmp`, else `/tmp`.
    ///
    /// `/var/tmp` comes first because `/tmp` is memory on many machines.
    package static func folder(_ environment: [String: String]) -> String {
        // A folder named by the user is returned even if it is not writable: the error should name
        // it.
        if let named = environment["TMPDIR"], named.hasPrefix("/"), isDirectory(named) {
            return named
        }
        let usual = "/var/tmp"
        // Safety: the path is NUL-terminated for the call.
        let isWritable = unsafe faccessat(AT_FDCWD, usual, W_OK | X_OK, AT_EACCESS) == 0
        return isWritable && isDirectory(usual) ? usual : "/tmp"
    }

    private static func isDirectory(_ path: String) -> Bool {
        var status = stat()
        // Safety: the path is NUL-terminated for the call, which fills the struct.
        guard unsafe stat(path, &status) == 0 else { return false }
        return status.st_mode & S_IFMT == S_IFDIR
    }
}

/// A sequential reader of a spill file, with a reused piece of memory.
///
/// It holds memory only between `fill` and the last `discard`. It may reach the file's end before
/// later appends, and reads these later. Any number of readers share a file.
package final class SpillReader {
    /// How much is read at a time.
    package static let pieceBytes = 64 << 10

    private let file: SpillFile
    private var piece: [UInt8] = []
    private var start = 0
    private var end = 0
    private var position: UInt64 = 0

    package init(_ file: SpillFile) { self.file = file }

    /// The next bytes that were read; none before `fill`.
    package var front: Span<UInt8> {
        @_lifetime(borrow self)
        get {
            let span = piece.span.extracting(start..<end)
            // Safety: the array is the reader's own, and only `fill` and `discard` change it, which
            // must not be called while `front` is borrowed.
            return unsafe _overrideLifetime(span, borrowing: self)
        }
    }

    /// Bytes of the file, as it is now, that were not discarded.
    package var remaining: UInt64 { file.count - position + UInt64(end - start) }

    /// Reads the next piece if `front` is empty.
    /// - Returns: Whether `front` has bytes; false at the end of the file.
    /// - Throws: What `SpillFile.read` throws.
    package func fill() throws(SystemError) -> Bool {
        guard start == end else { return true }
        let left = file.count - position
        guard left > 0 else { return false }
        // Moved out meanwhile, so that it is never copied; after a failure a new one is made.
        var lent = piece
        piece = []
        (start, end) = (0, 0)
        if lent.isEmpty {
            lent = [UInt8](repeating: 0, count: Int(min(UInt64(Self.pieceBytes), left)))
        }
        let count = try file.read(at: position, into: &lent)
        piece = lent
        end = count
        position += UInt64(count)
        return end > 0
    }

    /// Drops the first `count` bytes, no more than `front` has.
    package func discard(_ count: Int) {
        precondition(count >= 0 && count <= end - start, "more bytes discarded than there are")
        start += count
        // Released at the end of the file, and when it is too short for a file that has grown.
        if start == end, position == file.count || piece.count < Self.pieceBytes {
            piece = []
            (start, end) = (0, 0)
        }
    }
}
