// How a record becomes one line of JSON: which names, in which order, and what is left out.

/// Writes exchange records as JSON lines.
///
/// Loop-confined: it keeps the text of the current second, and of field names, rules and origins
/// that came lately.
///
/// Names are the paths of OpenTelemetry's HTTP conventions as nested objects. What is unknown is
/// absent; nothing is ever null.
///
/// Every exchange pays for its line, so what nearly all of them have is written in a few bounded
/// parts made of ``Fragment``s; only the rest goes key by key.
package struct RecordFormat: Sendable {
    /// Changes only when the meaning of a field changes.
    package static let schema: UInt64 = 1

    /// What hides secrets; replaced when rules are reloaded.
    package var redactor: Redactor {
        didSet {
            // What is remembered went through the redactor before.
            names = RecentNames()
            rules = RecentTexts(empty: [])
            origins = RecentTexts(empty: OriginText())
        }
    }
    let text = RecordText()
    var timestamp = TimestampText()
    private var names = RecentNames()
    private var rules = RecentTexts<RulesRecord, [UInt8]>(empty: [])
    private var origins = RecentTexts<Origin, OriginText>(empty: OriginText())
    private var addresses = RecentTexts<IPAddress, [UInt8]>(empty: [])

    package init(redactor: Redactor) { self.redactor = redactor }

    /// Appends the record's line.
    ///
    /// `dropped` are the lines lost since the line before.
    package mutating func appendJSON(
        _ record: borrowing ExchangeRecord,
        dropped: Int,
        to line: inout JSONLine
    ) {
        addStart(record, to: &line)
        addMessages(record, to: &line)
        addNetwork(record, to: &line)
        addDecisions(record, to: &line)
        addEnd(record, dropped: dropped, to: &line)
    }

    mutating func addMessages(
        _ record: borrowing ExchangeRecord,
        to line: inout JSONLine
    ) {
        addRequest(record, to: &line)
        addResponse(record, to: &line)
        addURL(record.origin, record.request, to: &line)
    }

    mutating func addDecisions(
        _ record: borrowing ExchangeRecord,
        to line: inout JSONLine
    ) {
        if !record.rules.version.isEmpty { add(record.rules, to: &line) }
        if let authentication = record.authentication { line.add(authentication, redactor) }
        if let cache = record.cache { line.add(cache: cache) }
        if let trust = record.trust { line.add(trust, redactor) }
        if let validation = record.validation { line.add(validation, redactor) }
        if !record.redirects.isEmpty { line.add(record.redirects, redactor) }
    }

    mutating func addEnd(
        _ record: borrowing ExchangeRecord,
        dropped: Int,
        to line: inout JSONLine
    ) {
        addAttempts(record, to: &line)
        if let error = record.error { line.add(error, redactor) }
        if let tunnel = record.tunnel {
            line.appendBounded(320) { output in text.add(tunnel, to: &output) }
        }
        if dropped > 0 { line.add("dropped", UInt64(dropped)) }
        line.closeObject()
        line.endLine()
    }

    // MARK: Start and client

    mutating func addStart(_ record: borrowing ExchangeRecord, to line: inout JSONLine) {
        let id = record.id
        let isTunnel = if case .tunnel = record.mode { true } else { false }
        let start = record.startMicroseconds
        let outcome = record.outcome
        let address = record.client.address
        let port = record.client.port
        line.appendBounded(320) { output in
            output.append(text.start)
            timestamp.append(date: start, to: &output)
            output.append(isTunnel ? text.tunnelID : text.exchangeID)
            output.append(hex: id.high)
            output.append(hex: id.low)
            if case .ok = outcome {
                output.append(text.outcomeOK)
            } else {
                output.append(text.outcome)
                output.append(literal: outcome.rawValue)
                output.append(0x22)
            }
            guard case .v4(let quad) = address else { return }
            output.append(text.client)
            output.append(quad: quad)
            output.append(text.port)
            output.append(decimal: UInt64(port))
        }
        if case .v6(let high, let low)? = address {
            line.appendBounded(320) { output in output.append(text.client) }
            add(v6: high, low, to: &line)
            line.appendBounded(320) { output in
                output.append(text.port)
                output.append(decimal: UInt64(port))
            }
        }
        if address != nil || record.client.program != nil {
            addProgram(record.client, to: &line)
            line.closeObject()
        }
    }

    private func addProgram(_ client: ClientRecord, to line: inout JSONLine) {
        if client.address == nil { line.openObject("client") }
        if let program = client.program { line.add("program", program, redactor) }
        if let pid = client.pid { line.add("pid", UInt64(max(0, pid))) }
        if let user = client.user { line.add("user", user, redactor) }
    }

    mutating func add(v6 high: UInt64, _ low: UInt64, to line: inout JSONLine) {
        let address = IPAddress.v6(high: high, low: low)
        let place = recentPlace(high ^ low)
        if !addresses.holds(address, at: place) {
            addresses.put(Array(address.text.utf8), of: address, at: place)
        }
        line.bytes.append(contentsOf: addresses.texts[place])
    }

    // MARK: Messages

    private mutating func addRequest(_ record: borrowing ExchangeRecord, to line: inout JSONLine) {
        let mode = record.mode
        let size = record.requestBodyBytes
        guard case .get? = record.request?.method else {
            line.appendBounded(320) { output in text.add(mode, to: &output) }
            if let request = record.request { add(request.method, to: &line) }
            if let size { line.add(bodyBytes: size) }
            addFields(record, to: &line)
            return
        }
        line.appendBounded(320) { output in
            text.add(mode, to: &output)
            output.append(text.get)
            if let size { text.add(bodyBytes: size, to: &output) }
        }
        addFields(record, to: &line)
    }

    private mutating func addFields(_ record: borrowing ExchangeRecord, to line: inout JSONLine) {
        if let request = record.request { add(request.fields, record.headers, to: &line) }
        if record.attempts.count > 1 { line.add("resend_count", UInt64(record.attempts.count - 1)) }
    }

    private mutating func addResponse(_ record: borrowing ExchangeRecord, to line: inout JSONLine) {
        guard let response = record.response else {
            line.closeObjects(2)
            return
        }
        let status = response.status
        let size = record.responseBodyBytes
        line.appendBounded(320) { output in
            output.append(text.response)
            output.append(decimal: UInt64(status))
            if let size { text.add(bodyBytes: size, to: &output) }
        }
        add(response.fields, record.headers, to: &line)
        line.closeObjects(2)
    }

    private func add(_ method: Method, to line: inout JSONLine) {
        guard case .other(let token) = method else {
            let token = method.token
            line.appendBounded(320) { output in
                output.append(text.method)
                output.append(literal: token)
                output.append(0x22)
            }
            return
        }
        line.add("method", literal: "_OTHER")
        line.add("method_original", token, redactor)
    }

    private mutating func add(
        _ fields: FieldSection,
        _ headers: LogSettings.Headers,
        to line: inout JSONLine
    ) {
        switch headers {
        case .none: break
        case .names: addNames(fields, to: &line)
        case .listed(let wanted):
            addNames(fields, to: &line)
            let set = NameSet(wanted)
            line.addValues(fields, redactor) { set.contains($0) }
        case .all: line.addValues(fields, redactor) { _ in true }
        }
    }

    private mutating func addNames(_ fields: FieldSection, to line: inout JSONLine) {
        if names.append(fields, to: &line.bytes) { return }
        let text = JSONLine.names(of: fields, redactor)
        line.bytes.append(contentsOf: text)
        names.put(text, of: fields)
    }

    /// Appends `,"network":{…},"bytes":{…}`.
    func addNetwork(_ record: borrowing ExchangeRecord, to line: inout JSONLine) {
        let version = record.version
        let stream = record.stream
        let reset = record.reset
        let bytes = record.bytes
        line.appendBounded(320) { output in
            switch version {
            case .http11: output.append(text.networkHTTP11)
            case .http2: output.append(text.networkHTTP2)
            case .http10:
                output.append(text.network)
                output.append(literal: version.text)
            }
            output.append(text.protocolEnd)
            if let stream { text.add(stream: stream, to: &output) }
            if let reset {
                text.add(text.reset, reset.code, to: &output)
                output.append(text.resetBy)
                output.append(literal: reset.by.rawValue)
                output.append(0x22)
            }
            output.append(text.clientIn)
            output.append(decimal: bytes.clientIn)
            output.append(text.clientOut)
            output.append(decimal: bytes.clientOut)
            output.append(text.upstreamOut)
            output.append(decimal: bytes.upstreamOut)
            output.append(text.upstreamIn)
            output.append(decimal: bytes.upstreamIn)
            output.append(0x7D)
        }
    }

    // MARK: URL

    private struct OriginText {
        /// `,"url":{"full":"https://api.github.com`.
        var url: [UInt8] = []
        /// `","scheme":"https","domain":"api.github.com","port":443,"path":"`.
        var parts: [UInt8] = []
        /// `,"url":{"domain":"api.github.com","port":443}`: where a tunnel leads.
        var place: [UInt8] = []

        init() {}

        init(_ origin: Origin, _ redactor: Redactor) {
            var line = JSONLine()
            line.bytes.append(contentsOf: #","url":{"full":""#.utf8)
            line.bytes.append(contentsOf: origin.scheme.name.utf8)
            line.bytes.append(contentsOf: "://".utf8)
            LogText.append(redactor.cleaned(origin.authority), as: .json, to: &line.bytes)
            url = line.bytes
            line.bytes = [0x22]
            line.add("scheme", literal: origin.scheme.name)
            line.addHost(origin, redactor)
            line.add("path")
            line.bytes.append(0x22)
            parts = line.bytes
            line = JSONLine()
            line.bytes.append(0x7B)
            line.addHost(origin, redactor)
            line.closeObject()
            place = Array(#","url":"#.utf8) + line.bytes
        }
    }

    private mutating func addURL(
        _ origin: Origin?,
        _ request: RequestHead?,
        to line: inout JSONLine
    ) {
        guard let origin else { return }
        let hash = origin.authority.utf8Span.span.sparseHash &+ UInt64(origin.scheme.rawValue)
        let place = recentPlace(hash)
        if !origins.holds(origin, at: place) {
            origins.put(OriginText(origin, redactor), of: origin, at: place)
        }
        guard let request, request.form != .authority else {
            return line.bytes.append(contentsOf: origins.texts[place].place)
        }
        line.bytes.append(contentsOf: origins.texts[place].url)
        let path = request.fields.storage.span.extracting(request.pathAndQuery.range)
        if request.form == .asterisk {
            // The request is about the server itself, so its URL has no path (RFC 9110 §7.1).
            line.bytes.append(contentsOf: origins.texts[place].parts)
            line.bytes.append(0x2A)
        } else if path.isEmpty {
            line.bytes.append(0x2F)
            line.bytes.append(contentsOf: origins.texts[place].parts)
            line.bytes.append(0x2F)
        } else if let cleaned = redactor.cleaned(path) {
            add(path: cleaned.span, behind: origins.texts[place].parts, to: &line)
        } else {
            add(path: path, behind: origins.texts[place].parts, to: &line)
        }
        line.bytes.append(0x22)
        line.bytes.append(0x7D)
    }

    private func add(path: Span<UInt8>, behind parts: [UInt8], to line: inout JSONLine) {
        LogText.append(path, as: .json, to: &line.bytes)
        line.bytes.append(contentsOf: parts)
        var length = 0
        while length < path.count, path[length] != 0x3F { length &+= 1 }
        LogText.append(path.extracting(0..<length), as: .json, to: &line.bytes)
    }

    // MARK: Rules

    mutating func add(_ record: RulesRecord, to line: inout JSONLine) {
        var hash = UInt64(record.steps.count)
        for name in record.matched { hash = hash &* 31 &+ name.utf8Span.span.weightedSum }
        let place = recentPlace(hash)
        if !rules.holds(record, at: place) {
            rules.put(JSONLine.rules(record, redactor), of: record, at: place)
        }
        line.bytes.append(contentsOf: rules.texts[place])
    }
}
