// Copies the body of a response while it passes, for a check at its end that holds nothing back.
import LupinCore
import LupinIO
import LupinUpstream

/// The body of another source, of which a beginning is kept.
final class WatchedBody: BodySource {
    private let source: any BodySource
    private let copy: Copy
    /// Called at the end, once, with the whole body unless it was too long, and with its length.
    private var whenComplete: (([UInt8]?, UInt64) -> Void)?

    init(
        _ source: any BodySource,
        bytesMax: Int,
        whenComplete: @escaping ([UInt8]?, UInt64) -> Void
    ) {
        self.source = source
        copy = Copy(bytesMax: bytesMax)
        self.whenComplete = whenComplete
    }

    func pull() throws(LupinError) -> BodyProgress {
        let progress = try source.pull()
        if progress == .end { complete() }
        return progress
    }

    func offer(to sink: any BodySink, keeping replay: BodyReplay?) throws(LupinError) -> Offer {
        copy.sink = sink
        defer { copy.sink = nil }
        let offer = try source.offer(to: copy, keeping: replay)
        if offer.isEnd { complete() }
        return offer
    }

    private func complete() { whenComplete.take()?(copy.whole, copy.count) }

    var hasNews: Bool { source.hasNews }
    var trailers: FieldSection { source.trailers }
    var knownLength: UInt64? { source.knownLength }
}

/// The sink of the body: hands on what it keeps.
private final class Copy: BodySink {
    /// The sink behind it, during an offer.
    var sink: (any BodySink)?
    private(set) var count: UInt64 = 0
    private var bytes: [UInt8] = []
    private let bytesMax: Int

    init(bytesMax: Int) { self.bytesMax = bytesMax }

    /// nil when the body is longer than what is kept.
    var whole: [UInt8]? { count == UInt64(bytes.count) ? bytes : nil }

    func push(_ payload: Span<UInt8>, isLast: Bool) throws(LupinError) -> Int {
        let taken = try sink?.push(payload, isLast: isLast) ?? 0
        let isKept = count == UInt64(bytes.count) && bytes.count + taken <= bytesMax
        if isKept { bytes.append(copying: payload.extracting(0..<taken)) }
        count &+= UInt64(taken)
        return taken
    }

    func finish(trailers: FieldSection) throws(LupinError) -> Bool {
        try sink?.finish(trailers: trailers) ?? true
    }

    func flush() throws(LupinError) -> Bool { try sink?.flush() ?? true }
}
