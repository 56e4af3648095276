// The routes of the admin interface below `/v1/`.
import LupinCore
import LupinIO

/// What the program that starts a proxy reports about itself.
package struct ProxyDescription: Sendable {
    /// lupin's version.
    package var version: String

    package init(version: String = "") { self.version = version }
}

/// A response of the admin interface, with its whole body.
struct AdminAnswer {
    var status: UInt16
    var contentType = "application/json"
    var body: [UInt8]
    /// Additional fields.
    var fields: [(name: String, value: String)] = []
    var closes = false

    init(_ status: UInt16, _ line: JSONLine) {
        self.status = status
        body = line.bytes
        if body.last != 0x0A { body.append(0x0A) }
    }

    /// Creates an object; `add` appends its members.
    init(_ status: UInt16 = 200, _ add: (inout JSONLine) -> Void) {
        var line = JSONLine()
        line.openObject()
        add(&line)
        line.closeObject()
        self.init(status, line)
    }

    /// Creates a refusal with a sentence.
    init(_ status: UInt16, sentence: String) {
        self.init(status) { $0.add("error", text: sentence) }
    }

    static func notAllowed(_ methods: String) -> AdminAnswer {
        var answer = AdminAnswer(405, sentence: "this path knows \(methods) only")
        answer.fields = [("Allow", methods)]
        return answer
    }
}

/// The routes below `/v1/`; confined to the control loop.
struct AdminDesk {
    let shared: Shared
    let workers: [Worker]
    let about: ProxyDescription
    /// The rules file in force; nil without one.
    let rulesFile: () -> String?
    /// When the proxy was started, by the loop's clock.
    let begun: UInt64
    let reload: () async -> ReloadResult

    /// The default number of exchanges in one reply; `limit` overrides it.
    private static let usualCount = 100

    /// Answers a request; `target` is its path and query.
    func answer(_ method: Method, _ target: String, on loop: EventLoop) async -> AdminAnswer {
        let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let path = parts.first.map(String.init) ?? ""
        let isReading = method == .get || method == .head
        switch path {
        case "/v1/status":
            return isReading ? await status(loop) : .notAllowed("GET, HEAD")
        case "/v1/metrics":
            return isReading ? await metrics() : .notAllowed("GET, HEAD")
        case "/v1/reload":
            return method == .post ? await reloaded() : .notAllowed("POST")
        case "/v1/exchanges":
            guard isReading else { return .notAllowed("GET, HEAD") }
            return exchanges(target)
        case "/v1/bypasses":
            if method == .delete {
                shared.rejections.clear()
                return AdminAnswer { $0.add("cleared", true) }
            }
            return isReading ? bypasses(loop) : .notAllowed("GET, HEAD, DELETE")
        case "/v1/exchanges/live":
            return isReading ? await live() : .notAllowed("GET, HEAD")
        default: break
        }
        if path.hasPrefix("/v1/cache") {
            let desk = CacheDesk(store: shared.responses, redactor: shared.redactor, loop: loop)
            let answer = await desk.answer(method, path, target, shared.snapshot)
            if let answer { return answer }
        }
        let prefix = "/v1/exchanges/"
        if path.hasPrefix(prefix) {
            let name = path.dropFirst(prefix.count)
            if method == .delete, let id = ExchangeID(text: name) { return await cancel(id) }
            let filter = Self.parameter("filter", in: target)
            if Self.parameter("host", in: target) != nil {
                return AdminAnswer(400, sentence: "host is now written as filter=host:NAME")
            }
            do throws(FilterProblem) {
                if let reference = try ExchangeReference(path: name, filter: filter) {
                    return isReading ? await exchange(reference) : .notAllowed("GET, HEAD, DELETE")
                }
            } catch {
                return AdminAnswer(400, sentence: clean(error.sentence(in: filter ?? "")))
            }
        }
        return AdminAnswer(404, sentence: "there is nothing at this path; /v1/status is one")
    }

    // MARK: Rules

    private func reloaded() async -> AdminAnswer {
        switch await reload() {
        case .loaded(let version, let warnings): loaded(version, warnings)
        case .unchanged(let version): loaded(version, [])
        case .rejected(let errors):
            AdminAnswer(422) { $0.add("errors", list: errors.map(clean)) }
        }
    }

    private func loaded(_ version: String, _ warnings: [String]) -> AdminAnswer {
        AdminAnswer { line in
            line.add("version", text: version)
            line.add("warnings", list: warnings.map(clean))
        }
    }

    /// The first parameter of this name in a target's query, decoded.
    private static func parameter(_ name: String, in target: String) -> String? {
        QueryParameters.decoded(of: target.utf8Span.span)
            .first { $0.name == Array(name.utf8) }
            .map { String(decoding: $0.value, as: UTF8.self) }
    }

    private func clean(_ text: String) -> String { shared.redactor.cleaned(text) }

    // MARK: Exchanges

