// Writes a record as one line of JSON, field by field of the table.

package import LupinCore

/// Writes exchange records as JSON lines.
///
/// Loop-confined: it caches the text of the current second, and of recent field names, rules and
/// origins.
///
/// Unknown values are omitted; nothing is ever null. Every exchange pays for its line, so it is
/// written in one pass, directly to its final place. All writing methods are mutating, since others
/// would copy the format and retain each of its parts.
package struct RecordFormat: Sendable {
    /// Changes only when the meaning of a field changes.
    package static let schema: UInt64 = 1

    /// Hides secrets; replaced when rules are reloaded.
    package var redactor: Redactor {
        didSet {
            // The cached texts were redacted by the previous redactor.
            names = NameTexts()
            rules = RecentTexts(empty: RulesText())
            origins = RecentTexts(empty: OriginText())
        }
    }
    var timestamp = TimestampText()
    private var names = NameTexts()
    private var rules = RecentTexts<RulesRecord, RulesText>(empty: RulesText())
    private var origins = RecentTexts<Origin, OriginText>(empty: OriginText())
    private var addresses = RecentTexts<IPAddress, [UInt8]>(empty: [])
    private var quads = QuadTexts()
    private let texts = RecordField.texts
    let attemptTexts = AttemptField.texts
    let runs = LineRuns(RecordField.texts, AttemptField.texts)
    /// The approximate length of a line.
    private(set) var lengthGuess = 1536
    private static let guessMax = 16 << 10

    package init(redactor: Redactor) { self.redactor = redactor }

    /// Appends the record's line.
    ///
    /// `dropped` is the number of lines lost since the previous line.
    package mutating func appendJSON(
        _ record: ExchangeRecord,
        dropped: Int,
        to line: inout JSONLine
    ) {
        let start = line.bytes.count
        line.bytes.appendText(about: lengthGuess) { output in
            var cursor = LineCursor<RecordField>(texts)
            addStart(of: record, at: &cursor, to: &output)
            add(record.client, at: &cursor, to: &output)
            addRequest(of: record, at: &cursor, to: &output)
            addResponse(of: record, at: &cursor, to: &output)
            addURL(of: record, at: &cursor, to: &output)
            addNetwork(of: record, at: &cursor, to: &output)
            add(record.rules, at: &cursor, to: &output)
            addDecisions(of: record, at: &cursor, to: &output)
            add(record.attempts, at: &cursor, to: &output)
            cursor.add(record.timing, to: &output)
            if record.hasRare { addEnd(of: record, at: &cursor, to: &output) }
            if dropped > 0 { cursor.add(.dropped, UInt64(dropped), to: &output) }
            cursor.close(to: &output)
            output.append(0x0A)
        }
        let length = line.bytes.count - start
        if length > lengthGuess { lengthGuess = min(length * 2, Self.guessMax) }
    }

    // MARK: Start and client

    private mutating func addStart(
        of record: ExchangeRecord,
        at cursor: inout LineCursor<RecordField>,
        to output: inout TextCursor
    ) {
        cursor.append(runs.start, to: .timestamp, in: &output)
        timestamp.append(date: record.startMicroseconds, to: &output)
        if record.mode != .tunnel {
            cursor.append(runs.event, to: .id, in: &output)
        } else {
            output.append(0x22)
            cursor.add(.event, literal: "tunnel", to: &output)
            cursor.open(.id, to: &output)
        }
        output.append(hex: record.id.high)
        output.append(hex: record.id.low)
        if record.outcome == .ok, let address = record.client.address {
            cursor.append(runs.outcome, to: .clientAddress, in: &output)
            add(address, to: &output)
        } else {
            output.append(0x22)
            cursor.add(.outcome, literal: record.outcome.rawValue, to: &output)
            guard let address = record.client.address else { return }
            cursor.open(.clientAddress, to: &output)
            add(address, to: &output)
        }
        output.append(0x22)
        cursor.add(.clientPort, UInt64(record.client.port), to: &output)
    }

    /// Appends what is known of a client beside its address.
    private mutating func add(
        _ client: ClientRecord,
        at cursor: inout LineCursor<RecordField>,
        to output: inout TextCursor
    ) {
        cursor.add(.program, client.program, redactor, to: &output)
        if let pid = client.pid { cursor.add(.pid, UInt64(max(0, pid)), to: &output) }
        if client.isRedirected { cursor.add(.redirected, true, to: &output) }
        cursor.add(.user, client.user, redactor, to: &output)
    }

    mutating func add(_ address: IPAddress, to output: inout TextCursor) {
        guard case .v6(let high, let low) = address else {
            if case .v4(let quad) = address { quads.append(quad, to: &output) }
            return
        }
        let index = recentIndex(high ^ low)
        if !addresses.holds(address, at: index) {
            addresses.put(Array(address.text.utf8), of: address, at: index)
        }
        output.append(addresses.texts[index])
    }

    // MARK: Messages

    private mutating func addRequest(
        of record: ExchangeRecord,
        at cursor: inout LineCursor<RecordField>,
        to output: inout TextCursor
    ) {
        let size = record.requestBodyBytes
        guard let request = record.request else {
            cursor.add(.mode, literal: record.mode.rawValue, to: &output)
            if let size { cursor.add(.requestSize, size, to: &output) }
            return
        }
        if case .get = request.method, cursor.isBehind(.clientPort), let run = runs.get(record.mode)
        {
            cursor.append(run, to: .method, in: &output)
        } else {
            cursor.add(.mode, literal: record.mode.rawValue, to: &output)
            addMethod(request.method, at: &cursor, to: &output)
        }
        if let size { cursor.add(.requestSize, size, to: &output) }
        let (names, values) = (RecordField.requestNames, RecordField.requestValues)
        add(request.fields, names, values, by: record.headers, at: &cursor, to: &output)
        if record.attempts.count > 1 {
            cursor.add(.resendCount, UInt64(record.attempts.count - 1), to: &output)
        }
    }

    private mutating func addMethod(
        _ method: Method,
        at cursor: inout LineCursor<RecordField>,
        to output: inout TextCursor
    ) {
        switch method {
        case .other(let token):
            cursor.add(.method, literal: "_OTHER", to: &output)
            cursor.add(.originalMethod, token, redactor, to: &output)
        default: cursor.add(.method, literal: method.token, to: &output)
        }
    }

    private mutating func addResponse(
        of record: ExchangeRecord,
        at cursor: inout LineCursor<RecordField>,
        to output: inout TextCursor
    ) {
        guard let response = record.response else { return }
        cursor.add(.status, UInt64(response.status), to: &output)
        if let size = record.responseBodyBytes { cursor.add(.responseSize, size, to: &output) }
        let (names, values) = (RecordField.responseNames, RecordField.responseValues)
        add(response.fields, names, values, by: record.headers, at: &cursor, to: &output)
    }

    /// Appends the fields of a head that the settings select.
    private mutating func add(
        _ fields: FieldSection,
        _ namesField: RecordField,
        _ valuesField: RecordField,
        by shown: LogSettings.Headers,
        at cursor: inout LineCursor<RecordField>,
        to output: inout TextCursor
    ) {
        if shown.showsNames {
            cursor.open(namesField, to: &output)
            names.append(fields, redactor, to: &output)
        }
        if shown.showsValues {
            cursor.open(valuesField, to: &output)
            output.append(redactor.values(of: fields, shown))
        }
    }

    private mutating func addNetwork(
        of record: ExchangeRecord,
        at cursor: inout LineCursor<RecordField>,
        to output: inout TextCursor
    ) {
        if cursor.isBehind(.path) {
            cursor.append(runs.network(record.version), to: .version, in: &output)
        } else {
            cursor.add(.protocolName, literal: "http", to: &output)
            cursor.add(.version, literal: record.version.text, to: &output)
        }
        if let stream = record.stream { cursor.add(.stream, UInt64(stream), to: &output) }
        if let reset = record.reset {
            cursor.add(.reset, literal: reset.code.name, to: &output)
            cursor.add(.resetBy, literal: reset.by.rawValue, to: &output)
        }
        cursor.add(.clientIn, record.bytes.clientIn, to: &output)
        cursor.add(.clientOut, record.bytes.clientOut, to: &output)
        cursor.add(.upstreamOut, record.bytes.upstreamOut, to: &output)
        cursor.add(.upstreamIn, record.bytes.upstreamIn, to: &output)
    }

    // MARK: URL

    private struct OriginText {
        /// `https://api.github.com`.
        var url: [UInt8] = []
        /// Scheme, domain and port, as they follow `url.full`.
        var parts: [UInt8] = []
        /// Domain and port, for lines without a URL: the target of a tunnel.
        var target: [UInt8] = []

        init() {}

        init(_ origin: Origin, _ redactor: Redactor, _ texts: LineTexts) {
            url = Array("\(origin.scheme.name)://".utf8)
            LogText.append(redactor.cleaned(origin.authority), as: .json, to: &url)
            parts.appendText(about: 512) { output in
                var cursor = LineCursor<RecordField>(texts, behind: .url)
                cursor.add(.scheme, literal: origin.scheme.name, to: &output)
                cursor.add(.domain, origin.host.text, redactor, to: &output)
                cursor.add(.port, UInt64(origin.port), to: &output)
            }
            target.appendText(about: 512) { output in
                // The preceding field, whichever it is, opens no object of the URL's.
                var cursor = LineCursor<RecordField>(texts, behind: .mode)
                cursor.add(.domain, origin.host.text, redactor, to: &output)
                cursor.add(.port, UInt64(origin.port), to: &output)
            }
        }
    }

    private mutating func addURL(
        of record: ExchangeRecord,
        at cursor: inout LineCursor<RecordField>,
        to output: inout TextCursor
    ) {
        guard let origin = record.origin else { return }
        let i = remembered(origin)
        guard let request = record.request, request.form != .authority else {
            cursor.end(at: .mode, to: &output)
            output.append(origins.texts[i].target)
            return cursor.move(to: .port)
        }
        cursor.open(.url, to: &output)
        output.append(origins.texts[i].url)
        let path = request.fields.storage.span.extracting(request.pathAndQuery.range)
        if request.form == .asterisk {
            // The request addresses the server itself, so its URL has no path (RFC 9110 §7.1).
            let star: [UInt8] = [0x2A]
            let nothing = star.span.extracting(first: 0)
            add(nothing, behind: i, path: star.span, at: &cursor, to: &output)
        } else if path.isEmpty {
            let root: [UInt8] = [0x2F]
            add(root.span, behind: i, path: root.span, at: &cursor, to: &output)
        } else if let cleaned = redactor.cleaned(path) {
            add(cleaned.span, behind: i, path: cleaned.span.pathAlone, at: &cursor, to: &output)
        } else {
            add(path, behind: i, path: path.pathAlone, at: &cursor, to: &output)
        }
    }

    /// Appends the rest of a URL, the parts of its origin, and its path, which begins the rest or
    /// is plain.
    private mutating func add(
        _ rest: Span<UInt8>,
        behind origin: Int,
        path: Span<UInt8>,
        at cursor: inout LineCursor<RecordField>,
        to output: inout TextCursor
    ) {
        // Looked at once: what holds for the rest of the URL holds for the path in it.
        let isPlain = LogText.isPlain(rest)
        if isPlain { output.append(rest) } else { output.append(json: rest) }
        output.append(0x22)
        output.append(origins.texts[origin].parts)
        cursor.move(to: .port)
        cursor.open(.path, to: &output)
        if isPlain { output.append(path) } else { output.append(json: path) }
        output.append(0x22)
    }

    /// Returns the index of an origin's texts.
    private mutating func remembered(_ origin: Origin) -> Int {
        let hash = origin.authority.utf8Span.span.sparseHash &+ UInt64(origin.scheme.rawValue)
        let index = recentIndex(hash)
        if !origins.holds(origin, at: index) {
            origins.put(OriginText(origin, redactor, texts), of: origin, at: index)
        }
        return index
    }

    // MARK: Rules

    private struct RulesText {
        /// `["everyone","github"]`.
        var matched: [UInt8] = []
        var steps: [UInt8] = []

        init() {}

        init(_ record: RulesRecord, _ redactor: Redactor) {
            matched = redactor.list(of: record.matched)
            steps = redactor.list(of: record.steps + record.responseSteps)
        }
    }

    private mutating func add(
        _ record: RulesRecord,
        at cursor: inout LineCursor<RecordField>,
        to output: inout TextCursor
    ) {
        if record.version.isEmpty { return }
        cursor.open(.rulesVersion, to: &output)
        output.append(literal: record.version)
        if record.matched.isEmpty, !record.hasSteps {
            return cursor.append(runs.noRules, to: .matched, in: &output)
        }
        output.append(0x22)
        cursor.open(.matched, to: &output)
        let i = remembered(record)
        output.append(rules.texts[i].matched)
        if !record.hasSteps { return }
        cursor.open(.steps, to: &output)
        output.append(rules.texts[i].steps)
    }

    /// Returns the index of these rules' texts.
    private mutating func remembered(_ record: RulesRecord) -> Int {
        var hash = UInt64(record.steps.count + record.responseSteps.count)
        for name in record.matched { hash = hash &* 31 &+ name.utf8Span.span.weightedSum }
        let index = recentIndex(hash)
        if !rules.holds(record, at: index) {
            rules.put(RulesText(record, redactor), of: record, at: index)
        }
        return index
    }
}

extension Span<UInt8> {
    /// The part before the query.
    fileprivate var pathAlone: Span<UInt8> {
        @_lifetime(copy self)
        get { extracting(first: offset(of: 0x3F)) }
    }
}
