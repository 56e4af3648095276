// A body being stored: one thread appends to it, any thread can read it.

import CZlib
import Glibc
import Synchronization

/// A file that grows until it is committed or abandoned.
///
/// Any thread can read it while it grows and afterwards, as long as it is referenced: its
/// descriptor outlives its name. An uncommitted draft is unlinked with its last reference.
package final class DiskDraft: Sendable {
    private let folder: DiskFolder
    private let name: String
    private let file: OpenFile
    private let length = Atomic<UInt64>(0)
    private let crc = Atomic<UInt32>(0)
    private let isOver = Atomic<Bool>(false)

    init(in folder: DiskFolder) throws(DiskProblem) {
        let made = try folder.makeDraft()
        self.folder = folder
        name = made.name
        file = OpenFile(owning: made.file)
    }

    deinit { abandon() }

    /// How many bytes can be read, on any thread.
    package var count: UInt64 { length.load(ordering: .acquiring) }

    /// Copies bytes appended so far into `room`, as many as fit, on any thread.
    ///
    /// - Parameters:
    ///   - offset: The first byte to copy.
    ///   - room: The span to overwrite from its beginning.
    /// - Returns: How many bytes were copied; 0 at or after the end, or if `room` is empty.
    /// - Throws: `io`, or `damaged` if the file has become shorter.
    package func read(
        at offset: UInt64,
        into room: inout MutableSpan<UInt8>
    ) throws(DiskProblem) -> Int {
        let end = count
        guard offset < end else { return 0 }
        let wanted = Int(min(UInt64(room.count), end - offset))
        let done = try DiskCall.read(from: file.raw, at: offset, into: &room, count: wanted)
        guard done == wanted else { throw .damaged }
        return done
    }

    // MARK: What the store does with it, on one thread at a time

    /// The CRC-32 of the appended bytes.
    var checksum: UInt32 { crc.load(ordering: .relaxed) }

    /// Whether it is neither committed nor abandoned.
    var isOpen: Bool { !isOver.load(ordering: .acquiring) }

    /// Appends bytes.
    /// - Throws: `full` or `io`; then the draft can't be used any more.
    func append(_ bytes: Span<UInt8>) throws(DiskProblem) {
        let start = count
        try DiskCall.write(bytes, to: file.raw, at: start)
        crc.store(Checksum.extended(checksum, by: bytes), ordering: .relaxed)
        // The new length is published only after the bytes.
        length.store(start + UInt64(bytes.count), ordering: .releasing)
    }

    /// Moves it to its place among the bodies.
    func shelve(as id: Int64) throws(DiskProblem) {
        try folder.shelve(draft: name, as: id)
        isOver.store(true, ordering: .releasing)
    }

    /// Unlinks it, unless it has been renamed.
    func abandon() {
        guard !isOver.exchange(true, ordering: .acquiringAndReleasing) else { return }
        folder.removeDraft(name)
    }
}

/// CRC-32 as zlib computes it.
enum Checksum {
    static func extended(_ checksum: UInt32, by bytes: Span<UInt8>) -> UInt32 {
        // For zlib a missing buffer means to start over.
        guard !bytes.isEmpty else { return checksum }
        // Safety: zlib reads `count` bytes of the span and keeps no pointer.
        return unsafe bytes.withUnsafeBufferPointer {
            UInt32(truncatingIfNeeded: unsafe crc32_z(UInt(checksum), $0.baseAddress, $0.count))
        }
    }
}
