// Writes exchanges as an HTTP Archive (HAR 1.2), which browsers' developer tools open.

package import LupinCore
import LupinPolicy

/// An HTTP Archive that is written entry by entry.
///
/// Made from records, so secrets in it are redacted as in the log. Bodies are those of the capture;
/// where nothing is captured, there are their sizes on the wire.
package struct HTTPArchive: Sendable {
    private var line = JSONLine()

    /// The length so far.
    package var count: Int { line.bytes.count }

    /// Begins the archive; `version` is lupin's.
    package init(version: String) {
        line.openObject()
        line.openObject("log")
        line.add("version", literal: "1.2")
        line.openObject("creator")
        line.add("name", literal: "lupin")
        line.add("version", text: version)
        line.closeObject()
        line.openList("entries")
    }

    /// Ends the archive and returns it.
    ///
    /// `note` is what a reader must know of it, such as that entries are missing.
    package consuming func finish(note: String? = nil) -> [UInt8] {
        line.closeList()
        if let note { line.add("comment", text: note) }
        line.closeObject()
        line.closeObject()
        line.endLine()
        return line.bytes
    }

    /// Adds an exchange; does nothing for lines of another kind.
    ///
    /// - Parameter json: A line of the log, or one of `/v1/exchanges?format=full`, with heads.
    package mutating func add(_ json: JSONValue) {
        if let entry = ArchiveEntry(json) { add(entry) }
    }

    package mutating func add(_ entry: ArchiveEntry) {
        line.comma()
        line.bytes.append(contentsOf: entry.bytes)
    }
}

