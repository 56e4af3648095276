// A stored body being read, from any thread, even after its entry is removed or replaced.

import Glibc
import Synchronization

/// An open body, which stays readable after its entry is removed or replaced.
package final class DiskBody: Sendable {
    package let id: Int64
    /// To send from.
    package let file: OpenedFile
    /// CRC-32 of all of it, as it was stored.
    private let checksum: UInt32
    /// The progress of the check: its offset, and its CRC-32 up to there.
    private let checkedBytes = Atomic<UInt64>(0)
    private let checkedSum = Atomic<UInt32>(0)

    init(id: Int64, length: UInt64, checksum: UInt32, owning file: consuming OpenFile) {
        self.id = id
        self.checksum = checksum
        self.file = OpenedFile(owning: file, length: length)
    }

    /// In bytes.
    package var length: UInt64 { file.length }

    /// Copies bytes of it into `room`; see ``OpenedFile/read(at:into:onlyIfCached:)``.
    package func read(
        at offset: UInt64,
        into room: inout MutableSpan<UInt8>,
        onlyIfCached: Bool
    ) throws(DiskProblem) -> Int? {
        try file.read(at: offset, into: &room, onlyIfCached: onlyIfCached)
    }

    /// Continues the last check where it stopped; one thread at a time.
    ///
    /// - Parameters:
    ///   - bytesMax: The most bytes to read now.
    ///   - pieceBytes: The bytes in memory at once.
    /// - Returns: True when all was read and matches the stored body; false if more must be read.
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
