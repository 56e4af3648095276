// How parts of responses are kept, put together and made whole (RFC 9111 §3.3, §3.4).
import LupinCore
import LupinIO
import LupinWire

extension Exchange {
    // MARK: Keeping

    /// Why a part is not kept; nil if it is.
    ///
    /// - Parameters:
    ///   - part: What its Content-Range says.
    ///   - head: The response as it would be stored.
    ///   - vary: What it was chosen for.
    ///   - use: What asked for it.
    ///   - length: Bytes of its body, where its framing says.
    func refusal(
        of part: ContentRange,
        _ head: ResponseHead,
        _ vary: VaryKey,
        _ use: CacheUse,
        length: UInt64?
    ) -> NoStoreReason? {
        guard use.asked.ranges != nil, let range = part.range,
            length.map({ $0 == UInt64(range.count) }) ?? true,
            let tag = EntityTag(of: head.fields), !tag.isWeak
        else { return .partial }
        var held = HeldContent(range: range, completeLength: part.completeLength)
        if let current = current(vary, use),
            case .combine(_, let combined) = current.facts.combine(head, part)
        {
            held = combined
        } else if use.asked.ifRange != nil {
            // Such a 206 leaves out what the client knows (RFC 9110 §15.3.7), and nobody else does.
            return .partial
        }
        return held.heldBytes > partBytesMax ? .tooLarge : nil
    }

    /// Bytes that may be held of one response in part: they lie in memory only.
    private var partBytesMax: UInt64 {
        let settings = snapshot.settings.cacheStore
        return UInt64(min(settings.objectBytesMax, settings.memoryBytes))
    }

    /// What is stored for the same requests by now.
    private func current(_ vary: VaryKey, _ use: CacheUse) -> CachedResponse? {
        resources.shared.responses.responses(use.key).first { $0.facts.vary == vary }?
            .seen(by: use.policy)
    }

    /// A part on its way into the store; with `isKept` false it is read along and let go.
    func begin(
        _ part: ContentRange,
        _ head: ResponseHead,
        _ vary: VaryKey,
        isKept: Bool = true
    ) -> Storing {
        let room = GrowingBody.Room(memoryBytes: isKept ? partBytesMax : 0, disk: nil)
        let length = part.range.map { UInt64($0.count) }
        return Storing(
            head: head,
            vary: vary,
            responseTimeUs: resources.wallNow,
            room: room,
            body: GrowingBody(room, expecting: length),
            length: length,
            part: part
        )
    }

    /// Keeps a part together with what is held of the same representation, or in the place of
    /// another one. What is complete then is stored as any response.
    ///
    /// Where two parts are kept in the same moment, one of them may be lost; it is missing then.
    /// - Returns: Whether it is kept.
    func keep(
        _ bytes: StoredContent,
        as part: ContentRange,
        _ storing: Storing,
        _ use: CacheUse
    ) -> Bool {
        // An origin that sends more or less than it says is not to be believed.
        guard let range = part.range, bytes.count == UInt64(range.count) else { return false }
        let store = resources.shared.responses
        let current = current(storing.vary, use)
        var facts: StoredResponse
        var content = bytes
        if let current, case .combine(_, let held) = current.facts.combine(storing.head, part) {
            let renewed = current.facts.renewed(
                by: storing.head,
                request: use.base.head,
                content: held,
                policy: use.policy,
                requestTimeUs: use.requestTimeUs,
                responseTimeUs: storing.responseTimeUs
            )
            facts = renewed.response
            guard renewed.mayBeKept, held.heldBytes <= partBytesMax else {
                store.remove([current])
                return false
            }
            if current.facts.content.isComplete {
                store.update(current, facts, policy: use.policy)
                return true
            }
            guard let former = current.content else { return false }
            content = former.combined(current.facts.content, with: bytes, at: range)
            if facts.vary != current.facts.vary { store.remove([current]) }
        } else {
            // What was asked for later is newer.
            if let current, current.facts.requestTimeUs > use.requestTimeUs { return false }
            let held = HeldContent(range: range, completeLength: part.completeLength)
            facts = storing.facts(use, held)
        }
        store.insert(
            use.key,
            facts,
            content,
            policy: use.policy,
            mayLieOnDisk: facts.content.isComplete && mayLieOnDisk(facts, use)
        )
        return true
    }

    /// Keeps what has come of a body that broke off, or that its client did not wait for (§3.3).
    func keepBeginning(_ storing: Storing, _ use: CacheUse) {
        guard let length = storing.length, let bytes = storing.body.beginning,
            bytes.count < length
        else { return }
        if let part = storing.part, let start = part.range?.lowerBound {
            let range = start..<(start + bytes.count)
            let came = ContentRange(range: range, completeLength: part.completeLength)
            _ = keep(bytes, as: came, storing, use)
        } else if storing.head.brokenOff(received: bytes.count, contentLength: length) != nil {
            let came = ContentRange(range: 0..<bytes.count, completeLength: length)
            _ = keep(bytes, as: came, storing, use)
        }
    }