/// An exchange in an HTTP Archive.
package struct ArchiveEntry: Sendable {
    private var line = JSONLine()

    /// The URL of the request; that of a tunnel is its site.
    package let url: String
    /// The response broke off before its end, or what is captured of it does.
    package let isBrokenOff: Bool
    /// lupin itself gave the response, as `_outcome` and `_error` say.
    package let isOwnAnswer: Bool
    /// The entry, as JSON.
    package var bytes: [UInt8] { line.bytes }

    /// Creates the entry of an exchange; nil for lines of another kind.
    ///
    /// - Parameters:
    ///   - json: A line of the log, or one of `/v1/exchanges?format=full`, with heads.
    ///   - bodies: What is captured besides; nil for nothing.
    package init?(_ json: JSONValue, _ bodies: ArchivedBodies? = nil) {
        let record = json["record"] ?? json
        guard let exchange = RecordedExchange(json),
            let begun = record[field: .timestamp]?.string
        else { return nil }
        // A tunnel has no URL.
        url = exchange.url.isEmpty ? exchange.site : exchange.url
        let outcome = record[field: .outcome]?.string
            .flatMap(ExchangeRecord.Outcome.init(rawValue:))
        isBrokenOff =
            outcome == .truncated || bodies?.response?.truncated.isEmpty == false
        isOwnAnswer =
            (outcome == .error || outcome == .denied)
            && exchange.response?.fields?.contains { $0[0].lowercased() == "lupin-id" } == true
        line.openObject()
        line.add("startedDateTime", text: begun)
        addTime("time", record[field: .total])
        addRequest(of: exchange, bodies?.request)
        addResponse(of: exchange, record, bodies?.response)
        line.openObject("cache")
        line.closeObject()
        addTimings(of: record)
        if let attempts = record[field: .attempts]?.list, let deciding = attempts.decidingAttempt,
            let peer = attempts[deciding][attempt: .peer]?.string
        {
            line.add("serverIPAddress", text: Self.address(of: peer))
        }
        addFacts(of: record)
        line.add(webSocketMessages: bodies?.messages ?? [])
        line.closeObject()
    }

    // MARK: Messages

    private mutating func addRequest(of exchange: RecordedExchange, _ body: ArchivedBody?) {
        let fields = exchange.original?.fields ?? Self.lines(exchange.values)
        line.openObject("request")
        line.add("method", text: exchange.method)
        line.add("url", text: url)
        line.add("httpVersion", text: Self.version(exchange.version))
        addNothing("cookies")
        add(fields)
        line.openList("queryString")
        for parameter in QueryParameters.decoded(of: Array(url.utf8).span) {
            line.openObject()
            line.add("name", text: parameter.name.span)
            line.add("value", text: parameter.value.span)
            line.closeObject()
        }
        line.closeList()
        if let body {
            let type = Self.value("content-type", of: fields)
            line.add(postData: body, type: type.isEmpty ? body.type : type)
        }
        addUnknown("headersSize")
        line.add("bodySize", exchange.bodyBytes)
        line.closeObject()
    }

    /// The first value of a field; empty for none.
    private static func value(_ name: String, of fields: [[String]]) -> String {
        fields.first { $0[0].lowercased() == name }?[1] ?? ""
    }

    private mutating func addResponse(
        of exchange: RecordedExchange,
        _ record: JSONValue,
        _ body: ArchivedBody?
    ) {
        let response = exchange.response
        let fields = response?.fields ?? Self.lines(response?.values ?? [])
        let size = (record[field: .tunnelReceived] ?? record[field: .responseSize])?.count ?? 0
        line.openObject("response")
        line.add("status", UInt64(response?.status ?? 0))
        line.add("statusText", literal: "")
        line.add("httpVersion", text: Self.version(exchange.version))
        addNothing("cookies")
        add(fields)
        line.openObject("content")
        let type = Self.value("content-type", of: fields)
        add(body, type: type, size: size)
        line.add("mimeType", text: type)
        line.closeObject()
        line.add("redirectURL", text: Self.value("location", of: fields))
        addUnknown("headersSize")
        line.add("bodySize", size)
        line.closeObject()
    }

    /// Adds the content of a response, of which `size` bytes were transferred.
    private mutating func add(_ body: ArchivedBody?, type: String, size: UInt64) {
        guard let body else {
            line.add("size", size)
            if size > 0 { line.add("comment", literal: "this body is not captured") }
            return
        }
        let length = UInt64(body.content.count)
        line.add("size", length)
        if length > size, body.truncated.isEmpty { line.add("compression", length - size) }
        line.add(contentOf: body, type: type, encoding: "encoding")
    }

    /// A line per value of each field.
    private static func lines(_ fields: [(name: String, values: [String])]) -> [[String]] {
        fields.flatMap { field in field.values.map { [field.name, $0] } }
    }

    private mutating func add(_ fields: [[String]]) {
        line.add("headers", objects: fields) { line, field in
            line.add("name", text: field[0])
            line.add("value", text: field[1])
        }
    }

    /// Returns `HTTP/1.1`, also where the version is unknown.
    private static func version(_ number: String?) -> String { "HTTP/\(number ?? "1.1")" }

    // MARK: Times

    private mutating func addTimings(of record: JSONValue) {
        line.openObject("timings")
        addTime("blocked", record[field: .blocked], isOptional: true)
        addTime("dns", record[field: .dns], isOptional: true)
        // In HAR, the time for the connection includes that for TLS.
        let tcp = record[field: .tcp]?.microseconds
        let tls = record[field: .tls]?.microseconds
        if tcp == nil, tls == nil {
            addUnknown("connect")
        } else {
            line.add("connect", milliseconds: (tcp ?? 0) &+ (tls ?? 0))
        }
        addTime("ssl", record[field: .tls], isOptional: true)
        addTime("send", record[field: .send])
        addTime("wait", record[field: .wait])
        addTime("receive", record[field: .receive])
        line.closeObject()
    }

    /// Adds a time in milliseconds; an unknown one is -1 if it `isOptional`, else 0.
    private mutating func addTime(_ key: String, _ value: JSONValue?, isOptional: Bool = false) {
        let time = value?.microseconds
        if time == nil, isOptional { return addUnknown(key) }
        line.add(key, milliseconds: time ?? 0)
    }

    private mutating func addUnknown(_ key: String) {
        line.add(key)
        line.bytes.append(contentsOf: "-1".utf8)
    }

    private mutating func addNothing(_ key: String) {
        line.openList(key)
        line.closeList()
    }

    // MARK: What HAR has no place for

    /// Adds what only lupin knows, in members whose names begin with `_`, as HAR demands.
    private mutating func addFacts(of record: JSONValue) {
        let texts: [(key: String, field: RecordField)] = [
            ("_id", .id), ("_outcome", .outcome), ("_error", .errorType),
            ("_detail", .errorDetail), ("_cache", .cacheStatus), ("_program", .program),
        ]
        for (key, field) in texts {
            if let text = record[field: field]?.string { line.add(key, text: text) }
        }
        if let rules = record[field: .matched]?.list?.compactMap(\.string), !rules.isEmpty {
            line.add("_rules", list: rules)
        }
        if let attempts = record[field: .attempts]?.list?.count, attempts > 1 {
            line.add("_attempts", UInt64(attempts))
        }
    }

    /// The address of `10.0.0.1:80` or `[::1]:80`.
    private static func address(of peer: String) -> String {
        let end = peer.lastIndex(of: ":") ?? peer.endIndex
        return peer[..<end].filter { $0 != "[" && $0 != "]" }
    }
}
