// What a client sees of a whole cache that is made of these decisions, request after request.

import LupinCaching
import LupinCore
import LupinPolicy
import Testing

struct CacheStoryTests {
    // MARK: One response, one more request

    /// The first response, when the second request comes, what it says, and what becomes of it.
    private static let rows: [(CacheFields, Double, CacheFields, PlayedCache.Source)] = [
        ([("Cache-Control", "max-age=3600")], 3, [], .store),
        ([("Cache-Control", "max-age=3600"), ("Age", "7200")], 0, [], .origin),
        ([("Cache-Control", "max-age=3600, no-store")], 0, [], .origin),
        ([("Cache-Control", "max-age=3600, private")], 0, [], .origin),
        ([("Cache-Control", "max-age=3600, no-cache")], 0, [], .origin),
        ([("Cache-Control", "max-age=3600, no-cache"), ("ETag", "\"a\"")], 0, [], .validated),
        ([("Cache-Control", "max-age=1"), ("ETag", "\"a\"")], 3, [], .validated),
        ([("Cache-Control", "max-age=1"), ("ETag", "W/\"a\"")], 3, [], .validated),
        ([("Cache-Control", "max-age=1"), ("Last-Modified", date(-9))], 3, [], .validated),
        ([("Cache-Control", "max-age=1")], 3, [], .origin),
        ([("Expires", date(3600)), ("Date", date())], 3, [], .store),
        ([("Expires", "0"), ("Date", date())], 0, [], .origin),
        ([("Last-Modified", date(-1000)), ("Date", date())], 99, [], .store),
        ([("Last-Modified", date(-1000)), ("Date", date())], 101, [], .validated),
        ([], 0, [], .origin),
        ([("Cache-Control", "max-age=3600"), ("Vary", "Foo")], 0, [], .store),
        ([("Cache-Control", "max-age=3600"), ("Vary", "Foo")], 0, [("Foo", "1")], .origin),
        ([("Cache-Control", "max-age=3600"), ("Vary", "*")], 0, [], .origin),
        ([("Cache-Control", "max-age=3600")], 3, [("Cache-Control", "max-age=1")], .origin),
        ([("Cache-Control", "max-age=3600")], 0, [("Cache-Control", "no-store")], .origin),
        ([("Cache-Control", "max-age=3600")], 0, [("Pragma", "no-cache")], .origin),
        ([("Cache-Control", "max-age=1")], 3, [("Cache-Control", "max-stale=9")], .store),
        ([("Cache-Control", "max-age=3600")], 0, [("Cookie", "a=b")], .store),
        ([("Cache-Control", "max-age=1, stale-while-revalidate=9")], 3, [], .store),
        ([], 0, [("Cache-Control", "only-if-cached")], .gatewayTimeout),
    ]

    @Test(arguments: rows.indices)
    func `the second request is answered by the store, the origin or both`(row: Int) {
        let (response, pause, second, expected) = Self.rows[row]
        let cache = PlayedCache()
        cache.origin = { _ in reply(response) }
        #expect(cache.send(get(), at: 0).source == .origin)
        #expect(cache.send(get(second), at: pause).source == expected)
    }

    @Test(
        arguments: [
            200, 203, 204, 299, 301, 302, 303, 307, 308, 400, 404, 410, 499, 500, 502, 503, 504,
            599,
        ] as [UInt16]
    )
    func `any final status is reused while it is fresh, and not afterwards`(status: UInt16) {
        let cache = PlayedCache()
        cache.origin = { _ in reply([("Cache-Control", "max-age=60")], status: status) }
        _ = cache.send(get(), at: 0)
        let hit = cache.send(get(), at: 59)
        #expect(hit.source == .store && hit.head.status == status)
        #expect(cache.send(get(), at: 61).source == .origin)
    }

    // MARK: Stories

