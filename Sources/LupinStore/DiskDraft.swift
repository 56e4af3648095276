// A body on its way onto the disk: one thread appends to it, any thread reads along.

import CZlib
import Glibc
import Synchronization

/// A file that grows until it is committed or given up.
///
/// It can be read from any thread while it grows and afterwards, as long as it is referenced: its
/// descriptor outlives its name. What nobody committed loses its name with the last reference.
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

    /// Bytes that can be read, on any thread.
    package var count: UInt64 { length.load(ordering: .acquiring) }

    /// Copies what was appended by now into `room`, as much as fits, on any thread.
    ///
    /// - Parameters:
    ///   - offset: Where it begins.
    ///   - room: What is overwritten from its beginning.
    /// - Returns: How many bytes were copied; 0 at or behind the end, or without room.
    /// - Throws: `io`, or `damaged` where the file has become shorter.
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

    /// CRC-32 of what was appended.
    var checksum: UInt32 { crc.load(ordering: .relaxed) }

    /// Neither committed nor given up.
    var isOpen: Bool { !isOver.load(ordering: .acquiring) }

    /// Puts bytes behind those that are there.
    /// - Throws: `full` or `io`; then the draft is no longer of any use.
    func append(_ bytes: Span<UInt8>) throws(DiskProblem) {
        let start = count
        try DiskCall.write(bytes, to: file.raw, at: start)
        crc.store(Checksum.extended(checksum, by: bytes), ordering: .relaxed)
        // Readers see the length only behind the bytes.
        length.store(start + UInt64(bytes.count), ordering: .releasing)
    }

    /// Gives it its place among the bodies.
    func shelve(as id: Int64) throws(DiskProblem) {
        try folder.shelve(draft: name, as: id)
        isOver.store(true, ordering: .releasing)
    }

    /// Takes its name away, unless it has another by now.
    func abandon() {
        guard !isOver.exchange(true, ordering: .acquiringAndReleasing) else { return }
        folder.removeDraft(name)
    }
}

/// CRC-32 as zlib computes it.
enum Checksum {
    static func extended(_ checksum: UInt32, by bytes: Span<UInt8>) -> UInt32 {
        // zlib takes a missing buffer for the wish to begin.
        guard !bytes.isEmpty else { return checksum }
        // Safety: zlib reads `count` bytes of the span and keeps no pointer.
        return unsafe bytes.withUnsafeBufferPointer {
            UInt32(truncatingIfNeeded: unsafe crc32_z(UInt(checksum), $0.baseAddress, $0.count))
        }
    }
}
