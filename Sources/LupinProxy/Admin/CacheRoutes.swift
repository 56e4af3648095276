// The admin routes that list or drop stored responses.
import LupinCaching
import LupinCore
import LupinIO
import LupinPolicy
import LupinStore

/// The routes below `/v1/cache`.
struct CacheRoutes {
    let store: ResponseStore
    let redactor: Redactor
    let loop: EventLoop

    /// The default number of responses in one reply; `limit` overrides it.
    private static let usualCount = 100
    /// The maximum number of responses in one reply, whatever `limit` says.
    private static let countMax = 1 << 20

    /// The stored responses that a request asks for.
    func list(_ request: AdminRequest) async -> AdminAnswer {
        await answer(request) { wish async throws(AdminRefusal) in try await told(wish) }
    }

    /// Drops the stored responses that a request asks for.
    func drop(_ request: AdminRequest) async -> AdminAnswer {
        await answer(request) { wish async throws(AdminRefusal) in try await purge(wish) }
    }

    /// Drops everything.
    func dropAll() async -> AdminAnswer { dropped(await purge { _ in true }) }

    private func answer(
        _ request: AdminRequest,
        _ body: (StoredResponseQuery) async throws(AdminRefusal) -> AdminAnswer
    ) async -> AdminAnswer {
        do throws(AdminRefusal) {
            return try await body(try Self.query(request.target))
        } catch {
            return error.answer
        }
    }

    // MARK: The query

    /// Parses the query for responses.
    private static func query(_ target: String) throws(AdminRefusal) -> StoredResponseQuery {
        do throws(StoredResponseQuery.Problem) {
            return try StoredResponseQuery(target.utf8Span.span)
        } catch {
            throw AdminRefusal(400, error.sentence)
        }
    }

    /// Whether responses under a key match the query; an empty query matches all.
    ///
    /// Lists show URLs with redacted secrets, and a query may use these URLs.
    private func isMeant(_ wish: StoredResponseQuery) -> @Sendable (CacheKey) -> Bool {
        let isShown = wish.text.contains("REDACTED.")
        if let url = wish.url {
            return { [redactor] key in
                key.answers(url) || (isShown && redactor.cleaned(String(key.url)) == url)
            }
        }
        guard let pattern = wish.pattern else { return { _ in true } }
        return { [redactor] key in
            pattern.matches(key) || (isShown && pattern.matches(redactor.cleaned(String(key.url))))
        }
    }

    /// Runs a job on the disk's thread; returns nil when there is no disk or no answer in time.
    private func onDisk<Value: Sendable>(
        _ job: @escaping @Sendable (DiskStore) -> Value
    ) async -> Value? {
        guard let disk = store.disk else { return nil }
        let slot = ParkingSlot(on: loop)
        defer { slot.retire() }
        return await disk.ask(slot, job).answer(until: loop.deadline(in: Self.timeout))
    }

    private static let timeout = Duration.seconds(30)

    // MARK: Dropping

    private func purge(_ wish: StoredResponseQuery) async throws(AdminRefusal) -> AdminAnswer {
        guard wish.url != nil || wish.pattern != nil else {
            throw AdminRefusal(400, "say url or match; DELETE /v1/cache drops everything")
        }
        if wish.pattern?.isEverything ?? false {
            throw AdminRefusal(400, "match is everything; DELETE /v1/cache drops that")
        }
        // Whatever is here: others may have it.
        if let url = wish.url { store.shared?.dropping.drop([CacheKey(stored: "\(url)\n")]) }
        let purged = await purge(isMeant(wish))
        guard purged.responses > 0 else { throw nothingStored(wish) }
        return dropped(purged)
    }

    private func purge(_ isMeant: @escaping @Sendable (CacheKey) -> Bool) async -> CachePurge {
        let meant = store.keys.filter(isMeant)
        store.shared?.dropping.drop(meant.filter(\.isForAll))
        var inMemory = store.purge(meant, nowUs: SystemCall.wallMicroseconds())
        let onDisk = await onDisk { DiskTier.purge(in: $0, isMeant) }
        // Look-ups have brought back entries from the disk meanwhile.
        inMemory += store.purge(
            store.keys.filter(isMeant),
            nowUs: SystemCall.wallMicroseconds()
        )
        return (onDisk ?? CachePurge()).adding(inMemory)
    }

    private func nothingStored(_ wish: StoredResponseQuery) -> AdminRefusal {
        AdminRefusal(404, "nothing is stored of \(redactor.cleaned(wish.text))")
    }

    private func dropped(_ purged: CachePurge) -> AdminAnswer {
        return AdminAnswer { line in
            line.add("responses", UInt64(purged.responses))
            line.add("bytes", UInt64(purged.bytes))
        }
    }

    // MARK: Replies

