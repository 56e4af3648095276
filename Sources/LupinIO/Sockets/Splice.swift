// Pipes that move bytes from socket to socket without copying them to user space.
import CLinux
import Glibc

/// A pipe, and the number of bytes in it.
package final class SplicePipe {
    /// The requested size: the kernel's default is a quarter of it, and then a fast body takes four
    /// times the calls.
    private static let wantedCapacity = 256 << 10

    private let capacity: Int

    private let reading: Descriptor
    private let writing: Descriptor
    package internal(set) var held = 0

    /// A pipe that holds `heldMax` bytes at most, whatever size the kernel provides.
    init(heldMax: Int) throws(SystemError) {
        var ends: (read: Int32, write: Int32) = (-1, -1)
        // Safety: pipe2 fills the two integers it is given.
        try SystemCall.check { unsafe linux_pipe(&ends.read, &ends.write) }
        reading = Descriptor(owning: ends.read)
        writing = Descriptor(owning: ends.write)
        // The kernel returns the size it set; beyond a user's quota it grants only the default.
        let given = linux_set_pipe_size(ends.write, Int32(Self.wantedCapacity))
        capacity = min(given > 0 ? Int(given) : 64 << 10, heldMax)
    }

    var readEnd: Int32 { reading.raw }
    var writeEnd: Int32 { writing.raw }
    var room: Int { capacity - held }

    /// Puts up to `count` bytes of a file into the pipe, from its page cache without a copy.
    ///
    /// May wait for the disk. Returns how many bytes were put; 0 when the pipe is full.
    /// - Throws: The error of splice(2); EIO when the file ends before that.
    package func fill(
        from file: Int32,
        at offset: UInt64,
        _ count: Int
    ) throws(SystemError) -> Int {
        let wanted = min(count, room)
        guard wanted > 0, let start = Int64(exactly: offset) else { return 0 }
        let moved = SystemCall.value { linux_splice_file(file, start, writeEnd, wanted) }
        // A pipe with bytes in it may be full before its size is used up.
        if moved == -Int(EAGAIN) { return 0 }
        guard moved > 0 else { throw SystemError(code: moved == 0 ? EIO : Int32(-moved)) }
        held += moved
        return moved
    }

    /// Puts as much of a range of `bytes` as fits into the pipe, without a copy.
    /// - Returns: How many bytes; 0 when there is no room, or the kernel can't do it.
    func fill(with bytes: MappedBytes, _ range: Range<Int>) -> Int {
        let moved = bytes.fill(writeEnd, with: range.prefix(room))
        if moved > 0 { held += moved }
        return max(0, moved)
    }
}

/// One loop's spare pipes.
///
/// A pipe is borrowed only while data flows.
package final class PipePool {
    private static let spareMax = 32

    private var spare: [SplicePipe] = []
    private var heldMax = 240 << 10

    /// Limits a direction of a connection to `bytes`, in a pipe and the buffer beside it.
    ///
    /// The minimum is two buffers: one is the size of a move.
    package func limit(directionBytes bytes: Int) {
        heldMax = max(InputBuffer.capacity, bytes - InputBuffer.capacity)
    }

    /// A pipe, or nil when the kernel provides none: then bytes are copied.
    package func borrow() -> SplicePipe? {
        spare.popLast() ?? (try? SplicePipe(heldMax: heldMax))
    }

    /// Takes a pipe back; one that still holds bytes is closed.
    package func giveBack(_ pipe: SplicePipe) {
        if pipe.held == 0, spare.count < Self.spareMax { spare.append(pipe) }
    }
}