    private func exchanges(_ target: String) -> AdminAnswer {
        var count = Self.usualCount
        if let limit = Self.parameter("limit", in: target) {
            guard let number = QueryParameters.count(Substring(limit)) else {
                return AdminAnswer(400, sentence: "limit is a number")
            }
            count = number
        }
        let text = Self.parameter("filter", in: target) ?? ""
        let filter: ExchangeFilter
        do throws(FilterProblem) {
            filter = try ExchangeFilter(text)
        } catch {
            return AdminAnswer(400, sentence: clean(error.sentence(in: text)))
        }
        let form = Self.parameter("format", in: target)
        guard form == nil || form == "lines" || form == "full" else {
            return AdminAnswer(400, sentence: "format is lines or full")
        }
        let after = Self.parameter("after", in: target).flatMap { ExchangeID(text: Substring($0)) }
        var format = RecordFormat(redactor: shared.redactor)
        let (kept, last) = kept(count, after: after, by: filter, &format)
        guard let form else {
            return AdminAnswer { line in
                line.openList("exchanges")
                for entry in kept {
                    line.comma()
                    line.bytes.append(contentsOf: entry.line(&format))
                }
                line.closeList()
            }
        }
        var answer = AdminAnswer(200, JSONLine())
        answer.contentType = "application/jsonl"
        answer.body = []
        for entry in kept.reversed() {
            var line = JSONLine()
            if form == "full" {
                entry.add(to: &line, &format)
            } else {
                line.bytes = entry.line(&format)
            }
            answer.body += line.bytes
            answer.body.append(0x0A)
        }
        // For who goes on from there.
        if let last = last ?? after { answer.fields = [("Lupin-Last", last.text)] }
        return answer
    }

    /// The last `count` exchanges that ended after the one called `after` and that a filter keeps,
    /// the latest first; and the ID of the latest of all.
    private func kept(
        _ count: Int,
        after: ExchangeID? = nil,
        by filter: ExchangeFilter,
        _ format: inout RecordFormat
    ) -> (entries: [ExchangeHistory.Entry], last: ExchangeID?) {
        let now = SystemCall.wallMicroseconds()
        var kept: [ExchangeHistory.Entry] = []
        var last: ExchangeID?
        shared.history.forEachLatest { entry in
            last = last ?? entry.id
            guard kept.count < count, entry.id != after else { return false }
            if entry.isKept(by: filter, &format, now: now) { kept.append(entry) }
            return true
        }
        return (kept, last)
    }

    private func exchange(_ reference: ExchangeReference) async -> AdminAnswer {
        var ended: [ExchangeHistory.Entry] = []
        var problem = ExchangeReferenceProblem.unknown
        switch reference {
        case .id(let digits):
            shared.history.forEachLatest { entry in
                if entry.id.text.hasPrefix(digits) { ended.append(entry) }
                return true
            }
        case .last(let place, let filter):
            var format = RecordFormat(redactor: shared.redactor)
            ended = Array(kept(place, by: filter, &format).entries.dropFirst(place - 1))
            problem = .unfit
        }
        var live: [LiveExchange] = []
        if case .id(let digits) = reference {
            live = await underWay().filter { exchange in
                // One that ended while we looked stands in the history already.
                exchange.id.text.hasPrefix(digits) && !ended.contains { $0.id == exchange.id }
            }
        }
        let ids = ended.map(\.id) + live.map(\.id)
        guard ids.count <= 1 else {
            let problem = ExchangeReferenceProblem.ambiguous(ids.prefix(5).map(\.text))
            return AdminAnswer(409, sentence: problem.sentence)
        }
        if let entry = ended.first {
            var line = JSONLine()
            var format = RecordFormat(redactor: shared.redactor)
            entry.add(to: &line, &format)
            return AdminAnswer(200, line)
        }
        guard let exchange = live.first else {
            return AdminAnswer(404, sentence: problem.sentence)
        }
        return AdminAnswer { line in
            line.add("live")
            exchange.add(to: &line)
        }
    }

    /// The clients that refused lupin's certificate, and for how long rules are bypassed for them.
    private func bypasses(_ loop: EventLoop) -> AdminAnswer {
        let all = shared.rejections.all(now: loop.now)
        let redactor = shared.redactor
        return AdminAnswer { line in
            line.openList("bypasses")
            for (key, bypass) in all {
                let place = redactor.cleaned(key.origin.hostAndPort)
                line.add(bypass, of: key.who.name(redactor), at: place)
            }
            line.closeList()
        }
    }

