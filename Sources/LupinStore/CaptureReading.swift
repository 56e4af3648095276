// Reads captured exchanges back.

import FoundationEssentials
import GRDB

extension CaptureFile {
    /// How much there is.
    package func size() throws(DiskProblem) -> (exchanges: Int, bytes: Int) {
        try read { db in
            let count = try Int.fetchOne(db, sql: "SELECT count(*) FROM exchange") ?? 0
            let pages = try Int.fetchOne(db, sql: "PRAGMA page_count") ?? 0
            let size = try Int.fetchOne(db, sql: "PRAGMA page_size") ?? 4096
            return (count, pages * size)
        }
    }

    /// The largest number ever given to an exchange.
    package func lastNumber() throws(DiskProblem) -> Int64 {
        try read { db in
            let sql = "SELECT seq FROM sqlite_sequence WHERE name = 'exchange'"
            let last = try Int64.fetchOne(db, sql: sql) ?? 0
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
        var values: [(any DatabaseValueConvertible)?] = []
        func demand(_ condition: String, _ value: (any DatabaseValueConvertible)?) {
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
        return try read { db in
            try Row.fetchAll(db, sql: sql, arguments: StatementArguments(values))
                .map(Self.exchange)
        }
    }

    /// The exchanges, ended or not, whose ID begins with `digits`: at most `limit`.
    package func exchanges(
        withPrefix digits: String,
        limit: Int
    ) throws(DiskProblem) -> [CapturedExchange] {
        guard let wanted = KnownIDs.Prefix(digits) else { return [] }
        return try read { db in
            var numbers: Set<Int64> = []
            let lists = try Row.fetchCursor(db, sql: "SELECT ids FROM known")
            while let row = try lists.next() {
                let list = try row.decode(Data.self, atIndex: 0)
                KnownIDs.collect(wanted, in: list.span, into: &numbers)
            }
            var found: [CapturedExchange] = []
            for number in numbers.sorted() where found.count < limit {
                let row = try Row.fetchOne(
                    db,
                    sql: "\(Self.selection) WHERE number = ?",
                    arguments: [number]
                )
                guard let exchange = try row.map(Self.exchange) else { continue }
                if exchange.id.hasPrefix(digits) { found.append(exchange) }
            }
            return found
        }
    }

    /// The bodies of an exchange.
    package func bodies(of exchange: Int64) throws(DiskProblem) -> [CapturedBody] {
        let keys = Self.bodyKeys(of: exchange)
        return try read { db in
            let rows = try Row.fetchAll(
                db,
                sql: """
                    SELECT key, bytes, kept, truncated, type, coding, withheld FROM body
                    WHERE key BETWEEN ? AND ? ORDER BY key
                    """,
                arguments: [keys.lowerBound, keys.upperBound]
            )
            return try rows.map { row in
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
        }
    }

    /// The content of a body; nil if none is kept.
    package func content(of exchange: Int64, side: Int) throws(DiskProblem) -> [UInt8]? {
        try read { db in
            let short = try Data.fetchOne(
                db,
                sql: "SELECT content FROM body WHERE key = ? AND content IS NOT NULL",
                arguments: [Self.bodyKey(of: exchange, side)]
            )
            if let short { return Array(short) }
            let rows = try Row.fetchCursor(
                db,
                sql: """
                    SELECT content FROM piece WHERE exchange = ? AND side = ? ORDER BY number
                    """,
                arguments: [exchange, side]
            )
            var content: [UInt8]?
            while let row = try rows.next() {
                content = content ?? []
                content?.append(contentsOf: try row.decode(Data.self, atIndex: 0))
            }
            return content
        }
    }

    /// How many messages of a WebSocket are kept.
    package func messageCount(of exchange: Int64) throws(DiskProblem) -> Int {
        try read { db in
            let sql = "SELECT count(*) FROM message WHERE exchange = ?"
            return try Int.fetchOne(db, sql: sql, arguments: [exchange]) ?? 0
        }
    }

    /// The messages of a WebSocket behind the one with the number `after`: at most `limit`.
    package func messages(
        of exchange: Int64,
        after: Int64,
        limit: Int
    ) throws(DiskProblem) -> [CapturedMessage] {
        try read { db in
            let rows = try Row.fetchAll(
                db,
                sql: """
                    SELECT number, time, from_client, kind, bytes, truncated, content FROM message
                    WHERE exchange = ? AND number > ? ORDER BY number LIMIT ?
                    """,
                arguments: [exchange, after, limit]
            )
            return try rows.map { row in
                CapturedMessage(
                    number: try row.decode(atIndex: 0),
                    time: try row.decode(atIndex: 1),
                    isFromClient: try row.decode(atIndex: 2),
                    kind: try row.decode(atIndex: 3),
                    bytes: try row.decode(atIndex: 4),
                    isTruncated: try row.decode(atIndex: 5),
                    content: Array(try row.decode(Data.self, atIndex: 6))
                )
            }
        }
    }

    /// What was noted about an exchange; nil for nothing.
    package func note(about id: String) throws(DiskProblem) -> CapturedNote? {
        try read { db in
            let sql = "SELECT marked, comment FROM note WHERE id = ?"
            guard let row = try Row.fetchOne(db, sql: sql, arguments: [id]) else { return nil }
            return CapturedNote(
                isMarked: try row.decode(atIndex: 0),
                comment: try row.decode(atIndex: 1)
            )
        }
    }

    private static let selection =
        "SELECT number, id, start, host, method, status, duration, line, heads FROM exchange"

    private static func exchange(_ row: Row) throws -> CapturedExchange {
        var exchange = CapturedExchange(
            number: try row.decode(atIndex: 0),
            id: try row.decode(atIndex: 1),
            start: try row.decode(atIndex: 2)
        )
        exchange.host = try row.decode(atIndex: 3)
        exchange.method = try row.decode(atIndex: 4)
        exchange.status = try row.decode(atIndex: 5)
        exchange.duration = try row.decode(atIndex: 6)
        exchange.line = Array(try row.decode(Data.self, atIndex: 7))
        exchange.heads = Array(try row.decode(Data.self, atIndex: 8))
        return exchange
    }
}
