// Reads captured exchanges back.

import LupinCore

extension CaptureFile {
    /// How much there is.
    package func size() throws(DiskProblem) -> (exchanges: Int, bytes: Int) {
        try read { db in
            let count = try db.number("SELECT count(*) FROM exchange") ?? 0
            let pages = try db.number("PRAGMA page_count") ?? 0
            let size = try db.number("PRAGMA page_size") ?? 4096
            return (Int(count), Int(pages &* size))
        }
    }

    /// A number that is at least as large as every number ever given to an exchange.
    package func lastNumber() throws(DiskProblem) -> Int64 {
        try read { db in
            let last = try db.number("SELECT last FROM numbered") ?? 0
            guard last >= 0, last < Int64.max / 2 else { throw DiskProblem.damaged }
            return last
        }
    }

    /// Passes the ended exchanges of a query to `take`, the latest first, until it returns false.
    ///
    /// They are read some at a time, so that `take` may read as well.
    package func forEachLatest(
        _ query: CaptureQuery,
        _ take: (CapturedExchange) -> Bool
    ) throws(DiskProblem) {
        var query = query
        while true {
            let page = try latest(query)
            for exchange in page where !take(exchange) { return }
            guard page.count == Self.pageCount, let last = page.last else { return }
            query.before = last.number
        }
    }

    private static let pageCount = 64

    private func latest(_ query: CaptureQuery) throws(DiskProblem) -> [CapturedExchange] {
        var conditions = ["ended = 1"]
        var values: [any DatabaseValue] = []
        func demand(_ condition: String, _ value: (any DatabaseValue)?) {
            guard let value else { return }
            conditions.append(condition)
            values.append(value)
        }
        demand("number < ?", query.before)
        demand("start < ?", query.startsBefore)
        demand("start >= ?", query.startsFrom)
        demand("host = ?", query.host)
        demand("method = ?", query.method)
        demand("status >= ?", query.statuses?.lowerBound)
        demand("status <= ?", query.statuses?.upperBound)
        values.append(Self.pageCount)
        let sql =
            "\(Self.selection) WHERE \(conditions.joined(separator: " AND ")) "
            + "ORDER BY number DESC LIMIT ?"
        return try read { [values] db in try db.rows(sql, values, Self.exchange) }
    }

    /// The exchanges, ended or not, whose ID begins with `digits`: at most `limit`.
    package func exchanges(
        withPrefix digits: String,
        limit: Int
    ) throws(DiskProblem) -> [CapturedExchange] {
        guard let wanted = KnownIDs.Prefix(digits) else { return [] }
        return try read { db in
            var numbers: Set<Int64> = []
            try db.forEach("SELECT ids FROM known") { row in
                let list: [UInt8] = try row.decode(atIndex: 0)
                KnownIDs.collect(wanted, in: list.span, into: &numbers)
                return true
            }
            var found: [CapturedExchange] = []
            for number in numbers.sorted() where found.count < limit {
                let sql = "\(Self.selection) WHERE number = ?"
                guard let exchange = try db.first(sql, [number], Self.exchange) else { continue }
                if exchange.id.hasPrefix(digits) { found.append(exchange) }
            }
            return found
        }
    }

    /// The bodies of an exchange, without their content.
    package func bodies(of exchange: Int64) throws(DiskProblem) -> [CapturedBody] {
        let keys = Self.bodyKeys(of: exchange)
        return try read { db in
            var bodies = try Self.packedBodies(of: exchange, in: db)
            for i in bodies.indices { bodies[i].content = [] }
            let sql = """
                SELECT key, bytes, kept, truncated, type, coding, withheld FROM body
                WHERE key BETWEEN ? AND ? ORDER BY key
                """
            bodies += try db.rows(sql, [keys.lowerBound, keys.upperBound]) { row in
                let key: Int64 = try row.decode(atIndex: 0)
                var body = CapturedBody(side: Int(key & 7))
                body.bytes = try row.decode(atIndex: 1)
                body.kept = try row.decode(atIndex: 2)
                body.truncated = try row.decode(atIndex: 3)
                body.type = try row.decode(atIndex: 4)
                body.coding = try row.decode(atIndex: 5)
                body.withheld = try row.decode(atIndex: 6)
                return body
            }
            return bodies.sorted { $0.side < $1.side }
        }
    }

