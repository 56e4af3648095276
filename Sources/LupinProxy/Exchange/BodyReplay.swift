// What of a request body is kept so that it can be sent again.
import LupinCore
import LupinIO

/// A copy of the body bytes that went upstream, up to a bound.
///
/// A body that outgrows the bound, or the memory that all replays share, is let go: the exchange
/// goes on and is not replayable (the record says so).
final class BodyReplay {
    private let bytesMax: Int
    private let memory: ReplayMemory
    private(set) var bytes: [UInt8] = []
    /// False once something was let go.
    private(set) var isComplete = true

    init(bytesMax: Int, memory: ReplayMemory) {
        self.bytesMax = bytesMax
        self.memory = memory
    }

    deinit { memory.release(bytes.count) }

    func append(_ payload: Span<UInt8>) {
        guard isComplete else { return }
        guard bytes.count + payload.count <= bytesMax, memory.reserve(payload.count) else {
            memory.release(bytes.count)
            bytes = []
            isComplete = false
            return
        }
        bytes.append(copying: payload)
    }
}

/// A body that was kept, as a source for the next attempt; what was never sent follows from the
/// client.
final class ReplayedBody: BodySource {
    private let kept: BodyReplay
    private let rest: any BodySource
    private var position = 0

    init(_ kept: BodyReplay, then rest: any BodySource) {
        self.kept = kept
        self.rest = rest
    }

    func pull() throws(LupinError) -> BodyProgress {
        position < kept.bytes.count ? .payload : try rest.pull()
    }

    func offer(to sink: any BodySink, keeping replay: BodyReplay?) throws(LupinError) -> Offer {
        guard position < kept.bytes.count else {
            return try rest.offer(to: sink, keeping: replay)
        }
        let bytes = kept.bytes
        let isLast = rest.knownLength == UInt64(bytes.count)
        let payload = bytes.span.extracting(position..<bytes.count)
        let taken = try sink.push(payload, isLast: isLast)
        replay?.append(payload.extracting(0..<taken))
        position += taken
        let isAllTaken = position == bytes.count
        return Offer(taken: taken, isAllTaken: isAllTaken, isEnd: isAllTaken && isLast)
    }

    var trailers: FieldSection { rest.trailers }
    var knownLength: UInt64? { rest.knownLength }
    var spliceable: UInt64 { 0 }

    func splice(into pipe: SplicePipe, _ count: Int) throws(LupinError) -> Channel.Received {
        .blocked
    }
}
