// Opens the index's file: SQLite's settings, the schema, and the checks.

/// The file of an index and its format.
enum IndexFile {
    /// The `user_version` of this format.
    ///
    /// An index of another version is recreated, not converted: the origins still have all that is
    /// lost.
    static let version: Int64 = 1

    /// Opens the index, and creates its tables if the file is empty.
    ///
    /// - Parameter path: A file that exists; it may be empty.
    /// - Returns: Its connection, the only one.
    /// - Throws: `damaged` if it is not an index; `full` or `io`.
    static func open(_ path: String) throws(DiskProblem) -> Database {
        do {
            let database = try Database(path: path, setup: setup, busyMilliseconds: 200)
            try database.change { db in
                let found = try db.number("PRAGMA user_version")
                if found == version { return }
                let tables = try db.number("SELECT count(*) FROM sqlite_master")
                guard found == 0, tables == 0 else { throw DiskProblem.damaged }
                try db.execute(schema)
            }
            return database
        } catch {
            throw DiskProblem(index: error)
        }
    }

    /// Exclusive, before the journal is opened: the folder's lock keeps other processes out, and so
    /// SQLite needs no shared memory file.
    private static let setup = """
        PRAGMA locking_mode = EXCLUSIVE;
        PRAGMA journal_mode = WAL;
        PRAGMA synchronous = NORMAL;
        PRAGMA journal_size_limit = 8388608;
        PRAGMA secure_delete = FAST;
        """

    /// Times are microseconds since 1970; `bytes` is that of `DiskEntry`.
    ///
    /// The index over keys contains all data that is read at opening. AUTOINCREMENT: an ID is never
    /// reused, so a new body is never mistaken for a removed one.
    private static let schema = """
        CREATE TABLE entry (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            key_hash INTEGER NOT NULL,
            url_hash INTEGER NOT NULL,
            bytes INTEGER NOT NULL,
            length INTEGER NOT NULL,
            checksum INTEGER NOT NULL,
            stored INTEGER NOT NULL,
            used INTEGER NOT NULL,
            uses INTEGER NOT NULL,
            key TEXT NOT NULL,
            url TEXT NOT NULL,
            facts BLOB NOT NULL
        );
        CREATE INDEX entry_by_key ON entry (key_hash, bytes);
        CREATE INDEX entry_by_url ON entry (url_hash);
        CREATE INDEX entry_by_use ON entry (used);
        PRAGMA user_version = 1;
        """
}

/// FNV-1a of 64 bits: it is the same in every run, unlike Swift's own hashes.
///
/// It only preselects rows: their keys are compared in full.
func stableHash(_ text: String) -> Int64 {
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    for byte in text.utf8 { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01b3 }
    return Int64(bitPattern: hash)
}
