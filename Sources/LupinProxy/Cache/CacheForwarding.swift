// Handles the origin's response: it renews what is stored, replaces it, or is stored itself.
import LupinCaching
import LupinCore
import LupinIO
import LupinPolicy
import LupinUpstream
import LupinWire

extension Exchange {
    /// Asks the origin, delivers its response, and stores what may be stored.
    func forward(_ use: CacheUse, to target: KnownTarget) async throws(LupinError) {
        defer { land(use, .released) }
        trace?.endLook(use.status.text(), at: slot.loop.now)
        use.requestTimeUs = resources.wallNow
        resources.shared.responses.count { $0.misses += 1 }
        let failure: LupinError
        do throws(LupinError) {
            guard let obtained = try await obtainResponse(to: target, base: use.base) else {
                if let canned = plan?.respond { try await send(canned) }
                return
            }
            if try await upgrades(by: obtained.response) { return }
            return try await conclude(use, obtained, target)
        } catch {
            failure = error
        }
        guard !downstream.isCommitted, failure.side == .upstream, use.mayServe == .onError,
            let selected = use.selected
        else { throw failure }
        dropUpstream()
        let cached = use.candidates[selected]
        guard let content = try await content(of: cached) else { throw failure }
        try await serveStale(use, cached, content, because: failure.kind.token)
    }

    private func serveStale(
        _ use: CacheUse,
        _ cached: CachedResponse,
        _ content: ServedContent,
        because reason: String
    ) async throws(LupinError) {
        use.status.ttl = cached.facts.freshness.remaining(at: resources.wallNow)
        use.status.detail = "stale-if-error: \(reason)"
        try await serve(cached, content, use)
    }

    private func conclude(
        _ use: CacheUse,
        _ obtained: ObtainedResponse,
        _ target: KnownTarget
    ) async throws(LupinError) {
        // The response after a followed redirect belongs to another URL.
        guard !use.attachments.all.contains(.followedRedirect) else {
            use.status.detail = "redirected"
            return try await deliverPast(use, obtained)
        }
        let head = obtained.response.head
        if try await keepStored(use, obtained) { return }
        if head.status == 407 { return try await passChallenge(use, obtained) }
        invalidate(by: head, use)
        // Nothing is stored or learnt from a response that others may read in another way.
        if !obtained.response.flaws.isEmpty { return try await quarantine(use, obtained, target) }
        if let completion = use.completion {
            use.completion = nil
            if try await deliverCompleted(use, completion, obtained) { return }
            if head.status == 206 || head.status == 412 || head.status == 416 {
                try await letGo(of: obtained)
                return try await askAgain(use, isLost: false, target)
            }
        }
        if use.selected == nil, use.conditions == nil {
            return try await deliverStoring(use, obtained)
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
            try await letGo(of: obtained)
            let facts = renew(use, updated, by: head, serve)
            guard facts.suffices(for: use.asked) else {
                // A validation in the background delivers no parts to a client.
                if downstream is NoClient { return land(use, .landed) }
                return try await askAgain(use, isLost: false, target)
            }
            let cached = use.candidates[serve]
            guard let content = try await content(of: cached) else {
                return try await askAgain(use, isLost: true, target)
            }
            use.status.forwardStatus = 304
            use.status.ttl = facts.freshness.remaining(at: resources.wallNow)
            land(use, .landed)
            try await self.serve(cached, content, as: facts, use)
        case .serveStale:
            guard let selected = use.selected,
                let content = try await content(of: use.candidates[selected])
            else { return try await deliverPast(use, obtained) }
            use.status.forwardStatus = head.status
            try await letGo(of: obtained)
            let cached = use.candidates[selected]
            try await serveStale(use, cached, content, because: "status \(head.status)")
        case .replace:
            replace(use, by: head)
            try await deliverStoring(use, obtained)
        case .deliver: try await deliverStoring(use, obtained)
        case .askAgain:
            try await letGo(of: obtained)
            try await askAgain(use, isLost: false, target)
        }
    }

    /// Drops an error of a background request: no client gets it, and the stored response is
    /// better.
    /// - Returns: Whether it was one.
    private func keepStored(
        _ use: CacheUse,
        _ obtained: ObtainedResponse
    ) async throws(LupinError) -> Bool {
        guard downstream is NoClient, use.selected != nil,
            StaleWindows.isError(obtained.response.status)
        else { return false }
        try await letGo(of: obtained)
        land(use, .released)
        return true
    }

