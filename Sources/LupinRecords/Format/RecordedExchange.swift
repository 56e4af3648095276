// A request that may be repeated, read from a record of the log or of a running lupin.

package import LupinCore

/// A past exchange.
///
/// Texts are redacted already.
package struct RecordedExchange: Sendable {
    /// A request with all its fields.
    package struct Head: Sendable, Equatable {
        package var method: String
        /// Path and query, or `*`.
        package var target: String
        package var fields: [[String]]
    }

    package var id: String
    /// The client's URL; empty for a tunnel.
    package var url: String
    /// Its scheme, host and port, up to the path.
    package var site: String
    /// Empty when unknown.
    package var host: String
    package var method: String
    package var mode: String
    package var version: String?
    /// The length of the request's body.
    package var bodyBytes: UInt64
    /// The sides of which the capture has a whole body: `request`, `sent` and others.
    package var capturedSides: Set<String>
    /// The sides of which it has a part: how many bytes, and of how many.
    private var capturedParts: [String: (kept: UInt64, of: UInt64)] = [:]
    /// What was captured of the body that a command is to send; nil without a capture.
    package var capturedBody: [UInt8]?
    /// The client's request; nil when only the log's line is known.
    package var original: Head?
    /// The request upstream; nil when nothing was sent, or when only the log's line is known.
    package var adapted: Head?
    /// Names of fields whose values are not known.
    package var names: [String]
    /// Values of fields by name, as far as the log has them.
    package var values: [(name: String, values: [String])]
    /// For each attempt: its URL when it differs from the client's, its version, and the origin's
    /// status.
    package var attempts: [(url: String?, version: String?, status: UInt16?)]
    /// Which of them brought the client's response, or failed last.
    package var decidingAttempt: Int?
    /// How it ended.
    package var end: RecordedEnd
    /// Where its time went; nil when that is not recorded.
    package var timeline: ExchangeTimeline?
    /// The client's response; nil when there was none.
    package var response: Response?
    /// lupin's own member of Cache-Status.
    package var cacheStatus: String?
    /// The start, in microseconds since 1970; 0 when the record has none.
    package var startMicroseconds: Int64
    /// The client.
    package var client: (address: String?, program: String?, user: String?)
    /// The server name of the TLS inside a tunnel; nil when there was none.
    package var serverName: String?
    /// The version of the rules in effect; nil without a rules file.
    package var rulesVersion: String?
    /// The names of those that matched.
    package var rules: [String]

    /// Reads a line of the log, or a response of the admin interface; returns nil for anything
    /// else.
    package init?(_ json: JSONValue) {
        let record = json["record"] ?? json
        // Attempts and stages have lines of their own with the same id.
        guard ["exchange", "tunnel"].contains(record[field: .event]?.string ?? "exchange"),
            let id = record[field: .id]?.string,
            record[field: .outcome] != nil || record[field: .domain] != nil
        else { return nil }
        // A tunnel's line has no scheme, and that of an unreadable request has no host.
        let scheme = record[field: .scheme]?.string ?? "https"
        let host = record[field: .domain]?.string ?? ""
        self.id = id
        self.host = host
        end = RecordedEnd(record)
        timeline = ExchangeTimeline(record)
        method = record[field: .originalMethod]?.string ?? record[field: .method]?.string ?? ""
        mode = record[field: .mode]?.string ?? ""
        url = record[field: .url]?.string ?? ""
        version = record[field: .version]?.string
        bodyBytes = record[field: .requestSize]?.count ?? 0
        capturedSides = []
        for body in json["bodies"]?.list ?? [] where body["withheld"] == nil {
            guard let side = body["side"]?.string else { continue }
            if body["truncated"] == nil {
                capturedSides.insert(side)
            } else if let kept = body["kept"]?.count, kept > 0, let all = body["bytes"]?.count {
                capturedParts[side] = (kept, all)
            }
        }
        names = record[field: .requestNames]?.list?.compactMap(\.string) ?? []
        values = record[field: .requestValues]?.fieldValues ?? []
        decidingAttempt = record[field: .attempts]?.list?.decidingAttempt
        attempts = (record[field: .attempts]?.list ?? []).map { attempt in
            (
                url: attempt[attempt: .url]?.string,
                version: attempt[attempt: .version]?.string,
                status: attempt[attempt: .status]?.count
                    .flatMap(UInt16.init(exactly:))
            )
        }
        response = Response(record, json)
        cacheStatus = record[field: .cacheStatus]?.string
        startMicroseconds =
            record[field: .timestamp]?.string.flatMap(RecordSummary.microseconds(ofDate:)) ?? 0
        client = (
            address: record[field: .clientAddress]?.string,
            program: record[field: .program]?.string, user: record[field: .user]?.string
        )
        serverName = record[field: .tunnelName]?.string
        rulesVersion = record[field: .rulesVersion]?.string
        rules = record[field: .matched]?.list?.compactMap(\.string) ?? []
        original = json["request"].flatMap(Head.init)
        adapted = json["sent"].flatMap(Head.init)
        let port = record[field: .port]?.count
        let usual: UInt64 = scheme == "https" ? 443 : 80
        let shownHost = host.contains(":") && !host.hasPrefix("[") ? "[\(host)]" : host
        let suffix = port.map { $0 == usual ? "" : ":\($0)" } ?? ""
        site = "\(scheme)://\(shownHost)\(suffix)"
    }
}