    @Test func `a validated response lives again with the newer fields`() {
        let cache = PlayedCache()
        cache.origin = { _ in
            reply([("Cache-Control", "max-age=1"), ("ETag", "\"a\""), ("X", "1"), ("Y", "1")])
        }
        _ = cache.send(get(), at: 0)
        cache.origin = { request in
            #expect(request.fields.values(of: "If-None-Match") == ["\"a\""])
            return reply(
                [("Cache-Control", "max-age=60"), ("ETag", "\"a\""), ("X", "2")],
                status: 304
            )
        }
        let validated = cache.send(get(), at: 5)
        #expect(validated.source == .validated && validated.head.status == 200)
        #expect(validated.head.fields.value(of: "X") == "2")
        let hit = cache.send(get(), at: 60)
        #expect(hit.source == .store && hit.head.fields.value(of: "Y") == "1")
        #expect(hit.head.fields.value(of: "Age") == "55")
    }

    @Test func `a client's condition is answered after the validation`() {
        let cache = PlayedCache()
        let response = [("Cache-Control", "max-age=1"), ("Last-Modified", date(-50))]
        cache.origin = { _ in reply(response) }
        _ = cache.send(get(), at: 0)
        cache.origin = { _ in reply(response, status: 304) }
        let client = [("If-Modified-Since", date(-50))]
        let answer = cache.send(get(client), at: 5)
        #expect(answer.source == .validated && answer.head.status == 304)
    }

    @Test func `variants live beside each other`() {
        let cache = PlayedCache()
        cache.origin = { request in
            let value = request.fields.value(of: "Foo") ?? "none"
            let tag = ("ETag", "\"\(value)\"")
            if request.fields.value(of: "If-None-Match")?.contains(tag.1) ?? false {
                return reply([tag], status: 304)
            }
            return reply([("Cache-Control", "max-age=60"), ("Vary", "Foo"), tag])
        }
        for value in ["1", "2"] {
            #expect(cache.send(get([("Foo", value)]), at: 0).source == .origin)
        }
        for value in ["1", "2"] {
            let hit = cache.send(get([("Foo", value)]), at: 9)
            #expect(hit.source == .store && hit.head.fields.value(of: "ETag") == "\"\(value)\"")
        }
    }

    @Test func `a stale response stands in for an error where it may`() {
        for (value, expected) in [("max-age=1, stale-if-error=9", 200), ("max-age=1", 503)] {
            let cache = PlayedCache()
            cache.origin = { _ in reply([("Cache-Control", value), ("ETag", "\"a\"")]) }
            _ = cache.send(get(), at: 0)
            cache.origin = { _ in reply([], status: 503) }
            #expect(cache.send(get(), at: 5).head.status == UInt16(expected))
            // What was stored is still there.
            cache.origin = { _ in reply([("ETag", "\"a\"")], status: 304) }
            #expect(cache.send(get(), at: 6).source == .validated)
        }
    }

    @Test func `ranges come from a whole, and from a part that has them`() {
        let whole = PlayedCache()
        whole.origin = { _ in reply([("Cache-Control", "max-age=60"), ("Content-Length", "10")]) }
        _ = whole.send(get(), at: 0)
        let hit = whole.send(get([("Range", "bytes=-3")]), at: 1)
        #expect(hit.source == .store && hit.head.status == 206)
        #expect(hit.head.fields.value(of: "Content-Range") == "bytes 7-9/10")

        let part = PlayedCache()
        part.origin = { _ in
            let range = ("Content-Range", "bytes 5-9/10")
            return reply([("Cache-Control", "max-age=60"), range], status: 206)
        }
        _ = part.send(get([("Range", "bytes=-5")]), at: 0)
        let inside = part.send(get([("Range", "bytes=6-8")]), at: 1)
        #expect(inside.source == .store && inside.head.status == 206)
        #expect(inside.head.fields.value(of: "Content-Range") == "bytes 6-8/10")
        #expect(part.send(get([("Range", "bytes=4-8")]), at: 1).source == .origin)
    }

    @Test func `HEAD is answered by what GET stored`() {
        let cache = PlayedCache()
        cache.origin = { _ in reply([("Cache-Control", "max-age=60"), ("Content-Length", "10")]) }
        #expect(cache.send(get(method: .head), at: 0).source == .origin)
        #expect(cache.send(get(), at: 0).source == .origin)
        let hit = cache.send(get(method: .head), at: 1)
        #expect(hit.source == .store && hit.head.fields.value(of: "Content-Length") == "10")
    }
}

