// What the inspector asks the running lupin, as requests to its admin interface.
package import LupinCore

/// A request to the admin interface, and what its answer is for.
package enum InspectorRequest: Equatable, Sendable {
    /// Those under way; the list of those that ended is asked for next.
    case live
    /// Exchanges that ended after the one called `after`; `turn` tells which filter it is for.
    case rows(filter: String, after: String?, turn: Int)
    /// Exchanges that ended before the oldest row.
    case older(filter: String, before: String, turn: Int)
    case detail(id: String)
    case body(id: String, side: String)
    case messages(id: String, after: UInt64)
    case explain(id: String)
    /// What is captured, to add or remove `host`.
    case capture(host: String)
    case setCapture(hosts: [String], host: String)
    case send(json: [UInt8])
    case cancel(id: String)
    /// The request to show as a command.
    case detailForCurl(id: String)
    /// The request to edit, and then its body.
    case detailToEdit(id: String)
    case bodyToEdit(id: String, detail: JSONValue)

    private static let rowsMax = 1000
    private static let olderMax = 500
    static let messagesMax = 500

    package var method: String {
        switch self {
        case .send: "POST"
        case .setCapture: "PUT"
        case .cancel: "DELETE"
        default: "GET"
        }
    }

    /// Path and query.
    package var path: String {
        switch self {
        case .live: "/v1/exchanges/live"
        case .rows(let filter, let after, _):
            "/v1/exchanges?format=lines&limit=\(Self.rowsMax)" + Self.query(filter)
                + (after.map { "&after=\($0)" } ?? "")
        case .older(let filter, let before, _):
            "/v1/exchanges?format=lines&limit=\(Self.olderMax)" + Self.query(filter)
                + "&before=\(before)"
        case .detail(let id), .detailForCurl(let id), .detailToEdit(let id), .cancel(let id):
            "/v1/exchanges/\(id)"
        case .body(let id, let side): "/v1/exchanges/\(id)/bodies/\(side)"
        case .bodyToEdit(let id, _): "/v1/exchanges/\(id)/bodies/request"
        case .messages(let id, let after):
            "/v1/exchanges/\(id)/messages?after=\(after)&limit=\(Self.messagesMax)"
        case .explain(let id): "/v1/exchanges/\(id)/explain"
        case .capture, .setCapture: "/v1/capture"
        case .send: "/v1/send"
        }
    }

    /// A JSON object; nil without a body.
    package var body: [UInt8]? {
        switch self {
        case .send(let json): json
        case .setCapture(let hosts, _):
            Array("{\"hosts\":[\(hosts.map(\.jsonText).joined(separator: ","))]}".utf8)
        default: nil
        }
    }

    private static func query(_ filter: String) -> String {
        filter.isEmpty ? "" : "&filter=" + filter.percentEncoded { $0.isUnreserved }
    }
}

/// The answer to a question.
package struct InspectorAnswer: Sendable {
    package var status: Int
    /// The field `Lupin-Last`.
    package var lastID: String?
    package var body: [UInt8]

    package init(status: Int, lastID: String? = nil, body: [UInt8]) {
        self.status = status
        self.lastID = lastID
        self.body = body
    }

    var isSuccess: Bool { status / 100 == 2 }

    var json: JSONValue? { JSONValue(parsing: body.span) }

    /// The reason for a refusal.
    var sentence: String {
        let json = json
        if let error = json?["error"]?.string { return error }
        let errors = json?["errors"]?.list?.compactMap(\.string) ?? []
        return errors.isEmpty ? "it answered with status \(status)" : errors.joined(separator: "; ")
    }
}

/// What the inspector wants done.
package enum InspectorDemand: Equatable, Sendable {
    case ask(InspectorRequest)
    /// Run the user's editor on this text; then `edited` takes what was saved.
    case edit(RequestText)
    /// Copy into the clipboard.
    case copy(String)
    /// Draw everything anew.
    case redraw
    /// Stop as a job of the shell.
    case suspend
    case leave
}
