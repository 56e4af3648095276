// Stores parts of responses and serves requests from them (RFC 9111 §3.3, §3.4).
import LupinCaching
import LupinCore
import LupinIO
import LupinPolicy
import LupinWire

extension CacheHandler {
    // MARK: Keeping

    /// Why a part is not kept; nil when it is.
    ///
    /// - Parameters:
    ///   - part: Its Content-Range.
    ///   - head: The response as it would be stored.
    ///   - vary: The variant that it was chosen for.
    ///   - length: The number of bytes of its body, if its framing gives it.
    /// - Returns: The reason.
    func refusal(
        of part: ContentRange,
        _ head: ResponseHead,
        _ vary: VaryKey,
        length: UInt64?
    ) -> NoStoreReason? {
        guard use.asked.ranges != nil, let range = part.range,
            length.map({ $0 == UInt64(range.count) }) ?? true,
            let tag = EntityTag(of: head.fields), !tag.isWeak
        else { return .partial }
        var held = HeldContent(range: range, completeLength: part.completeLength)
        if let current = current(vary),
            case .combine(_, let combined) = current.facts.combine(head, part)
        {
            held = combined
        } else if use.asked.ifRange != nil {
            // This 206 omits fields that only this client knows (RFC 9110 §15.3.7).
            return .partial
        }
        return held.heldBytes > partBytesMax ? .tooLarge : nil
    }

    /// How many bytes of a partial response may be held; they are in memory only.
    var partBytesMax: UInt64 {
        let settings = client.cacheStore
        return UInt64(min(settings.objectBytesMax, settings.memoryBytes))
    }

    /// The response that is stored for the same requests now.
    private func current(_ vary: VaryKey) -> CachedResponse? {
        store.responses(use.storingKey)
            .first { $0.facts.vary == vary }?
            .seen(by: use.planned)
    }

    /// Starts to store a part; with `isKept` false it is read along and then dropped.
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
            responseTimeUs: nowUs,
            room: room,
            body: GrowingBody(room, expecting: length),
            length: length,
            part: part,
            announced: nil,
            isKept: isKept
        )
    }

    /// Stores a part together with the held bytes of the same representation, or in their place.
    ///
    /// A response that is complete then is stored like any other. Of two parts that are stored at
    /// the same moment one may be lost; its bytes are missing then.
    /// - Returns: Whether it is stored.
    func keep(
        _ bytes: StoredContent,
        as part: ContentRange,
        _ storing: Storing
    ) -> Bool {
        // An origin that sends more or less than it announced is not trusted.
        guard let range = part.range, bytes.count == UInt64(range.count) else { return false }
        let current = current(storing.vary)
        var facts: StoredResponse
        var content = bytes
        if let current, case .combine(_, let held) = current.facts.combine(storing.head, part) {
            let renewed = current.facts.renewed(
                by: storing.head,
                request: use.base.head,
                attachments: use.attachments,
                content: held,
                policy: use.policy,
                requestTimeUs: use.requestTimeUs,
                responseTimeUs: storing.responseTimeUs
            )
            guard renewed.outcome == .renewed, held.heldBytes <= partBytesMax else {
                if renewed.outcome != .unchanged { store.remove([current]) }
                return false
            }
            facts = renewed.response
            if current.facts.content.isComplete {
                store.update(current, facts, by: use.planned)
                return true
            }
            guard let former = current.content else { return false }
            content = former.combined(current.facts.content, with: bytes, at: range)
            if facts.vary != current.facts.vary { store.remove([current]) }
        } else {
            // The response of the later request is newer.
            if let current, current.facts.requestTimeUs > use.requestTimeUs { return false }
            let held = HeldContent(range: range, completeLength: part.completeLength)
            facts = storing.facts(use, held)
        }
        let stored = store.insert(
            use.key,
            use.variance,
            facts,
            content,
            by: use.planned,
            mayLieOnDisk: facts.content.isComplete && mayLieOnDisk(facts),
            requestTimeUs: use.requestTimeUs
        )
        return stored != nil
    }

    /// Stores the received part of a body that broke off, or whose client left (§3.3).
    func keepBeginning(_ storing: Storing) {
        guard let length = storing.length, let bytes = storing.body.beginning,
            bytes.count < length
        else { return }
        if let part = storing.part, let start = part.range?.lowerBound {
            let range = start..<(start + bytes.count)
            let came = ContentRange(range: range, completeLength: part.completeLength)
            _ = keep(bytes, as: came, storing)
        } else if storing.head.brokenOff(received: bytes.count, contentLength: length) != nil {
            let came = ContentRange(range: 0..<bytes.count, completeLength: length)
            _ = keep(bytes, as: came, storing)
        }
    }

    // MARK: Serving

    /// Serves a client that needs none of the missing bytes; else prepares the request for them.
    /// - Returns: Whether it is served.
    func answerFromParts(_ cached: CachedResponse) async throws(LupinError) -> Bool {
        let unchanged = cached.facts.reuseUnchanged(
            for: use.asked,
            use.base.head,
            policy: use.policy,
            nowUs: nowUs
        )
        switch unchanged {
        case .fresh(_, let ttl), .stale(_, let ttl, .now):
            guard let content = cached.content else { break }
            use.status = .hit(ttl: ttl)
            try await serve(cached, .memory(content))
            return true
        default: break
        }
        use.status = .forward(.partial)
        use.completion = cached.facts.completion(for: use.asked)
        return false
    }
}