/// The least cache that obeys the decisions: bodies are only lengths, and there is one URL.
private final class PlayedCache {
    enum Source { case store, origin, validated, gatewayTimeout }

    var policy = CachePolicy.standard
    var origin: (RequestHead) -> ResponseHead = { _ in ResponseHead(status: 500) }
    private var stored: [StoredResponse] = []

    func send(_ request: RequestHead, at seconds: Double) -> (source: Source, head: ResponseHead) {
        let now = us(seconds)
        let asked = CacheRequest(request, hasContent: false)
        let selected = StoredResponse.selected(from: stored, for: request.fields)
        let decision = selected.map { stored[$0].reuse(for: asked, policy: policy, nowUs: now) }
        var mayServe = StaleUse.nothing
        switch decision {
        case .fresh, .stale(_, _, .now), .stale(_, _, .whileRevalidating):
            return (.store, serve(selected ?? 0, request, asked, now))
        case .stale(_, _, let use), .validate(_, _, _, let use): mayServe = use
        case .gatewayTimeout: return (.gatewayTimeout, ResponseHead(status: 504))
        case .incomplete, .bypass, nil:
            guard asked.mayForward else { return (.gatewayTimeout, ResponseHead(status: 504)) }
            let head = origin(request)
            store(head, request, asked, now)
            return (.origin, head)
        }
        return validate(selected, request, asked, mayServe, now)
    }

    private func validate(
        _ selected: Int?,
        _ request: RequestHead,
        _ asked: CacheRequest,
        _ mayServe: StaleUse,
        _ now: Int64
    ) -> (source: Source, head: ResponseHead) {
        let conditions = StoredResponse.conditions(
            for: stored,
            selected: selected,
            request: request,
            asked: asked
        )
        var sent = request
        conditions?.apply(to: &sent)
        let isUnknown = sent.fields.first(.ifNoneMatch) != nil || conditions?.ifModifiedSince != nil
        var head = origin(sent)
        // An origin that a row plays doesn't read conditions: what it has is what it had.
        if isUnknown, head.status == 200 { head.status = 304 }
        guard let conditions else {
            store(head, request, asked, now)
            return (.origin, head)
        }
        let outcome = StoredResponse.outcome(
            of: head,
            for: stored,
            selected: selected,
            conditions: conditions,
            request: request,
            mayServe: mayServe
        )
        switch outcome {
        case .freshen(let serve, let updated):
            for i in updated {
                let renewed = stored[i].renewed(
                    by: head,
                    request: request,
                    attachments: Attachments([]),
                    policy: policy,
                    requestTimeUs: now,
                    responseTimeUs: now
                )
                if renewed.outcome == .renewed { stored[i] = renewed.response }
            }
            return (.validated, self.serve(serve, request, asked, now))
        case .serveStale: return (.store, serve(selected ?? 0, request, asked, now))
        case .replace, .deliver, .askAgain:
            store(head, request, asked, now)
            return (.origin, head)
        }
    }

    private func serve(
        _ index: Int,
        _ request: RequestHead,
        _ asked: CacheRequest,
        _ now: Int64
    ) -> ResponseHead {
        let answer = stored[index].answer(to: request, asked)
        return stored[index].served(answer, nowUs: now, boundary: "B").head
    }

    private func store(
        _ head: ResponseHead,
        _ request: RequestHead,
        _ asked: CacheRequest,
        _ now: Int64
    ) {
        let decision = policy.decide(
            response: head,
            request: request,
            asked: asked,
            attachments: Attachments([]),
            requestTimeUs: now,
            responseTimeUs: now
        )
        guard case .store(let advice) = decision,
            let vary = VaryKey(of: head.fields, request: request.fields, policy: policy)
        else { return }
        let length = head.fields.value(of: .contentLength).flatMap { UInt64($0) } ?? 0
        let content =
            advice.range.flatMap { place in
                place.range.map {
                    HeldContent(range: $0, completeLength: place.completeLength)
                }
            } ?? HeldContent(complete: length)
        stored.removeAll { $0.vary == vary }
        stored.append(
            StoredResponse(
                head,
                vary: vary,
                content: content,
                policy: policy,
                requestTimeUs: now,
                responseTimeUs: now
            )
        )
    }
}
