// The inspector in a terminal, without one: keys and answers in, questions and a screen out.
import LupinCore
import LupinRecords

/// The state of the inspector.
///
/// It has three layers: the list; above it an open exchange; above both a page of text (the keys,
/// a command). A prompt for the filter takes all keys while it is open.
package struct ExchangeInspector: Sendable {
    /// A page of text above all else.
    struct Page: Sendable {
        var title: String
        var lines: [String]
        var top = 0
    }

    /// A sentence below the list.
    struct Note: Sendable, Equatable {
        var text: String
        var isBad = false
    }

    var size: (rows: Int, columns: Int)
    package internal(set) var list = ExchangeRows()
    /// The filter that holds.
    package internal(set) var filter = ""
    var compiled = ExchangeFilter()
    var prompt: PromptLine?
    /// What is wrong with the filter in the prompt.
    var promptProblem: [String] = []
    var detail: DetailView?
    var page: Page?
    var note: Note?
    /// Why lupin did not answer the last time.
    var lost: String?
    /// Counts the filters, so that a late answer for a former one is known.
    var turn = 0
    var lastID: String?
    var isPolling = false
    var isAskingForOlder = false
    /// To be selected when it appears.
    private var awaitedID: String?
    let utcOffsetSeconds: Int64
    private var wallMicroseconds: Int64 = 0
    /// Whether rows came for the filter that holds.
    var isLoaded = false

    package init(rows: Int, columns: Int, utcOffsetSeconds: Int64 = 0) {
        size = (rows, columns)
        self.utcOffsetSeconds = utcOffsetSeconds
        fit()
    }

    /// The width of the screen.
    package var columns: Int { size.columns }

    // MARK: Time and size

    /// A second has passed: asks for what is new, unless the last answer hasn't come.
    package mutating func tick(now wallMicroseconds: Int64) -> [InspectorDemand] {
        self.wallMicroseconds = wallMicroseconds
        guard !isPolling else { return [] }
        isPolling = true
        var requests = [InspectorRequest.live]
        if let detail, detail.detail?.isLive ?? (detail.problem == nil) {
            requests.append(.detail(id: detail.id))
        }
        return requests.map { .ask($0) }
    }

    package mutating func resize(rows: Int, columns: Int) {
        size = (max(1, rows), max(1, columns))
        fit()
    }

    /// Gives every layer its room.
    mutating func fit() {
        let (height, columns) = (listHeight, size.columns)
        list.fit(height: height)
        detail?.fit(height: height, columns: columns)
    }

    // MARK: Answers

    /// Takes the answer to a question.
    package mutating func take(
        _ answer: InspectorAnswer,
        to request: InspectorRequest
    ) -> [InspectorDemand] {
        lost = nil
        defer { fit() }
        switch request {
        case .live: return take(live: answer)
        case .rows(_, let after, let turn):
            take(rows: answer, isFirst: after == nil, turn: turn)
        case .older(_, _, let turn): take(older: answer, turn: turn)
        case .detail(let id) where id == detail?.id:
            return detail?.take(detail: answer).map { .ask($0) } ?? []
        case .body(let id, let side) where id == detail?.id:
            detail?.take(body: answer, side: side)
        case .explain(let id) where id == detail?.id: detail?.take(explanation: answer)
        case .messages(let id, _) where id == detail?.id:
            return detail?.take(messages: answer).map { .ask($0) } ?? []
        case .capture(let host): return take(capture: answer, host: host)
        case .setCapture(let hosts, let host):
            tell(
                answer,
                hosts.contains(host)
                    ? "Capture is on for \(host), for exchanges from now on."
                    : "Capture is off for \(host)."
            )
        case .send: return take(sent: answer)
        case .cancel(let id): tell(answer, "\(Self.short(id)) is cut.")
        case .detailToEdit, .detailForCurl:
            guard answer.isSuccess, let json = answer.json else {
                tell(answer, "")
                break
            }
            if case .detailToEdit(let id) = request { return edit(json, id: id) }
            return showCurl(json)
        case .bodyToEdit(_, let detail):
            return edit(detail, body: answer.isSuccess ? answer.body : nil)
        case .detail, .body, .explain, .messages: break
        }
        return []
    }

    /// Takes the reason for which there is no answer.
    package mutating func take(failure: String, of request: InspectorRequest) {
        lost = failure
        switch request {
        case .live, .rows: isPolling = false
        case .older: isAskingForOlder = false
        default: note = Note(text: failure, isBad: true)
        }
        fit()
    }

    private mutating func take(live answer: InspectorAnswer) -> [InspectorDemand] {
        let now = wallMicroseconds
        let found = (answer.json?["exchanges"]?.list ?? [])
            .filter { compiled.matches($0, now: now) }
        // In one change with the rows, so that none is missing or shown twice.
        list.setLive(found.compactMap { ExchangeRow(live: $0) })
        return [.ask(.rows(filter: filter, after: lastID, turn: turn))]
    }

    private mutating func take(rows answer: InspectorAnswer, isFirst: Bool, turn: Int) {
        isPolling = false
        guard turn == self.turn else { return }
        guard answer.isSuccess else {
            note = Note(text: answer.sentence, isBad: true)
            return
        }
        isLoaded = true
        lastID = answer.lastID ?? lastID
        let rows = Self.rows(answer.body)
        list.append(rows)
        if isFirst { list.mayHaveOlder = !rows.isEmpty }
        if let id = awaitedID, list.has(id: id) {
            awaitedID = nil
            list.select(id: id)
        }
    }

    private mutating func take(older answer: InspectorAnswer, turn: Int) {
        isAskingForOlder = false
        guard turn == self.turn, answer.isSuccess else { return }
        list.prepend(Self.rows(answer.body))
    }

    private static func rows(_ lines: [UInt8]) -> [ExchangeRow] {
        lines.split(separator: 0x0A).compactMap { line in
            JSONValue(parsing: line.span).flatMap { ExchangeRow(record: $0) }
        }
    }

    private mutating func take(capture answer: InspectorAnswer, host: String) -> [InspectorDemand] {
        guard answer.isSuccess, let list = answer.json?["hosts"]?.list else {
            tell(answer, "")
            return []
        }
        var hosts = list.compactMap(\.string)
        if hosts.contains(host) { hosts.removeAll { $0 == host } } else { hosts.append(host) }
        return [.ask(.setCapture(hosts: hosts, host: host))]
    }

    private mutating func take(sent answer: InspectorAnswer) -> [InspectorDemand] {
        guard answer.isSuccess, let id = answer.json?["id"]?.string else {
            tell(answer, "")
            return []
        }
        note = Note(text: "Sent again as \(Self.short(id)).")
        guard detail == nil else { return open(id) }
        awaitedID = id
        return []
    }

    private mutating func tell(_ answer: InspectorAnswer, _ text: String) {
        note =
            answer.isSuccess ? Note(text: text) : Note(text: answer.sentence, isBad: true)
    }

    static func short(_ id: String) -> String { String(id.prefix(ExchangeID.shortDigits)) }
}
