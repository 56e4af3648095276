// Masks secrets in the body of a response while it passes from the origin.
import LupinCoding
import LupinCore
import LupinIO
import LupinPolicy
import LupinUpstream

/// The body of another source without its content codings and without secrets.
///
/// It holds at most what its mask holds back and what one piece of the source became: while that
/// waits for the sink, the source is not read (backpressure). Every byte is inspected, so nothing
/// is spliced.
final class ScrubbedBody: BodySource {
    private let source: any BodySource
    private let scrubber: Scrubber
    private let isCoded: Bool
    private var isEnded = false

    init(_ source: any BodySource, _ codings: CodingChain, _ mask: SecretMask) {
        self.source = source
        isCoded = !codings.isEmpty
        scrubber = Scrubber(codings, mask)
    }

    func pull() throws(LupinError) -> BodyProgress {
        scrubber.reuse()
        while scrubber.isDrained {
            if isEnded { return .end }
            switch try source.pull() {
            case .blocked: return .blocked
            case .end: try end()
            case .payload:
                let offer = try source.offer(to: scrubber, keeping: nil)
                if offer.isEnd { try end() }
            }
        }
        return .payload
    }

    private func end() throws(LupinError) {
        isEnded = true
        try scrubber.end()
    }

    func offer(to sink: any BodySink, keeping replay: BodyReplay?) throws(LupinError) -> Offer {
        let isLast = isEnded && source.trailers.isEmpty
        let (taken, isAllTaken) = try scrubber.offer(to: sink, isLast: isLast, keeping: replay)
        return Offer(taken: taken, isAllTaken: isAllTaken, isEnd: isAllTaken && isLast)
    }

    var hasNews: Bool { !scrubber.isDrained || source.hasNews }

    /// The source's trailers, without secrets and digests.
    var trailers: FieldSection {
        var trailers = source.trailers
        if trailers.isEmpty { return trailers }
        trailers.removeDigests()
        trailers.mask(with: scrubber.mask)
        return trailers
    }

    /// Masking keeps the length, undoing codings does not.
    var knownLength: UInt64? { isCoded ? nil : source.knownLength }
}

/// The sink of the body as it came: takes what becomes one piece of the masked one.
private final class Scrubber: BodySink {
    private let codings: CodingChain
    private(set) var mask: SecretMask
    private var output: [UInt8] = []
    /// How many bytes of the output the next sink has taken.
    private var start = 0

    init(_ codings: CodingChain, _ mask: SecretMask) {
        self.codings = codings
        self.mask = mask
    }

    /// Whether the next sink has taken everything.
    var isDrained: Bool { start == output.count }

    /// Clears an output that was taken, and keeps its memory.
    func reuse() {
        guard isDrained else { return }
        output.removeAll(keepingCapacity: true)
        start = 0
    }

    /// The whole body has come.
    func end() throws(LupinError) { try take([UInt8]().span, isLast: true) }

    func offer(
        to sink: any BodySink,
        isLast: Bool,
        keeping replay: BodyReplay?
    ) throws(LupinError) -> (taken: Int, isAllTaken: Bool) {
        let taken = try sink.push(output, from: start, isLast: isLast, keeping: replay)
        start += taken
        return (taken, start == output.count)
    }

    private func take(_ bytes: Span<UInt8>, isLast: Bool) throws(LupinError) {
        if codings.isEmpty { return mask.mask(bytes, isLast: isLast, into: &output) }
        let plain: [UInt8]
        do throws(CodingProblem) {
            plain = try codings.decode(bytes, isLast: isLast)
        } catch {
            throw LupinError(
                .httpResponseContentCoding,
                detail: "The response could not be scrubbed of secrets: \(error.sentence).",
                side: .upstream
            )
        }
        mask.mask(plain.span, isLast: isLast, into: &output)
    }

    // MARK: The sink

    /// The end is taken by `end`: there may be trailers to wait for.
    func push(_ payload: Span<UInt8>, isLast: Bool) throws(LupinError) -> Int {
        // What is not taken is offered again once this has gone.
        guard isDrained else { return 0 }
        reuse()
        let piece =
            codings.isEmpty ? payload : payload.extracting(first: CodingChain.pieceBytes)
        try take(piece, isLast: false)
        return piece.count
    }

    func finish(trailers: FieldSection) throws(LupinError) -> Bool { true }
    func flush() throws(LupinError) -> Bool { true }
}
