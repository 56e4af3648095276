// The operations on the index: all statements on its table, each change in one transaction.

/// The part of a removed row that the store needs.
struct IndexRow: Sendable, Equatable {
    var id: Int64
    var keyHash: Int64
    /// See `DiskEntry.bytes`.
    var bytes: Int
}

/// The table of entries.
struct DiskIndex {
    private let database: Database

    /// - Parameter path: A file that exists; it may be empty.
    /// - Throws: `damaged` if it is not an index; `full` or `io`.
    init(path: String) throws(DiskProblem) { database = try IndexFile.open(path) }

    /// Writes the journal into the file and closes it.
    func close() { database.close() }

    // MARK: Reading

    /// Calls `body` with the hash of the key and the size of every entry.
    func forEachKey(_ body: (_ keyHash: Int64, _ bytes: Int) -> Void) throws(DiskProblem) {
        try read { db in
            let sql = "SELECT key_hash, bytes FROM entry INDEXED BY entry_by_key"
            try db.forEach(sql) { row in
                body(try row.decode(atIndex: 0), try size(of: row, atIndex: 1))
                return true
            }
        }
    }

    /// The largest ID ever assigned, 0 for none.
    func lastID() throws(DiskProblem) -> Int64 {
        try read { db in
            let sql = "SELECT seq FROM sqlite_sequence WHERE name = 'entry'"
            let last = try db.number(sql) ?? 0
            guard last >= 0, last < Int64.max / 2 else { throw DiskProblem.damaged }
            return last
        }
    }

    /// The entries of a key, the last stored one first.
    func entries(for key: String) throws(DiskProblem) -> [DiskEntry] {
        try entries(
            "WHERE key_hash = ? AND key = ? ORDER BY stored DESC, id DESC",
            [stableHash(key), key]
        )
    }

    func entry(_ id: Int64) throws(DiskProblem) -> DiskEntry? {
        try entries("WHERE id = ?", [id]).first
    }

    /// Entries in order of ID, after `id`.
    func entries(after id: Int64, limit: Int) throws(DiskProblem) -> [DiskEntry] {
        try entries("WHERE id > ? ORDER BY id LIMIT ?", [id, limit])
    }

    /// The expected length and checksum of an entry's body; nil if there is no entry.
    func body(_ id: Int64) throws(DiskProblem) -> (length: UInt64, checksum: UInt32)? {
        try read { db in
            try db.first("SELECT length, checksum FROM entry WHERE id = ?", [id]) { row in
                let checksum: Int64 = try row.decode(atIndex: 1)
                return (
                    UInt64(try size(of: row, atIndex: 0)), UInt32(truncatingIfNeeded: checksum)
                )
            }
        }
    }

    /// The entries of a URL, with any key.
    func ids(url: String) throws(DiskProblem) -> [Int64] {
        try read { db in
            let sql = "SELECT id FROM entry WHERE url_hash = ? AND url = ?"
            return try db.rows(sql, [stableHash(url), url]) { try $0.decode(atIndex: 0) }
        }
    }

    /// The keys of a URL's entries, the last stored one first.
    func keys(url: String, limit: Int) throws(DiskProblem) -> [(id: Int64, key: String)] {
        try read { db in
            let sql = """
                SELECT id, key FROM entry WHERE url_hash = ? AND url = ? ORDER BY id DESC LIMIT ?
                """
            return try db.rows(sql, [stableHash(url), url, limit]) { row in
                (id: try row.decode(atIndex: 0), key: try row.decode(atIndex: 1))
            }
        }
    }

    private func entries(
        _ condition: String,
        _ arguments: [any DatabaseValue]
    ) throws(DiskProblem) -> [DiskEntry] {
        let sql = "SELECT id, key, url, facts, length, stored, used, uses FROM entry \(condition)"
        return try read { db in
            try db.rows(sql, arguments) { row in
                DiskEntry(
                    id: try row.decode(atIndex: 0),
                    key: try row.decode(atIndex: 1),
                    url: try row.decode(atIndex: 2),
                    facts: try row.decode(atIndex: 3),
                    length: UInt64(try size(of: row, atIndex: 4)),
                    storedAtUs: try row.decode(atIndex: 5),
                    usedAtUs: try row.decode(atIndex: 6),
                    uses: try row.decode(atIndex: 7)
                )
            }
        }
    }

