// Adds exchanges to a capture, and drops those that are too old or too many.

import LupinCore

extension CaptureFile {
    /// Makes the changes in one transaction.
    package func write(_ batch: CaptureBatch) throws(DiskProblem) {
        try write { db in
            try Self.put(batch.exchanges, in: db)
            for (exchange, side) in batch.restarts {
                try db.run(
                    "DELETE FROM piece WHERE exchange = ? AND side = ?",
                    [exchange, side]
                )
            }
            try Self.put(batch.bodies, in: db)
            try db.run(
                "INSERT INTO piece (exchange, side, number, content) VALUES (?, ?, ?, ?)",
                forEach: batch.pieces,
                lending: { [$0.content] }
            ) { piece, row in
                row.add(piece.exchange)
                row.add(piece.side)
                row.add(piece.number)
            }
            try Self.put(batch.messages, in: db)
            for exchange in batch.forgotten { try Self.delete(exchange, in: db) }
        }
    }

    private static func put(_ exchanges: [CapturedExchange], in db: Database) throws {
        try db.run(
            """
            INSERT INTO exchange
            (number, id_high, id_low, start, host, method, status, duration, ended, line, heads,
            bodies)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT (number) DO UPDATE SET host = excluded.host,
            method = excluded.method, status = excluded.status,
            duration = excluded.duration, ended = excluded.ended, line = excluded.line,
            heads = excluded.heads, bodies = excluded.bodies
            """,
            forEach: exchanges,
            lending: { [$0.line, $0.heads, PackedBodies.bytes($0.bodies)] }
        ) { exchange, row in
            row.add(exchange.number)
            row.add(Int64(bitPattern: exchange.identity.high))
            row.add(Int64(bitPattern: exchange.identity.low))
            row.add(exchange.start)
            row.add(exchange.host)
            row.add(exchange.method)
            row.add(exchange.status)
            row.add(exchange.duration)
            row.add(!exchange.line.isEmpty)
        }
        guard let known = KnownIDs(of: exchanges) else { return }
        try db.run("INSERT INTO known (last, ids) VALUES (?, ?)", [known.last, known.bytes])
        try db.run(
            "UPDATE numbered SET last = ? WHERE last < ?",
            [known.last + numbersAtOnce, known.last]
        )
    }

    private static func put(
        _ bodies: [(exchange: Int64, body: CapturedBody)],
        in db: Database
    ) throws {
        try db.run(
            """
            INSERT OR REPLACE INTO body
            (key, bytes, kept, truncated, type, coding, withheld, content)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?)
            """,
            forEach: bodies,
            lending: { [$0.body.content] }
        ) { part, row in
            let body = part.body
            row.add(bodyKey(of: part.exchange, body.side))
            row.add(body.bytes)
            row.add(body.kept)
            row.add(body.truncated)
            row.add(body.type)
            row.add(body.coding)
            row.add(body.withheld)
        }
    }

    private static func put(
        _ messages: [(exchange: Int64, message: CapturedMessage)],
        in db: Database
    ) throws {
        try db.run(
            """
            INSERT INTO message
            (exchange, number, time, from_client, kind, bytes, truncated, content)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?)
            """,
            forEach: messages,
            lending: { [$0.message.content] }
        ) { part, row in
            let message = part.message
            row.add(part.exchange)
            row.add(message.number)
            row.add(message.time)
            row.add(message.isFromClient)
            row.add(message.kind)
            row.add(message.bytes)
            row.add(message.isTruncated)
        }
    }

    /// Sets the note about an exchange; an empty one is deleted.
    package func note(_ note: CapturedNote, about id: String) throws(DiskProblem) {
        try write { db in
            if !note.isMarked, note.comment.isEmpty {
                return try db.run("DELETE FROM note WHERE id = ?", [id])
            }
            try db.run(
                "INSERT OR REPLACE INTO note (id, marked, comment) VALUES (?, ?, ?)",
                [id, note.isMarked, note.comment]
            )
        }
    }

    // MARK: What goes

    /// Drops exchanges that began before `start`, and the oldest ones while more than `bytesMax`
    /// bytes are in use.
    ///
    /// At most some hundred at a time; the rest goes the next time.
    package func drop(startedBefore start: Int64, bytesMax: Int) throws(DiskProblem) {
        try write { db in
            let old: [Int64] = try db.rows(
                """
                SELECT number FROM (SELECT number, start FROM exchange WHERE ended = 1
                ORDER BY number LIMIT ?) WHERE start < ?
                """,
                [Self.dropCount, start]
            ) { try $0.decode(atIndex: 0) }
            for number in old { try Self.delete(number, in: db) }
            try db.run("DELETE FROM known WHERE last < (SELECT min(number) FROM exchange)")
            guard try Self.used(db) > bytesMax else { return }
            // A tenth of the room at once, so that it is not done for every batch.
            let goal = bytesMax - bytesMax / 10
            for _ in 0..<Self.dropCount {
                let oldest = try db.number(
                    "SELECT number FROM exchange WHERE ended = 1 ORDER BY number LIMIT 1"
                )
                guard let oldest else { return }
                try Self.delete(oldest, in: db)
                if try Self.used(db) <= goal { return }
            }
        }
    }

    private static let dropCount = 512

    /// Bytes of the file that hold something.
    private static func used(_ db: Database) throws -> Int {
        let pages = try db.number("PRAGMA page_count") ?? 0
        let free = try db.number("PRAGMA freelist_count") ?? 0
        let size = try db.number("PRAGMA page_size") ?? 4096
        return Int((pages &- free) &* size)
    }

    /// Deletes every exchange, and all that is left of it in the files.
    package func clear() throws(DiskProblem) {
        try write { db in
            for table in ["piece", "message", "body", "note", "known", "exchange"] {
                try db.execute("DELETE FROM \(table)")
            }
        }
        // Free pages keep what stood in them.
        try withWriter { try $0.execute("VACUUM") }
        // So does the journal; where a reader is busy, the next checkpoint overwrites it.
        try? withWriter { try $0.execute("PRAGMA wal_checkpoint(TRUNCATE)") }
    }
}
