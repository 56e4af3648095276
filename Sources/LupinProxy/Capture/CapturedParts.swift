// What is captured of an exchange, for the admin interface, and which exchanges a filter keeps.
import LupinCore
import LupinRecords
import LupinStore

/// The bodies, messages and notes of an exchange.
struct CapturedParts: Sendable {
    let bodies: [CapturedBody]
    let messageCount: Int
    let note: CapturedNote?

    init(of id: String, in file: CaptureFile) throws(DiskProblem) {
        let rows = try file.exchanges(withPrefix: id, limit: 1)
        let number = rows.first?.number ?? 0
        bodies = rows.isEmpty ? [] : try file.bodies(of: number)
        messageCount = rows.isEmpty ? 0 : try file.messageCount(of: number)
        note = try file.note(about: id)
    }

    func add(to line: inout JSONLine) {
        if !bodies.isEmpty {
            line.openList("bodies")
            for body in bodies { line.add(body) }
            line.closeList()
        }
        if messageCount > 0 { line.add("messages", UInt64(messageCount)) }
        if let note {
            line.openObject("note")
            line.add("marked", note.isMarked)
            line.add("comment", text: note.comment)
            line.closeObject()
        }
    }
}

extension JSONLine {
    fileprivate mutating func add(_ body: CapturedBody) {
        openObject()
        add("side", literal: CapturedSide(rawValue: body.side)?.word ?? "")
        add("bytes", UInt64(clamping: body.bytes))
        add("kept", UInt64(clamping: body.kept))
        if !body.truncated.isEmpty { add("truncated", text: body.truncated) }
        if !body.type.isEmpty { add("type", text: body.type) }
        if !body.coding.isEmpty { add("coding", text: body.coding) }
        if !body.withheld.isEmpty { add("withheld", text: body.withheld) }
        closeObject()
    }
}

extension CaptureQuery {
    /// The part of a filter that SQLite can compare; the whole filter judges the lines afterwards.
    init(_ filter: ExchangeFilter, now: Int64) {
        self.init()
        let demands = filter.demands
        host = demands.host
        method = demands.method
        statuses = demands.statuses
        if let age = demands.ageMax { startsFrom = now - min(age, now) }
    }
}

extension CaptureFile {
    /// Finds the last exchanges that a filter keeps.
    ///
    /// - Parameters:
    ///   - count: How many, at most.
    ///   - query: What SQLite compares.
    ///   - filter: What is compared besides.
    ///   - before: The ID of an exchange; only those that began before it.
    ///   - skipped: IDs to leave out.
    ///   - now: µs since 1970.
    /// - Returns: The exchanges, the latest first.
    /// - Throws: The problem with the file.
    func latest(
        _ count: Int,
        _ query: CaptureQuery,
        by filter: ExchangeFilter,
        before: String?,
        except skipped: Set<String>,
        now: Int64
    ) throws(DiskProblem) -> [CapturedExchange] {
        var query = query
        if let before {
            guard let start = try exchanges(withPrefix: before, limit: 1).first else { return [] }
            query.before = start.number
        }
        var kept: [CapturedExchange] = []
        var problem: DiskProblem?
        try forEachLatest(query) { exchange in
            guard kept.count < count else { return false }
            if skipped.contains(exchange.id) { return true }
            do throws(DiskProblem) {
                if try keeps(exchange, filter, now: now) { kept.append(exchange) }
                return true
            } catch {
                problem = error
                return false
            }
        }
        if let problem { throw problem }
        return kept
    }

    private func keeps(
        _ exchange: CapturedExchange,
        _ filter: ExchangeFilter,
        now: Int64
    ) throws(DiskProblem) -> Bool {
        if filter.text.isEmpty { return true }
        guard let line = JSONValue(parsing: exchange.line.span) else { return false }
        guard filter.asksForBodies else { return filter.matches(line, now: now) }
        var texts: [[UInt8]] = []
        for body in try bodies(of: exchange.number) {
            if let text = try content(of: exchange.number, side: body.side) { texts.append(text) }
        }
        let messages = try messages(of: exchange.number, after: 0, limit: .max)
        texts += messages.map(\.content)
        return filter.matches(line, now: now, bodies: texts)
    }
}
