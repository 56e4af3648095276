// A file that is sent from: read from the page cache at once, and from the disk on its own thread.

import Glibc

/// An open file of a known length; any thread may read it.
package final class OpenedFile: Sendable {
    /// In bytes.
    package let length: UInt64
    private let file: OpenFile

    init(owning file: consuming OpenFile, length: UInt64) {
        self.length = length
        self.file = file
    }

    /// Takes over a descriptor that is open for reading.
    package convenience init(owning raw: Int32, length: UInt64) {
        self.init(owning: OpenFile(owning: raw), length: length)
    }

    /// Open as long as this object lives.
    package var descriptor: Int32 { file.raw }

    /// Copies bytes of it into `room`, as many as fit, on any thread.
    ///
    /// - Parameters:
    ///   - offset: Where they begin.
    ///   - room: What is overwritten from its beginning.
    ///   - onlyIfCached: Never waits for the disk, and may give fewer bytes than fit. A file system
    ///     that can't tell is read as if it were memory.
    /// - Returns: How many bytes were copied, 0 at or behind the end or without room; nil when the
    ///   disk would have to be waited for.
    /// - Throws: `io`, or `damaged` where the file has become shorter.
    package func read(
        at offset: UInt64,
        into room: inout MutableSpan<UInt8>,
        onlyIfCached: Bool
    ) throws(DiskProblem) -> Int? {
        guard offset < length, !room.isEmpty else { return 0 }
        let wanted = Int(min(UInt64(room.count), length - offset))
        if onlyIfCached {
            let result = DiskCall.readCached(
                from: descriptor,
                at: offset,
                into: &room,
                count: wanted
            )
            if result > 0 { return result }
            if result == 0 { throw .damaged }
            if result == -Int(EAGAIN) { return nil }
            let unsupported = [EOPNOTSUPP, ENOSYS, EINVAL].map { -Int($0) }
            guard unsupported.contains(result) else {
                throw DiskProblem(code: Int32(truncatingIfNeeded: -result))
            }
        }
        let done = try DiskCall.read(from: descriptor, at: offset, into: &room, count: wanted)
        guard done == wanted else { throw .damaged }
        return done
    }
}
