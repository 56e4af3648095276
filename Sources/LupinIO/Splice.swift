// Pipes that let bytes go from socket to socket without coming to user space.
import CLinux
import Glibc

/// A pipe, and how many bytes are in it.
package final class SplicePipe {
    /// What is asked for: the kernel gives a quarter of it by itself, and then a fast body takes
    /// four times the calls.
    private static let wantedCapacity = 256 << 10

    private let capacity: Int

    private let reading: Descriptor
    private let writing: Descriptor
    package internal(set) var held = 0

    /// A pipe that holds `heldMax` bytes at most, whatever the kernel gives.
    init(heldMax: Int) throws(SystemError) {
        var ends: (read: Int32, write: Int32) = (-1, -1)
        // Safety: pipe2 fills the two integers it is given.
        try SystemCall.check { unsafe linux_pipe(&ends.read, &ends.write) }
        reading = Descriptor(owning: ends.read)
        writing = Descriptor(owning: ends.write)
        // The kernel says what it gave; beyond a user's share it gives no more than the usual.
        let given = linux_set_pipe_size(ends.write, Int32(Self.wantedCapacity))
        capacity = min(given > 0 ? Int(given) : 64 << 10, heldMax)
    }

    var readEnd: Int32 { reading.raw }
    var writeEnd: Int32 { writing.raw }
    var room: Int { capacity - held }

    /// Puts up to `count` bytes of a file into the pipe, from its page cache without a copy.
    ///
    /// May wait for the disk. Returns how many; 0 when the pipe is full.
    /// - Throws: What splice(2) said; EIO where the file ends before.
    package func fill(
        from file: Int32,
        at offset: UInt64,
        _ count: Int
    ) throws(SystemError) -> Int {
        let wanted = min(count, room)
        guard wanted > 0, let start = Int64(exactly: offset) else { return 0 }
        let moved = SystemCall.value { linux_splice_file(file, start, writeEnd, wanted) }
        // With bytes in it the pipe may be full before its room is used up.
        if moved == -Int(EAGAIN) { return 0 }
        guard moved > 0 else { throw SystemError(code: moved == 0 ? EIO : Int32(-moved)) }
        held += moved
        return moved
    }

    /// Puts what fits of a range of `bytes` into the pipe, without a copy.
    /// - Returns: How many; 0 where there is no room, or the kernel doesn't do it.
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

    /// Lets a direction of a connection hold `bytes` at most, in a pipe and the buffer beside it.
    ///
    /// Less than two buffers can't be had: one is what moves.
    package func limit(directionBytes bytes: Int) {
        heldMax = max(InputBuffer.capacity, bytes - InputBuffer.capacity)
    }

    /// A pipe, or nil when the kernel has none to give: then bytes are copied.
    package func borrow() -> SplicePipe? {
        spare.popLast() ?? (try? SplicePipe(heldMax: heldMax))
    }

    /// Takes a pipe back; one that still holds bytes is closed.
    package func giveBack(_ pipe: SplicePipe) {
        if pipe.held == 0, spare.count < Self.spareMax { spare.append(pipe) }
    }
}
