// Serves stored responses to clients: whole, in part, or as 304 (Not Modified).
import LupinCaching
import LupinCore
import LupinIO
import LupinPolicy
import LupinStore
import LupinUpstream
import LupinWire

extension CacheHandler {
    /// Serves a stored response according to the request's conditions and ranges; `renewed` are its
    /// facts after a validation.
    func serve(
        _ cached: CachedResponse,
        _ content: ServedContent,
        as renewed: StoredResponse? = nil
    ) async throws(LupinError) {
        var answer: CachedAnswer
        if let renewed { answer = served(renewed) } else { answer = served(cached) }
        if let cookies = use.cookies { answer.addCookies(of: cookies) }
        let (source, sink) = try open(cached, content, as: answer)
        try await client.relay(from: source, to: sink)
    }

    /// A stored response that is fresh and in memory.
    struct Hit {
        fileprivate let cached: CachedResponse
        fileprivate let content: StoredContent
        fileprivate let ttl: Int64
    }

    /// The one that answers the request; nil when there is none, or when a wait is needed.
    var hit: Hit? {
        guard let cached = use.found else { return nil }
        let decision = cached.reuse(for: use.asked, by: use.planned, nowUs: nowUs)
        guard case .fresh(_, let ttl) = decision, let content = cached.content else { return nil }
        return Hit(cached: cached, content: content, ttl: ttl)
    }

    /// Begins to serve it.
    func open(_ hit: Hit) throws(LupinError) -> (source: any BodySource, sink: any BodySink) {
        if use.shared?.isSource == true { land(.landed) }
        use.noteHit(ttl: hit.ttl)
        return try open(hit.cached, .memory(hit.content), as: served(hit.cached))
    }

    private func open(
        _ cached: CachedResponse,
        _ content: ServedContent,
        as answer: consuming CachedAnswer
    ) throws(LupinError) -> (source: any BodySource, sink: any BodySink) {
        var served = answer
        store.noteHit(cached)
        use.noteFinding(cached)
        report()
        let head = served.takeHead()
        let isBodiless = ResponseParser.hasNoBody(
            status: head.status,
            method: client.request.method
        )
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
            let disk = store.disk
            return client.fileBody(body.file, served) { job in disk?.submit { _ in job() } ?? false
            }
        }
    }

    /// Serves a response while another exchange is fetching it.
    func readAlong(
        _ facts: StoredResponse,
        _ body: GrowingBody,
        _ length: UInt64,
        _ flight: Flight
    ) async throws(LupinError) {
        flight.follow()
        defer { flight.leave() }
        use.status.isCollapsed = true
        report()
        var served = served(facts)
        let head = served.takeHead()
        let isBodiless = ResponseParser.hasNoBody(
            status: head.status,
            method: client.request.method
        )
        let sink = try present(head, asLongAs: served.contentLength)
        guard served.contentLength > 0, !isBodiless else {
            return try await client.relay(from: BytesBody([]), to: sink)
        }
        let reader = JoinedBody(body, length: length, wake: client.bodyWake)
        try await client.relay(from: reader, to: sink)
    }

    private func served(_ cached: CachedResponse) -> CachedAnswer {
        use.base.answer(
            of: cached,
            use.asked,
            nowUs: nowUs,
            boundary: client.id.text
        )
    }

    /// The same for facts that are no stored response's, or no longer.
    private func served(_ facts: StoredResponse) -> CachedAnswer {
        facts.served(
            facts.answer(to: use.base.request.head, use.asked),
            nowUs: nowUs,
            boundary: client.id.text
        )
    }

    /// Stages the head of an answer whose content has `length` bytes.
    private func present(
        _ head: consuming ResponseHead,
        asLongAs length: UInt64
    ) throws(LupinError) -> any BodySink {
        // A 304 has no length of its own.
        let contentLength = head.status == 304 ? nil : length
        return try client.present(head, .length(length), contentLength: contentLength)
    }
}