    // MARK: Changing

    /// The rows that storing removed.
    struct Displaced {
        /// In favour of others with the same key.
        var replaced: [IndexRow] = []
        /// To free space.
        var evicted: [IndexRow] = []
    }

    /// Inserts an entry, and removes the entries that it replaces and those that exceed the limits.
    ///
    /// - Parameters:
    ///   - entry: It has a new ID.
    ///   - checksum: The CRC-32 of its body.
    ///   - replaced: Entries to remove, if they exist.
    ///   - variantsMax: How many entries its key may have, at least 1; the oldest are removed.
    ///   - excess: By how many bytes the store would exceed its limit if nothing were removed.
    ///   - touches: Written first, so that recently used entries stay.
    /// - Returns: The removed rows.
    /// - Throws: `full`, `io` or `damaged`; nothing has changed then.
    func store(
        _ entry: DiskEntry,
        checksum: UInt32,
        replacing replaced: [Int64],
        variantsMax: Int,
        excess: Int,
        touches: DiskTouches
    ) throws(DiskProblem) -> Displaced {
        try change { db in
            try write(touches, to: db)
            var displaced = Displaced()
            for id in replaced {
                displaced.replaced += try remove("WHERE id = ?", [id], from: db)
            }
            displaced.replaced += try remove(
                """
                WHERE id IN (SELECT id FROM entry WHERE key_hash = ? AND key = ?
                             ORDER BY stored DESC, id DESC LIMIT -1 OFFSET ?)
                """,
                [stableHash(entry.key), entry.key, max(0, variantsMax - 1)],
                from: db
            )
            let freed = displaced.replaced.reduce(0) { $0 + $1.bytes }
            displaced.evicted = try evict(excess - freed, rowsMax: .max, from: db)
            try insert(entry, checksum: checksum, into: db)
            return displaced
        }
    }

    /// Replaces the facts of an entry.
    ///
    /// - Returns: By how many bytes it grew (negative: shrank); nil if there is no entry.
    /// - Throws: `tooLarge` if it would exceed `bytesMax`, and the index's own problems.
    func update(
        _ id: Int64,
        facts: [UInt8],
        usedAtUs: Int64,
        bytesMax: Int
    ) throws(DiskProblem) -> Int? {
        try change { db in
            let sql = "SELECT bytes, length(facts) FROM entry WHERE id = ?"
            let found = try db.first(sql, [id]) { row in
                (bytes: try size(of: row, atIndex: 0), facts: try size(of: row, atIndex: 1))
            }
            guard let found else { return nil }
            let bytes = found.bytes + facts.count - found.facts
            guard bytes <= bytesMax else { throw DiskProblem.tooLarge }
            try db.run(
                "UPDATE entry SET facts = ?, bytes = ?, used = max(used, ?) WHERE id = ?",
                [facts, bytes, usedAtUs, id]
            )
            return bytes - found.bytes
        }
    }

    func write(_ touches: DiskTouches) throws(DiskProblem) {
        try change { db in try write(touches, to: db) }
    }

    func remove(_ ids: [Int64]) throws(DiskProblem) -> [IndexRow] {
        try change { db in
            try ids.flatMap { try remove("WHERE id = ?", [$0], from: db) }
        }
    }

    func removeAll() throws(DiskProblem) {
        try erasing { () throws(DiskProblem) in
            try change { db in try db.execute("DELETE FROM entry") }
        }
    }

