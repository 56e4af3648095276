// The exchange that is open in the inspector: its tabs, what was fetched for them, the position.
import LupinCore
import LupinRecords

/// The state of an open exchange.
struct DetailView: Sendable {
    enum Tab: Int, CaseIterable, Sendable {
        case request = 1, response, body, waterfall, explain, messages

        var title: String {
            switch self {
            case .request: "Request"
            case .response: "Response"
            case .body: "Body"
            case .waterfall: "Waterfall"
            case .explain: "Explain"
            case .messages: "Messages"
            }
        }
    }

    /// What was asked for and may not have come.
    enum Fetched<Value: Sendable>: Sendable {
        case asked
        case failed(String)
        case value(Value)
    }

    let id: String
    private(set) var detail: ExchangeDetail?
    /// Why there is no detail.
    private(set) var problem: String?
    private(set) var tab = Tab.request
    private(set) var top = 0
    private var side: String?
    private var form: BodyContent.Form?
    private var contents: [String: Fetched<BodyContent>] = [:]
    private var explanation: Fetched<[UInt8]>?
    private var messages: [JSONValue] = []
    private var isAskingForMessages = false
    private var size = (height: 1, columns: 80)
    private(set) var document = ScreenDocument()

    init(id: String) { self.id = id }

    var host: String? { detail?.row.map(\.host).flatMap { $0.isEmpty ? nil : $0 } }

    /// The tabs that have something to show: messages only where there are any.
    var tabs: [Tab] {
        Tab.allCases.filter { $0 != .messages || (detail?.messageCount ?? 0) > 0 }
    }

    // MARK: What came

    mutating func take(detail answer: InspectorAnswer) -> [InspectorRequest] {
        guard answer.isSuccess, let json = answer.json else {
            // A live one may be gone for a moment before its record is there.
            if detail == nil { problem = answer.isSuccess ? "no JSON came" : answer.sentence }
            render()
            return []
        }
        let wasLive = detail?.isLive ?? false
        detail = ExchangeDetail(json: json)
        problem = nil
        if wasLive {
            // What was fetched meanwhile has grown.
            contents = [:]
            explanation = nil
        }
        render()
        return wanted()
    }

    mutating func take(body answer: InspectorAnswer, side: String) {
        let type = detail?.bodies.first { $0.side == side }?.type
        contents[side] =
            answer.isSuccess
            ? .value(BodyContent(answer.body, mediaType: type)) : .failed(answer.sentence)
        render()
    }

    mutating func take(explanation answer: InspectorAnswer) {
        explanation = answer.isSuccess ? .value(answer.body) : .failed(answer.sentence)
        render()
    }

    mutating func take(messages answer: InspectorAnswer) -> [InspectorRequest] {
        isAskingForMessages = false
        guard let list = answer.json?["messages"]?.list else { return [] }
        messages += list
        render()
        return list.count < InspectorRequest.messagesMax ? [] : wanted()
    }

    /// What the shown tab still needs.
    mutating func wanted() -> [InspectorRequest] {
        guard let detail else { return [] }
        switch tab {
        case .body:
            guard let body = shownBody, body.kept > 0, contents[body.side] == nil else { return [] }
            contents[body.side] = .asked
            return [.body(id: id, side: body.side)]
        case .explain:
            guard explanation == nil, !detail.isLive else { return [] }
            explanation = .asked
            return [.explain(id: id)]
        case .messages:
            guard !isAskingForMessages, UInt64(messages.count) < Self.messagesHeldMax else {
                return []
            }
            let last = messages.last?["number"]?.count ?? 0
            guard messages.isEmpty || detail.isLive || UInt64(messages.count) < detail.messageCount
            else { return [] }
            isAskingForMessages = true
            return [.messages(id: id, after: last)]
        case .request, .response, .waterfall: return []
        }
    }

    /// More are not fetched.
    private static let messagesHeldMax: UInt64 = 5000

    // MARK: What the user does

    mutating func show(_ tab: Tab) -> [InspectorRequest] {
        guard tabs.contains(tab), tab != self.tab else { return [] }
        self.tab = tab
        top = 0
        let requests = wanted()
        render()
        return requests
    }

    /// The next tab, or the one before.
    mutating func step(by count: Int) -> [InspectorRequest] {
        let tabs = tabs
        let index = tabs.firstIndex(of: tab) ?? 0
        return show(tabs[(index + count + tabs.count) % tabs.count])
    }

    /// The next body, or the one before.
    mutating func stepSide(by count: Int) -> [InspectorRequest] {
        let sides = detail?.bodies.map(\.side) ?? []
        guard tab == .body, let shown = shownBody?.side, let i = sides.firstIndex(of: shown) else {
            return []
        }
        side = sides[(i + count + sides.count) % sides.count]
        form = nil
        top = 0
        let requests = wanted()
        render()
        return requests
    }