    // MARK: Making whole

    /// Serves a client that needs none of the missing bytes; else says what to ask the origin for.
    /// - Returns: Whether it is served.
    func answerFromParts(
        _ use: CacheUse,
        _ cached: CachedResponse
    ) async throws(LupinError) -> Bool {
        let unchanged = cached.facts.reuseUnchanged(
            for: use.asked,
            use.base.head,
            policy: use.policy,
            nowUs: resources.wallNow
        )
        switch unchanged {
        case .fresh(_, let ttl), .stale(_, let ttl, .now):
            guard let content = cached.content else { break }
            use.status = .hit(ttl: ttl)
            try await serve(cached, .memory(content), use)
            return true
        default: break
        }
        use.status = .forward(.partial)
        use.completion = cached.facts.completion(for: use.asked)
        return false
    }

    /// Delivers what is held and what came as the one response that the client wants.
    /// - Returns: False, with nothing done, where both don't belong together.
    func deliverCompleted(
        _ use: CacheUse,
        _ completion: PartCompletion,
        _ obtained: ObtainedResponse
    ) async throws(LupinError) -> Bool {
        let (head, framing) = (obtained.response.head, obtained.response.framing)
        guard let selected = use.selected,
            let part = completion.part(of: head, contentLength: framing.knownLength),
            let whole = Combination(of: use.candidates[selected], head, part, use, resources.wallNow)
        else { return false }
        let decision = use.policy.decide(
            response: head,
            request: use.base.head,
            asked: use.asked,
            hasInjectedCredentials: injectsCredentials,
            requestTimeUs: use.requestTimeUs,
            responseTimeUs: resources.wallNow
        )
        var storing = begin(part, head, whole.facts.vary, isKept: false)
        if !whole.mayBeKept {
            resources.shared.responses.remove([use.candidates[selected]])
        } else if case .store = decision, whole.facts.content.heldBytes <= partBytesMax,
            let (stored, vary) = try await modified(head, use)
        {
            storing = begin(part, stored, vary)
            use.status.isStored = true
        }
        let served = whole.facts.served(whole.answer, nowUs: resources.wallNow, boundary: "")
        if served.head.status != 206 { use.status.forwardStatus = 206 }
        noteCache(use)
        let sink = try present(
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
        try await fill(use, storing, obtained, from: body, to: sink)
        return true
    }
}

/// What a client gets of parts that are held and one that comes.
private struct Combination {
    let facts: StoredResponse
    /// Whether the newer response lets it be stored.
    let mayBeKept: Bool
    let answer: CacheAnswer
    /// What is held before and behind the part that comes.
    let before: [[UInt8]]
    let behind: [[UInt8]]

    /// nil unless both are of one representation, and make all that the client is to have.
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
        (facts, mayBeKept) = cached.facts.renewed(
            by: head,
            request: use.base.head,
            content: held,
            policy: use.policy,
            requestTimeUs: use.requestTimeUs,
            responseTimeUs: nowUs
        )
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

/// A body whose middle is still coming: what is held before it, the middle, and what is held behind.
private final class CompletedBody: BodySource {
    private var before: ArraySlice<[UInt8]>
    private let middle: JoinedBody
    private var isMiddleOver = false
    private var behind: ArraySlice<[UInt8]>
    private var piece: [UInt8] = []
    private var position = 0
    private let length: UInt64

    init(_ before: [[UInt8]], _ middle: JoinedBody, _ behind: [[UInt8]], length: UInt64) {
        self.before = before[...]
        self.middle = middle
        self.behind = behind[...]
        self.length = length
    }

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

    private func take(_ next: [UInt8]) -> BodyProgress {
        piece = next
        position = 0
        return .payload
    }

    func offer(to sink: any BodySink, keeping replay: BodyReplay?) throws(LupinError) -> Offer {
        guard position < piece.count else { return try middle.offer(to: sink, keeping: replay) }
        let piece = piece
        let taken = try sink.push(piece.span.extracting(position..<piece.count), isLast: false)
        position += taken
        return Offer(taken: taken, isAllTaken: position == piece.count, isEnd: false)
    }

    var trailers: FieldSection { FieldSection() }
    var knownLength: UInt64? { length }
    var spliceable: UInt64 { 0 }

    func splice(into pipe: SplicePipe, _ count: Int) throws(LupinError) -> Channel.Received {
        .blocked
    }
}