    /// Those in the row of the exchange itself, with their content.
    private static func packedBodies(of exchange: Int64, in db: Database) throws -> [CapturedBody] {
        let packed: [UInt8]? = try db.first(
            "SELECT bodies FROM exchange WHERE number = ?",
            [exchange]
        ) { try $0.decode(atIndex: 0) }
        guard let packed, !packed.isEmpty else { return [] }
        guard let bodies = PackedBodies.bodies(in: packed) else { throw DiskProblem.damaged }
        return bodies
    }

    /// The content of a body; nil if none is kept.
    package func content(of exchange: Int64, side: Int) throws(DiskProblem) -> [UInt8]? {
        try read { db in
            let packed = try Self.packedBodies(of: exchange, in: db).first { $0.side == side }
            if let packed { return packed.content.isEmpty ? nil : packed.content }
            let short: [UInt8]? = try db.first(
                "SELECT content FROM body WHERE key = ? AND length(content) > 0",
                [Self.bodyKey(of: exchange, side)]
            ) { try $0.decode(atIndex: 0) }
            if let short { return short }
            let sql = """
                SELECT content FROM piece WHERE exchange = ? AND side = ? ORDER BY number
                """
            var content: [UInt8]?
            try db.forEach(sql, [exchange, side]) { row in
                content = content ?? []
                content?.append(contentsOf: try row.decode([UInt8].self, atIndex: 0))
                return true
            }
            return content
        }
    }

    /// How many messages of a WebSocket are kept.
    package func messageCount(of exchange: Int64) throws(DiskProblem) -> Int {
        try read { db in
            let sql = "SELECT count(*) FROM message WHERE exchange = ?"
            return Int(try db.number(sql, [exchange]) ?? 0)
        }
    }

    /// The messages of a WebSocket behind the one with the number `after`: at most `limit`.
    package func messages(
        of exchange: Int64,
        after: Int64,
        limit: Int
    ) throws(DiskProblem) -> [CapturedMessage] {
        try read { db in
            let sql = """
                SELECT number, time, from_client, kind, bytes, truncated, content FROM message
                WHERE exchange = ? AND number > ? ORDER BY number LIMIT ?
                """
            return try db.rows(sql, [exchange, after, limit]) { row in
                CapturedMessage(
                    number: try row.decode(atIndex: 0),
                    time: try row.decode(atIndex: 1),
                    isFromClient: try row.decode(atIndex: 2),
                    kind: try row.decode(atIndex: 3),
                    bytes: try row.decode(atIndex: 4),
                    isTruncated: try row.decode(atIndex: 5),
                    content: try row.decode(atIndex: 6)
                )
            }
        }
    }

    /// What was noted about an exchange; nil for nothing.
    package func note(about id: String) throws(DiskProblem) -> CapturedNote? {
        try read { db in
            let sql = "SELECT marked, comment FROM note WHERE id = ?"
            return try db.first(sql, [id]) { row in
                CapturedNote(
                    isMarked: try row.decode(atIndex: 0),
                    comment: try row.decode(atIndex: 1)
                )
            }
        }
    }

    private static let selection = """
        SELECT number, id_high, id_low, start, host, method, status, duration, line, heads
        FROM exchange
        """

    private static func exchange(_ row: Row) throws -> CapturedExchange {
        var exchange = CapturedExchange(
            number: try row.decode(atIndex: 0),
            id: ExchangeID(
                high: UInt64(bitPattern: try row.decode(atIndex: 1)),
                low: UInt64(bitPattern: try row.decode(atIndex: 2))
            ),
            start: try row.decode(atIndex: 3)
        )
        exchange.host = try row.decode(atIndex: 4)
        exchange.method = try row.decode(atIndex: 5)
        exchange.status = try row.decode(atIndex: 6)
        exchange.duration = try row.decode(atIndex: 7)
        exchange.line = try row.decode(atIndex: 8)
        exchange.heads = try row.decode(atIndex: 9)
        return exchange
    }
}
