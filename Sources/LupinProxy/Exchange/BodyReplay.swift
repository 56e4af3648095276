// What of a request body is kept so that it can be sent again.
import LupinCore
import LupinIO

/// A copy of the body bytes that went upstream: in memory up to a bound, then in a file.
///
/// A body that outgrows both, or the memory that all replays share, is let go: the exchange goes on
/// and is not replayable (the record says so). Trailers are not copied: they stay with the source.
final class BodyReplay {
    private let bytesMax: Int
    private let spillBytesMax: Int
    private let memory: ReplayMemory
    private let folder: String
    private var bytes: [UInt8] = []
    private var file: SpillFile?
    /// False once something was let go.
    private(set) var isComplete = true

    /// An empty copy.
    /// - Parameters:
    ///   - policy: Says how much may be kept in memory and in a file.
    ///   - expected: How long the body will be, where that is known.
    ///   - shared: Counts the memory of all replays, and knows where files go.
    init(_ policy: RetryPolicy, expecting expected: UInt64?, _ shared: Shared) {
        bytesMax = policy.replayBodyBytes
        spillBytesMax = policy.replaySpillBytes
        memory = shared.replayMemory
        folder = shared.spillFolder
        // Grown by doubling it would be copied several times over. What a client says it will send
        // costs no memory until it does: the kernel gives pages as they are written.
        if let expected { bytes.reserveCapacity(Int(min(expected, UInt64(bytesMax)))) }
    }

    deinit { memory.release(bytes.count) }

    /// Bytes that are kept.
    var count: UInt64 { UInt64(bytes.count) + (file?.count ?? 0) }

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

    /// Without a file, or with a full one, nothing can be kept any longer.
    private func spill(_ payload: Span<UInt8>) {
        let isTooLong = (file?.count ?? 0) + UInt64(payload.count) > UInt64(spillBytesMax)
        do throws(SystemError) {
            guard !isTooLong else { return letGo() }
            if file == nil { file = try SpillFile(in: folder) }
            try file?.append(payload)
        } catch {
            letGo()
        }
    }

    private func letGo() {
        memory.release(bytes.count)
        bytes = []
        file = nil
        isComplete = false
    }

    /// The part in memory.
    fileprivate var inMemory: [UInt8] { bytes }

    /// Reads the part in the file from its beginning.
    fileprivate var spilled: SpillReader? { file.map(SpillReader.init) }
}

/// A body that was sent before: the bytes that were kept, and behind them what its source still
/// brings.
///
/// While it goes out the replay grows by what comes behind.
final class ReplayedBody: BodySource {
    private let replay: BodyReplay
    private let rest: any BodySource
    /// How much had been kept when this one began.
    private let end: UInt64
    private var position: UInt64 = 0
    /// What of it lies in a file.
    private let spilled: SpillReader?

    init(_ replay: BodyReplay, then rest: any BodySource) {
        self.replay = replay
        self.rest = rest
        end = replay.count
        spilled = replay.spilled
    }

    func pull() throws(LupinError) -> BodyProgress {
        position < end ? .payload : try rest.pull()
    }

    func offer(to sink: any BodySink, keeping replay: BodyReplay?) throws(LupinError) -> Offer {
        guard position < end else { return try rest.offer(to: sink, keeping: replay) }
        let bytes = self.replay.inMemory
        guard position >= UInt64(bytes.count) else {
            let from = Int(position)
            return try push(bytes.span.extracting(from..<bytes.count), to: sink)
        }
        guard let spilled, try fill(spilled) else { throw Self.unreadable("it is too short") }
        let offer = try push(spilled.front, to: sink)
        spilled.discard(offer.taken)
        return offer
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

    var trailers: FieldSection { rest.trailers }
    var knownLength: UInt64? { rest.knownLength }
    var spliceable: UInt64 { position < end ? 0 : rest.spliceable }

    func splice(into pipe: SplicePipe, _ count: Int) throws(LupinError) -> Channel.Received {
        try rest.splice(into: pipe, count)
    }
}
