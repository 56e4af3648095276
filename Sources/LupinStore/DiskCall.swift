// The system calls of this module: the only place in it that reads errno.

import CLinux
import Glibc

/// Calls on files, repeated on EINTR; failures become values.
enum DiskCall {
    /// Runs a call, and repeats it on EINTR; returns a failure as `-errno`.
    @inline(__always)
    static func value(_ call: () -> Int) -> Int {
        while true {
            let result = call()
            if result >= 0 { return result }
            let code = errno
            if code != EINTR { return -Int(code) }
        }
    }

    /// Runs a call that returns a descriptor or fails.
    /// - Throws: `full` or `io`.
    @discardableResult
    static func check(_ call: () -> Int32) throws(DiskProblem) -> Int32 {
        let result = value { Int(call()) }
        guard result >= 0 else { throw DiskProblem(code: Int32(truncatingIfNeeded: -result)) }
        return Int32(truncatingIfNeeded: result)
    }

    /// Writes all of the bytes at an offset of a file.
    /// - Throws: `full` or `io`; an unknown part of the bytes may have been written then.
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
            let position = start + written
            let result = value {
                // Safety: the kernel reads `count` bytes at most, all inside the span.
                unsafe rest.withUnsafeBytes {
                    unsafe pwrite(descriptor, $0.baseAddress, $0.count, position)
                }
            }
            // Bytes were requested, so a result of 0 is a failure too.
            guard result != 0 else { throw .io(EIO) }
            guard result > 0 else { throw DiskProblem(code: Int32(truncatingIfNeeded: -result)) }
            written += result
        }
    }

    /// Reads until the room is full or the file ends.
    /// - Returns: How many bytes were read.
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

    /// Reads once what is in the page cache.
    /// - Returns: How many bytes were read, or `-errno`: EAGAIN if the read would wait for the
    ///   disk.
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