    /// How much is stored, and of what use it was.
    func figures(_ snapshot: Snapshot) -> AdminAnswer {
        let counts = store.counts
        return AdminAnswer { line in
            // Each tier is a separate object, so that programs can tell which tiers exist.
            line.openObject("memory")
            line.add("responses", UInt64(counts.entries))
            line.add("bytes", UInt64(counts.bytes))
            line.add("room", UInt64(max(0, snapshot.settings.cacheStore.memoryBytes)))
            line.closeObject()
            if let disk = store.disk?.stats {
                line.openObject("disk")
                line.add("responses", UInt64(disk.entries))
                line.add("bytes", UInt64(disk.bytes))
                line.add("room", UInt64(disk.bytesMax))
                line.add("stored", UInt64(disk.stored))
                line.add("evicted", UInt64(disk.evicted))
                line.add("refused", UInt64(disk.refused))
                line.add("damaged", UInt64(disk.damaged))
                line.closeObject()
            }
            if let shared = store.shared { add(shared, to: &line) }
            line.add("hits", counts.hits)
            line.add("misses", counts.misses)
            line.add("hit_ratio")
            line.bytes.append(contentsOf: "\(counts.hitRatio)".utf8)
            line.add("validated", counts.validated)
            line.add("stored", counts.stored)
            line.add("evicted", counts.evicted)
            line.add("collapsed", counts.collapsed)
        }
    }

    private func add(_ tier: SharedTier, to line: inout JSONLine) {
        let counts = tier.counts
        line.openObject("shared")
        line.add("server", text: tier.home.text)
        line.add("answers", tier.health.isWell(tier.home))
        line.add("hits", counts.hits)
        line.add("misses", counts.misses)
        line.add("stored", counts.stored)
        line.add("rejected", counts.rejected)
        line.add("failures", counts.failures)
        line.add("collapsed", counts.collapsed)
        line.closeObject()
    }

    /// The latest first: responses in memory, and those on disk only.
    private func found(_ wish: StoredResponseQuery) async -> (latest: [CachedResponse], total: Int)
    {
        let isMeant = isMeant(wish)
        let limit =
            wish.url == nil ? min(wish.limit ?? Self.usualCount, Self.countMax) : Self.countMax
        let inMemory = store.responses(store.keys.filter(isMeant))
        var all = inMemory
        var total = inMemory.count
        if let onDisk = await onDisk({ DiskTier.find(in: $0, limit: limit, isMeant) }) {
            let known = Set(inMemory.compactMap { $0.diskHandle?.id })
            all += onDisk.newest.filter { !known.contains($0.id) }.compactMap(CachedResponse.init)
            total += max(0, onDisk.total - known.count)
        }
        let latest = all.sorted {
            ($0.facts.freshness.responseTimeUs, $0.id) > ($1.facts.freshness.responseTimeUs, $1.id)
        }
        return (Array(latest.prefix(limit)), total)
    }

    /// Replies with all details for one URL, and with summaries for several.
    private func told(_ wish: StoredResponseQuery) async throws(AdminRefusal) -> AdminAnswer {
        let found = await found(wish)
        if wish.url != nil, found.latest.isEmpty { throw nothingStored(wish) }
        var text = StoredResponseText(redactor: redactor, nowUs: SystemCall.wallMicroseconds())
        return AdminAnswer { line in
            line.add("total", UInt64(found.total))
            line.add("responses", objects: found.latest) { line, response in
                text.addSummary(of: response, to: &line)
                if wish.url != nil { text.addDetails(of: response, to: &line) }
            }
        }
    }
}

/// The refusal of a request of the admin interface.
private struct AdminRefusal: Error {
    let answer: AdminAnswer

    init(_ status: UInt16, _ sentence: String) {
        answer = AdminAnswer(status, sentence: sentence)
    }
}

extension CachedResponse {
    /// A response on disk only, under the built-in policy; nil when it can't be read.
    fileprivate convenience init?(_ entry: DiskEntry) {
        let planned = PlannedCache(.standard)
        let facts = StoredResponse(
            encoded: entry.facts.span,
            length: entry.length,
            policy: planned.policy
        )
        guard let facts else { return nil }
        self.init(
            id: 0,
            key: CacheKey(stored: entry.key),
            facts: facts,
            by: planned,
            content: nil,
            diskHandle: DiskHandle(entry.id)
        )
    }
}

extension StoreCounts {
    /// The fraction of requests that stored content answered, validated or not, from 0 to 1,
    /// rounded to thousandths.
    fileprivate var hitRatio: Double {
        // A validated response is counted both as hit and as miss.
        let requests = hits &+ misses &- min(misses, validated)
        guard requests > 0 else { return 0 }
        return (Double(hits) / Double(requests) * 1000).rounded() / 1000
    }
}
