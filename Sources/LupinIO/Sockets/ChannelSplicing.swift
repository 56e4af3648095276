// How a channel moves bytes through a pipe, without a copy to user space.
import CLinux
import Glibc

extension Channel {
    /// Moves up to `count` bytes from the socket into `pipe`; the caller will want no more than
    /// that.
    package func splice(into pipe: SplicePipe, _ count: Int) throws(SystemError) -> Received {
        guard isReadable else { return .blocked }
        let wanted = min(count, pipe.room)
        guard wanted > 0 else { return .full }
        let moved = SystemCall.value { linux_splice(descriptor, pipe.writeEnd, wanted) }
        if moved > 0 {
            pipe.held += moved
            hasUnacknowledged = true
            received &+= UInt64(moved)
            noteSpliced(moved)
            if moved == count { endGathering() }
            return .bytes
        }
        if moved == 0 {
            if isReset { throw SystemError(code: ECONNRESET) }
            readEnd = true
            return .end
        }
        if moved == -Int(EAGAIN) {
            // With bytes in the pipe, EAGAIN may mean that the pipe is full, not that the socket is
            // empty.
            if pipe.held > 0 { return .full }
            isReadable = false
            decideGathering(count)
            return .blocked
        }
        throw SystemError(code: Int32(-moved))
    }

    /// Moves what `pipe` holds to the socket.
    ///
    /// Returns true when the pipe is empty.
    package func splice(from pipe: SplicePipe) throws(SystemError) -> Bool {
        while pipe.held > 0 {
            guard isWritable else { return false }
            let moved = SystemCall.value { linux_splice(pipe.readEnd, descriptor, pipe.held) }
            guard moved > 0 else {
                awaitRoom()
                if moved == -Int(EAGAIN) { return false }
                noteReset(moved)
                throw SystemError(code: moved == 0 ? EPIPE : Int32(-moved))
            }
            pipe.held -= moved
            hasUnacknowledged = false
            sent &+= UInt64(moved)
        }
        return true
    }

    /// Sends what is staged, then a range of `bytes`, without a copy if that is worth it.
    /// - Returns: How many of them left.
    package func send(_ bytes: MappedBytes, _ range: Range<Int>) throws(SystemError) -> Int {
        guard range.count >= MappedBytes.countMin, !isFiltered, isWritable,
            let pipe = loop.pipes.borrow()
        else { return try send(bytes.span.extracting(range)) }
        // The pipe still holds what the socket did not take; the pool then closes it.
        defer { loop.pipes.giveBack(pipe) }
        _ = try send(Span(), isBeginning: true)
        var rest = range
        while !hasStaged, !rest.isEmpty {
            let filled = pipe.fill(with: bytes, rest)
            // The call may be forbidden, for example by a sandbox.
            guard filled > 0 else {
                return range.count - rest.count + (try send(bytes.span.extracting(rest)))
            }
            let isEmpty = try splice(from: pipe)
            rest = (rest.lowerBound + filled - pipe.held)..<rest.upperBound
            if !isEmpty { break }
        }
        return range.count - rest.count
    }
}
