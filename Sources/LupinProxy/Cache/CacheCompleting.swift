// Combines held parts and the part that the origin adds into one response (RFC 9111 §3.4).
import LupinCaching
import LupinCore
import LupinIO
import LupinUpstream
import LupinWire

extension CacheHandler {
    /// Delivers the held parts and the new part as the one response that the client wants.
    /// - Returns: False, with nothing done, when the parts don't belong together.
    func deliverCompleted(
        _ completion: PartCompletion,
        _ obtained: ObtainedResponse
    ) async throws(LupinError) -> Bool {
        let (head, framing) = (obtained.response.head, obtained.response.framing)
        guard let held = use.found,
            let part = completion.part(of: head, contentLength: framing.knownLength),
            let whole = Combination(of: held, head, part, use, nowUs)
        else { return false }
        use.hear(head, completing: held)
        // The stored No-Vary-Search is outdated.
        if held.key != use.storingKey { use.outdated = held }
        let decision = use.policy.decide(
            response: head,
            request: use.base.head,
            asked: use.asked,
            attachments: use.attachments,
            requestTimeUs: use.requestTimeUs,
            responseTimeUs: nowUs
        )
        var storing = begin(part, head, whole.facts.vary, isKept: false)
        if !whole.mayBeKept {
            store.remove([held])
        } else if case .store = decision, whole.facts.content.heldBytes <= partBytesMax,
            let (stored, vary) = try await modified(head)
        {
            storing = begin(part, stored, vary)
            use.status.isStored = true
        }
        let served = whole.facts.served(whole.answer, nowUs: nowUs, boundary: "")
        if served.head.status != 206 { use.status.forwardStatus = 206 }
        use.noteFinding(held)
        report()
        let sink = try client.present(
            served.head,
            .length(served.contentLength),
            contentLength: served.contentLength
        )
        let body = CompletedBody(
            whole.before,
            JoinedBody(storing.body, length: storing.length) {},
            whole.behind,
            length: served.contentLength
        )
        try await fill(storing, obtained, from: body, to: sink)
        return true
    }
}

/// The response made of held parts and one that comes.
private struct Combination {
    let facts: StoredResponse
    /// Whether the newer response allows storing it.
    let mayBeKept: Bool
    let answer: CacheAnswer
    /// The held pieces before and behind the part that comes.
    let before: [StoredPiece]
    let behind: [StoredPiece]

    /// Returns nil unless the parts are of one representation and make up the wanted response.
    init?(
        of cached: CachedResponse,
        _ head: ResponseHead,
        _ part: ContentRange,
        _ use: CacheUse,
        _ nowUs: Int64
    ) {
        guard let content = cached.content, let range = part.range,
            case .combine(_, let held) = cached.facts.combine(head, part)
        else { return nil }
        let renewed = cached.facts.renewed(
            by: head,
            request: use.base.head,
            attachments: use.attachments,
            content: held,
            policy: use.policy,
            requestTimeUs: use.requestTimeUs,
            responseTimeUs: nowUs
        )
        facts = renewed.response
        mayBeKept = renewed.outcome == .renewed
        guard facts.suffices(for: use.asked) else { return nil }
        answer = facts.answer(to: use.base.head, use.asked)
        let wanted: Range<UInt64>
        switch answer {
        case .full: wanted = 0..<(held.completeLength ?? 0)
        case .ranges(let ranges) where ranges.count == 1: wanted = ranges[0]
        case .ranges, .notModified, .rangeNotSatisfiable: return nil
        }
        let former = cached.facts.content
        guard wanted.lowerBound <= range.lowerBound, range.upperBound <= wanted.upperBound,
            former.holds(wanted.lowerBound..<range.lowerBound),
            former.holds(range.upperBound..<wanted.upperBound)
        else { return nil }
        let positions = former.position(of: wanted.lowerBound..<range.lowerBound)
        before = content.pieces(in: positions)
        behind = content.pieces(in: former.position(of: range.upperBound..<wanted.upperBound))
    }
}

/// A body whose middle is still coming; the pieces before and behind it are held.
private final class CompletedBody: BodySource, LeavableBody {
    private var before: ArraySlice<StoredPiece>
    private let middle: JoinedBody
    private var isMiddleOver = false
    private var behind: ArraySlice<StoredPiece>
    private var piece = StoredPiece.bytes([])
    private var position = 0
    private let length: UInt64

    init(
        _ before: [StoredPiece],
        _ middle: JoinedBody,
        _ behind: [StoredPiece],
        length: UInt64
    ) {
        self.before = before[...]
        self.middle = middle
        self.behind = behind[...]
        self.length = length
    }

    func leave() { middle.leave() }

    func pull() throws(LupinError) -> BodyProgress {
        if position < piece.count { return .payload }
        if let next = before.popFirst() { return take(next) }
        if !isMiddleOver {
            let progress = try middle.pull()
            guard progress == .end else { return progress }
            isMiddleOver = true
        }
        if let next = behind.popFirst() { return take(next) }
        return .end
    }

    private func take(_ next: StoredPiece) -> BodyProgress {
        piece = next
        position = 0
        return .payload
    }

    func offer(to sink: any BodySink, keeping replay: BodyReplay?) throws(LupinError) -> Offer {
        guard position < piece.count else { return try middle.offer(to: sink, keeping: replay) }
        let taken = try piece.push(position..<piece.count, to: sink, isLast: false)
        position += taken
        return Offer(taken: taken, isAllTaken: position == piece.count, isEnd: false)
    }

    var trailers: FieldSection { FieldSection() }
    var knownLength: UInt64? { length }
}