extension JSONValue {
    /// Field values by name.
    package var fieldValues: [(name: String, values: [String])]? {
        guard case .object(let members) = self else { return nil }
        return members.map { ($0.name, $0.value.list?.compactMap(\.string) ?? []) }
    }
}

extension RecordedExchange.Head {
    fileprivate init?(_ json: JSONValue) {
        guard let method = json["method"]?.string, let target = json["target"]?.string else {
            return nil
        }
        self.method = method
        self.target = target
        fields = (json["fields"]?.list ?? []).compactMap { pair in
            let texts = pair.list?.compactMap(\.string) ?? []
            return texts.count == 2 ? texts : nil
        }
    }
}

// MARK: As a command

/// The reason for which an exchange can't be repeated by a command.
package struct CurlProblem: Error, Equatable {
    /// A sentence for users, without a full stop.
    package var message: String

    package init(message: String) { self.message = message }
}

extension [JSONValue] {
    /// Of a record's attempts the one that brought the client's response, or failed last: attempts
    /// are in the order of their start, and behind it may stand hedges that lost.
    var decidingAttempt: Int? {
        let isLoser = { (attempt: JSONValue) in
            attempt[attempt: .cause]?.string == AttemptRecord.Cause.hedge.rawValue
                && attempt[attempt: .decision]?.string == AttemptRecord.Decision.giveUp.rawValue
        }
        return lastIndex { !isLoser($0) } ?? indices.last
    }
}

extension RecordedExchange {
    /// Returns the command for the client's own request.
    package func originalCommand() throws(CurlProblem) -> CurlCommand {
        try command(original, url: url, version: version, Self.sides(adapted: false))
    }

    /// The command for the request upstream of an attempt, counted from 1; nil means the one that
    /// decided.
    package func adaptedCommand(attempt number: Int? = nil) throws(CurlProblem) -> CurlCommand {
        let deciding = decidingAttempt.map { $0 + 1 } ?? attempts.count
        let number = number ?? deciding
        guard !attempts.isEmpty else {
            throw CurlProblem(message: "nothing went upstream; --original prints what came")
        }
        guard (1...attempts.count).contains(number) else {
            throw CurlProblem(message: "there were \(attempts.count) attempts")
        }
        // Bounded: by the guard.
        let attempt = attempts[number - 1]
        var shownURL = attempt.url ?? url
        // The line only has a URL when it differs; the head has path and query.
        if attempt.url == nil, let target = adapted?.target, target.hasPrefix("/") {
            shownURL = site + target
        }
        let isDeciding = number == deciding
        var command = try command(
            adapted,
            url: shownURL,
            version: attempt.version,
            Self.sides(adapted: true)
        )
        if adapted == nil {
            command.remarks.insert("only the client's own request is on record", at: 0)
        } else if !isDeciding {
            command.remarks.insert("the fields are those of the last attempt", at: 0)
        }
        return command
    }

