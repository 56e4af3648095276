// How an exchange uses the cache: what it tells it, and what it does for it.
import LupinCaching
import LupinCore
import LupinIO
import LupinPolicy
import LupinTLS
import LupinUpstream
import LupinWire

extension WorkerResources: CacheResources {
    var responses: ResponseStore { shared.responses }
    var cachedResponseHandler: (any CachedResponseHandler)? { shared.cachedResponseHandler }
}

// MARK: Asking the cache

extension Exchange {
    /// Answers a request for which memory has nothing that is certain: from the cache, through it,
    /// or past it, with every wait.
    func answerThroughCache() async throws(LupinError) {
        guard let planned = plan?.caching else { throw .stopping }
        if let caching {
            let handler = CacheHandler(for: self, caching)
            return course.phase == .asking
                ? try await handler.goOn() : try await handler.answer()
        }
        guard let base = next?.base else { throw .stopping }
        try await keyQuery(base)
        // The owner of the responses matters even where every client may use the credentials.
        if !planned.policy.isShared { cacheOwner = await clientUser() }
        let use = cacheUse(planned, base)
        caching = use
        try await CacheHandler(for: self, use).answer()
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

    /// Serves what the shared store has answered.
    func hearOthers() throws(LupinError) -> Need? {
        guard isTaskless, let use = caching, let redis = resources.redis else { return .store }
        guard let isFound = CacheHandler(for: self, use).hear(redis) else {
            return hasClientLeft ? .clientLeft : .bytes
        }
        guard isFound, try serveFromMemory(use) else { return .store }
        return nil
    }

    /// The use of the cache for a request of this exchange.
    func cacheUse(_ planned: PlannedCache, _ base: AdaptedRequest) -> CacheUse {
        trace?.beginLook(at: slot.loop.now)
        var attachments = Attachments(
            of: plan,
            defaultCertificate: snapshot.clientCertificate,
            at: base.origin,
            by: base.hop.connectedParent?.proxy,
            version: snapshot.version
        )
        if let login = base.clientLogin { attachments.add(.clientIdentity(login)) }
        assert(attachments.all.allSatisfy(base.hop.isApart))
        var partition = CachePartition(of: record.id, attachments)
        partition.separate(
            by: base.separations(planned, isUserKnown: cacheOwner != .unknown),
            of: cacheOwner,
            at: client.address,
            isThroughSibling: client.isThroughSibling
        )
        if attachments.partsPages, let origin = redirectedTo ?? record.origin {
            partition.separate(by: foreignPages(at: origin))
        }
        if let queryKey { partition.separate(byContent: queryKey) }
        let name = partition.name(by: resources.shared.responses.partitions)
        let key = base.key(partition: name)
        var asked = base.cacheRequest(hasContent: !framing.isEmpty, isKeyed: queryKey != nil)
        if isByOwnLogin(base) {
            attachments.add(.connectionLogin)
            asked.bypass = asked.bypass ?? .login
        }
        return CacheUse(planned, key, asked, base, attachments)
    }
}

// MARK: What the cache asks

extension Exchange: CacheClient {
    var cacheStore: CacheStoreSettings { snapshot.settings.cacheStore }
    var id: ExchangeID { record.id }
    var origin: Origin? { record.origin }
    var isForStoreAlone: Bool { downstream is NoClient }
    var isCommitted: Bool { downstream.isCommitted }
    var idleTime: UInt64 { timeouts.idle }

    func note(cache status: String) {
        trace?.endLook(status, at: slot.loop.now)
        record.cache = status
        note(.cached(status))
    }

    func endLook(_ status: CacheStatus) { trace?.endLook(status.text(), at: slot.loop.now) }

    func fetch(_ base: AdaptedRequest) async throws(LupinError) -> ObtainedResponse? {
        guard let target else { throw .stopping }
        return try await obtainResponse(to: target, base: base)
    }

    func answerByRule() async throws(LupinError) {
        if let canned = plan?.respond { try await send(canned) }
    }

    func hasReadOverFlaws() -> Bool {
        noteBodyFlaws()
        return !record.flaws.isEmpty
    }

    func beginFilling(_ filling: BodyRelay, _ download: BodyRelay) {
        self.filling = filling
        self.download = download
        isServedFromStore = true
        pumpBodies()
    }

    func cancelUpload() {
        if let upload, !upload.isOver { upload.cancel() }
    }

    /// Without a task by an open connection alone.
    func look(for key: [UInt8], _ redis: RedisClient) -> RedisQuery? {
        guard isTaskless else { return redis.ask(redis.tier.look(key), about: key, slot: slot) }
        return redis.openConnection(for: key).map { connection in
            redis.look(for: key, by: connection, self, until: taskDeadline)
        }
    }

    /// When the exchange needs a task, in microseconds of the loop's clock.
    private var taskDeadline: UInt64 {
        let (taskDeadline, isOverflow) =
            begun.addingReportingOverflow(WorkerResources.tasklessTime)
        return isOverflow ? .max : taskDeadline
    }
}

extension Exchange: RedisAsker {
    func queryNeedsTask(_ query: RedisQuery) { promote(because: .lateness) }

    func queryIsOver(_ query: RedisQuery) {
        // A query that fails at once is noticed by the caller that sent it.
        if caching?.shared?.query === query { goOn() }
    }
}

// MARK: Validation behind the client's back

extension Exchange {
    /// Revalidates a stale response while the client gets it already (RFC 5861 §3).
    func validateInBackground(_ use: CacheUse) {
        let store = resources.shared.responses
        guard let target, let cached = use.found else { return }
        // One validation for all URLs that find it.
        let key = cached.key
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
            try await CacheHandler(for: self, use).validate()
        } catch {
            record.error = error.naming(parentRule: plan?.proxyRule)
            record.outcome = .error
            dropUpstream()
        }
        _ = finish()
    }
}
