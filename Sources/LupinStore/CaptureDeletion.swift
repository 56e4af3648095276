// Deletes exchanges of a capture that its owner wants gone, so that no file keeps anything of them.

import GRDB

extension CaptureFile {
    /// Deletes exchanges, with all that is left of them in the files.
    package func delete(_ exchanges: [Int64]) throws(DiskProblem) {
        do {
            try pool.writeWithoutTransaction { db in
                // Pages that become free keep what stood in them otherwise. Where the oldest go for
                // want of room that would not be worth its price.
                try db.execute(sql: "PRAGMA secure_delete = ON")
                defer { try? db.execute(sql: "PRAGMA secure_delete = FAST") }
                try db.inTransaction {
                    for number in exchanges { try Self.delete(number, in: db) }
                    return .commit
                }
                // The journal keeps it, too; where a reader is busy, the next one overwrites it.
                _ = try? db.checkpoint(.truncate)
            }
        } catch {
            throw DiskProblem(index: error)
        }
    }
}
