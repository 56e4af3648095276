// The routes of the admin interface that show exchanges: those remembered, captured and under way.
import LupinCore
import LupinIO
import LupinRecords
import LupinStore
import LupinUpstream

/// The routes below `/v1/exchanges`; confined to the control loop.
struct ExchangeRoutes {
    let shared: Shared
    let workers: [Worker]
    let loop: EventLoop
    /// lupin's.
    let version: String

    /// The default number of exchanges in one reply; `limit` overrides it.
    private static let usualCount = 100
    private static let prefix = "/v1/exchanges/"

    /// An exchange that ended, in memory or captured.
    enum Found {
        case remembered(ExchangeHistory.Entry)
        case captured(CapturedExchange)

        var id: String {
            switch self {
            case .remembered(let entry): entry.id.text
            case .captured(let exchange): exchange.id
            }
        }

        /// The line of the log; empty while it is under way.
        func line(_ format: inout RecordFormat) -> [UInt8] {
            switch self {
            case .remembered(let entry): entry.line(&format)
            case .captured(let exchange): exchange.line
            }
        }

        /// The record and the heads, without the closing brace.
        func openDetail(_ format: inout RecordFormat) -> JSONLine {
            var line = JSONLine()
            line.openObject()
            line.add("record")
            line.bytes.append(contentsOf: self.line(&format))
            switch self {
            case .remembered(let entry):
                line.add(members: entry.heads.bytes(format.redactor))
            case .captured(let exchange): line.add(members: exchange.heads)
            }
            return line
        }
    }

    /// The exchange that a path and its query name.
    /// - Throws: The refusal when they name none.
    func named(
        _ name: Substring,
        _ request: AdminRequest
    ) throws(AdminAnswer) -> ExchangeReference {
        let filter = request.parameter("filter")
        if request.parameter("host") != nil {
            throw AdminAnswer(400, sentence: "host is now written as filter=host:NAME")
        }
        let reference: ExchangeReference?
        do throws(FilterProblem) {
            reference = try ExchangeReference(path: name, filter: filter)
        } catch {
            throw AdminAnswer(400, sentence: clean(error.sentence(in: filter ?? "")))
        }
        guard let reference else { throw AdminRoute.nothing }
        if case .last(_, let filter) = reference { try demandReach(of: filter, request) }
        return reference
    }

    /// A filter that looks into bodies tells of them.
    private func demandReach(
        of filter: ExchangeFilter,
        _ request: AdminRequest
    ) throws(AdminAnswer) {
        if filter.asksForBodies { try request.demand(.owner) }
    }

    private func clean(_ text: String) -> String { shared.redactor.cleaned(text) }

    /// Has written what was captured until now, as far as that is done soon.
    func settle() async {
        for worker in workers { await worker.handOverCaptured() }
        await shared.captures.settle(on: loop)
    }

    // MARK: Lists

    /// The exchanges that a request asks for.
    func list(_ request: AdminRequest) async throws(AdminAnswer) -> AdminAnswer {
        let count = try request.count("limit") ?? Self.usualCount
        let filter = try self.filter(request)
        if filter.asksForBodies { await settle() }
        let form = request.parameter("format")
        guard form == nil || form == "lines" || form == "full" else {
            throw AdminAnswer(400, sentence: "format is lines or full")
        }
        let after = request.parameter("after").flatMap { ExchangeID(text: Substring($0)) }
        let before = request.parameter("before")
        var format = RecordFormat(redactor: shared.redactor)
        let (found, last) = try await latest(
            count,
            by: filter,
            after: after,
            before: before,
            &format
        )
        guard let form else {
            return AdminAnswer { line in
                line.openList("exchanges")
                for one in found {
                    line.comma()
                    line.bytes.append(contentsOf: one.line(&format))
                }
                line.closeList()
            }
        }
        var answer = AdminAnswer("application/jsonl", [])
        for one in found.reversed() {
            if form == "full" {
                var line = one.openDetail(&format)
                line.closeObject()
                answer.body += line.bytes
            } else {
                answer.body += one.line(&format)
            }
            answer.body.append(0x0A)
        }
        // The client passes this as `after` to continue from there.
        if let last = last ?? after { answer.fields = [("Lupin-Last", last.text)] }
        return answer
    }

    /// The filter of a request; without one, it keeps everything.
    func filter(_ request: AdminRequest) throws(AdminAnswer) -> ExchangeFilter {
        let text = request.parameter("filter") ?? ""
        let filter: ExchangeFilter
        do throws(FilterProblem) {
            filter = try ExchangeFilter(text)
        } catch {
            throw AdminAnswer(400, sentence: clean(error.sentence(in: text)))
        }
        try demandReach(of: filter, request)
        return filter
    }

