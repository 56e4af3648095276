// Keeps a request body so that it can be sent again.
package import LupinCore
package import LupinIO
package import LupinPolicy

/// A copy of the body bytes sent upstream: in memory up to a limit, then in a file.
///
/// A body that exceeds both, or the memory or disk that all replays share, is dropped: the exchange
/// continues and is not replayable (the record says so). Trailers are not copied: they stay with
/// the source.
package final class BodyReplay {
    private let bytesMax: Int
    private let spillBytesMax: Int
    private let memory: ReplayMemory
    private let disk: ReplayDisk
    private let user: () -> ClientUser
    private let folder: String
    private var bytes: [UInt8] = []
    private var file: SpillFile?
    /// The file's share of the disk.
    private var share: ReservedDisk?
    private var dropped: AttemptRecord.Unkept?
    /// Why bytes were dropped; nil while none were.
    package var unkept: AttemptRecord.Unkept? { dropped }
    package var isComplete: Bool { unkept == nil }

    /// An empty copy.
    /// - Parameters:
    ///   - policy: Sets the limits for memory and file.
    ///   - expected: The length of the body, if known.
    ///   - room: What all replays have together.
    ///   - user: Says whose the body is, once it takes space on the disk.
    package init(
        _ policy: RetryPolicy,
        expecting expected: UInt64?,
        in room: ReplayRoom,
        of user: @escaping () -> ClientUser
    ) {
        self.user = user
        disk = room.disk
        bytesMax = policy.replayBodyBytes
        spillBytesMax = policy.replaySpillBytes
        memory = room.memory
        folder = room.folder
        // Reserved to avoid copies when the array doubles. A length that the client announces costs
        // no memory until the bytes come: the kernel allocates pages as they are written.
        if let expected { bytes.reserveCapacity(Int(min(expected, UInt64(bytesMax)))) }
    }

    deinit { memory.release(bytes.count) }

    /// The number of kept bytes.
    var count: UInt64 { UInt64(bytes.count) + (file?.count ?? 0) }

    /// All that is kept, where it lies in memory.
    package var wholeInMemory: [UInt8]? { isComplete && file == nil ? bytes : nil }

    func append(_ payload: Span<UInt8>) {
        guard isComplete else { return }
        var kept = 0
        if file == nil {
            let room = min(bytesMax - bytes.count, payload.count)
            if room > 0, memory.reserve(room) {
                bytes.append(copying: payload.extracting(0..<room))
                kept = room
            }
        }
        if kept < payload.count { spill(payload.extracting(kept..<payload.count)) }
    }

    /// When the file is full or can't be written, the copy is dropped.
    private func spill(_ payload: Span<UInt8>) {
        let isTooLong = (file?.count ?? 0) + UInt64(payload.count) > UInt64(spillBytesMax)
        guard !isTooLong else { return letGo(because: .size) }
        let share = share ?? ReservedDisk(of: disk, for: user())
        self.share = share
        guard share.grow(by: payload.count) else { return letGo(because: .replayDisk) }
        do throws(SystemError) {
            if file == nil { file = try SpillFile(in: folder) }
            try file?.append(payload)
        } catch {
            letGo(because: .diskError)
        }
    }

    private func letGo(because reason: AttemptRecord.Unkept) {
        memory.release(bytes.count)
        bytes = []
        file = nil
        share = nil
        dropped = reason
    }

    /// The part in memory.
    fileprivate var inMemory: [UInt8] { bytes }

    /// Reads the part in the file from its beginning.
    fileprivate var spilled: SpillReader? { file.map(SpillReader.init) }
}

/// A body that was sent before: the kept bytes, followed by what its source still delivers.
///
/// While it is sent, the replay keeps growing by the new bytes.
package final class ReplayedBody: BodySource {
    /// nil once all of it was sent.
    private var replay: BodyReplay?
    private let rest: any BodySource
    /// The number of kept bytes when this body began.
    private let end: UInt64
    private var position: UInt64 = 0
    /// Reads the part in the file.
    private var spilled: SpillReader?

    package init(_ replay: BodyReplay, then rest: any BodySource) {
        self.replay = replay
        self.rest = rest
        end = replay.count
        spilled = replay.spilled
    }

    package func pull() throws(LupinError) -> BodyProgress {
        position < end ? .payload : try rest.pull()
    }

    package func offer(to sink: any BodySink, keeping replay: BodyReplay?) throws(LupinError)
        -> Offer
    {
        guard position < end, let kept = self.replay else {
            return try rest.offer(to: sink, keeping: replay)
        }
        let bytes = kept.inMemory
        guard position >= UInt64(bytes.count) else {
            let from = Int(position)
            let offer = try push(bytes.span.extracting(from..<bytes.count), to: sink)
            letGo()
            return offer
        }
        guard let spilled, try fill(spilled) else { throw Self.unreadable("it is too short") }
        let offer = try push(spilled.front, to: sink)
        spilled.discard(offer.taken)
        letGo()
        return offer
    }

    /// Lets go of what was kept once it was sent; another attempt keeps it for itself.
    private func letGo() {
        guard position == end else { return }
        replay = nil
        spilled = nil
    }

    private func push(
        _ payload: Span<UInt8>,
        to sink: any BodySink
    ) throws(LupinError) -> Offer {
        let isLast =
            position + UInt64(payload.count) == end && rest.knownLength == end
        let count = try sink.push(payload, isLast: isLast)
        position += UInt64(count)
        let isAllTaken = count == payload.count
        return Offer(taken: count, isAllTaken: isAllTaken, isEnd: isAllTaken && isLast)
    }

    private func fill(_ spilled: SpillReader) throws(LupinError) -> Bool {
        do throws(SystemError) {
            return try spilled.fill()
        } catch {
            throw Self.unreadable(error.message)
        }
    }

    private static func unreadable(_ reason: String) -> LupinError {
        LupinError(
            .proxyInternalError,
            detail: "The request body that was kept can't be read: \(reason)."
        )
    }

    package var trailers: FieldSection { rest.trailers }
    package var knownLength: UInt64? { rest.knownLength }
    package var spliceable: UInt64 { position < end ? 0 : rest.spliceable }

    package func splice(into pipe: SplicePipe, _ count: Int) throws(LupinError) -> Channel.Received
    {
        try rest.splice(into: pipe, count)
    }
}
