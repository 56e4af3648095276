// How an exchange gets at what lies on disk.
import LupinCore
import LupinIO
import LupinStore

extension Exchange {
    /// Brings what the disk holds under the keys into the store, and looks again; it costs a wait
    /// where there is something, and where nobody knows yet what No-Vary-Search says of the path.
    func loadFromDisk(_ use: CacheUse, _ tier: DiskTier) async throws(LupinError) {
        let store = resources.shared.responses
        if use.policy.obeysNoVarySearch, store.mustLearnVariances(of: use.key) {
            let listing = CacheKey.generalListing(of: use.key.url)
            let found = try await onDisk(tier) { disk in
                disk.keys(url: listing, limit: Self.learntFromMax).map(\.key)
            }
            if let found { store.learnVariances(from: found, of: use.key) }
            use.look(in: store)
            if use.selected != nil { return }
        }
        let keys = use.keys.filter(tier.mayHold)
        if keys.isEmpty { return }
        let entries = try await onDisk(tier) { disk in keys.map { disk.entries(for: $0.text) } }
        var adopted: [CachedResponse] = []
        for (key, entries) in zip(keys, entries ?? []) {
            adopted += store.adopt(entries, key, use.policy)
        }
        if !adopted.isEmpty { use.look(in: store, besides: adopted) }
    }

    /// Of so many responses of a path, the last stored, the variances are learnt.
    private static let learntFromMax = 1024

    /// What is served of a stored response that lies on disk; nil where it can't be had.
    ///
    /// A small one is in memory from now on, and one that is there no more is forgotten.
    func content(
        of cached: CachedResponse
    ) async throws(LupinError) -> ServedContent? {
        if let content = cached.content { return .memory(content) }
        let store = resources.shared.responses
        guard let tier = store.disk, let place = cached.place else { return nil }
        let pieceMax = snapshot.settings.cacheStore.objectBytesMax
        let found = try await onDisk(tier) { disk in
            FoundBody(place, in: disk, smallBytesMax: pieceMax, stepBytes: Self.checkedAtOnce)
        }
        switch found {
        case .small(let content):
            store.fill(cached, content)
            return .memory(content)
        case .large(let body, let step):
            guard try await isIntact(body, step, in: tier) else { return nil }
            return .file(body)
        case .gone:
            store.remove([cached])
            return nil
        // It may be had the next time.
        case .notNow, nil: return nil
        }
    }

    /// Whether a body is what was stored: read once in a run, in steps, so that others get to the
    /// disk in between.
    private func isIntact(
        _ body: DiskBody,
        _ first: DiskCheck,
        in tier: DiskTier
    ) async throws(LupinError) -> Bool {
        var step = Optional(first)
        while true {
            switch step {
            case .ok: return true
            case .damaged, nil: return false
            case .more:
                step = try await onDisk(tier) { $0.check(body, bytesMax: Self.checkedAtOnce) }
            }
        }
    }

    private static let checkedAtOnce = 8 << 20

    /// Has the disk's thread do something and waits for the result; nil where it takes too long,
    /// which is as if there were nothing.
    func onDisk<Value: Sendable>(
        _ tier: DiskTier,
        _ job: @escaping @Sendable (DiskStore) -> Value
    ) async throws(LupinError) -> Value? {
        let question = tier.ask(slot, job)
        defer { question.close() }
        let deadline = min(slot.loop.deadline(in: Self.diskPatience), totalDeadline)
        while question.isOpen, slot.loop.now < deadline {
            try await park(for: .answered, until: deadline)
        }
        return question.answer
    }

    /// How long a disk may take to answer.
    private static let diskPatience = Duration.seconds(5)
}

extension DiskTier {
    /// Has the disk's thread do something; the question is closed where it has too much to do.
    func ask<Value: Sendable>(
        _ slot: ParkingSlot,
        _ job: @escaping @Sendable (DiskStore) -> Value
    ) -> Question<Value> {
        let question = Question<Value>(slot)
        let reply = question.reply
        if !submit({ reply(job($0)) }) { question.close() }
        return question
    }
}

/// What the disk's thread found of a body.
private enum FoundBody: Sendable {
    /// All of it, which fits into memory.
    case small(StoredContent)
    /// How far its check has come.
    case large(DiskBody, DiskCheck)
    case gone
    /// It may be there and can't be read: without descriptors, for instance.
    case notNow

    init(_ place: DiskPlace, in disk: DiskStore, smallBytesMax: Int, stepBytes: Int) {
        do throws(DiskProblem) {
            guard let id = place.id, let body = try disk.open(id) else {
                self = .gone
                return
            }
            let isSmall = body.length <= UInt64(smallBytesMax)
            switch disk.check(body, bytesMax: isSmall ? .max : stepBytes) {
            case .damaged: self = .gone
            case let step where !isSmall: self = .large(body, step)
            case .ok, .more: self = body.content.map { .small(StoredContent([$0])) } ?? .notNow
            }
        } catch {
            self = .notNow
        }
    }
}

/// Where the bytes come from that are served.
enum ServedContent: Sendable {
    case memory(StoredContent)
    case file(DiskBody)
}

extension DiskBody {
    /// All of it; nil where it can't be read.
    fileprivate var content: [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: Int(clamping: length))
        var room = bytes.mutableSpan
        let count = try? read(at: 0, into: &room, onlyIfCached: false)
        return count == bytes.count ? bytes : nil
    }
}