    /// Delivers a 407, which says nothing of what is stored, and is for this client alone.
    private func passChallenge(
        _ use: CacheUse,
        _ obtained: ObtainedResponse
    ) async throws(LupinError) {
        use.completion = nil
        use.status.detail = NoStoreReason.challenge.token
        // The requests that wait go to the origin themselves; the next one may have the password.
        land(use, .released)
        try await deliverPast(use, obtained)
    }

    /// Delivers a response with flaws; one to a question of the cache's own is asked for anew.
    private func quarantine(
        _ use: CacheUse,
        _ obtained: ObtainedResponse,
        _ target: KnownTarget
    ) async throws(LupinError) {
        let isAnswer = use.conditions != nil || use.completion != nil
        use.completion = nil
        guard !isAnswer || downstream is NoClient else {
            try await letGo(of: obtained)
            return try await askAgain(use, isLost: false, target)
        }
        use.status.detail = NoStoreReason.lenient.token
        land(use, .released, isAlone: !use.asked.isHead)
        try await deliverPast(use, obtained)
    }

    /// Requests the whole response; forgets the stored ones when their content `isLost`.
    private func askAgain(
        _ use: CacheUse,
        isLost: Bool,
        _ target: KnownTarget
    ) async throws(LupinError) {
        if isLost { use.forget() }
        use.conditions = nil
        try await forward(use, to: target)
    }

    /// Marks the selected response to be replaced by a newer one, whether or not that is stored: if
    /// it is, then once it is complete.
    private func replace(_ use: CacheUse, by head: ResponseHead) {
        guard let selected = use.selected else { return }
        if request.method == .head { return note(head: head, use) }
        // A part of a response that is stored whole is nothing new.
        if head.status == 206, case .combine = use.candidates[selected].facts.combine(head) {
            return
        }
        use.outdated = use.candidates[selected]
    }

    /// Renews stored responses by a 304; returns the facts of the one that is served.
    private func renew(
        _ use: CacheUse,
        _ updated: [Int],
        by response: ResponseHead,
        _ served: Int
    ) -> StoredResponse {
        let store = resources.shared.responses
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
                responseTimeUs: resources.wallNow
            )
            let newer = renewed.response
            if i == served {
                result = newer
                if renewed.lacksCookies { use.cookies = response.fields }
            }
            switch renewed.outcome {
            case .renewed where !isContradicted(cached, by: response):
                store.update(cached, newer, by: use.planned)
                if let content = cached.content { share(newer, content, use) }
            case .unchanged: break
            case .renewed, .removed:
                store.remove([cached])
                unshare(use)
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
    private func note(head: ResponseHead, _ use: CacheUse) {
        guard let selected = use.selected else { return }
        let store = resources.shared.responses
        switch use.candidates[selected].facts.effect(ofHead: head) {
        case .none: break
        case .invalidate:
            store.remove([use.candidates[selected]])
            unshare(use)
        case .update: _ = renew(use, [selected], by: head, selected)
        }
    }

    /// Invalidates the responses of URLs that a successful unsafe method changed (RFC 9111 §4.4):
    /// of the client's URL and of the one that steps made of it.
    private func invalidate(by head: ResponseHead, _ use: CacheUse) {
        guard !request.method.isSafe else { return }
        var targets = [
            InvalidatedTarget(origin: use.base.origin, pathAndQuery: use.base.head.pathText)
        ]
        if let origin = record.origin {
            targets.append(InvalidatedTarget(origin: origin, pathAndQuery: request.pathText))
        }
        let found = Invalidation.targets(of: targets, method: request.method, response: head)
        for target in found {
            let path = Array(target.pathAndQuery.utf8)
            let key = CacheKey(origin: target.origin, pathAndQuery: path.span, partition: "")
            resources.shared.responses.invalidate(key.url, nowUs: resources.wallNow)
            resources.redis?.drop(key)
        }
    }

    /// Notifies the exchanges that wait for this exchange's fetch, once.
    func land(_ use: CacheUse, _ outcome: Flight.Outcome, isAlone: Bool = false) {
        endLease(use, isAlone: isAlone)
        guard let flight = use.flight else { return }
        use.flight = nil
        // Out of the store first, so that a request that comes now finds the response or fetches.
        resources.shared.responses.land(use.key, flight, isAlone: isAlone, now: slot.loop.now)
        flight.resolve(outcome)
    }
}
