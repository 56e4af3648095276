// How the index's file is opened: SQLite's settings, the schema, and when a file is none of ours.

import GRDB

/// The file of an index and the form of what is in it.
enum IndexFile {
    /// What `user_version` says of a file of this form.
    ///
    /// Another form is begun anew, not converted: nothing is lost that origins don't still have.
    static let version = 1

    /// Opens the index, and makes it where the file is empty.
    ///
    /// - Parameter path: A file that exists; it may be empty.
    /// - Returns: Its connection, the only one.
    /// - Throws: `damaged` where it holds something else; `full` or `io`.
    static func open(_ path: String) throws(DiskProblem) -> DatabaseQueue {
        do {
            let queue = try DatabaseQueue(path: path, configuration: configuration)
            try queue.write { db in
                let found = try Int.fetchOne(db, sql: "PRAGMA user_version")
                if found == version { return }
                let tables = try Int.fetchOne(db, sql: "SELECT count(*) FROM sqlite_master")
                guard found == 0, tables == 0 else { throw DiskProblem.damaged }
                try db.execute(sql: schema)
            }
            return queue
        } catch {
            throw DiskProblem(index: error)
        }
    }

    private static var configuration: Configuration {
        var configuration = Configuration()
        configuration.label = "lupin.store"
        configuration.foreignKeysEnabled = false
        configuration.busyMode = .timeout(0.2)
        configuration.prepareDatabase { db in
            // Exclusive, before the journal is opened: the folder's lock keeps others out already,
            // and so SQLite needs no shared memory beside the file.
            try db.execute(
                sql: """
                    PRAGMA locking_mode = EXCLUSIVE;
                    PRAGMA journal_mode = WAL;
                    PRAGMA synchronous = NORMAL;
                    PRAGMA journal_size_limit = 8388608;
                    """
            )
        }
        return configuration
    }

    /// Times are microseconds since 1970; `bytes` is body and facts together.
    ///
    /// The index over keys holds all that is read when the store is opened. AUTOINCREMENT: an id
    /// is never given again, so nobody takes a new body for one that is gone.
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

/// FNV-1a of 64 bits: the same in every run, which Swift's own hashes aren't.
///
/// Only a way to few rows: what they hold is compared in full.
func stableHash(_ text: String) -> Int64 {
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    for byte in text.utf8 { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01b3 }
    return Int64(bitPattern: hash)
}