    /// Removes entries so that no file keeps anything of their rows.
    ///
    /// Free pages and the journal keep it otherwise; where entries only make room, that would not
    /// be worth its price.
    func erase(_ ids: [Int64]) throws(DiskProblem) -> [IndexRow] {
        try erasing { () throws(DiskProblem) in try remove(ids) }
    }

    private func erasing<Value>(
        _ work: () throws(DiskProblem) -> Value
    ) throws(DiskProblem) -> Value {
        do { try database.execute("PRAGMA secure_delete = ON") } catch {
            throw DiskProblem(index: error)
        }
        defer {
            try? database.execute("PRAGMA secure_delete = FAST")
            try? database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        }
        return try work()
    }

    /// Removes the least recently used entries, until the given bytes or rows are removed.
    func evict(
        _ bytes: Int,
        rowsMax: Int,
        touches: DiskTouches
    ) throws(DiskProblem) -> [IndexRow] {
        try change { db in
            try write(touches, to: db)
            return try evict(bytes, rowsMax: rowsMax, from: db)
        }
    }

    // MARK: Inside a transaction

    private func insert(_ entry: DiskEntry, checksum: UInt32, into db: Database) throws {
        try db.run(
            """
            INSERT INTO entry (id, key_hash, url_hash, bytes, length, checksum, stored, used,
                               uses, key, url, facts)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            [
                entry.id, stableHash(entry.key), stableHash(entry.url),
                entry.bytes, Int64(clamping: entry.length), Int64(checksum), entry.storedAtUs,
                entry.usedAtUs, entry.uses, entry.key, entry.url, entry.facts,
            ]
        )
    }

    private func write(_ touches: DiskTouches, to db: Database) throws {
        for (id, touch) in touches.pending {
            try db.run(
                "UPDATE entry SET used = max(used, ?), uses = uses + ? WHERE id = ?",
                [touch.usedAtUs, touch.uses, id]
            )
        }
    }

    private func evict(_ bytes: Int, rowsMax: Int, from db: Database) throws -> [IndexRow] {
        guard bytes > 0 else { return [] }
        guard rowsMax > 0 else { return [] }
        var rows: [IndexRow] = []
        var freed = 0
        try db.forEach("SELECT id, key_hash, bytes FROM entry ORDER BY used, id") { row in
            rows.append(try indexRow(row))
            freed += rows[rows.count - 1].bytes
            return freed < bytes && rows.count < rowsMax
        }
        try delete(rows, from: db)
        return rows
    }

    private func remove(
        _ condition: String,
        _ arguments: [any DatabaseValue],
        from db: Database
    ) throws -> [IndexRow] {
        let sql = "SELECT id, key_hash, bytes FROM entry \(condition)"
        let rows = try db.rows(sql, arguments, indexRow)
        try delete(rows, from: db)
        return rows
    }

    private func delete(_ rows: [IndexRow], from db: Database) throws {
        for row in rows { try db.run("DELETE FROM entry WHERE id = ?", [row.id]) }
    }

    // MARK: Values that a damaged file may have anyhow

    private func indexRow(_ row: Row) throws -> IndexRow {
        IndexRow(
            id: try row.decode(atIndex: 0),
            keyHash: try row.decode(atIndex: 1),
            bytes: try size(of: row, atIndex: 2)
        )
    }

    /// No body is larger, and a sum of many such sizes can't overflow.
    private static let sizeMax = 1 << 44

    private func size(of row: Row, atIndex index: Int32) throws -> Int {
        let size: Int = try row.decode(atIndex: index)
        guard 0...Self.sizeMax ~= size else { throw DiskProblem.damaged }
        return size
    }

    // MARK: Errors

    private func read<Value>(_ work: (Database) throws -> Value) throws(DiskProblem) -> Value {
        do {
            return try work(database)
        } catch {
            throw DiskProblem(index: error)
        }
    }

    private func change<Value>(_ work: (Database) throws -> Value) throws(DiskProblem) -> Value {
        do {
            return try database.change(work)
        } catch {
            throw DiskProblem(index: error)
        }
    }
}
