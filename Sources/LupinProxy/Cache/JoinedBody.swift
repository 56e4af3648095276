// The two ends of a growing body: one that reads it along, and one that fills it.
import LupinCore
import LupinIO
import LupinStore
import LupinUpstream

/// A source that reads along and may stop before the body's end.
protocol LeavableBody {
    /// Stops reading, so that other readers go on at their own pace.
    func leave()
}

/// One reader of a growing body.
final class JoinedBody: BodySource, LeavableBody {
    private let body: GrowingBody
    private let number: Int
    private let wake: @Sendable () -> Void
    private var piece: [UInt8] = []
    private var position = 0
    /// The position in the body where the piece ends.
    private var offset: UInt64 = 0
    private var end: FieldSection?
    let knownLength: UInt64?

    private static let pieceBytes = 16 << 10

    /// `wake` makes the reader pull again; it may be called on any thread.
    init(_ body: GrowingBody, length: UInt64?, wake: @escaping @Sendable () -> Void) {
        self.body = body
        self.wake = wake
        number = body.beginReading()
        knownLength = length
    }

    deinit { leave() }

    func leave() { body.endReading(number) }

    func pull() throws(LupinError) -> BodyProgress {
        if position < piece.count { return .payload }
        if end != nil { return .end }
        switch body.find(offset, number, wake: { wake }) {
        case .piece(let next, let start):
            piece = next
            position = Int(offset - start)
            offset = start + UInt64(next.count)
            return .payload
        case .file(let draft, let until):
            try read(draft, Int(min(UInt64(Self.pieceBytes), until - offset)))
            return .payload
        case .end(.complete(let trailers)):
            piece = []
            end = trailers
            return .end
        case .end(.failed(let error)): throw error
        case .nothing: return .blocked
        }
    }

    /// Reads bytes that were written a moment ago: they are in the page cache.
    private func read(_ draft: DiskDraft, _ count: Int) throws(LupinError) {
        var bytes = [UInt8](repeating: 0, count: count)
        do throws(DiskProblem) {
            var room = bytes.mutableSpan
            let done = try draft.read(at: offset, into: &room)
            guard done == count else { throw .damaged }
        } catch {
            throw LupinError(
                .proxyInternalError,
                detail: "What was stored of the response could not be read: \(error).",
                retry: .never
            )
        }
        piece = bytes
        position = 0
        offset += UInt64(count)
    }

    func offer(to sink: any BodySink, keeping replay: BodyReplay?) throws(LupinError) -> Offer {
        let piece = piece
        let taken = try sink.push(piece.span.extracting(position..<piece.count), isLast: false)
        position += taken
        return Offer(taken: taken, isAllTaken: position == piece.count, isEnd: false)
    }

    var trailers: FieldSection { end ?? FieldSection() }
}

/// The end of a growing body alone, for a caller that discards its bytes.
final class AwaitedEnd: BodySource {
    private let body: GrowingBody

    init(_ body: GrowingBody) { self.body = body }

    func pull() throws(LupinError) -> BodyProgress {
        switch body.end {
        case .complete?: return .end
        case .failed(let error)?: throw error
        case nil: return .blocked
        }
    }

    func offer(to sink: any BodySink, keeping replay: BodyReplay?) throws(LupinError) -> Offer {
        Offer(taken: 0, isAllTaken: true, isEnd: false)
    }

    var trailers: FieldSection { FieldSection() }
    var knownLength: UInt64? { nil }
}

/// Moves a body from the origin into the store.
final class StoreSink: BodySink {
    private let body: GrowingBody
    private let wake: @Sendable () -> Void

    /// `wake` makes the origin's side continue; it may be called on any thread.
    init(_ body: GrowingBody, wake: @escaping @Sendable () -> Void) {
        self.body = body
        self.wake = wake
    }

    func push(_ payload: Span<UInt8>, isLast: Bool) throws(LupinError) -> Int {
        if !payload.isEmpty {
            guard try body.append(payload, wake: { wake }) else { return 0 }
        }
        if isLast { body.finish(.complete(FieldSection())) }
        return payload.count
    }

    func finish(trailers: FieldSection) throws(LupinError) -> Bool {
        body.finish(.complete(trailers))
        return true
    }

    func flush() throws(LupinError) -> Bool { true }
}