    mutating func stepForm() {
        guard tab == .body, case .value(let content)? = shownBody.flatMap({ contents[$0.side] })
        else { return }
        let index = content.forms.firstIndex(of: shownForm(content)) ?? 0
        form = content.forms[(index + 1) % content.forms.count]
        top = 0
        render()
    }

    mutating func scroll(by count: Int) { scroll(to: top + count) }

    mutating func scroll(to line: Int) {
        top = max(0, min(line, document.count - size.height))
    }

    mutating func fit(height: Int, columns: Int) {
        guard size != (height, columns) else { return }
        let isOfOtherWidth = size.columns != columns
        size = (max(1, height), columns)
        if isOfOtherWidth { render() } else { scroll(to: top) }
    }

    // MARK: The document

    /// The body of the side that was chosen; without a choice, the response's.
    private var shownBody: ExchangeDetail.Body? {
        let bodies = detail?.bodies ?? []
        if let chosen = bodies.first(where: { $0.side == side }) { return chosen }
        return bodies.first { $0.side == "response" && $0.kept > 0 }
            ?? bodies.first { $0.kept > 0 } ?? bodies.first
    }

    private func shownForm(_ content: BodyContent) -> BodyContent.Form {
        if let form, content.forms.contains(form) { return form }
        return content.forms.first ?? .hex
    }

    private mutating func render() {
        document = made(columns: size.columns)
        scroll(to: top)
    }

    private func made(columns: Int) -> ScreenDocument {
        guard let detail else {
            return Self.text(problem ?? "…", problem == nil ? .dim : .red, columns: columns)
        }
        switch tab {
        case .request: return ScreenDocument(lines: detail.requestLines(columns: columns))
        case .response: return ScreenDocument(lines: detail.responseLines(columns: columns))
        case .body: return body(detail, columns: columns)
        case .waterfall: return ScreenDocument(lines: detail.waterfallLines(columns: columns))
        case .explain:
            switch explanation {
            case .value(let text) where text.isEmpty:
                return Self.text("lupin explains nothing here.", .dim, columns: columns)
            case .value(let text):
                return ScreenDocument(
                    lines: BodyContent.textLines(text[...], columns: columns).map { line in
                        let text = line.text
                        let isHeading = text.first.map { $0 != " " } ?? false
                        return isHeading ? ScreenLine(text, .bold) : line
                    }
                )
            case .failed(let reason): return Self.text(reason, .red, columns: columns)
            case .asked: return Self.text("…", .dim, columns: columns)
            case nil:
                return Self.text("It is explained when it has ended.", .dim, columns: columns)
            }
        case .messages:
            return ScreenDocument(lines: ExchangeDetail.lines(of: messages, columns: columns))
        }
    }

    private static func text(
        _ text: String,
        _ style: ScreenStyle,
        columns: Int
    ) -> ScreenDocument {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        return ScreenDocument(
            lines: lines.flatMap { ScreenText.wrapped(String($0), columns: columns) }
                .map { ScreenLine($0, style) }
        )
    }

    private func body(_ detail: ExchangeDetail, columns: Int) -> ScreenDocument {
        guard let shown = shownBody else {
            let host = host.map { " for \($0)" } ?? ""
            return Self.text(
                "No body is captured of this exchange.\n"
                    + "Press c to turn capture on\(host): it holds for exchanges from then on.",
                .dim,
                columns: columns
            )
        }
        var head = ScreenLine()
        for body in detail.bodies {
            let isShown = body.side == shown.side
            let text = " \(body.side) \(SummaryText.size(body.bytes)) "
            head.append(text, isShown ? .reversed : .dim)
            head.append(" ")
        }
        var facts: [String] = [shown.type ?? "no media type"]
        if let coding = shown.coding { facts.append("\(coding) undone") }
        if let truncated = shown.truncated {
            let kept = SummaryText.size(shown.kept)
            facts.append("the first \(kept) are kept (\(truncated))")
        }
        var content = ScreenDocument()
        switch contents[shown.side] {
        case .value(let value):
            let form = shownForm(value)
            facts.append("shown as \(form.rawValue)")
            content = value.lines(form, columns: columns)
        case .failed(let reason): content = Self.text(reason, .red, columns: columns)
        case .asked: content = Self.text("…", .dim, columns: columns)
        case nil:
            let reason = shown.withheld ?? (shown.bytes == 0 ? "The body is empty." : "…")
            content = Self.text(reason, .dim, columns: columns)
        }
        let about = ScreenText.wrapped(facts.joined(separator: ", "), columns: columns)
            .map { ScreenLine($0, .dim) }
        content.lines = [head] + about + [ScreenLine()] + content.lines
        return content
    }
}
