// Deletes exchanges of a capture that its owner wants gone, so that no file keeps anything of them.

extension CaptureFile {
    /// Deletes exchanges, with all that is left of them in the files.
    package func delete(_ exchanges: [Int64]) throws(DiskProblem) {
        try withWriter { db in
            // Pages that become free keep what stood in them otherwise. Where the oldest go for
            // want of room that would not be worth its price.
            try db.execute("PRAGMA secure_delete = ON")
            defer { try? db.execute("PRAGMA secure_delete = FAST") }
            try db.change { db in
                for number in exchanges { try Self.delete(number, in: db) }
            }
            // The journal keeps it, too; where a reader is busy, the next one overwrites it.
            try? db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        }
    }
}
