// The file of captured exchanges: its schema, and how it is opened.

import Glibc
import LupinCore
import Synchronization

/// Captured exchanges in one SQLite file; a writer and readers don't wait for each other.
package final class CaptureFile: Sendable {
    private let writer: Mutex<Database>
    private let reader: Mutex<Database>
    private let folder: OpenFile
    private let lock: OpenFile

    /// Another format is deleted, not converted: captures are for days.
    private static let version: Int64 = 5
    private static let name = "exchanges.sqlite"

    /// Opens the file in `folder`, which is made where it is missing, readable by its owner alone.
    ///
    /// What a lupin left behind that was killed is removed: bodies of exchanges without an end.
    /// - Throws: `cannotOpen`, `foreignFolder` or `inUse`; `full` or `io`.
    package init(folder path: String) throws(DiskProblem) {
        try DiskFolder.makeDirectories(path)
        folder = OpenFile(owning: try DiskFolder.openFolder(path))
        try DiskFolder.makePrivate(folder.raw, path: path)
        lock = OpenFile(owning: try DiskFolder.takeLock(in: folder.raw, path: path))
        do throws(DiskProblem) {
            writer = Mutex(try Self.open(path, folder))
        } catch {
            guard error == .damaged else { throw error }
            for suffix in ["", "-wal", "-shm"] {
                // Safety: the name is NUL-terminated for the call.
                _ = unsafe unlinkat(folder.raw, Self.name + suffix, 0)
            }
            writer = Mutex(try Self.open(path, folder))
        }
        reader = Mutex(try Self.database(path, isReader: true))
    }

    /// Whether there is a file in a folder.
    package static func exists(in folder: String) -> Bool {
        // Safety: the path is NUL-terminated for the call.
        unsafe access("\(folder)/\(name)", F_OK) == 0
    }

    /// Closes the file, and lets others have the folder.
    package func close() {
        reader.withLock { $0.close() }
        writer.withLock { $0.close() }
        _ = flock(lock.raw, LOCK_UN)
    }

    private static func open(
        _ path: String,
        _ folder: borrowing OpenFile
    ) throws(DiskProblem) -> Database {
        // SQLite gives its journal the permissions of the file.
        let flags = O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW
        // Safety: the name is NUL-terminated for the call.
        let raw = try DiskCall.check { unsafe openat(folder.raw, name, flags, 0o600) }
        fchmod(raw, 0o600)
        Glibc.close(raw)
        let database = try database(path, isReader: false)
        do {
            try database.change { db in
                let found = try db.number("PRAGMA user_version")
                if found == version { return try dropUnended(db) }
                let tables = try db.number("SELECT count(*) FROM sqlite_master")
                guard found == 0, tables == 0 else { throw DiskProblem.damaged }
                try db.execute(schema)
            }
            return database
        } catch {
            throw DiskProblem(index: error)
        }
    }

    private static func database(
        _ path: String,
        isReader: Bool
    ) throws(DiskProblem) -> Database {
        do {
            return try Database(
                path: "\(path)/\(name)",
                setup: isReader ? "PRAGMA trusted_schema = OFF" : setup,
                isReader: isReader,
                busyMilliseconds: 500
            )
        } catch {
            throw DiskProblem(index: error)
        }
    }

    /// Deleted bodies are overwritten: the user may want them gone.
    ///
    /// Whole pages go through the journal: few large ones cost less than many small ones.
    private static let setup = """
        PRAGMA page_size = 16384;
        PRAGMA journal_mode = WAL;
        PRAGMA synchronous = NORMAL;
        PRAGMA journal_size_limit = 8388608;
        PRAGMA secure_delete = FAST;
        PRAGMA trusted_schema = OFF;
        """

    /// Rows are only added at the end of their tables: an index over random IDs would touch as many
    /// pages as there are exchanges, so `known` lists the IDs of each batch (`KnownIDs`).
    ///
    /// No number is given twice, whatever is deleted: `numbered` has one that is at least as large
    /// as every number that was given, and is changed once for many batches.
    /// An exchange under way has no line; there are few of these, so their index is small.
    /// One that is written once, at its end, has its short bodies in its own row (`PackedBodies`).
    /// The `key` of a body is `8 * exchange + side`; what is short stands in `content`, the rest in
    /// pieces.
    private static let schema = """
        CREATE TABLE exchange (
            number INTEGER PRIMARY KEY,
            id_high INTEGER NOT NULL,
            id_low INTEGER NOT NULL,
            start INTEGER NOT NULL,
            host TEXT NOT NULL,
            method TEXT NOT NULL,
            status INTEGER NOT NULL,
            duration INTEGER NOT NULL,
            ended INTEGER NOT NULL,
            line BLOB NOT NULL,
            heads BLOB NOT NULL,
            bodies BLOB NOT NULL
        );
        CREATE TABLE numbered (
            last INTEGER NOT NULL
        );
        INSERT INTO numbered (last) VALUES (0);
        CREATE TABLE known (
            last INTEGER NOT NULL,
            ids BLOB NOT NULL
        );
        CREATE INDEX exchange_under_way ON exchange (number) WHERE ended = 0;
        CREATE TABLE body (
            key INTEGER PRIMARY KEY,
            bytes INTEGER NOT NULL,
            kept INTEGER NOT NULL,
            truncated TEXT NOT NULL,
            type TEXT NOT NULL,
            coding TEXT NOT NULL,
            withheld TEXT NOT NULL,
            content BLOB NOT NULL
        );
        CREATE TABLE piece (
            exchange INTEGER NOT NULL,
            side INTEGER NOT NULL,
            number INTEGER NOT NULL,
            content BLOB NOT NULL
        );
        CREATE INDEX piece_by_body ON piece (exchange, side, number);
        CREATE TABLE message (
            exchange INTEGER NOT NULL,
            number INTEGER NOT NULL,
            time INTEGER NOT NULL,
            from_client INTEGER NOT NULL,
            kind TEXT NOT NULL,
            bytes INTEGER NOT NULL,
            truncated INTEGER NOT NULL,
            content BLOB NOT NULL
        );
        CREATE INDEX message_by_number ON message (exchange, number);
        CREATE TABLE note (
            id TEXT PRIMARY KEY,
            marked INTEGER NOT NULL,
            comment TEXT NOT NULL
        ) WITHOUT ROWID;
        PRAGMA user_version = 5;
        """

    /// How many numbers are reserved at once, so that not every batch writes the page of the last.
    static let numbersAtOnce: Int64 = 4096

    /// The keys of an exchange's bodies.
    static func bodyKeys(of exchange: Int64) -> ClosedRange<Int64> {
        let first = bodyKey(of: exchange, 0)
        return first...first + 7
    }

    static func bodyKey(of exchange: Int64, _ side: Int) -> Int64 {
        exchange &* 8 + Int64(side & 7)
    }

    private static func dropUnended(_ db: Database) throws {
        let numbers: [Int64] = try db.rows("SELECT number FROM exchange WHERE ended = 0") {
            try $0.decode(atIndex: 0)
        }
        for number in numbers { try delete(number, in: db) }
    }

    /// Deletes an exchange with all that belongs to it.
    static func delete(_ number: Int64, in db: Database) throws {
        for table in ["piece", "message"] {
            try db.run("DELETE FROM \(table) WHERE exchange = ?", [number])
        }
        let keys = bodyKeys(of: number)
        try db.run(
            "DELETE FROM body WHERE key BETWEEN ? AND ?",
            [keys.lowerBound, keys.upperBound]
        )
        let id = try db.first("SELECT id_high, id_low FROM exchange WHERE number = ?", [number]) {
            ExchangeID(
                high: UInt64(bitPattern: try $0.decode(atIndex: 0)),
                low: UInt64(bitPattern: try $0.decode(atIndex: 1))
            )
        }
        if let id { try db.run("DELETE FROM note WHERE id = ?", [id.text]) }
        try db.run("DELETE FROM exchange WHERE number = ?", [number])
    }

    // MARK: Access

    /// Makes changes in one transaction.
    func write<Value: Sendable>(
        _ body: @Sendable (Database) throws -> Value
    ) throws(DiskProblem) -> Value {
        try withWriter { try $0.change(body) }
    }

    /// Runs `body` outside a transaction.
    func withWriter<Value: Sendable>(
        _ body: @Sendable (Database) throws -> Value
    ) throws(DiskProblem) -> Value {
        try writer.withLock { db throws(DiskProblem) in
            do { return try body(db) } catch { throw DiskProblem(index: error) }
        }
    }

    /// Reads one state of the file, while others may change it.
    func read<Value: Sendable>(
        _ body: @Sendable (Database) throws -> Value
    ) throws(DiskProblem) -> Value {
        try reader.withLock { db throws(DiskProblem) in
            do { return try db.read(body) } catch { throw DiskProblem(index: error) }
        }
    }
}
