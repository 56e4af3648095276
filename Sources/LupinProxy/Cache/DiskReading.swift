// How the cache reads from its disk.
import LupinCaching
import LupinCore
import LupinIO
import LupinPolicy
import LupinStore

extension CacheHandler {
    /// Brings entries under the keys from disk into the store, and looks again; waits only when
    /// there are entries, or when the No-Vary-Search values of the path are not known yet.
    func loadFromDisk(_ tier: DiskTier) async throws(LupinError) {
        if use.policy.obeysNoVarySearch, store.mustLearnVariances(of: use.key) {
            let listing = CacheKey.generalListing(of: use.key.url)
            let found = try await client.onDisk(tier) { disk in
                disk.keys(url: listing, limit: learntFromMax).map(\.key)
            }
            if let found { store.learnVariances(from: found, of: use.key) }
            use.look(in: store)
            if use.selected != nil { return }
        }
        let keys = use.keys.filter(tier.mayHold)
        if keys.isEmpty { return }
        let entries = try await client.onDisk(tier) { disk in
            keys.map { disk.entries(for: $0.text) }
        }
        guard let entries, entries.contains(where: { !$0.isEmpty }) else { return }
        var adopted: [CachedResponse] = []
        for (key, entries) in zip(keys, entries) {
            adopted += store.adopt(entries, key, by: use.planned)
        }
        // Also where another exchange has adopted them meanwhile.
        use.look(in: store, besides: adopted)
    }

    /// The content of a stored response, from memory or disk; nil when it can't be read.
    ///
    /// A small body stays in memory from then on; an entry that has gone is dropped.
    func content(of cached: CachedResponse) async throws(LupinError) -> ServedContent? {
        if let content = cached.content { return .memory(content) }
        guard let tier = store.disk, let diskHandle = cached.diskHandle else { return nil }
        let pieceMax = client.cacheStore.objectBytesMax
        let found = try await client.onDisk(tier) { disk in
            FoundBody(diskHandle, in: disk, smallBytesMax: pieceMax, stepBytes: checkedAtOnce)
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
        // The next attempt may succeed.
        case .notNow, nil: return nil
        }
    }

    /// Whether a body is intact: checked once per run, in steps, so that other jobs reach the disk
    /// in between.
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
                step = try await client.onDisk(tier) { $0.check(body, bytesMax: checkedAtOnce) }
            }
        }
    }

}

/// How many of a path's latest responses the variances are read from.
private let learntFromMax = 1024
private let checkedAtOnce = 8 << 20

extension DiskTier {
    /// Runs a job on the disk's thread; closes the question when the thread's queue is full.
    func ask<Value: Sendable>(
        _ slot: ParkingSlot,
        _ job: @escaping @Sendable (DiskStore) -> Value
    ) -> Promise<Value> {
        let promise = Promise<Value>(slot)
        let reply = promise.reply
        if !submit({ reply(job($0)) }) { promise.close() }
        return promise
    }
}

/// The result of looking for a body on disk.
private enum FoundBody: Sendable {
    /// The whole body, which fits into memory.
    case small(StoredContent)
    /// A body too long for memory, and the state of its check.
    case large(DiskBody, DiskCheck)
    case gone
    /// It may exist but can't be read now, for lack of descriptors for instance.
    case notNow

    init(_ diskHandle: DiskHandle, in disk: DiskStore, smallBytesMax: Int, stepBytes: Int) {
        do throws(DiskProblem) {
            guard let id = diskHandle.id, let body = try disk.open(id) else {
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

/// The place that the served bytes are read from.
enum ServedContent: Sendable {
    case memory(StoredContent)
    case file(DiskBody)
}

extension DiskBody {
    /// The whole content; nil when it can't be read.
    fileprivate var content: [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: Int(clamping: length))
        var room = bytes.mutableSpan
        let count = try? read(at: 0, into: &room, onlyIfCached: false)
        return count == bytes.count ? bytes : nil
    }
}
