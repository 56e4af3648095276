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
            var place = LinePlace<RecordField>(texts)
            addStart(of: record, at: &place, to: &output)
            add(record.client, at: &place, to: &output)
            addRequest(of: record, at: &place, to: &output)
            addResponse(of: record, at: &place, to: &output)
            addURL(of: record, at: &place, to: &output)
            addNetwork(of: record, at: &place, to: &output)
            add(record.rules, at: &place, to: &output)
            addDecisions(of: record, at: &place, to: &output)
            add(record.attempts, at: &place, to: &output)
            place.add(record.timing, to: &output)
            if record.hasRare { addEnd(of: record, at: &place, to: &output) }
            if dropped > 0 { place.add(.dropped, UInt64(dropped), to: &output) }
            place.close(to: &output)
            output.append(0x0A)
        }
        let length = line.bytes.count - start
        if length > lengthGuess { lengthGuess = min(length * 2, Self.guessMax) }
    }

    // MARK: Start and client

    private mutating func addStart(
        of record: ExchangeRecord,
        at place: inout LinePlace<RecordField>,
        to output: inout TextCursor
    ) {
        place.append(runs.start, to: .timestamp, in: &output)
        timestamp.append(date: record.startMicroseconds, to: &output)
        if record.mode != .tunnel {
            place.append(runs.event, to: .id, in: &output)
        } else {
            output.append(0x22)
            place.add(.event, literal: "tunnel", to: &output)
            place.open(.id, to: &output)
        }
        output.append(hex: record.id.high)
        output.append(hex: record.id.low)
        if record.outcome == .ok, let address = record.client.address {
            place.append(runs.outcome, to: .clientAddress, in: &output)
            add(address, to: &output)
        } else {
            output.append(0x22)
            place.add(.outcome, literal: record.outcome.rawValue, to: &output)
            guard let address = record.client.address else { return }
            place.open(.clientAddress, to: &output)
            add(address, to: &output)
        }
        output.append(0x22)
        place.add(.clientPort, UInt64(record.client.port), to: &output)
    }

    /// Appends what is known of a client beside its address.
    private mutating func add(
        _ client: ClientRecord,
        at place: inout LinePlace<RecordField>,
        to output: inout TextCursor
    ) {
        place.add(.program, client.program, redactor, to: &output)
        if let pid = client.pid { place.add(.pid, UInt64(max(0, pid)), to: &output) }
        if client.isRedirected { place.add(.redirected, true, to: &output) }
        place.add(.user, client.user, redactor, to: &output)
    }

    mutating func add(_ address: IPAddress, to output: inout TextCursor) {
        guard case .v6(let high, let low) = address else {
            if case .v4(let quad) = address { quads.append(quad, to: &output) }
            return
        }
        let place = recentPlace(high ^ low)
        if !addresses.holds(address, at: place) {
            addresses.put(Array(address.text.utf8), of: address, at: place)
        }
        output.append(addresses.texts[place])
    }

    // MARK: Messages

    private mutating func addRequest(
        of record: ExchangeRecord,
        at place: inout LinePlace<RecordField>,
        to output: inout TextCursor
    ) {
        let size = record.requestBodyBytes
        guard let request = record.request else {
            place.add(.mode, literal: record.mode.rawValue, to: &output)
            if let size { place.add(.requestSize, size, to: &output) }
            return
        }
        if case .get = request.method, place.isBehind(.clientPort), let run = runs.get(record.mode)
        {
            place.append(run, to: .method, in: &output)
        } else {
            place.add(.mode, literal: record.mode.rawValue, to: &output)
            addMethod(request.method, at: &place, to: &output)
        }
        if let size { place.add(.requestSize, size, to: &output) }
        let (names, values) = (RecordField.requestNames, RecordField.requestValues)
        add(request.fields, names, values, by: record.headers, at: &place, to: &output)
        if record.attempts.count > 1 {
            place.add(.resendCount, UInt64(record.attempts.count - 1), to: &output)
        }
    }

    private mutating func addMethod(
        _ method: Method,
        at place: inout LinePlace<RecordField>,
        to output: inout TextCursor
    ) {
        switch method {
        case .other(let token):
            place.add(.method, literal: "_OTHER", to: &output)
            place.add(.originalMethod, token, redactor, to: &output)
        default: place.add(.method, literal: method.token, to: &output)
        }
    }

    private mutating func addResponse(
        of record: ExchangeRecord,
        at place: inout LinePlace<RecordField>,
        to output: inout TextCursor
    ) {
        guard let response = record.response else { return }
        place.add(.status, UInt64(response.status), to: &output)
        if let size = record.responseBodyBytes { place.add(.responseSize, size, to: &output) }
        let (names, values) = (RecordField.responseNames, RecordField.responseValues)
        add(response.fields, names, values, by: record.headers, at: &place, to: &output)
    }

    /// Appends the fields of a head that the settings select.
    private mutating func add(
        _ fields: FieldSection,
        _ namesField: RecordField,
        _ valuesField: RecordField,
        by shown: LogSettings.Headers,
        at place: inout LinePlace<RecordField>,
        to output: inout TextCursor
    ) {
        if shown.showsNames {
            place.open(namesField, to: &output)
            names.append(fields, redactor, to: &output)
        }
        if shown.showsValues {
            place.open(valuesField, to: &output)
            output.append(redactor.values(of: fields, shown))
        }
    }

    private mutating func addNetwork(
        of record: ExchangeRecord,
        at place: inout LinePlace<RecordField>,
        to output: inout TextCursor
    ) {
        if place.isBehind(.path) {
            place.append(runs.network(record.version), to: .version, in: &output)
        } else {
            place.add(.protocolName, literal: "http", to: &output)
            place.add(.version, literal: record.version.text, to: &output)
        }
        if let stream = record.stream { place.add(.stream, UInt64(stream), to: &output) }
        if let reset = record.reset {
            place.add(.reset, literal: reset.code.name, to: &output)
            place.add(.resetBy, literal: reset.by.rawValue, to: &output)
        }
        place.add(.clientIn, record.bytes.clientIn, to: &output)
        place.add(.clientOut, record.bytes.clientOut, to: &output)
        place.add(.upstreamOut, record.bytes.upstreamOut, to: &output)
        place.add(.upstreamIn, record.bytes.upstreamIn, to: &output)
    }

    // MARK: URL

    private struct OriginText {
        /// `https://api.github.com`.
        var url: [UInt8] = []
        /// Scheme, domain and port, as they follow `url.full`.
        var parts: [UInt8] = []
        /// Domain and port, for lines without a URL: the target of a tunnel.
        var place: [UInt8] = []

        init() {}

        init(_ origin: Origin, _ redactor: Redactor, _ texts: LineTexts) {
            url = Array("\(origin.scheme.name)://".utf8)
            LogText.append(redactor.cleaned(origin.authority), as: .json, to: &url)
            parts.appendText(about: 512) { output in
                var place = LinePlace<RecordField>(texts, behind: .url)
                place.add(.scheme, literal: origin.scheme.name, to: &output)
                place.add(.domain, origin.host.text, redactor, to: &output)
                place.add(.port, UInt64(origin.port), to: &output)
            }
            place.appendText(about: 512) { output in
                // The preceding field, whichever it is, opens no object of the URL's.
                var place = LinePlace<RecordField>(texts, behind: .mode)
                place.add(.domain, origin.host.text, redactor, to: &output)
                place.add(.port, UInt64(origin.port), to: &output)
            }
        }
    }

    private mutating func addURL(
        of record: ExchangeRecord,
        at place: inout LinePlace<RecordField>,
        to output: inout TextCursor
    ) {
        guard let origin = record.origin else { return }
        let i = remembered(origin)
        guard let request = record.request, request.form != .authority else {
            place.end(at: .mode, to: &output)
            output.append(origins.texts[i].place)
            return place.move(to: .port)
        }
        place.open(.url, to: &output)
        output.append(origins.texts[i].url)
        let path = request.fields.storage.span.extracting(request.pathAndQuery.range)
        if request.form == .asterisk {
            // The request addresses the server itself, so its URL has no path (RFC 9110 §7.1).
            let star: [UInt8] = [0x2A]
            let nothing = star.span.extracting(first: 0)
            add(nothing, behind: i, path: star.span, at: &place, to: &output)
        } else if path.isEmpty {
            let root: [UInt8] = [0x2F]
            add(root.span, behind: i, path: root.span, at: &place, to: &output)
        } else if let cleaned = redactor.cleaned(path) {
            add(cleaned.span, behind: i, path: cleaned.span.pathAlone, at: &place, to: &output)
        } else {
            add(path, behind: i, path: path.pathAlone, at: &place, to: &output)
        }
    }

    /// Appends the rest of a URL, the parts of its origin, and its path, which begins the rest or
    /// is plain.
    private mutating func add(
        _ rest: Span<UInt8>,
        behind origin: Int,
        path: Span<UInt8>,
        at place: inout LinePlace<RecordField>,
        to output: inout TextCursor
    ) {
        // Looked at once: what holds for the rest of the URL holds for the path in it.
        let isPlain = LogText.isPlain(rest)
        if isPlain { output.append(rest) } else { output.append(json: rest) }
        output.append(0x22)
        output.append(origins.texts[origin].parts)
        place.move(to: .port)
        place.open(.path, to: &output)
        if isPlain { output.append(path) } else { output.append(json: path) }
        output.append(0x22)
    }

    /// Returns the place of an origin's texts.
    private mutating func remembered(_ origin: Origin) -> Int {
        let hash = origin.authority.utf8Span.span.sparseHash &+ UInt64(origin.scheme.rawValue)
        let place = recentPlace(hash)
        if !origins.holds(origin, at: place) {
            origins.put(OriginText(origin, redactor, texts), of: origin, at: place)
        }
        return place
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
        at place: inout LinePlace<RecordField>,
        to output: inout TextCursor
    ) {
        if record.version.isEmpty { return }
        place.open(.rulesVersion, to: &output)
        output.append(literal: record.version)
        if record.matched.isEmpty, !record.hasSteps {
            return place.append(runs.noRules, to: .matched, in: &output)
        }
        output.append(0x22)
        place.open(.matched, to: &output)
        let i = remembered(record)
        output.append(rules.texts[i].matched)
        if !record.hasSteps { return }
        place.open(.steps, to: &output)
        output.append(rules.texts[i].steps)
    }

    /// Returns the place of these rules' texts.
    private mutating func remembered(_ record: RulesRecord) -> Int {
        var hash = UInt64(record.steps.count + record.responseSteps.count)
        for name in record.matched { hash = hash &* 31 &+ name.utf8Span.span.weightedSum }
        let place = recentPlace(hash)
        if !rules.holds(record, at: place) {
            rules.put(RulesText(record, redactor), of: record, at: place)
        }
        return place
    }
}

extension Span<UInt8> {
    /// The part before the query.
    fileprivate var pathAlone: Span<UInt8> {
        @_lifetime(copy self)
        get { extracting(first: place(of: 0x3F)) }
    }
}
