// Handles the origin's response: it renews what is stored, replaces it, or is stored itself.
import LupinCaching
import LupinCore
import LupinIO
import LupinPolicy
import LupinUpstream
import LupinWire

extension CacheHandler {
    /// Asks the origin, delivers its response, and stores what may be stored.
    func forward() async throws(LupinError) {
        defer { land(.released) }
        client.endLook(use.status)
        use.requestTimeUs = nowUs
        store.count { $0.misses += 1 }
        let failure: LupinError
        do throws(LupinError) {
            guard let obtained = try await client.fetch(use.base) else {
                return try await client.answerByRule()
            }
            if try await client.upgrades(by: obtained.response) { return }
            return try await conclude(obtained)
        } catch {
            failure = error
        }
        guard !client.isCommitted, failure.side == .upstream, use.mayServe == .onError,
            let cached = use.found
        else { throw failure }
        client.dropUpstream()
        guard let content = try await content(of: cached) else { throw failure }
        try await serveStale(cached, content, because: failure.kind.token)
    }

    private func serveStale(
        _ cached: CachedResponse,
        _ content: ServedContent,
        because reason: String
    ) async throws(LupinError) {
        use.status.ttl = cached.facts.freshness.remaining(at: nowUs)
        use.status.detail = "stale-if-error: \(reason)"
        try await serve(cached, content)
    }

    private func conclude(_ obtained: ObtainedResponse) async throws(LupinError) {
        // The response after a followed redirect belongs to another URL.
        guard !use.attachments.all.contains(.followedRedirect) else {
            use.status.detail = "redirected"
            return try await deliverPast(obtained)
        }
        let head = obtained.response.head
        if try await keepStored(obtained) { return }
        if head.status == 407 { return try await passChallenge(obtained) }
        invalidate(by: head)
        // Nothing is stored or learnt from a response that others may read in another way.
        if !obtained.response.flaws.isEmpty { return try await quarantine(obtained) }
        if let completion = use.completion {
            use.completion = nil
            if try await deliverCompleted(completion, obtained) { return }
            if head.status == 206 || head.status == 412 || head.status == 416 {
                try await client.letGo(of: obtained)
                return try await askAgain(isLost: false)
            }
        }
        if use.selected == nil, use.conditions == nil {
            return try await deliverStoring(obtained)
        }
        let outcome = StoredResponse.outcome(
            of: head,
            for: use.facts,
            selected: use.selected,
            conditions: use.conditions,
            request: use.base.head,
            mayServe: use.mayServe
        )
        switch outcome {
        case .freshen(let serve, let updated):
            try await client.letGo(of: obtained)
            let facts = renew(updated, by: head, serve)
            guard facts.suffices(for: use.asked) else {
                // A validation in the background delivers no parts to a client.
                if client.isForStoreAlone { return land(.landed) }
                return try await askAgain(isLost: false)
            }
            let cached = use.candidates[serve]
            guard let content = try await content(of: cached) else {
                return try await askAgain(isLost: true)
            }
            use.status.forwardStatus = 304
            use.status.ttl = facts.freshness.remaining(at: nowUs)
            land(.landed)
            try await self.serve(cached, content, as: facts)
        case .serveStale:
            guard let cached = use.found, let content = try await content(of: cached)
            else { return try await deliverPast(obtained) }
            use.status.forwardStatus = head.status
            try await client.letGo(of: obtained)
            try await serveStale(cached, content, because: "status \(head.status)")
        case .replace:
            replace(by: head)
            try await deliverStoring(obtained)
        case .deliver: try await deliverStoring(obtained)
        case .askAgain:
            try await client.letGo(of: obtained)
            try await askAgain(isLost: false)
        }
    }

    /// Drops an error of a background request: no client gets it, and the stored response is
    /// better.
    /// - Returns: Whether it was one.
    private func keepStored(_ obtained: ObtainedResponse) async throws(LupinError) -> Bool {
        guard client.isForStoreAlone, use.selected != nil,
            StaleWindows.isError(obtained.response.status)
        else { return false }
        try await client.letGo(of: obtained)
        land(.released)
        return true
    }

    /// Delivers a 407, which says nothing of what is stored, and is for this client alone.
    private func passChallenge(_ obtained: ObtainedResponse) async throws(LupinError) {
        use.completion = nil
        use.status.detail = NoStoreReason.challenge.token
        // The requests that wait go to the origin themselves; the next one may have the password.
        land(.released)
        try await deliverPast(obtained)
    }

