// Where bytes go that are too many for memory: a file without a name that nobody finds or forgets.
import CLinux
import Glibc

/// Bytes that did not fit in memory, appended once and read as often as wanted.
///
/// The file has no name: nobody else opens it, and its room comes back when it is closed, even by
/// the end of a killed process.
///
/// Writing and reading move bytes to and from the page cache, at the speed of a copy as a rule, so
/// they are done on the loop. Nothing is ever flushed: after a crash nobody wants the bytes.
///
/// Not Sendable: it belongs to one loop.
package final class SpillFile {
    private let file: Descriptor
    private var bytes: UInt64 = 0

    /// Opens an empty file.
    /// - Parameter folder: A directory on the file system that gives the room.
    /// - Throws: What open(2) said.
    package convenience init(in folder: String) throws(SystemError) {
        self.init(owning: try Self.open(in: folder))
    }

    /// Takes over a file that is open for reading and writing, and empty.
    package init(owning file: consuming Descriptor) { self.file = file }

    /// How many bytes were appended.
    package var count: UInt64 { bytes }
    package var isEmpty: Bool { bytes == 0 }

    /// Puts bytes behind those that are there.
    ///
    /// All of them or, where it fails, none: what was written of them by then is no part of the
    /// file's content, and is overwritten by what is appended next.
    /// - Throws: What pwrite(2) said: ENOSPC or EDQUOT where there is no room left.
    package func append(_ bytes: Span<UInt8>) throws(SystemError) {
        // Offsets are signed to the kernel.
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
            // Bytes were asked for, so nothing written is a failure too.
            guard result != 0 else { throw SystemError(code: EIO) }
            guard result > 0 else { throw SystemError(code: Int32(truncatingIfNeeded: -result)) }
            written += result
        }
        self.bytes += UInt64(written)
    }

    /// Copies bytes from the file into `room`, as many as fit and are there.
    ///
    /// - Parameters:
    ///   - offset: Where they begin; at or behind the end there are none.
    ///   - room: What is overwritten from its beginning.
    /// - Returns: How many bytes were copied: 0 at the end only, if there is any room.
    /// - Throws: What pread(2) said; EIO where the file has become shorter.
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

    /// Reads as `read(at:into:)` does, over the elements that an array has.
    package func read(
        at offset: UInt64,
        into array: inout [UInt8]
    ) throws(SystemError) -> Int {
        var room = array.mutableSpan
        return try read(at: offset, into: &room)
    }

    // MARK: Opening

    /// Another file may have the name by chance, but not so often.
    private static let attemptsMax = 4

    private static func open(in folder: String) throws(SystemError) -> Descriptor {
        do throws(SystemError) {
            // Safety: the path is NUL-terminated for the call.
            let raw = try SystemCall.check { unsafe linux_nameless_file(folder) }
            return Descriptor(owning: raw)
        } catch {
            // The file system has none; kernels that don't know the flag see a directory, or a
            // file that isn't there.
            guard [EOPNOTSUPP, EISDIR, ENOENT].contains(error.code) else { throw error }
            return try openNamed(in: folder)
        }
    }

    /// Opens a new file for us alone and takes its name away, before it holds a byte.
    ///
    /// For file systems without nameless files; a process that is killed in between leaves an
    /// empty file.
    /// - Throws: What open(2) or unlink(2) said.
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
        // What the user has named is taken though it can't be written: the error should say so.
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

/// One way through a spill file, from its beginning, in a piece of memory that is used again.
///
/// It holds memory only between `fill` and the last `discard`, and may be ahead of the file's end:
/// what is appended later is read later. Any number of readers share a file.
package final class SpillReader {
    /// How much is read at a time.
    package static let pieceBytes = 64 << 10

    private let file: SpillFile
    private var piece: [UInt8] = []
    private var start = 0
    private var end = 0
    private var position: UInt64 = 0

    package init(_ file: SpillFile) { self.file = file }

    /// The next bytes, as far as they were read; none before `fill`.
    package var front: Span<UInt8> {
        @_lifetime(borrow self)
        get {
            let span = piece.span.extracting(start..<end)
            // Safety: the array is the reader's own, and is changed by `fill` and `discard` only,
            // which nobody may call while `front` is lent.
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
        // Taken out meanwhile, so that it is never copied; after a failure it is made anew.
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
        // The last piece is not kept for nothing, nor a short one for a file that has grown.
        if start == end, position == file.count || piece.count < Self.pieceBytes {
            piece = []
            (start, end) = (0, 0)
        }
    }
}
