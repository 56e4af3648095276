// What a store on disk may take, and what it tells of itself: values only.

/// How much of a disk a store may take.
package struct DiskLimits: Sendable, Equatable {
    /// All bodies and facts together, in bytes; beyond it, what was used longest ago goes.
    package var bytesMax: Int
    /// One body, in bytes; a draft that grows beyond it is refused.
    package var objectBytesMax: Int
    /// What stays free of the file system, in bytes; with less, nothing is written.
    package var spareBytes: Int

    package init(bytesMax: Int, objectBytesMax: Int, spareBytes: Int = 64 << 20) {
        self.bytesMax = bytesMax
        self.objectBytesMax = objectBytesMax
        self.spareBytes = spareBytes
    }
}

/// What the index knows of one stored body.
package struct DiskEntry: Sendable, Equatable {
    /// Never given twice in the life of an index.
    package var id: Int64
    package var key: String
    package var url: String
    /// What the caller wants to know of the body, in a form of its own.
    package var facts: [UInt8]
    /// The body, in bytes.
    package var length: UInt64
    /// Microseconds since 1970, as the caller said.
    package var storedAtUs: Int64
    /// The last touch or update, or when it was stored.
    package var usedAtUs: Int64
    /// How often it was touched.
    package var uses: Int

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

/// What a store holds now, and what happened since it was opened.
package struct DiskStats: Sendable, Equatable {
    /// Stored bodies.
    package var entries = 0
    /// All bodies and facts together.
    package var bytes = 0
    package var bytesMax = 0
    /// Commits since the store was opened.
    package var stored = 0
    /// Entries that gave way for others, or for a new limit.
    package var evicted = 0
    /// Drafts, commits and updates that came to nothing: no room, too large, a failing disk.
    package var refused = 0
    /// Entries that were removed because their bodies were not what had been stored.
    package var damaged = 0
}

/// What a step of checking a body says.
package enum DiskCheck: Sendable, Equatable {
    /// The body is what was stored.
    case ok
    /// There is more of it to be read: ask again.
    case more
    /// It isn't, and its entry is gone.
    case damaged
}