    /// Delivers a response with flaws; one to a question of the cache's own is asked for anew.
    private func quarantine(_ obtained: ObtainedResponse) async throws(LupinError) {
        let isAnswer = use.conditions != nil || use.completion != nil
        use.completion = nil
        guard !isAnswer || client.isForStoreAlone else {
            try await client.letGo(of: obtained)
            return try await askAgain(isLost: false)
        }
        use.status.detail = NoStoreReason.lenient.token
        land(.released, isAlone: !use.asked.isHead)
        try await deliverPast(obtained)
    }

    /// Requests the whole response; forgets the stored ones when their content `isLost`.
    private func askAgain(isLost: Bool) async throws(LupinError) {
        if isLost { use.forget() }
        use.conditions = nil
        try await forward()
    }

    /// Marks the selected response to be replaced by a newer one, whether or not that is stored: if
    /// it is, then once it is complete.
    private func replace(by head: ResponseHead) {
        guard let cached = use.found else { return }
        if client.request.method == .head { return note(head: head) }
        // A part of a response that is stored whole is nothing new.
        if head.status == 206, case .combine = cached.facts.combine(head) { return }
        use.outdated = cached
    }

    /// Renews stored responses by a 304; returns the facts of the one that is served.
    private func renew(
        _ updated: [Int],
        by response: ResponseHead,
        _ served: Int
    ) -> StoredResponse {
        store.count { $0.validated += 1 }
        var result = use.candidates[served].facts
        for i in updated {
            let cached = use.candidates[i]
            let renewed = cached.facts.renewed(
                by: response,
                request: use.base.head,
                attachments: use.attachments,
                policy: use.policy,
                requestTimeUs: use.requestTimeUs,
                responseTimeUs: nowUs
            )
            let newer = renewed.response
            if i == served {
                result = newer
                if renewed.lacksCookies { use.cookies = response.fields }
            }
            switch renewed.outcome {
            case .renewed where !isContradicted(cached, by: response):
                store.update(cached, newer, by: use.planned)
                if let content = cached.content { share(newer, content) }
            case .unchanged: break
            case .renewed, .removed:
                store.remove([cached])
                unshare()
            }
        }
        return result
    }

    /// Whether a new No-Vary-Search contradicts the one under which a response is stored.
    private func isContradicted(_ cached: CachedResponse, by response: ResponseHead) -> Bool {
        guard cached.key.isGeneral, response.fields.value(of: "No-Vary-Search") != nil else {
            return false
        }
        return NoVarySearch(of: response.fields) != cached.key.variance
    }

    /// Applies a response to HEAD to the stored one to GET (RFC 9111 §4.3.5).
    private func note(head: ResponseHead) {
        guard let selected = use.selected else { return }
        switch use.candidates[selected].facts.effect(ofHead: head) {
        case .none: break
        case .invalidate:
            store.remove([use.candidates[selected]])
            unshare()
        case .update: _ = renew([selected], by: head, selected)
        }
    }

    /// Invalidates the responses of URLs that a successful unsafe method changed (RFC 9111 §4.4):
    /// of the client's URL and of the one that steps made of it.
    private func invalidate(by head: ResponseHead) {
        let request = client.request
        guard !request.method.isSafe else { return }
        var targets = [
            InvalidatedTarget(origin: use.base.origin, pathAndQuery: use.base.head.pathText)
        ]
        if let origin = client.origin {
            targets.append(InvalidatedTarget(origin: origin, pathAndQuery: request.pathText))
        }
        let found = Invalidation.targets(of: targets, method: request.method, response: head)
        for target in found {
            let path = Array(target.pathAndQuery.utf8)
            let key = CacheKey(origin: target.origin, pathAndQuery: path.span, partition: "")
            store.invalidate(key.url, nowUs: nowUs)
            client.resources.redis?.drop(key)
        }
    }

    /// Notifies the exchanges that wait for this exchange's fetch, once.
    func land(_ outcome: Flight.Outcome, isAlone: Bool = false) {
        endLease(isAlone: isAlone)
        guard let flight = use.flight else { return }
        use.flight = nil
        // Out of the store first, so that a request that comes now finds the response or fetches.
        store.land(use.key, flight, isAlone: isAlone, now: loop.now)
        flight.resolve(outcome)
    }
}
