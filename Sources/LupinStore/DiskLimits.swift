// The limits and statistics of a store on disk: values only.

/// The limits on a store's use of a disk.
package struct DiskLimits: Sendable, Equatable {
    /// All bodies and facts together, in bytes; beyond it, least recently used entries are removed.
    package var bytesMax: Int
    /// One body, in bytes; a draft that exceeds it is refused.
    package var objectBytesMax: Int
    /// Bytes that stay free in the file system; with less, nothing is written.
    package var spareBytes: Int

    package init(bytesMax: Int, objectBytesMax: Int, spareBytes: Int = 64 << 20) {
        self.bytesMax = bytesMax
        self.objectBytesMax = objectBytesMax
        self.spareBytes = spareBytes
    }
}

/// The index's data about one stored body.
package struct DiskEntry: Sendable, Equatable {
    /// Never reused in the life of an index.
    package var id: Int64
    package var key: String
    package var url: String
    /// The caller's data about the body, in the caller's format.
    package var facts: [UInt8]
    /// The length of the body in bytes.
    package var length: UInt64
    /// Microseconds since 1970, as the caller specified.
    package var storedAtUs: Int64
    /// The time of the last touch or update, else of storing.
    package var usedAtUs: Int64
    /// How often it was touched.
    package var uses: Int

    /// What it takes of the store's room: the body, and what the index has of it.
    package var bytes: Int {
        Int(clamping: length) + facts.count + key.utf8.count + url.utf8.count
    }

    package init(
        id: Int64,
        key: String,
        url: String,
        facts: [UInt8],
        length: UInt64,
        storedAtUs: Int64,
        usedAtUs: Int64,
        uses: Int
    ) {
        self.id = id
        self.key = key
        self.url = url
        self.facts = facts
        self.length = length
        self.storedAtUs = storedAtUs
        self.usedAtUs = usedAtUs
        self.uses = uses
    }
}

/// The current content of a store, and counts since it was opened.
package struct DiskStats: Sendable, Equatable {
    /// The number of stored bodies.
    package var entries = 0
    /// The size of all bodies and facts together.
    package var bytes = 0
    package var bytesMax = 0
    /// Commits since the store was opened.
    package var stored = 0
    /// Entries removed in favour of others, or for a new limit.
    package var evicted = 0
    /// Drafts, commits and updates that failed: no space, too large, a failing disk.
    package var refused = 0
    /// Entries removed because their bodies differed from what was stored.
    package var damaged = 0
}

/// The result of a step of checking a body.
package enum DiskCheck: Sendable, Equatable {
    /// The body matches what was stored.
    case ok
    /// More of it must be read: call again.
    case more
    /// It doesn't match, and its entry was removed.
    case damaged
}
