// Serves stored responses to clients: whole, in part, or as 304 (Not Modified).
import LupinCaching
import LupinCore
import LupinIO
import LupinPolicy
import LupinStore
import LupinUpstream
import LupinWire

extension Exchange {
    /// Serves a stored response according to the request's conditions and ranges; `renewed` are its
    /// facts after a validation.
    func serve(
        _ cached: CachedResponse,
        _ content: ServedContent,
        as renewed: StoredResponse? = nil,
        _ use: CacheUse
    ) async throws(LupinError) {
        var answer: CachedAnswer
        if let renewed { answer = served(renewed, use) } else { answer = served(cached, use) }
        if let cookies = use.cookies { answer.addCookies(of: cookies) }
        let (source, sink) = try open(cached, content, as: answer, use)
        try await relay(from: source, to: sink)
    }

    /// The use of the cache, looked up in memory; nil when the client's user must be asked for.
    func useAtOnce(_ planned: PlannedCache, _ base: AdaptedRequest) -> CacheUse? {
        if !planned.policy.isShared {
            guard let user = knownUser else { return nil }
            cacheOwner = user
        }
        let use = cacheUse(planned, base)
        if use.asked.bypass == nil { use.look(in: resources.shared.responses) }
        return use
    }

    /// Begins to serve a stored response that is fresh and in memory.
    /// - Returns: Nil when there is none, or when a wait is needed; then nothing was done.
    func openFromMemory(
        _ use: CacheUse
    ) throws(LupinError) -> (source: any BodySource, sink: any BodySink)? {
        guard let selected = use.selected else { return nil }
        let cached = use.candidates[selected]
        let decision = cached.reuse(for: use.asked, by: use.planned, nowUs: resources.wallNow)
        guard case .fresh(_, let ttl) = decision, let content = cached.content else { return nil }
        course.presented()
        caching = use
        if use.shared?.isSource == true { land(use, .landed) }
        note(hit: use, ttl: ttl)
        return try open(cached, .memory(content), as: served(cached, use), use)
    }

    /// Notes that a stored response is served.
    func note(hit use: CacheUse, ttl: Int64) {
        use.status = .hit(ttl: ttl)
        if use.shared?.isSource == true { use.status.detail = "shared" }
    }

    private func open(
        _ cached: CachedResponse,
        _ content: ServedContent,
        as answer: consuming CachedAnswer,
        _ use: CacheUse
    ) throws(LupinError) -> (source: any BodySource, sink: any BodySink) {
        var served = answer
        resources.shared.responses.noteHit(cached)
        use.noteFinding(cached)
        noteCache(use)
        let head = served.takeHead()
        let isBodiless = ResponseParser.hasNoBody(status: head.status, method: request.method)
        let sink = try present(head, asLongAs: served.contentLength)
        return (isBodiless ? BytesBody([]) : try source(content, served), sink)
    }

    private func source(
        _ content: ServedContent,
        _ served: CachedAnswer
    ) throws(LupinError) -> any BodySource {
        switch content {
        case .memory(let content): return StoredBody(content, served)
        case .file(let body):
            // It may be closed by now: then nothing can be waited for.
            let disk = resources.shared.responses.disk
            return fileBody(body.file, served) { job in disk?.submit { _ in job() } ?? false }
        }
    }

    /// What follows the head `served` of a file, with a thread that may wait for the disk.
    func fileBody(
        _ file: OpenedFile,
        _ served: CachedAnswer,
        submit: @escaping FileBody.Submit
    ) -> FileBody {
        // Weak: the relay of the exchange holds the body, for longer than the response takes.
        FileBody(file, served, on: slot.loop, submit: submit) { [weak self] in
            self?.pumpBodies()
        }
    }

    /// Serves a response while another exchange is fetching it.
    func readAlong(
        _ use: CacheUse,
        _ facts: StoredResponse,
        _ body: GrowingBody,
        _ length: UInt64,
        _ flight: Flight
    ) async throws(LupinError) {
        flight.follow()
        defer { flight.leave() }
        use.status.isCollapsed = true
        noteCache(use)
        var served = served(facts, use)
        let head = served.takeHead()
        let isBodiless = ResponseParser.hasNoBody(status: head.status, method: request.method)
        let sink = try present(head, asLongAs: served.contentLength)
        guard served.contentLength > 0, !isBodiless else {
            return try await relay(from: BytesBody([]), to: sink)
        }
        let reader = JoinedBody(body, length: length, wake: bodyWake)
        try await relay(from: reader, to: sink)
    }

    private func served(_ cached: CachedResponse, _ use: CacheUse) -> CachedAnswer {
        use.base.answer(
            of: cached,
            use.asked,
            nowUs: resources.wallNow,
            boundary: record.id.text
        )
    }

    /// The same for facts that are no stored response's, or no longer.
    private func served(_ facts: StoredResponse, _ use: CacheUse) -> CachedAnswer {
        facts.served(
            facts.answer(to: use.base.request.head, use.asked),
            nowUs: resources.wallNow,
            boundary: record.id.text
        )
    }

    /// Stages the head of an answer whose content has `length` bytes.
    private func present(
        _ head: consuming ResponseHead,
        asLongAs length: UInt64
    ) throws(LupinError) -> any BodySink {
        // A 304 has no length of its own.
        let contentLength = head.status == 304 ? nil : length
        return try present(head, .length(length), contentLength: contentLength)
    }

    /// Revalidates a stale response while the client gets it already (RFC 5861 §3).
    func validateInBackground(_ use: CacheUse, _ target: KnownTarget) {
        let store = resources.shared.responses
        guard let selected = use.selected else { return }
        // One validation for all URLs that find it.
        let key = use.candidates[selected].key
        guard !resources.isDraining, store.beginValidation(key) else { return }
        let slot = ParkingSlot(on: slot.loop)
        let inner = Exchange(ofOurOwn: slot, resources, snapshot, inside: interceptedTunnel)
        inner.inherit(from: self)
        inner.takeUpload(of: self)
        inner.cacheOwner = cacheOwner
        let local = LoopLocal((inner, use.planned, target), of: slot.loop.executor)
        resources.beginOwnWork(slot)
        Task.immediate(executorPreference: slot.loop.executor) {
            let (inner, planned, target) = local.value
            await inner.validate(by: planned, at: target)
            store.endValidation(key)
            inner.resources.endOwnWork(inner.slot)
            inner.slot.retire()
        }
    }

    /// Sends a validation request for lupin itself, and stores the result.
    private func validate(by planned: PlannedCache, at target: KnownTarget) async {
        do throws(LupinError) {
            // The client's own conditions and range refer to the client's copy.
            changeFields { fields in
                for name in ["Range", "If-Range", "If-None-Match", "If-Modified-Since"] {
                    fields.remove(name: name)
                }
            }
            let base = try await adapt(for: target, signs: false)
            let use = cacheUse(planned, base)
            caching = use
            use.look(in: resources.shared.responses)
            use.status = .forward(.stale)
            use.conditions = StoredResponse.conditions(
                for: use.facts,
                selected: use.selected,
                request: use.base.head,
                asked: use.asked
            )
            try await forward(use, to: target)
        } catch {
            record.error = error.naming(parentRule: plan?.proxyRule)
            record.outcome = .error
            dropUpstream()
        }
        _ = finish()
    }
}
