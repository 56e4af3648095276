// A stored body that is being read, from any thread, whatever happens to its entry meanwhile.

import Glibc
import Synchronization

/// An open body, which stays readable when its entry is removed or replaced.
package final class DiskBody: Sendable {
    package let id: Int64
    /// In bytes.
    package let length: UInt64
    private let file: OpenFile
    /// CRC-32 of all of it, as it was stored.
    private let checksum: UInt32
    /// How far a check has come, and what it found by then.
    private let checkedBytes = Atomic<UInt64>(0)
    private let checkedSum = Atomic<UInt32>(0)

    init(id: Int64, length: UInt64, checksum: UInt32, owning file: consuming OpenFile) {
        self.id = id
        self.length = length
        self.checksum = checksum
        self.file = file
    }

    /// To send from; open for reading as long as the body is referenced.
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
    /// - Throws: `io`, or `damaged` where the file is shorter than what was stored.
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

    /// Reads on where the last check stopped; one thread at a time.
    ///
    /// - Parameters:
    ///   - bytesMax: How much is read now, at most.
    ///   - pieceBytes: How much is in memory at once.
    /// - Returns: Whether all was read and is what was stored; false: there is more to be read.
    /// - Throws: `damaged` or `io`.
    func check(bytesMax: Int, pieceBytes: Int) throws(DiskProblem) -> Bool {
        var at = checkedBytes.load(ordering: .relaxed)
        var sum = checkedSum.load(ordering: .relaxed)
        let end = min(length, at + UInt64(max(0, bytesMax)))
        var piece = [UInt8](repeating: 0, count: Int(min(UInt64(pieceBytes), end - at)))
        while at < end {
            var room = piece.mutableSpan
            let count = try read(at: at, into: &room, onlyIfCached: false) ?? 0
            let taken = min(count, Int(end - at))
            sum = Checksum.extended(sum, by: piece.span.extracting(first: taken))
            at += UInt64(taken)
        }
        checkedBytes.store(at, ordering: .relaxed)
        checkedSum.store(sum, ordering: .relaxed)
        guard at == length else { return false }
        guard sum == checksum else { throw .damaged }
        return true
    }
}