    private func live() async -> AdminAnswer {
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

    private func cancel(_ id: ExchangeID) async -> AdminAnswer {
        for worker in workers where await worker.cancel(id) {
            return AdminAnswer { $0.add("cancelled", literal: id.text) }
        }
        return AdminAnswer(404, sentence: "no exchange of this id is under way")
    }

    // MARK: Figures

    /// The counts of all workers, and the number of exchanges under way.
    private func figures() async -> (tally: Tally, live: Int) {
        var tally = Tally()
        var live = 0
        for worker in workers {
            tally.add(await worker.tally())
            live += await worker.liveCount()
        }
        return (tally, live)
    }

    private func status(_ loop: EventLoop) async -> AdminAnswer {
        let (tally, live) = await figures()
        let snapshot = shared.snapshot
        return AdminAnswer { line in
            line.add("version", text: about.version)
            line.add("pid", UInt64(max(0, ProcessOwner.processNumber)))
            line.add("uptime", milliseconds: Int64(clamping: loop.clock.now() &- begun))
            line.add("listeners", list: snapshot.listeners.map(\.description))
            if let first = snapshot.openListeners.first { line.add("proxy", text: first.proxyURL) }
            line.openObject("rules")
            if let file = rulesFile() { line.add("file", text: file) }
            line.add("version", text: snapshot.version)
            line.closeObject()
            line.add("connections", UInt64(max(0, shared.connections.count)))
            line.add("live", UInt64(live))
            line.openObject("exchanges")
            for outcome in ExchangeRecord.Outcome.allCases {
                line.add(outcome.rawValue, UInt64(tally.exchanges(outcome)))
            }
            line.closeObject()
            line.add("attempts", UInt64(tally.attempts))
            line.openObject("bytes")
            for (name, count) in tally.directions { line.add(name, count) }
            line.closeObject()
            line.add("dropped", UInt64(shared.records.dropped))
            line.openObject("reloads")
            line.add("loaded", UInt64(shared.reloads.loaded))
            line.add("rejected", UInt64(shared.reloads.rejected))
            line.closeObject()
            line.add("bypasses", UInt64(shared.rejections.all(now: loop.now).count))
            line.openObject("history")
            line.add("kept", UInt64(shared.history.count))
            line.add("limit", UInt64(shared.history.limit))
            line.closeObject()
        }
    }

    private func metrics() async -> AdminAnswer {
        let (tally, live) = await figures()
        var text = MetricsText()
        text.family("lupin_exchanges_total", .counter, "Exchanges that have ended, by outcome.")
        for outcome in ExchangeRecord.Outcome.allCases {
            text.sample(
                "lupin_exchanges_total",
                ("outcome", outcome.rawValue),
                UInt64(tally.exchanges(outcome))
            )
        }
        text.single("lupin_attempts_total", .counter, "Attempts upstream.", tally.attempts)
        text.family(
            "lupin_repeats_total",
            .counter,
            "Attempts made because others failed or were slow, by why."
        )
        for (why, count) in tally.repeated {
            text.sample("lupin_repeats_total", ("why", why), UInt64(count))
        }
        text.family(
            "lupin_tasks_total",
            .counter,
            "Exchanges that had to wait for more than bytes and got a task, by the first reason."
        )
        for cause in TaskCause.allCases {
            text.sample("lupin_tasks_total", ("why", cause.word), UInt64(tally.tasks(cause)))
        }
        text.add(shared.responses.counts)
        if let disk = shared.responses.disk { text.add(disk.stats) }
        text.family("lupin_bytes_total", .counter, "Bytes on the wire, by direction.")
        for (name, count) in tally.directions {
            text.sample("lupin_bytes_total", ("direction", name), count)
        }
        text.single(
            "lupin_connections",
            .gauge,
            "Client connections that are open.",
            shared.connections.count
        )
        text.single("lupin_exchanges_live", .gauge, "Exchanges under way.", live)
        text.single(
            "lupin_records_dropped_total",
            .counter,
            "Lines of the log that were lost.",
            shared.records.dropped
        )
        text.family("lupin_reloads_total", .counter, "Changes of the rules, by result.")
        text.sample("lupin_reloads_total", ("result", "ok"), UInt64(shared.reloads.loaded))
        text.sample("lupin_reloads_total", ("result", "failed"), UInt64(shared.reloads.rejected))
        var answer = AdminAnswer(200, JSONLine())
        answer.contentType = "text/plain; version=0.0.4; charset=utf-8"
        answer.body = Array(text.text.utf8)
        return answer
    }
}

extension JSONLine {
    /// Appends a bypass to the open list.
    fileprivate mutating func add(
        _ bypass: BypassRecord,
        of client: String,
        at place: String
    ) {
        var timestamp = TimestampText()
        openObject()
        add("client", text: client)
        add("host", text: place)
        add("reason", literal: BypassRecord.reason)
        for (key, time) in [
            ("since", bypass.sinceMicroseconds), ("until", bypass.untilMicroseconds),
        ] {
            var text: [UInt8] = []
            timestamp.append(date: time, to: &text)
            add(key, text: text.span)
        }
        add("because", text: bypass.cause)
        closeObject()
    }
}

extension ExchangeID {
    /// Parses the 32 hex digits of `text`.
    init?(text: Substring) {
        guard text.utf8.count == 32,
            let high = NumberReader.hexadecimal(text.prefix(16)),
            let low = NumberReader.hexadecimal(text.dropFirst(16))
        else { return nil }
        self.init(high: high, low: low)
    }
}
