// What the tabs of an exchange show: its record, heads, times, and messages as lines.
import LupinCore
import LupinRecords

/// An answer to `/v1/exchanges/ID`, as lines for a screen.
struct ExchangeDetail: Sendable {
    let json: JSONValue

    /// A body that is captured, as the answer describes it.
    struct Body: Sendable, Equatable {
        var side: String
        var bytes: UInt64
        var kept: UInt64
        var truncated: String?
        var type: String?
        var coding: String?
        var withheld: String?
    }

    private var record: JSONValue? { json["record"] }
    var row: ExchangeRow? {
        record.flatMap { ExchangeRow(record: $0) } ?? json["live"].flatMap { ExchangeRow(live: $0) }
    }
    var isLive: Bool { record == nil }
    var messageCount: UInt64 { json["messages"]?.count ?? 0 }

    var bodies: [Body] {
        (json["bodies"]?.list ?? []).compactMap { body in
            guard let side = body["side"]?.string else { return nil }
            return Body(
                side: side,
                bytes: body["bytes"]?.count ?? 0,
                kept: body["kept"]?.count ?? 0,
                truncated: body["truncated"]?.string,
                type: body["type"]?.string,
                coding: body["coding"]?.string,
                withheld: body["withheld"]?.string
            )
        }
    }

    // MARK: Request and response

    func requestLines(columns: Int) -> [ScreenLine] {
        var lines = overview(columns: columns)
        guard let request = json["request"] else {
            return lines + [ScreenLine(), Self.hint(isLive ? Self.underWay : Self.noHeads)]
        }
        let sent = json["sent"]
        let comparison = HeadComparison(before: request.fields, after: sent?.fields)
        let hasChanges = comparison.hasChanges || Self.start(request) != sent.map(Self.start)
        let title =
            sent == nil
            ? "request of the client; nothing went upstream"
            : hasChanges
                ? "request of the client, and what became of it" : "request, sent as it came"
        lines += [ScreenLine(), ScreenLine(title, .bold)]
        lines += Self.startLines(
            Self.start(request),
            sent.map(Self.start),
            columns: columns
        )
        return lines + comparison.screenLines(columns: columns) + Self.legend(hasChanges)
    }

    func responseLines(columns: Int) -> [ScreenLine] {
        guard let response = json["response"] else {
            let reason = isLive ? Self.underWay : "The client got no response, or it is not known."
            return overview(columns: columns) + [ScreenLine(), Self.hint(reason)]
        }
        let received = json["received"]
        let after = received == nil ? nil : response
        let before = received ?? response
        let comparison = HeadComparison(before: before.fields, after: after?.fields)
        let hasChanges =
            received != nil && (comparison.hasChanges || before.statusText != response.statusText)
        let title =
            received == nil
            ? "response to the client"
            : hasChanges
                ? "response of the origin, and what the client got" : "response, sent as it came"
        return [ScreenLine(title, .bold)]
            + Self.startLines(before.statusText, after?.statusText, columns: columns)
            + comparison.screenLines(columns: columns) + Self.legend(hasChanges)
    }

    private static let underWay =
        "The exchange is under way: what is known comes when it has ended."
    private static let noHeads = "Only the log's line is known of this exchange."

    private static func legend(_ hasChanges: Bool) -> [ScreenLine] {
        guard hasChanges else { return [] }
        return [ScreenLine(), hint("+ added  − removed  ~ changed  · for this connection only")]
    }

    private static func hint(_ text: String) -> ScreenLine { ScreenLine(text, .dim) }

    private static func start(_ head: JSONValue) -> String {
        "\(head["method"]?.string ?? "") \(head["target"]?.string ?? "")"
    }

    private static func startLines(
        _ before: String,
        _ after: String?,
        columns: Int
    ) -> [ScreenLine] {
        func lines(_ mark: String, _ text: String, _ style: ScreenStyle) -> [ScreenLine] {
            ScreenText.wrapped(text, columns: columns - 4).enumerated().map { i, piece in
                ScreenLine((i == 0 ? mark : "   ") + " " + piece, style)
            }
        }
        guard let after, after != before else { return lines(" ", before, .plain) }
        return lines("−", before, .red) + lines("+", after, .green)
    }