    /// The last `count` exchanges that a filter keeps, the latest first, and the ID of the latest
    /// of all: those remembered, and then those captured.
    ///
    /// They ended after the one called `after`, and before the one called `before`.
    func latest(
        _ count: Int,
        by filter: ExchangeFilter,
        after: ExchangeID? = nil,
        before: String? = nil,
        _ format: inout RecordFormat
    ) async throws(AdminAnswer) -> (found: [Found], last: ExchangeID?) {
        let now = SystemCall.wallMicroseconds()
        var found: [Found] = []
        var last: ExchangeID?
        var seen: Set<String> = []
        var isBehind = before == nil
        var isOver = false
        let mayBeCaptured = after == nil && shared.captures.mayHaveExchanges
        shared.history.forEachLatest { entry in
            last = last ?? entry.id
            guard found.count < count, entry.id != after else {
                isOver = true
                return false
            }
            if mayBeCaptured { seen.insert(entry.id.text) }
            defer { if entry.id.text == before { isBehind = true } }
            // A filter for bodies is asked where they are.
            if isBehind, !filter.asksForBodies,
                entry.isKept(by: filter, &format, now: now)
            {
                found.append(.remembered(entry))
            }
            return true
        }
        if isOver || !mayBeCaptured || found.count >= count { return (found, last) }
        let query = CaptureQuery(filter, now: now)
        let wanted = count - found.count
        let skipped = filter.asksForBodies ? [] : seen
        let start = isBehind ? nil : before
        let result = await shared.captures.read(on: loop) { file throws(DiskProblem) in
            try file.latest(wanted, query, by: filter, before: start, except: skipped, now: now)
        }
        switch result {
        case .success(let captured):
            // Nothing has ended since the start.
            last = last ?? captured.first?.identity
            found += captured.map { .captured($0) }
        case .failure(let problem): throw AdminAnswer(503, sentence: problem.sentence)
        }
        return (found, last)
    }

    // MARK: One

    /// The exchange of a reference that ended, or is captured while it is under way.
    /// - Throws: The refusal when there is none, or more than one.
    func find(_ reference: ExchangeReference) async throws(AdminAnswer) -> Found? {
        switch reference {
        case .last(let ordinal, let filter):
            var format = RecordFormat(redactor: shared.redactor)
            let (found, _) = try await latest(ordinal, by: filter, &format)
            guard found.count >= ordinal, let last = found.last else {
                throw AdminAnswer(404, sentence: ExchangeReferenceProblem.unfit.sentence)
            }
            return last
        case .id(let digits):
            var found: [Found] = []
            shared.history.forEachLatest { entry in
                if entry.id.text.hasPrefix(digits) { found.append(.remembered(entry)) }
                return true
            }
            found += try await captured(digits).filter { row in
                !row.line.isEmpty && !found.contains { $0.id == row.id }
            }.map { .captured($0) }
            let live = await underWay().filter { exchange in
                // One that ended while we looked stands in the history already.
                exchange.id.text.hasPrefix(digits) && !found.contains { $0.id == exchange.id.text }
            }
            let ids = found.map(\.id) + live.map(\.id.text)
            guard ids.count <= 1 else {
                let problem = ExchangeReferenceProblem.ambiguous(Array(ids.prefix(5)))
                throw AdminAnswer(409, sentence: problem.sentence)
            }
            return found.first
        }
    }

    /// The captured exchanges whose ID begins with `digits`, those under way too.
    func captured(_ digits: String) async throws(AdminAnswer) -> [CapturedExchange] {
        guard shared.captures.mayHaveExchanges else { return [] }
        let result = await shared.captures.read(on: loop) { file throws(DiskProblem) in
            try file.exchanges(withPrefix: digits, limit: 6)
        }
        switch result {
        case .success(let rows): return rows
        case .failure(let problem): throw AdminAnswer(503, sentence: problem.sentence)
        }
    }

    /// One exchange with its heads; what is captured of it, for its owner.
    func detail(
        named name: Substring,
        _ request: AdminRequest
    ) async throws(AdminAnswer) -> AdminAnswer {
        let reference = try named(name, request)
        let isOwner = request.entry.isOwner
        if let found = try await find(reference) {
            var format = RecordFormat(redactor: shared.redactor)
            var line = found.openDetail(&format)
            shared.servers.chains.addChain(of: found.line(&format), to: &line)
            if isOwner { try await addCaptured(of: found.id, to: &line) }
            line.closeObject()
            return AdminAnswer(200, line)
        }
        guard case .id(let digits) = reference,
            let exchange = await underWay().first(where: { $0.id.text.hasPrefix(digits) })
        else {
            throw AdminAnswer(404, sentence: ExchangeReferenceProblem.unknown.sentence)
        }
        var line = JSONLine()
        line.openObject()
        line.add("live")
        exchange.add(to: &line)
        if isOwner { try await addCaptured(of: exchange.id.text, to: &line) }
        line.closeObject()
        return AdminAnswer(200, line)
    }

    /// Appends what is captured of the exchange with this ID, if anything is.
    private func addCaptured(
        of id: String,
        to line: inout JSONLine
    ) async throws(AdminAnswer) {
        guard shared.captures.mayHaveExchanges else { return }
        let result = await shared.captures.read(on: loop) { file throws(DiskProblem) in
            try CapturedParts(of: id, in: file)
        }
        switch result {
        case .success(let parts): parts.add(to: &line)
        case .failure(let problem): throw AdminAnswer(503, sentence: problem.sentence)
        }
    }

    // MARK: Under way

    /// The exchanges that are under way.
    func live() async -> AdminAnswer {
        let exchanges = await underWay()
        return AdminAnswer { line in
            line.openList("exchanges")
            for exchange in exchanges { exchange.add(to: &line) }
            line.closeList()
        }
    }

    /// The exchanges of all workers, the oldest first.
    private func underWay() async -> [LiveExchange] {
        var all: [LiveExchange] = []
        for worker in workers { all += await worker.liveExchanges() }
        return all.sorted { $0.startMicroseconds < $1.startMicroseconds }
    }

    /// Cuts an exchange that is under way.
    func cancel(named name: Substring) async throws(AdminAnswer) -> AdminAnswer {
        guard let id = ExchangeID(text: name) else { throw AdminRoute.nothing }
        for worker in workers where await worker.cancel(id) {
            return AdminAnswer { $0.add("cancelled", literal: id.text) }
        }
        return AdminAnswer(404, sentence: "no exchange of this id is under way")
    }
}
