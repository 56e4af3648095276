// How an exchange gets at what lies on disk.
import LupinCore
import LupinIO
import LupinStore

extension Exchange {
    /// Brings what the disk holds under the key into the store; it costs a wait.
    /// - Returns: Whether there is anything new.
    func loadFromDisk(_ use: CacheUse, _ tier: DiskTier) async throws(LupinError) -> Bool {
        let key = use.key.text
        let entries = try await onDisk(tier) { $0.entries(for: key) } ?? []
        return resources.shared.responses.adopt(entries, use.key, use.policy)
    }

    /// What is served of a stored response that lies on disk; nil where it is there no more.
    ///
    /// A small one is in memory from now on.
    func content(
        of cached: CachedResponse
    ) async throws(LupinError) -> ServedContent? {
        if let content = cached.content { return .memory(content) }
        let store = resources.shared.responses
        guard let tier = store.disk, let place = cached.place else { return nil }
        let pieceMax = snapshot.settings.cacheStore.objectBytesMax
        let found = try await onDisk(tier) { disk -> FoundBody? in
            guard let id = place.id, let body = try? disk.open(id) else { return nil }
            let isSmall = body.length <= UInt64(pieceMax)
            let step = disk.check(body, bytesMax: isSmall ? .max : Self.checkedAtOnce)
            guard isSmall else { return FoundBody(body: body, step: step) }
            guard case .ok = step, let bytes = body.content else { return nil }
            return FoundBody(body: body, step: step, content: StoredContent([bytes]))
        }
        guard let found = found ?? nil else { return nil }
        if let content = found.content {
            store.fill(cached, content)
            return .memory(content)
        }
        return try await isIntact(found, in: tier) ? .file(found.body) : nil
    }

    /// Whether a body is what was stored: read once in a run, in steps, so that others get to the
    /// disk in between.
    private func isIntact(_ found: FoundBody, in tier: DiskTier) async throws(LupinError) -> Bool {
        let body = found.body
        var step = Optional(found.step)
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
        let question = DiskQuestion(tier, slot, job)
        defer { question.close() }
        let deadline = min(slot.loop.deadline(in: Self.diskPatience), totalDeadline)
        while question.isOpen, slot.loop.now < deadline {
            let woken = await slot.park(for: .answered | interruptions, until: deadline)
            if woken.meets(.cut) { throw .stopping }
            if woken.meets(interruptions) { throw .clientGone }
        }
        return question.value
    }

    /// How long a disk may take to answer.
    private static let diskPatience = Duration.seconds(5)
}

/// What the disk's thread found.
private struct FoundBody: Sendable {
    let body: DiskBody
    /// How far its check has come.
    let step: DiskCheck
    /// All of it, where it fits into memory.
    var content: StoredContent?
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
