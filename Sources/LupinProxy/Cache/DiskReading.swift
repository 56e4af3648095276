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
        let found = try await onDisk(tier) { disk -> ServedContent? in
            guard let id = place.id, let body = try? disk.open(id) else { return nil }
            guard body.length <= UInt64(pieceMax) else { return .file(body) }
            guard case .ok = disk.check(body, bytesMax: .max), let bytes = body.content else {
                return nil
            }
            return .memory(StoredContent([bytes]))
        }
        switch found ?? nil {
        case .memory(let content):
            store.fill(cached, content)
            return .memory(content)
        case .file(let body):
            guard try await isIntact(body, in: tier) else { return nil }
            return .file(body)
        case nil: return nil
        }
    }

    /// Whether a body is what was stored: read once in a run, in steps, so that others get to the
    /// disk in between.
    private func isIntact(_ body: DiskBody, in tier: DiskTier) async throws(LupinError) -> Bool {
        while true {
            let step = try await onDisk(tier) { $0.check(body, bytesMax: Self.checkedAtOnce) }
            switch step {
            case .ok: return true
            case .more: continue
            case .damaged, nil: return false
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
