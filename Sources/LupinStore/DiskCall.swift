// How this room makes system calls: the only place of it that reads errno.

import CLinux
import Glibc

/// Calls on files, repeated on EINTR; failures become values.
enum DiskCall {
    /// Runs a call until a signal no longer interrupts it; a failure comes back as `-errno`.
    @inline(__always)
    static func value(_ call: () -> Int) -> Int {
        while true {
            let result = call()
            if result >= 0 { return result }
            let code = errno
            if code != EINTR { return -Int(code) }
        }
    }

    /// Runs a call that gives a descriptor or nothing.
    /// - Throws: `full` or `io`.
    @discardableResult
    static func check(_ call: () -> Int32) throws(DiskProblem) -> Int32 {
        let result = value { Int(call()) }
        guard result >= 0 else { throw DiskProblem(code: Int32(truncatingIfNeeded: -result)) }
        return Int32(truncatingIfNeeded: result)
    }

    /// Writes all of the bytes at a place of a file.
    /// - Throws: `full` or `io`; what was written by then may be any part of them.
    static func write(
        _ bytes: Span<UInt8>,
        to descriptor: Int32,
        at offset: UInt64
    ) throws(DiskProblem) {
        guard let start = Int(exactly: offset), bytes.count <= Int.max - start else {
            throw .io(EFBIG)
        }
        var written = 0
        while written < bytes.count {
            let rest = bytes.extracting(written..<bytes.count)
            let place = start + written
            let result = value {
                // Safety: the kernel reads `count` bytes at most, all inside the span.
                unsafe rest.withUnsafeBytes {
                    unsafe pwrite(descriptor, $0.baseAddress, $0.count, place)
                }
            }
            // Bytes were asked for, so nothing written is a failure too.
            guard result != 0 else { throw .io(EIO) }
            guard result > 0 else { throw DiskProblem(code: Int32(truncatingIfNeeded: -result)) }
            written += result
        }
    }

    /// Reads until the room is full or the file ends.
    /// - Returns: How many bytes came.
    /// - Throws: `io`.
    static func read(
        from descriptor: Int32,
        at offset: UInt64,
        into room: inout MutableSpan<UInt8>,
        count: Int
    ) throws(DiskProblem) -> Int {
        guard let start = Int(exactly: offset) else { return 0 }
        let wanted = min(count, room.count)
        var done = 0
        while done < wanted {
            let already = done
            let result = unsafe room.withUnsafeMutableBytes { target in
                value {
                    // Safety: `wanted` is no more than the span has, and `already` is below it.
                    guard let base = target.baseAddress else { return 0 }
                    return unsafe pread(
                        descriptor,
                        base + already,
                        wanted - already,
                        start + already
                    )
                }
            }
            guard result >= 0 else { throw DiskProblem(code: Int32(truncatingIfNeeded: -result)) }
            if result == 0 { break }
            done += result
        }
        return done
    }

    /// Reads what is in memory already, once.
    /// - Returns: How many bytes came, or `-errno`: EAGAIN where the disk would be waited for.
    static func readCached(
        from descriptor: Int32,
        at offset: UInt64,
        into room: inout MutableSpan<UInt8>,
        count: Int
    ) -> Int {
        guard let start = Int(exactly: offset) else { return 0 }
        let wanted = min(count, room.count)
        return unsafe room.withUnsafeMutableBytes { target in
            value {
                // Safety: `wanted` is no more than the span has.
                guard let base = target.baseAddress else { return 0 }
                return unsafe linux_read_cached(descriptor, base, wanted, start)
            }
        }
    }
}
