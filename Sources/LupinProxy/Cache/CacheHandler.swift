// Decides whether a request is answered from the cache, waits for another fetch, or is forwarded.
import LupinCaching
package import LupinCore
import LupinIO
import LupinPolicy
import LupinUpstream

/// The cache at work for one request: it answers from what is stored, or by way of the store, or
/// past it.
///
/// It knows nothing of the exchange but what `CacheClient` says; what it has found so far stands in
/// `use`.
package struct CacheHandler<Client: CacheClient> {
    let client: Client
    let use: CacheUse

    package init(for client: Client, _ use: CacheUse) {
        self.client = client
        self.use = use
    }

    var store: ResponseStore { client.resources.responses }
    var nowUs: Int64 { client.resources.wallNow }
    var loop: EventLoop { client.slot.loop }

    /// Answers a request for which memory has nothing that is certain, with every wait.
    package func answer() async throws(LupinError) {
        if let reason = use.asked.bypass {
            guard use.asked.mayForward else { return try await answerNothingStored() }
            use.status = .forward(reason == .method ? .method : .bypass)
            if reason != .method { use.status.detail = reason.rawValue }
            return try await forward()
        }
        var mayWait = use.asked.isCollapsible && use.policy.isCollapsing
        while true {
            use.look(in: store)
            if use.found == nil, let disk = store.disk { try await loadFromDisk(disk) }
            if try await answerFromStore() { return }
            guard use.asked.mayForward else {
                if use.shared == nil, try await answerFromOthers() { return }
                return try await answerNothingStored()
            }
            guard mayWait, let (flight, isLeader) = store.join(use.key, now: loop.now) else {
                break
            }
            if isLeader {
                use.flight = flight
                guard try await answerFromOthers() else { break }
                return
            }
            if case .joinable(let facts, let body, let length) = try await wait(for: flight),
                isForUs(facts), body.isThereFromTheBeginning
            {
                return try await readAlong(facts, body, length, flight)
            }
            // It may be stored now; if not, this request makes its own fetch.
            mayWait = false
        }
        if use.shared == nil, try await answerFromOthers() { return }
        try await forward()
    }

    /// Asks the origin about what is stored, behind the back of the client that had it.
    package func validate() async throws(LupinError) {
        use.look(in: store)
        use.status = .forward(.stale)
        use.prepareValidation()
        try await forward()
    }

    /// Goes on where the shared store has been asked already, without a task.
    func goOn() async throws(LupinError) {
        if try await !answerFromOthers(hasBegun: true) { try await forward() }
    }

    /// Serves the response that another machine stored, or is fetching; one fetch at a time for all
    /// of them, where a request can share one.
    ///
    /// `hasBegun` where the look has begun without a task.
    /// - Returns: Whether it was served; else this exchange fetches.
    private func answerFromOthers(hasBegun: Bool = false) async throws(LupinError) -> Bool {
        guard let redis = sharedTier else { return false }
        var isServed = false
        do throws(LupinError) {
            if hasBegun, client.hasClientLeft { throw .clientGone }
            let isFound = try await loadFromShared(redis)
            var isThere = isFound && isServable
            if !isThere, use.flight != nil { isThere = try await awaitOthers(redis) }
            if isThere { land(.landed) }
            // Also a response that only serves for validation: then the requests that wait go on
            // waiting.
            if isThere || isFound { isServed = try await answerFromStore() }
        } catch {
            land(.released)
            throw error
        }
        return isServed
    }

    /// Serves the stored response if it answers the request.
    /// - Returns: Whether it was served; else `use` holds the request to the origin.
    private func answerFromStore() async throws(LupinError) -> Bool {
        guard let cached = use.found else {
            use.noteMiss()
            return false
        }
        var decision = cached.reuse(for: use.asked, by: use.planned, nowUs: nowUs)
        // No request in the background has the login of the client's tunnel.
        if case .stale(let age, let ttl, .whileRevalidating) = decision, client.isByLogin(use.base)
        {
            decision = .stale(age: age, ttl: ttl, mayServe: .nothing)
        }
        switch decision {
        case .fresh(_, let ttl), .stale(_, let ttl, .now), .stale(_, let ttl, .whileRevalidating):
            guard let content = try await content(of: cached) else { return miss() }
            use.noteHit(ttl: ttl)
            if case .stale(_, _, .whileRevalidating) = decision { client.validateInBackground(use) }
            try await serve(cached, content)
            return true
        case .stale(_, _, let mayServe), .validate(_, _, _, let mayServe):
            use.status = .forward(decision.forward ?? .stale)
            use.mayServe = mayServe
            use.prepareValidation()
        case .incomplete: return try await answerFromParts(cached)
        case .bypass: use.status = .forward(.bypass)
        case .gatewayTimeout:
            use.status = .forward(.miss)
            try await answerNothingStored()
            return true
        }
        return false
    }

    /// Treats an entry whose content the disk can't read as never stored.
    private func miss() -> Bool {
        use.forget()
        use.status = .forward(.uriMiss)
        return false
    }

    /// Answers `only-if-cached` without a stored response (RFC 9111 §5.2.1.7).
    private func answerNothingStored() async throws(LupinError) {
        var response = GeneratedResponse(
            status: 504,
            contentType: "text/plain; charset=utf-8",
            body: "lupin has no stored response for this, and the request wants no other.\n"
        )
        use.status.detail = "only-if-cached"
        report()
        if let field = use.field { response.head.fields.add(name: "Cache-Status", value: field) }
        try await client.send(response)
    }

    /// Updates the record and `Cache-Status`.
    func report() { client.note(cache: use.renderStatus()) }

    // MARK: Waiting for another fetch

    private func wait(for flight: Flight) async throws(LupinError) -> Flight.Outcome {
        flight.follow()
        defer { flight.leave() }
        store.count { $0.collapsed += 1 }
        let executor = loop.executor
        let local = LoopLocal(client.slot, of: executor)
        let deadline = min(loop.deadline(in: .seconds(60)), client.totalDeadline)
        while true {
            let outcome = flight.outcome {
                executor.mailbox.post { local.value.wake(.answered) }
            }
            guard case .pending = outcome else { return outcome }
            try await client.park(.otherFetch, for: .answered, until: deadline)
            if loop.now >= client.totalDeadline { throw .totalTimeIsOver(client.origin) }
            // An origin that is slow with one request may be quick with another.
            if loop.now >= deadline { return .released }
        }
    }

    /// Whether the response that another exchange fetches answers this one's request, too (RFC 9111
    /// §4: only where it may be used without validation).
    private func isForUs(_ facts: StoredResponse) -> Bool {
        facts.vary.matches(use.base.head.fields)
            && facts.reuse(for: use.asked, policy: use.policy, nowUs: nowUs).isServed
    }
}
