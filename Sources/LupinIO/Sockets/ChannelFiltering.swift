// How a channel receives and sends through a filter.
import CLinux
import Glibc

extension Channel {
    /// Whether a filter translates between the wire and the users of the channel.
    package var isFiltered: Bool { filtered != nil }

    /// Puts a filter between the socket and its users; a second one goes inside the first.
    ///
    /// Bytes that were received and not yet consumed are taken for ciphertext.
    package func insert(_ filter: any ChannelFilter) {
        var next = filter
        if let filtered {
            next = NestedFilter(outer: filtered.filter, inner: filter, pool: memory)
        }
        let bytes = FilteredBytes(next, pool: memory)
        if let filtered {
            swap(&bytes.sealed, &filtered.sealed)
            bytes.sent = filtered.sent
            // What the first filter opened is the second one's ciphertext.
            (next as? NestedFilter)?.take(input)
            bytes.received.takeAll(of: filtered.received)
        } else {
            bytes.received.takeAll(of: input)
        }
        filtered = bytes
    }

    func holdsReceived(_ filtered: FilteredBytes) -> Bool {
        !filtered.received.isEmpty || filtered.filter.holdsPlain
    }

    func receive(through filtered: FilteredBytes) throws(SystemError) -> Received {
        guard !input.isFull else { return .full }
        var barren = 0
        while true {
            let before = input.count
            if holdsReceived(filtered) { try open(filtered) }
            if input.count > before {
                received &+= UInt64(input.count - before)
                return .bytes
            }
            if filtered.filter.hasEnded { return .end }
            let held = filtered.received.count
            switch try receive(into: filtered.received) {
            case .bytes:
                barren += filtered.received.count - held
                if barren > FilteredBytes.barrenMax { throw SystemError(code: EPROTO) }
            case .blocked, .full: return .blocked
            // A connection that ends without the filter's end message may have been truncated;
            // within one of its records it certainly was.
            case .end:
                guard filtered.filter.mayEndUnannounced, filtered.received.isEmpty,
                    !filtered.filter.isWithinRecord
                else { throw .unannouncedEnd }
                return .end
            }
        }
    }

    private func open(_ filtered: FilteredBytes) throws(SystemError) {
        var answer: [UInt8] = []
        var failure: FilterFailure?
        do throws(FilterFailure) {
            try filtered.filter.open(filtered.received, into: input, answer: &answer)
        } catch {
            failure = error
        }
        if !answer.isEmpty {
            filtered.sealed.append(contentsOf: answer)
            _ = try sendSealed(filtered)
            // Users' data stays below this bound: only answers that the peer does not read exceed
            // it.
            if filtered.unsentCount > 2 * FilteredBytes.backlogMax {
                throw SystemError(code: EPROTO)
            }
        }
        if failure != nil { throw SystemError(code: EPROTO) }
    }

    /// Seals and sends; what the kernel does not take stays sealed in memory, up to a bound.
    func send(
        _ payload: Span<UInt8>,
        _ suffix: StaticString?,
        through filtered: FilteredBytes
    ) throws(SystemError) -> Int {
        var taken = 0
        while true {
            if filtered.hasUnsent {
                _ = try sendSealed(filtered)
                if filtered.unsentCount >= FilteredBytes.backlogMax { return taken }
            }
            if staged.isEmpty, taken == payload.count {
                if taken > 0 || suffix == nil { return taken }
            }
            let room = max(0, FilteredBytes.recordBytes - staged.count)
            let piece = payload.extracting(taken..<min(payload.count, taken + room))
            let isLast = taken + piece.count == payload.count
            if staged.isEmpty, suffix == nil || !isLast {
                try seal(piece, filtered)
            } else {
                // Head, payload and end of a small message share one record.
                stage { bytes in
                    // Safety: the pointer is used inside the closure only, and copied from.
                    unsafe piece.withUnsafeBufferPointer { unsafe bytes.append(contentsOf: $0) }
                    if isLast, let suffix {
                        bytes.append(contentsOf: suffix.description.utf8)
                    }
                }
                try sealStaged(filtered)
            }
            taken += piece.count
            _ = try sendSealed(filtered)
            if taken == payload.count { return taken }
            if filtered.unsentCount >= FilteredBytes.backlogMax { return taken }
        }
    }

    private func sealStaged(_ filtered: FilteredBytes) throws(SystemError) {
        var plain: [UInt8] = []
        swap(&plain, &staged)
        let isSealed = append(plain.span, to: filtered)
        // Moved: a second reference would make the pool copy the array.
        memory.giveBack(consume plain)
        if !isSealed { throw SystemError(code: EPROTO) }
    }

    private func seal(_ plain: Span<UInt8>, _ filtered: FilteredBytes) throws(SystemError) {
        guard append(plain, to: filtered) else { throw SystemError(code: EPROTO) }
    }

    /// Seals bytes and appends them to the unsent ones; returns false when the filter can't.
    private func append(_ plain: Span<UInt8>, to filtered: FilteredBytes) -> Bool {
        guard !plain.isEmpty else { return true }
        var sealed: [UInt8] = []
        swap(&sealed, &filtered.sealed)
        defer { swap(&sealed, &filtered.sealed) }
        if sealed.capacity == 0 { sealed = memory.lendBytes() }
        do throws(FilterFailure) {
            try filtered.filter.seal(plain, into: &sealed)
        } catch {
            return false
        }
        sent &+= UInt64(plain.count)
        return true
    }

    /// Sends what is sealed.
    ///
    /// Returns true when nothing is left of it.
    func sendSealed(_ filtered: FilteredBytes) throws(SystemError) -> Bool {
        while filtered.hasUnsent {
            guard isWritable else { return false }
            let count = writeSealed(filtered)
            guard count >= 0 else {
                awaitRoom()
                if count == -Int(EAGAIN) { return false }
                noteReset(count)
                throw SystemError(code: Int32(-count))
            }
            hasUnacknowledged = false
            if count < filtered.unsentCount { awaitRoom() }
            filtered.sent += count
            // If the peer never quite catches up, sent bytes would accumulate; drop them here.
            if filtered.sent >= FilteredBytes.backlogMax, filtered.hasUnsent {
                filtered.sealed.removeFirst(filtered.sent)
                filtered.sent = 0
            }
        }
        if filtered.sealed.capacity > 0 {
            var bytes: [UInt8] = []
            swap(&bytes, &filtered.sealed)
            memory.giveBack(consume bytes)
        }
        filtered.sent = 0
        if filtered.isEnding { _ = shutdown(descriptor, Int32(SHUT_WR)) }
        return true
    }

    private func writeSealed(_ filtered: FilteredBytes) -> Int {
        let sealed = filtered.sealed
        // Safety: the bytes outlive the call, which only reads them.
        return unsafe sealed.withUnsafeBytes { all in
            let rest = unsafe UnsafeRawBufferPointer(rebasing: all[filtered.sent...])
            return SystemCall.value {
                unsafe Glibc.write(descriptor, rest.baseAddress, rest.count)
            }
        }
    }

    /// Seals the end message, and closes the sending side when it has left.
    func sayGoodbye(_ filtered: FilteredBytes) {
        filtered.filter.sealEnd(into: &filtered.sealed)
        filtered.isEnding = true
        // At this point a failure can't be reported to any caller.
        _ = try? sendSealed(filtered)
    }
}
