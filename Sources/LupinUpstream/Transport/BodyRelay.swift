// Moves one body from its source to its sink, at the speed of the slower one.
package import LupinCore
package import LupinIO

/// A body under way.
///
/// It holds at most one buffer: when the sink takes no more, the source is not read (backpressure),
/// and when the source has no bytes, it holds nothing.
///
/// Call `pump` when either side may be ready; meanwhile the task of the exchange is parked, and it
/// is woken with `.relayEnded` at the end, good or bad.
package final class BodyRelay {
    /// running → finishing → finished; running or finishing → sourceFailed or sinkFailed.
    package enum State: Equatable {
        case running
        /// The sink has taken the whole body and has not sent all of it.
        case finishing
        case finished
        case sourceFailed(LupinError)
        case sinkFailed(LupinError)
    }

    // Other modules see computed ones in their place, as with a `Channel`.
    private var step = State.running
    private var movedCount: UInt64 = 0
    private var movedLast: UInt64
    private var sourceIsDry = false
    private var kept: BodyReplay?
    private var startIsDue = false
    private var countMax: UInt64?

    private let source: any BodySource
    private let sink: any BodySink
    private let slot: ParkingSlot
    private let loop: EventLoop
    private var pipe: SplicePipe?
    /// The last turn that moved bytes moved at least one buffer.
    private var isFlowing = false
    /// The source's error, kept while the pipe still holds its bytes.
    private var lateFailure: LupinError?

    /// Bytes moved in one call before other connections get their turn.
    private static let turnBytes = 1 << 20
    /// Bodies shorter than this are not worth a pipe.
    private static let spliceBytesMin: UInt64 = 64 << 10

    /// With `isFinishing` the sink has taken the whole body already and only has to send it.
    package init(
        from source: any BodySource,
        to sink: any BodySink,
        slot: ParkingSlot,
        isFinishing: Bool = false
    ) {
        if isFinishing { step = .finishing }
        self.source = source
        self.sink = sink
        self.slot = slot
        loop = slot.loop
        movedLast = slot.loop.now
    }

    package var state: State { step }
    /// Payload bytes that the sink has taken.
    package var bytes: UInt64 { movedCount }
    /// When bytes last moved, in microseconds of the loop's clock.
    package var lastActivity: UInt64 { movedLast }
    /// All received bytes have been passed on: if nothing moves, the source is the cause.
    package var waitsForSource: Bool { sourceIsDry }
    /// Keeps a copy of the bytes for another attempt.
    package var replay: BodyReplay? {
        get { kept }
        set { kept = newValue }
    }
    /// Wakes the task with `.relayEnded` at the first payload, too; then it is false.
    package var announcesStart: Bool {
        get { startIsDue }
        set { startIsDue = newValue }
    }
    /// Payload bytes after which the relay fails; nil for no limit.
    package var bytesMax: UInt64? {
        get { countMax }
        set { countMax = newValue }
    }

    package var isOver: Bool {
        switch state {
        case .running, .finishing: false
        case .finished, .sourceFailed, .sinkFailed: true
        }
    }

    /// Moves all bytes that can move now.
    ///
    /// Returns false when the turn was used up and more can move.
    package func pump() -> Bool {
        guard !isOver else { return true }
        // The event was for the other direction.
        if waitsForSource, !source.hasNews { return true }
        do throws(SideFailure) {
            if case .finishing = state {
                try finish { () throws(LupinError) in try sink.flush() }
                return true
            }
            return try move()
        } catch {
            end(error.isSource ? .sourceFailed(error.error) : .sinkFailed(error.error))
            return true
        }
    }

    /// Ends the relay from outside; nothing moves afterwards.
    package func cancel() {
        returnPipe()
        if !isOver { step = .sourceFailed(LupinError(.proxyInternalError, detail: "cancelled")) }
    }

    private func move() throws(SideFailure) -> Bool {
        sourceIsDry = false
        let before = bytes
        defer {
            let moved = bytes &- before
            // A turn without new bytes does not change the state.
            if moved > 0 { isFlowing = moved >= UInt64(InputBuffer.capacity) }
        }
        var budget = Self.turnBytes
        while budget > 0 {
            if pipe != nil || maySplice(after: Self.turnBytes - budget) {
                guard try splice(&budget) else { return true }
                continue
            }
            switch try fromSource({ () throws(LupinError) in try source.pull() }) {
            case .blocked:
                sourceIsDry = try toSink { () throws(LupinError) in try sink.flush() }
                return true
            case .end:
                var trailers = source.trailers
                if !trailers.isEmpty { HopByHop.removeForged(&trailers) }
                try finish { () throws(LupinError) in try sink.finish(trailers: trailers) }
                return true
            case .payload:
                guard try forward(&budget) else { return true }
                if isOver { return true }
            }
        }
        return false
    }

    /// Passes payload on.
    ///
    /// Returns false when the sink is full.
    private func forward(_ budget: inout Int) throws(SideFailure) -> Bool {
        let offer = try toSink { () throws(LupinError) in
            try source.offer(to: sink, keeping: replay)
        }
        if offer.taken > 0 { try note(UInt64(offer.taken)) }
        budget -= offer.taken
        if offer.isEnd { try finish { () throws(LupinError) in try sink.flush() } }
        return offer.isAllTaken
    }

    private func note(_ taken: UInt64) throws(SideFailure) {
        movedCount &+= taken
        movedLast = loop.now
        if announcesStart {
            announcesStart = false
            slot.wake(.relayEnded)
        }
        if let bytesMax, bytes > bytesMax {
            throw SideFailure(isSource: true, error: .bodyTooLong)
        }
    }

    private func finish(
        _ attempt: () throws(LupinError) -> Bool
    ) throws(SideFailure) {
        let isDone = try toSink(attempt)
        if isDone { end(.finished) } else { step = .finishing }
    }

    private func end(_ outcome: State) {
        step = outcome
        returnPipe()
        slot.wake(.relayEnded)
    }

    // MARK: Splicing

    /// Whether splicing is worth the system calls, after `moved` bytes were copied in this turn.
    ///
    /// For a body of known length it depends on the length. A tunnel may carry short messages for
    /// hours: it is spliced only after a turn, this one or the one before, filled a buffer.
    private func maySplice(after moved: Int) -> Bool {
        let remaining = source.spliceable
        guard remaining >= Self.spliceBytesMin, sink.takesSplice, replay == nil, bytesMax == nil
        else { return false }
        return remaining != .max || isFlowing || moved >= InputBuffer.capacity
            || source.isGathering
    }

    /// Moves bytes through the pipe.
    ///
    /// Returns false when a side is blocked.
    private func splice(_ budget: inout Int) throws(SideFailure) -> Bool {
        guard try toSink({ () throws(LupinError) in try sink.flush() }) else { return false }
        guard let pipe = pipe ?? loop.pipes.borrow() else { return try copyOnce(&budget) }
        self.pipe = pipe
        let before = pipe.held
        let wanted = Int(min(source.spliceable, UInt64(Self.turnBytes)))
        var received = Channel.Received.end
        if wanted > 0, lateFailure == nil {
            do throws(LupinError) {
                received = try source.splice(into: pipe, wanted)
            } catch {
                // The bytes in the pipe came before the source failed: they go out first.
                lateFailure = error
            }
        }
        let moved = pipe.held - before
        budget -= moved
        if moved > 0 { try note(UInt64(moved)) }
        let isEmpty = try toSink { () throws(LupinError) in try sink.splice(from: pipe) }
        guard isEmpty else { return false }
        if let lateFailure { throw SideFailure(isSource: true, error: lateFailure) }
        if received == .blocked || source.spliceable == 0 { returnPipe() }
        sourceIsDry = received == .blocked
        return received != .blocked
    }

    /// Copies bytes through a buffer, because no pipe is available.
    private func copyOnce(_ budget: inout Int) throws(SideFailure) -> Bool {
        guard try fromSource({ () throws(LupinError) in try source.pull() }) == .payload else {
            return false
        }
        return try forward(&budget)
    }

    private func returnPipe() {
        if let pipe { loop.pipes.giveBack(pipe) }
        pipe = nil
    }

    // MARK: Which side failed

    private struct SideFailure: Error {
        let isSource: Bool
        let error: LupinError
    }

    @inline(__always)
    private func fromSource<Value>(
        _ attempt: () throws(LupinError) -> Value
    ) throws(SideFailure) -> Value {
        do throws(LupinError) {
            return try attempt()
        } catch {
            throw SideFailure(isSource: true, error: error)
        }
    }

    @inline(__always)
    private func toSink<Value>(
        _ attempt: () throws(LupinError) -> Value
    ) throws(SideFailure) -> Value {
        do throws(LupinError) {
            return try attempt()
        } catch {
            throw SideFailure(isSource: false, error: error)
        }
    }
}