    /// The side whose body a command sends, if all of it was captured: a body that rules did not
    /// change is captured once.
    package func bodySide(adapted: Bool) -> String? {
        bodyBytes > 0 ? Self.sides(adapted: adapted).first(where: capturedSides.contains) : nil
    }

    private static func sides(adapted: Bool) -> [String] {
        adapted ? ["sent", "request"] : ["request"]
    }

    private func command(
        _ head: Head?,
        url: String,
        version: String?,
        _ sides: [String]
    ) throws(CurlProblem) -> CurlCommand {
        let method = head?.method ?? self.method
        guard mode != "tunnel", method != "CONNECT", !url.isEmpty else {
            throw CurlProblem(message: "the requests inside a tunnel are not seen")
        }
        guard url.hasPrefix("http://") || url.hasPrefix("https://"), !method.isEmpty else {
            throw CurlProblem(message: "the record does not tell its request")
        }
        let fields: [(String, String)]
        if let head {
            fields = head.fields.map { ($0[0], $0[1]) }
        } else {
            fields = values.flatMap { entry in entry.values.map { (entry.name, $0) } }
        }
        var command = CurlCommand(
            method: method,
            url: url,
            fields: fields.map { (Array($0.0.utf8), Array($0.1.utf8)) }
        )
        command.version = version
        command.hasAllFields = head != nil
        if head == nil { command.remarks += missing }
        if let capturedBody, capturedBody.count <= CurlCommand.bodyBytesMax {
            command.body = capturedBody
        } else if bodyBytes > 0 {
            command.remarks.append("\(absence(of: sides)); add: --data-binary @FILE")
        }
        return command
    }

    /// What there is of a body that the command lacks.
    private func absence(of sides: [String]) -> String {
        if capturedBody != nil { return "the body (\(bodyBytes) bytes) is too long for a command" }
        guard let part = sides.lazy.compactMap({ capturedParts[$0] }).first else {
            return "the body (\(bodyBytes) bytes) was not recorded"
        }
        return "of the body, \(part.kept) of \(part.of) bytes were recorded"
    }

    /// What is missing in the log's line.
    private var missing: [String] {
        let known = Set(values.map(\.name))
        let unknown = names.filter { !known.contains($0) }
        if unknown.isEmpty {
            return values.isEmpty ? ["fields were not recorded; log: {headers: all} does"] : []
        }
        return ["values of fields that were not recorded: \(unknown.joined(separator: ", "))"]
    }
}

extension RecordedExchange {
    /// A response as far as it is known.
    package struct Response: Sendable {
        /// The status that the client got.
        package var status: UInt16
        /// All fields; nil when only the log line is known.
        package var fields: [[String]]?
        /// Names of fields without known values; in lower case.
        package var names: [String] = []
        /// Values of fields by name, as far as the log has them.
        package var values: [(name: String, values: [String])] = []
    }
}

extension RecordedExchange.Response {
    /// Parses the response of a log line, or of a reply of the admin interface.
    init?(_ record: JSONValue, _ json: JSONValue) {
        guard let status = record[field: .status]?.count.flatMap(UInt16.init(exactly:)) else {
            return nil
        }
        self.status = status
        names = record[field: .responseNames]?.list?.compactMap(\.string) ?? []
        values = record[field: .responseValues]?.fieldValues ?? []
        guard let list = json["response", "fields"]?.list else { return }
        fields = list.compactMap { pair in
            let texts = pair.list?.compactMap(\.string) ?? []
            return texts.count == 2 ? texts : nil
        }
    }
}
