// A body that is being fetched once and read by many while it grows.
import LupinCore
import LupinIO
import Synchronization

/// The body of a response on its way into the store.
///
/// It grows at the pace of the origin; whoever reads it, on whatever worker, is told when there is
/// more. A body that turns out too long for the store is kept no longer: then its only reader sets
/// the pace, and what it has read is let go.
final class GrowingBody: Sendable {
    enum End: Sendable {
        case complete(FieldSection)
        case failed(LupinError)
    }

    private struct State {
        var pieces: [[UInt8]] = []
        /// Pieces that were let go before the first that is there.
        var dropped = 0
        var bytes: UInt64 = 0
        var end: End?
        var isKept = true
        var waiting: [@Sendable () -> Void] = []
    }

    /// What a reader finds at its place.
    enum Found {
        case piece([UInt8])
        case end(End)
        case nothing
    }

    private let state = Mutex(State())

    /// Bytes so far.
    var count: UInt64 { state.withLock { $0.bytes } }

    /// Everything, once it is complete and was kept.
    var content: StoredContent? {
        state.withLock { state in
            guard case .complete? = state.end, state.isKept else { return nil }
            return StoredContent(state.pieces)
        }
    }

    func append(_ payload: Span<UInt8>) {
        let piece = [UInt8](copying: payload)
        tell { state in
            state.pieces.append(piece)
            state.bytes += UInt64(piece.count)
        }
    }

    /// Ends it; the first end counts.
    func finish(_ end: End) {
        tell { state in if state.end == nil { state.end = end } }
    }

    /// It will not be stored: what is read is let go from now on.
    func letGo() { state.withLock { $0.isKept = false } }

    var isKept: Bool { state.withLock { $0.isKept } }

    /// Bytes that nobody has read, where nothing is kept.
    func unread(after index: Int) -> Int {
        state.withLock { state in
            state.pieces.dropFirst(max(0, index - state.dropped)).reduce(0) { $0 + $1.count }
        }
    }

    /// The piece of that number; without one `wake` is called when that changes.
    func find(_ index: Int, wake: () -> @Sendable () -> Void) -> Found {
        state.withLock { state in
            if !state.isKept, index > state.dropped {
                let count = min(index - state.dropped, state.pieces.count)
                state.pieces.removeFirst(count)
                state.dropped += count
            }
            let place = index - state.dropped
            if state.pieces.indices.contains(place) { return .piece(state.pieces[place]) }
            if let end = state.end { return .end(end) }
            state.waiting.append(wake())
            return .nothing
        }
    }

    private func tell(_ change: (inout State) -> Void) {
        let waiting = state.withLock { state in
            change(&state)
            defer { state.waiting = [] }
            return state.waiting
        }
        for wake in waiting { wake() }
    }
}

/// One reader's way through a growing body.
final class JoinedBody: BodySource {
    private let body: GrowingBody
    private let wake: @Sendable () -> Void
    private(set) var index = 0
    private var piece: [UInt8] = []
    private var position = 0
    private var end: FieldSection?
    let knownLength: UInt64?

    /// `wake` has whoever reads look again; it may be called on any thread.
    init(_ body: GrowingBody, length: UInt64?, wake: @escaping @Sendable () -> Void) {
        self.body = body
        self.wake = wake
        knownLength = length
    }

    func pull() throws(LupinError) -> BodyProgress {
        if position < piece.count { return .payload }
        if end != nil { return .end }
        switch body.find(index, wake: { wake }) {
        case .piece(let next):
            piece = next
            position = 0
            index += 1
            return .payload
        case .end(.complete(let trailers)):
            piece = []
            end = trailers
            return .end
        case .end(.failed(let error)): throw error
        case .nothing: return .blocked
        }
    }

    func offer(to sink: any BodySink, keeping replay: BodyReplay?) throws(LupinError) -> Offer {
        let piece = piece
        let taken = try sink.push(piece.span.extracting(position..<piece.count), isLast: false)
        position += taken
        return Offer(taken: taken, isAllTaken: position == piece.count, isEnd: false)
    }

    var trailers: FieldSection { end ?? FieldSection() }
    var spliceable: UInt64 { 0 }

    func splice(into pipe: SplicePipe, _ count: Int) throws(LupinError) -> Channel.Received {
        .blocked
    }
}

/// Takes a body off the origin's hands and into the store.
final class StoreSink: BodySink {
    let body: GrowingBody
    private let bytesMax: UInt64
    private let reader: JoinedBody?
    private var bytes: UInt64 = 0

    /// What a reader may lag behind, once nothing is kept.
    private static let lagMax = 256 << 10

    /// `reader` sets the pace once the body is longer than `bytesMax`; nil where nobody reads.
    init(_ body: GrowingBody, bytesMax: UInt64, reader: JoinedBody?) {
        self.body = body
        self.bytesMax = bytesMax
        self.reader = reader
    }

    /// Whether the body outgrew the bound.
    private(set) var isTooLong = false

    func push(_ payload: Span<UInt8>, isLast: Bool) throws(LupinError) -> Int {
        if !isTooLong, bytes + UInt64(payload.count) > bytesMax {
            isTooLong = true
            guard reader != nil else {
                throw LupinError(.proxyInternalError, detail: "The body is too long to be stored.")
            }
            body.letGo()
        }
        if isTooLong, let reader, body.unread(after: reader.index) >= Self.lagMax { return 0 }
        body.append(payload)
        bytes += UInt64(payload.count)
        if isLast { body.finish(.complete(FieldSection())) }
        return payload.count
    }

    func finish(trailers: FieldSection) throws(LupinError) -> Bool {
        body.finish(.complete(trailers))
        return true
    }

    func flush() throws(LupinError) -> Bool { true }
    var takesSplice: Bool { false }
    func splice(from pipe: SplicePipe) throws(LupinError) -> Bool { pipe.held == 0 }
}