    /// The URL, who asked, which rules matched, and how it ended.
    private func overview(columns: Int) -> [ScreenLine] {
        guard let row else { return [] }
        var lines = ScreenText.wrapped("\(row.method) \(row.url)", columns: columns)
            .map { ScreenLine($0, .bold) }
        let facts = record ?? json["live"] ?? .null
        var client = [facts[field: .clientAddress]?.string ?? ""]
        if let program = facts[field: .program]?.string { client.append("(\(program))") }
        if let user = facts[field: .user]?.string { client.append("user \(user)") }
        if let version = facts[field: .version]?.string { client.append("by HTTP/\(version)") }
        var rows = [("id", row.id), ("client", client.joined(separator: " "))]
        rows.append(("rules", row.rules.isEmpty ? "none" : row.rules.joined(separator: ", ")))
        if let waitsFor = row.waitsFor {
            let time = SummaryText.duration(row.durationMicroseconds ?? 0)
            rows.append(("under way", "waiting \(time) for the \(waitsFor)"))
        } else {
            let time = row.durationMicroseconds.map { ", \(SummaryText.duration($0))" } ?? ""
            rows.append(("outcome", row.outcome + time))
        }
        if let error = facts[field: .errorType]?.string {
            let detail = facts[field: .errorDetail]?.string.map { ": \($0)" } ?? ""
            rows.append(("error", error + detail))
        }
        if let status = facts[field: .cacheStatus]?.string { rows.append(("cache", status)) }
        if let comment = json["note"]?["comment"]?.string, !comment.isEmpty {
            rows.append(("comment", comment))
        }
        for (name, value) in rows where !value.isEmpty {
            let pieces = ScreenText.wrapped(value, columns: columns - 12)
            for (i, piece) in pieces.enumerated() {
                var line = ScreenLine()
                line.append(i == 0 ? name : "", columns: 11, .dim)
                line.append(" ")
                line.append(piece, name == "error" ? .red : .plain)
                lines.append(line)
            }
        }
        return lines
    }

    // MARK: Waterfall

    func waterfallLines(columns: Int) -> [ScreenLine] {
        guard let record else { return [Self.hint(Self.underWay)] }
        // Name, time, and the spaces around them.
        guard let timeline = ExchangeTimeline(record) else {
            return [Self.hint("No times of attempts are recorded: nothing went upstream.")]
        }
        let styles: [(String, ScreenStyle)] = [
            ("  in lupin", .dim), ("  pause", .dim), ("  dns", .cyan), ("  tcp", .cyan),
            ("  tls", .cyan), ("  send", .yellow), ("  wait", .yellow), ("  receive", .green),
        ]
        var lines = timeline.lines(columns: columns - 22).map { text in
            let style = styles.first { text.hasPrefix($0.0) }?.1 ?? .bold
            return ScreenLine(text, style)
        }
        if let total = record[field: .total]?.microseconds {
            lines += [ScreenLine(), ScreenLine("total \(SummaryText.duration(total))", .bold)]
        }
        return lines
    }

    // MARK: Messages

    static func lines(of messages: [JSONValue], columns: Int) -> [ScreenLine] {
        messages.flatMap { message -> [ScreenLine] in
            let isFromClient = message["from"]?.string == "client"
            let time = (message["time"]?.string ?? "").dropFirst(11).prefix(12)
            let kind = message["kind"]?.string ?? ""
            let size = SummaryText.size(message["bytes"]?.count ?? 0)
            let isCut = message["truncated"]?.bool == true
            var head = ScreenLine(String(time), .dim)
            let way = isFromClient ? "→ to the origin" : "← to the client"
            head.append(" \(way)", isFromClient ? .yellow : .green)
            head.append(" \(kind) \(size)\(isCut ? ", not whole" : "")", .dim)
            return [head] + content(of: message, columns: columns - 2) + [ScreenLine()]
        }
    }

    /// Lines of one message at most; the rest is counted.
    private static let messageLinesMax = 40

    private static func content(of message: JSONValue, columns: Int) -> [ScreenLine] {
        let bytes =
            message["text"]?.string.map { Array($0.utf8) }
            ?? message["base64"]?.string.flatMap { Base64Text.decode(Array($0.utf8)) } ?? []
        guard !bytes.isEmpty else { return [] }
        let isProtobuf = message["kind"]?.string == EnvelopeFormat.Content.protobuf.rawValue
        let content = BodyContent(bytes, mediaType: isProtobuf ? "application/protobuf" : nil)
        let document = content.lines(content.forms.first ?? .hex, columns: columns)
        var lines = (0..<min(document.count, messageLinesMax)).map { i in
            var line = ScreenLine("  ")
            line.append(document[i])
            return line
        }
        if document.count > messageLinesMax {
            lines.append(hint("  … \(document.count - messageLinesMax) lines more"))
        }
        return lines
    }
}

extension JSONValue {
    /// The fields of a head.
    fileprivate var fields: [[String]] {
        (self["fields"]?.list ?? []).compactMap { pair in
            let texts = pair.list?.compactMap(\.string) ?? []
            return texts.count == 2 ? texts : nil
        }
    }

    fileprivate var statusText: String { "status \(self["status"]?.count ?? 0)" }
}
