// Compresses a body while it passes from its source to its sink.
import LupinCoding
import LupinCore
import LupinIO
import LupinPolicy
import LupinUpstream

/// The compressed form of another source's body.
///
/// It holds at most one buffer of output: while that waits for the sink, the source is not read
/// (backpressure). Its length is unknown, and every byte is encoded, so nothing is spliced.
///
/// A replay that the relay keeps holds compressed bytes. If the next attempt may have to send the
/// client's bytes (415), `plainReplay` keeps those instead; then that attempt begins with a
/// `ReplayedBody` of them over the same source.
final class CompressedBody: BodySource {
    /// open → pausing → open; open → ending → ended.
    private enum Phase {
        case open
        /// The input so far must come out before more is read.
        case pausing
        /// The source has ended; the encoder has not.
        case ending
        case ended
    }

    private static let bufferBytes = 32 << 10
    /// The maximum input of one turn.
    ///
    /// Compression takes time that other connections wait for, and its output says little about
    /// that: a file of zeros shrinks to a thousandth.
    private static let turnBytes = 256 << 10

    private let source: any BodySource
    private let coder: Coder
    private let again: () -> Void
    private let pauses: Bool
    /// Keeps the source's bytes, before compression.
    var plainReplay: BodyReplay?
    /// Plain bytes after which the body fails; nil for no limit.
    ///
    /// The relay's own limit counts compressed bytes.
    var plainBytesMax: UInt64?

    /// - Parameters:
    ///   - source: The body as received.
    ///   - coding: The coding that the head declares.
    ///   - again: Makes the relay pump again soon. It is called when the body has used its turn and
    ///     could go on, since no event will announce that.
    /// - Throws: When zlib gets no memory.
    init(
        _ source: any BodySource,
        _ coding: ContentCoding,
        again: @escaping () -> Void
    ) throws(LupinError) {
        self.source = source
        self.again = again
        // A client that awaits a response to half a body, as with gRPC, has not declared its
        // length.
        pauses = source.knownLength == nil
        do throws(CodingProblem) {
            coder = Coder(try ContentEncoder(coding), bufferBytes: Self.bufferBytes)
        } catch {
            let detail = "The body could not be compressed: \(error.sentence)."
            throw LupinError(.proxyInternalError, detail: detail)
        }
    }

    private var phase = Phase.open
    /// Plain bytes since other connections last had their turn.
    private var turn = 0

    /// The number of bytes that the source has delivered.
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
    /// Returns false when nothing more is available in this turn.
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
        // The trailers are known only when the source has ended.
        let isLast = phase == .ended && source.trailers.isEmpty
        let (taken, isAllTaken) = try coder.offer(to: sink, isLast: isLast, keeping: replay)
        return Offer(taken: taken, isAllTaken: isAllTaken, isEnd: isAllTaken && isLast)
    }

    /// The source's trailers, without digests of the plain bytes.
    var trailers: FieldSection {
        var trailers = source.trailers
        if !trailers.isEmpty { trailers.removeDigests() }
        return trailers
    }

    var knownLength: UInt64? { nil }
}

/// The sink of the plain body: takes as much as the output buffer has room for.
private final class Coder: BodySink {
    private var encoder: ContentEncoder
    private var output: [UInt8] = []
    /// How many bytes of the output the next sink has taken.
    private var start = 0
    private let bufferBytes: Int
    private(set) var taken: UInt64 = 0

    init(_ encoder: consuming ContentEncoder, bufferBytes: Int) {
        self.encoder = encoder
        self.bufferBytes = bufferBytes
    }

    /// Whether the next sink has taken everything.
    var isDrained: Bool { start == output.count }
    var isFull: Bool { output.count >= bufferBytes }
    /// Whether some input has not come out yet.
    var holdsInput: Bool { encoder.holdsInput }

    /// Clears the output, and keeps its memory.
    func reuse() {
        output.removeAll(keepingCapacity: true)
        start = 0
    }

    /// Writes a pause or the end; returns false when there was no room for all of it.
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
        let taken = try sink.push(output, from: start, isLast: isLast, keeping: replay)
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
