// A body that is compressed while it passes from its source to its sink.
import LupinCoding
import LupinCore
import LupinIO

/// The compressed form of another source's body.
///
/// It holds at most one buffer of output: while that waits for the sink, nothing is read from the
/// source. Its length is unknown, and every byte goes through the encoder, so nothing is spliced.
///
/// A replay that the relay keeps holds compressed bytes. Where the next attempt may have to go out
/// as the client sent it (415), `plainReplay` keeps those bytes instead; then that attempt begins
/// with a `ReplayedBody` of them over the same source.
final class CompressedBody: BodySource {
    /// open → pausing → open; open → ending → ended.
    private enum Phase {
        case open
        /// What was taken must come out before more is.
        case pausing
        /// The source has ended; the coding has not.
        case ending
        case ended
    }

    private static let bufferBytes = 32 << 10
    /// Input of one turn.
    ///
    /// Compression takes time that others wait for, and what comes out says little about it: a file
    /// of zeros is a thousand times shorter.
    private static let turnBytes = 256 << 10

    private let source: any BodySource
    private let coder: Coder
    private let again: () -> Void
    private let pauses: Bool
    /// Keeps what the source gives, before it is compressed.
    var plainReplay: BodyReplay?
    /// Plain bytes after which the body fails; nil for no limit.
    ///
    /// The relay's own limit counts what comes out.
    var plainBytesMax: UInt64?

    /// - Parameters:
    ///   - source: The body as it came.
    ///   - coding: What its head says by now.
    ///   - again: Has the relay pumped again soon. It is called when the body has had its turn and
    ///     could go on at once, since no event will tell of that.
    /// - Throws: zlib got no memory.
    init(
        _ source: any BodySource,
        _ coding: ContentCoding,
        again: @escaping () -> Void
    ) throws(LupinError) {
        self.source = source
        self.again = again
        // Who waits for an answer to half a body, as with gRPC, hasn't said how long it will be.
        pauses = source.knownLength == nil
        do throws(CodingProblem) {
            coder = Coder(try ContentEncoder(coding), bufferBytes: Self.bufferBytes)
        } catch {
            let detail = "The body could not be compressed: \(error.sentence)."
            throw LupinError(.proxyInternalError, detail: detail)
        }
    }

    private var phase = Phase.open
    /// Plain bytes since the last time that others had their turn.
    private var turn = 0

    /// Bytes that the source has given so far.
    var plainBytes: UInt64 { coder.taken }

    func pull() throws(LupinError) -> BodyProgress {
        if !coder.isDrained { return .payload }
        coder.reuse()
        while !coder.isFull, phase != .ended {
            switch phase {
            case .open:
                guard try takeMore() else { return coder.isDrained ? .blocked : .payload }
            case .pausing:
                if coder.write(.pause) { phase = .open }
            case .ending:
                if coder.write(.end) { phase = .ended }
            case .ended: break
            }
        }
        return coder.isDrained ? .end : .payload
    }

    /// Compresses what the source has.
    ///
    /// False when nothing more is to be had in this turn.
    private func takeMore() throws(LupinError) -> Bool {
        if turn >= Self.turnBytes {
            turn = 0
            again()
            return false
        }
        switch try source.pull() {
        case .payload:
            let before = coder.taken
            let offer = try source.offer(to: coder, keeping: plainReplay)
            turn += Int(coder.taken &- before)
            if let plainBytesMax, coder.taken > plainBytesMax { throw .bodyTooLong }
            if offer.isEnd { phase = .ending }
            return true
        case .blocked:
            turn = 0
            guard pauses, coder.holdsInput else { return false }
            phase = .pausing
            return true
        case .end:
            phase = .ending
            return true
        }
    }

    func offer(to sink: any BodySink, keeping replay: BodyReplay?) throws(LupinError) -> Offer {
        // The trailers are known when the source has ended, and not before.
        let isLast = phase == .ended && source.trailers.isEmpty
        let (taken, isAllTaken) = try coder.offer(to: sink, isLast: isLast, keeping: replay)
        return Offer(taken: taken, isAllTaken: isAllTaken, isEnd: isAllTaken && isLast)
    }

    /// The source's, without digests of bytes that nobody will see.
    var trailers: FieldSection {
        var trailers = source.trailers
        if !trailers.isEmpty { trailers.removeDigests() }
        return trailers
    }

    var knownLength: UInt64? { nil }
}

/// The sink of the plain body: takes what the output buffer has room for.
private final class Coder: BodySink {
    private var encoder: ContentEncoder
    private var output: [UInt8] = []
    /// What the sink behind us has taken of the output.
    private var start = 0
    private let bufferBytes: Int
    private(set) var taken: UInt64 = 0

    init(_ encoder: consuming ContentEncoder, bufferBytes: Int) {
        self.encoder = encoder
        self.bufferBytes = bufferBytes
    }

    /// Whether the sink behind us has everything.
    var isDrained: Bool { start == output.count }
    var isFull: Bool { output.count >= bufferBytes }
    /// Whether something that was taken has not come out yet.
    var holdsInput: Bool { encoder.holdsInput }

    /// Forgets what was taken, and keeps the memory.
    func reuse() {
        output.removeAll(keepingCapacity: true)
        start = 0
    }

    /// Writes a pause or the end; false if there was no room for all of it.
    func write(_ ending: ContentEncoder.Ending) -> Bool {
        let nothing = Span<UInt8>()
        return encoder.encode(nothing, ending, into: &output, room: bufferBytes - output.count)
            .isDone
    }

    func offer(
        to sink: any BodySink,
        isLast: Bool,
        keeping replay: BodyReplay?
    ) throws(LupinError) -> (taken: Int, isAllTaken: Bool) {
        let output = output
        let payload = output.span.extracting(start..<output.count)
        let taken = try sink.push(payload, isLast: isLast)
        replay?.append(payload.extracting(0..<taken))
        start += taken
        return (taken, start == output.count)
    }

    // MARK: The sink

    /// The end is written by `write`: there may be trailers to wait for.
    func push(_ payload: Span<UInt8>, isLast: Bool) throws(LupinError) -> Int {
        let room = bufferBytes - output.count
        let consumed = encoder.encode(payload, into: &output, room: room).consumed
        taken &+= UInt64(consumed)
        return consumed
    }

    func finish(trailers: FieldSection) throws(LupinError) -> Bool { true }
    func flush() throws(LupinError) -> Bool { true }
}
