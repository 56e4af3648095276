// Decides whether a request is answered from the cache, waits for another fetch, or is forwarded.
import LupinCaching
import LupinCore
import LupinIO
import LupinPolicy
import LupinUpstream
import LupinWire

extension Exchange {
    /// Answers a request for which memory has nothing that is certain: from the cache, through it,
    /// or past it, with every wait.
    func answerThroughCache() async throws(LupinError) {
        guard let target, let planned = plan?.caching else { throw .stopping }
        if let caching {
            guard course.phase == .asking else {
                return try await answer(through: caching, to: target)
            }
            if try await answerFromOthers(caching, to: target) { return }
            return try await forward(caching, to: target)
        }
        guard let base = next?.base else { throw .stopping }
        try await keyQuery(base)
        // The owner of the responses matters even where every client may use the credentials.
        if !planned.policy.isShared { cacheOwner = await clientUser() }
        try await answer(through: cacheUse(planned, base), to: target)
    }

    /// The same, once it is known what is looked for.
    func answer(through use: CacheUse, to target: KnownTarget) async throws(LupinError) {
        caching = use
        let store = resources.shared.responses
        if let reason = use.asked.bypass {
            guard use.asked.mayForward else { return try await answerNothingStored(use) }
            use.status = .forward(reason == .method ? .method : .bypass)
            if reason != .method { use.status.detail = reason.rawValue }
            return try await forward(use, to: target)
        }
        var mayWait = use.asked.isCollapsible && use.planned.policy.isCollapsing
        while true {
            use.look(in: store)
            if use.selected == nil, let disk = store.disk {
                try await loadFromDisk(use, disk)
            }
            if try await answerFromStore(use, to: target) { return }
            guard use.asked.mayForward else {
                if use.shared == nil, try await answerFromOthers(use, to: target) { return }
                return try await answerNothingStored(use)
            }
            guard mayWait, let (flight, isLeader) = store.join(use.key, now: slot.loop.now) else {
                break
            }
            if isLeader {
                use.flight = flight
                guard try await answerFromOthers(use, to: target) else { break }
                return
            }
            if case .joinable(let facts, let body, let length) = try await wait(for: flight),
                isForUs(facts, use), body.isThereFromTheBeginning
            {
                return try await readAlong(use, facts, body, length, flight)
            }
            // It may be stored now; if not, this request makes its own fetch.
            mayWait = false
        }
        if use.shared == nil, try await answerFromOthers(use, to: target) { return }
        try await forward(use, to: target)
    }

    /// Serves the response that another machine stored, or is fetching; one fetch at a time for all
    /// of them, where a request can share one.
    /// - Returns: Whether it was served; else this exchange fetches.
    private func answerFromOthers(
        _ use: CacheUse,
        to target: KnownTarget
    ) async throws(LupinError) -> Bool {
        guard let client = sharedTier(for: use) else { return false }
        var isServed = false
        do throws(LupinError) {
            // The look has begun without a task.
            if course.phase == .asking, hasClientLeft { throw .clientGone }
            let isFound = try await loadFromShared(use, client)
            var isThere = isFound && isServable(use)
            if !isThere, use.flight != nil { isThere = try await awaitOthers(use, client) }
            if isThere { land(use, .landed) }
            // Also a response that only serves for validation: then the requests that wait go on
            // waiting.
            if isThere || isFound { isServed = try await answerFromStore(use, to: target) }
        } catch {
            land(use, .released)
            throw error
        }
        return isServed
    }

    /// Serves the stored response if it answers the request.
    /// - Returns: Whether it was served; else `use` holds the request to the origin.
    private func answerFromStore(
        _ use: CacheUse,
        to target: KnownTarget
    ) async throws(LupinError) -> Bool {
        guard let selected = use.selected else {
            noteMiss(use)
            return false
        }
        let cached = use.candidates[selected]
        var decision = cached.reuse(for: use.asked, by: use.planned, nowUs: resources.wallNow)
        // No request in the background has the login of the client's tunnel.
        if case .stale(let age, let ttl, .whileRevalidating) = decision, isByLogin(use.base) {
            decision = .stale(age: age, ttl: ttl, mayServe: .nothing)
        }
        switch decision {
        case .fresh(_, let ttl), .stale(_, let ttl, .now), .stale(_, let ttl, .whileRevalidating):
            guard let content = try await content(of: cached) else {
                return miss(use)
            }
            note(hit: use, ttl: ttl)
            if case .stale(_, _, .whileRevalidating) = decision {
                validateInBackground(use, target)
            }
            try await serve(cached, content, use)
            return true
        case .stale(_, _, let mayServe), .validate(_, _, _, let mayServe):
            use.status = .forward(decision.forward ?? .stale)
            use.mayServe = mayServe
            prepareValidation(use)
        case .incomplete: return try await answerFromParts(use, cached)
        case .bypass: use.status = .forward(.bypass)
        case .gatewayTimeout:
            use.status = .forward(.miss)
            try await answerNothingStored(use)
            return true
        }
        return false
    }

    /// Notes that no response in memory is for the request.
    func noteMiss(_ use: CacheUse) {
        use.status = .forward(use.candidates.isEmpty ? .uriMiss : .varyMiss)
        if !use.candidates.isEmpty { prepareValidation(use) }
    }

    /// Treats an entry whose content the disk can't read as never stored.
    private func miss(_ use: CacheUse) -> Bool {
        use.forget()
        use.status = .forward(.uriMiss)
        return false
    }

    /// Sets the conditions of the request to the origin.
    private func prepareValidation(_ use: CacheUse) {
        use.conditions = StoredResponse.conditions(
            for: use.facts,
            selected: use.selected,
            request: use.base.head,
            asked: use.asked
        )
    }

    /// Answers `only-if-cached` without a stored response (RFC 9111 §5.2.1.7).
    private func answerNothingStored(_ use: CacheUse) async throws(LupinError) {
        var response = GeneratedResponse(
            status: 504,
            contentType: "text/plain; charset=utf-8",
            body: "lupin has no stored response for this, and the request wants no other.\n"
        )
        use.status.detail = "only-if-cached"
        noteCache(use)
        if let field = use.field { response.head.fields.add(name: "Cache-Status", value: field) }
        try await send(response)
    }

    // MARK: Waiting for another fetch

    private func wait(for flight: Flight) async throws(LupinError) -> Flight.Outcome {
        flight.follow()
        defer { flight.leave() }
        resources.shared.responses.count { $0.collapsed += 1 }
        let executor = slot.loop.executor
        let local = LoopLocal(slot, of: executor)
        let deadline = min(slot.loop.deadline(in: Self.followingMax), totalDeadline)
        while true {
            let outcome = flight.outcome {
                executor.mailbox.post { local.value.wake(.answered) }
            }
            guard case .pending = outcome else { return outcome }
            try await park(.otherFetch, for: .answered, until: deadline)
            if slot.loop.now >= totalDeadline { throw .totalTimeIsOver(record.origin) }
            // An origin that is slow with one request may be quick with another.
            if slot.loop.now >= deadline { return .released }
        }
    }

    /// Whether the response that another exchange fetches answers this one's request, too (RFC 9111
    /// §4: only where it may be used without validation).
    private func isForUs(_ facts: StoredResponse, _ use: CacheUse) -> Bool {
        facts.vary.matches(use.base.head.fields)
            && facts.reuse(for: use.asked, policy: use.policy, nowUs: resources.wallNow).isServed
    }

    /// How long a request waits for the response head of another fetch.
    private static let followingMax = Duration.seconds(60)
}
