// What all bodies together may take that are kept for another attempt: memory, and space on disk.
import Synchronization

/// The memory that all replay buffers and edited bodies hold together.
package final class ReplayMemory: Sendable {
    private let used = Atomic<Int>(0)
    private let bytesMax: Atomic<Int>

    package init(bytesMax: Int) { self.bytesMax = Atomic(bytesMax) }

    /// Changes the limit; bytes that are reserved already stay reserved.
    package func limit(_ bytesMax: Int) { self.bytesMax.store(bytesMax, ordering: .relaxed) }

    /// Reserves `count` more bytes; returns false, and reserves nothing, beyond the limit.
    func reserve(_ count: Int) -> Bool {
        let now = used.add(count, ordering: .relaxed).newValue
        if now <= bytesMax.load(ordering: .relaxed) { return true }
        used.subtract(count, ordering: .relaxed)
        return false
    }

    func release(_ count: Int) { used.subtract(count, ordering: .relaxed) }
}

/// A share of that memory, released with the object.
package final class ReservedMemory {
    private let memory: ReplayMemory
    private var count = 0

    package init(of memory: ReplayMemory) { self.memory = memory }

    deinit { memory.release(count) }

    /// Reserves more; returns false, and reserves nothing, beyond the limit.
    package func grow(by more: Int) -> Bool {
        guard memory.reserve(more) else { return false }
        count += more
        return true
    }
}

/// The space on disk that all kept bodies have together; one user has at most half of it.
package final class ReplayDisk: Sendable {
    private struct Share {
        var bytesMax: Int
        var used = 0
        var byUser: [ClientUser: Int] = [:]
    }

    private let share: Mutex<Share>

    package init(bytesMax: Int) { share = Mutex(Share(bytesMax: bytesMax)) }

    /// Changes the limit; bytes that are reserved already stay reserved.
    package func limit(_ bytesMax: Int) { share.withLock { $0.bytesMax = bytesMax } }

    /// The bytes that are reserved.
    package var used: Int { state.used }

    /// The bytes that are reserved, and the limit.
    package var state: (used: Int, bytesMax: Int) { share.withLock { ($0.used, $0.bytesMax) } }

    /// Reserves `count` more bytes; returns false, and reserves nothing, beyond the limit or the
    /// user's half.
    ///
    /// All unknown users have one half together.
    package func reserve(_ count: Int, for user: ClientUser) -> Bool {
        share.withLock { share in
            let own = share.byUser[user] ?? 0
            guard count <= share.bytesMax - share.used, count <= share.bytesMax / 2 - own else {
                return false
            }
            share.used += count
            share.byUser[user] = own + count
            return true
        }
    }

    package func release(_ count: Int, of user: ClientUser) {
        share.withLock { share in
            share.used -= count
            let left = (share.byUser[user] ?? 0) - count
            share.byUser[user] = left > 0 ? left : nil
        }
    }
}

/// A share of that space, released with the object.
final class ReservedDisk {
    private let disk: ReplayDisk
    private let user: ClientUser
    private var count = 0

    init(of disk: ReplayDisk, for user: ClientUser) {
        self.disk = disk
        self.user = user
    }

    deinit { disk.release(count, of: user) }

    /// Reserves more; returns false, and reserves nothing, beyond the limit.
    func grow(by more: Int) -> Bool {
        guard disk.reserve(more, for: user) else { return false }
        count += more
        return true
    }
}

/// Where all bodies are kept together.
package struct ReplayRoom: Sendable {
    package let memory: ReplayMemory
    package let disk: ReplayDisk
    /// The folder for those that are too long for memory.
    let folder: String

    package init(memory: ReplayMemory, disk: ReplayDisk, folder: String) {
        self.memory = memory
        self.disk = disk
        self.folder = folder
    }
}
