// How a record becomes one line of JSON: which names, in which order, and what is left out.

/// Writes exchange records as JSON lines.
///
/// Loop-confined: it keeps the text of the current second.
///
/// Names are the paths of OpenTelemetry's HTTP conventions as nested objects. What is unknown is
/// absent; nothing is ever null.
package struct RecordFormat: Sendable {
    /// Changes only when the meaning of a field changes.
    package static let schema: UInt64 = 1

    /// What hides secrets; replaced when rules are reloaded.
    package var redactor: Redactor
    private var timestamp = TimestampText()

    private static let slash: [UInt8] = [0x2F]
    private static let asterisk: [UInt8] = [0x2A]

    /// Known names in lower case, by their raw value.
    private static let knownNames = FieldName.allCases.map { $0.spelling.lowercased() }

    package init(redactor: Redactor) { self.redactor = redactor }

    /// Appends the record's line.
    ///
    /// `dropped` are the lines lost since the line before.
    package mutating func appendJSON(
        _ record: borrowing ExchangeRecord,
        dropped: Int,
        to line: inout JSONLine
    ) {
        line.openObject()
        line.add("schema", RecordFormat.schema)
        line.add("ts")
        line.bytes.append(0x22)
        timestamp.append(date: record.startMicroseconds, to: &line.bytes)
        line.bytes.append(0x22)
        line.add("event", literal: "exchange")
        line.add("id")
        line.bytes.append(0x22)
        line.bytes.append(hex: record.id.high, digits: 16)
        line.bytes.append(hex: record.id.low, digits: 16)
        line.bytes.append(0x22)
        line.add("outcome", literal: record.outcome.rawValue)
        add(record.client, to: &line)
        line.add("mode", literal: record.mode.rawValue)
        addHTTP(record, to: &line)
        addURL(record, to: &line)
        line.openObject("network")
        add(record.version, to: &line)
        line.closeObject()
        add(record.bytes, to: &line)
        add(record.rules, to: &line)
        if !record.attempts.isEmpty {
            line.openList("attempts")
            for i in record.attempts.indices { add(record.attempts[i], number: i + 1, to: &line) }
            line.closeList()
        }
        add(record.timing, to: &line)
        if let error = record.error { add(error, to: &line) }
        if let tunnel = record.tunnel { add(tunnel, to: &line) }
        if dropped > 0 { line.add("dropped", UInt64(dropped)) }
        line.closeObject()
        line.endLine()
    }

    private func add(_ key: String, cleaned text: String, to line: inout JSONLine) {
        guard let bytes = redactor.cleaned(text.utf8Span.span) else {
            line.add(key, text: text)
            return
        }
        line.add(key, text: bytes.span)
    }

    private func add(_ client: ClientRecord, to line: inout JSONLine) {
        guard client.address != nil || client.program != nil else { return }
        line.openObject("client")
        if let address = client.address {
            line.add("address")
            line.bytes.append(0x22)
            line.bytes.append(address)
            line.bytes.append(0x22)
            line.add("port", UInt64(client.port))
        }
        if let program = client.program { add("program", cleaned: program, to: &line) }
        if let pid = client.pid { line.add("pid", UInt64(max(0, pid))) }
        line.closeObject()
    }

    private func addHTTP(_ record: borrowing ExchangeRecord, to line: inout JSONLine) {
        line.openObject("http")
        line.openObject("request")
        if let request = record.request {
            if case .other(let token) = request.method {
                line.add("method", literal: "_OTHER")
                add("method_original", cleaned: token, to: &line)
            } else {
                line.add("method", literal: request.method.token)
            }
        }
        add(bodyBytes: record.requestBodyBytes, to: &line)
        if let request = record.request { add(request.fields, record.headers, to: &line) }
        if record.attempts.count > 1 { line.add("resend_count", UInt64(record.attempts.count - 1)) }
        line.closeObject()
        if let response = record.response {
            line.openObject("response")
            line.add("status_code", UInt64(response.status))
            add(bodyBytes: record.responseBodyBytes, to: &line)
            add(response.fields, record.headers, to: &line)
            line.closeObject()
        }
        line.closeObject()
    }

    private func add(bodyBytes: UInt64?, to line: inout JSONLine) {
        guard let bodyBytes else { return }
        line.openObject("body")
        line.add("size", bodyBytes)
        line.closeObject()
    }

    private func addURL(_ record: borrowing ExchangeRecord, to line: inout JSONLine) {
        guard let origin = record.origin else { return }
        line.openObject("url")
        if let request = record.request, request.form != .authority {
            let storage = request.fields.storage.span
            let path = storage.extracting(request.pathAndQuery.range)
            if request.form == .asterisk {
                addURL(of: origin, path: RecordFormat.asterisk.span, isServer: true, to: &line)
            } else if path.isEmpty {
                addURL(of: origin, path: RecordFormat.slash.span, to: &line)
            } else if let cleaned = redactor.cleaned(path) {
                addURL(of: origin, path: cleaned.span, to: &line)
            } else {
                addURL(of: origin, path: path, to: &line)
            }
        } else {
            addHost(origin, to: &line)
        }
        line.closeObject()
    }

    // `isServer`: the request is about the server itself (`OPTIONS *`), so its URL has no path
    // (RFC 9110 §7.1).
    private func addURL(
        of origin: Origin,
        path: Span<UInt8>,
        isServer: Bool = false,
        to line: inout JSONLine
    ) {
        let scheme = origin.scheme.name
        line.add("full")
        line.bytes.append(0x22)
        line.bytes.append(contentsOf: scheme.utf8)
        line.bytes.append(contentsOf: "://".utf8)
        LogText.append(redactor.cleaned(origin.authority), as: .json, to: &line.bytes)
        if !isServer { LogText.append(path, as: .json, to: &line.bytes) }
        line.bytes.append(0x22)
        line.add("scheme", literal: scheme)
        addHost(origin, to: &line)
        var length = 0
        while length < path.count, path[length] != 0x3F { length += 1 }
        line.add("path", text: path.extracting(0..<length))
    }

    private func addHost(_ origin: Origin, to line: inout JSONLine) {
        add("domain", cleaned: origin.host.text, to: &line)
        line.add("port", UInt64(origin.port))
    }

    private func add(_ version: ProtocolVersion, to line: inout JSONLine) {
        line.openObject("protocol")
        line.add("name", literal: "http")
        line.add("version", literal: version.text)
        line.closeObject()
    }

    private func add(_ bytes: ByteCounts, to line: inout JSONLine) {
        line.openObject("bytes")
        line.add("client_in", bytes.clientIn)
        line.add("client_out", bytes.clientOut)
        line.add("upstream_out", bytes.upstreamOut)
        line.add("upstream_in", bytes.upstreamIn)
        line.closeObject()
    }

    private func add(_ rules: RulesRecord, to line: inout JSONLine) {
        guard !rules.version.isEmpty else { return }
        line.openObject("rules")
        line.add("version", literal: rules.version)
        line.openList("matched")
        for name in rules.matched { element(name, to: &line) }
        line.closeList()
        if !rules.steps.isEmpty {
            line.openList("steps")
            for step in rules.steps { element(step, to: &line) }
            line.closeList()
        }
        line.closeObject()
    }

    private func element(_ text: String, to line: inout JSONLine) {
        guard let bytes = redactor.cleaned(text.utf8Span.span) else {
            line.element(text.utf8Span.span)
            return
        }
        line.element(bytes.span)
    }

    private func add(
        _ attempt: borrowing AttemptRecord,
        number: Int,
        to line: inout JSONLine
    ) {
        line.openObject()
        line.add("n", UInt64(number))
        line.add("why", literal: attempt.cause.rawValue)
        if let url = attempt.url { add("url", cleaned: url, to: &line) }
        if attempt.status > 0 { line.add("status", UInt64(attempt.status)) }
        if let error = attempt.error { add(error, to: &line) }
        line.add("decision", literal: attempt.decision.rawValue)
        if !attempt.reason.isEmpty { add("reason", cleaned: attempt.reason, to: &line) }
        line.add("delay", milliseconds: attempt.delayMicroseconds)
        if attempt.isReused { line.add("reused", true) }
        if !attempt.isReplayable { line.add("replayable", false) }
        if let version = attempt.version { line.add("protocol", literal: version.text) }
        if let peer = attempt.peer {
            line.add("peer")
            line.bytes.append(0x22)
            line.bytes.append(peer: peer, port: attempt.peerPort)
            line.bytes.append(0x22)
        }
        add(attempt.timing, to: &line)
        line.closeObject()
    }

    private func add(_ timing: Timing, to line: inout JSONLine) {
        guard !timing.isEmpty else { return }
        line.openObject("timing")
        line.add("blocked", milliseconds: timing.blocked)
        line.add("dns", milliseconds: timing.dns)
        line.add("tcp", milliseconds: timing.tcp)
        line.add("send", milliseconds: timing.send)
        line.add("wait", milliseconds: timing.wait)
        line.add("receive", milliseconds: timing.receive)
        line.add("total", milliseconds: timing.total)
        line.closeObject()
    }

    private func add(_ error: LupinError, to line: inout JSONLine) {
        line.openObject("error")
        line.add("type", literal: error.kind.token)
        if !error.detail.isEmpty { add("detail", cleaned: error.detail, to: &line) }
        line.add("side", literal: error.side.rawValue)
        line.closeObject()
    }

    private func add(_ tunnel: TunnelRecord, to line: inout JSONLine) {
        line.openObject("tunnel")
        line.add("sent", tunnel.sentBytes)
        line.add("received", tunnel.receivedBytes)
        if let closer = tunnel.closedBy { line.add("closed_by", literal: closer.rawValue) }
        line.closeObject()
    }

    // MARK: Fields

    private func add(
        _ fields: FieldSection,
        _ headers: LogSettings.Headers,
        to line: inout JSONLine
    ) {
        switch headers {
        case .none: break
        case .names: addNames(fields, to: &line)
        case .listed(let names):
            addNames(fields, to: &line)
            let wanted = NameSet(names)
            addValues(fields, to: &line) { wanted.contains($0) }
        case .all: addValues(fields, to: &line) { _ in true }
        }
    }

    private func addNames(_ fields: FieldSection, to line: inout JSONLine) {
        line.openList("names")
        for field in fields.lines {
            if field.known == .other {
                line.element(name: fields.storage.span.extracting(field.name.range), redactor)
            } else {
                line.element(literal: RecordFormat.knownNames[Int(field.known.rawValue)])
            }
        }
        line.closeList()
    }

    private func addValues(
        _ fields: FieldSection,
        to line: inout JSONLine,
        where isWanted: (Span<UInt8>) -> Bool
    ) {
        line.openObject("header")
        let lines = fields.lines
        for i in lines.indices {
            let name = fields.storage.span.extracting(lines[i].name.range)
            let isRepeated = lines[..<i].contains { fields.nameEquals($0, name) }
            if isRepeated || !isWanted(name) { continue }
            let isHidden = redactor.hides(field: name)
            line.element(name: name, redactor)
            line.bytes.append(contentsOf: ":[".utf8)
            for other in lines[i...] where fields.nameEquals(other, name) {
                let value = fields.storage.span.extracting(other.value.range)
                if isHidden {
                    line.element(redactor.mark(for: value).span)
                } else if let cleaned = redactor.cleaned(value) {
                    line.element(cleaned.span)
                } else {
                    line.element(value)
                }
            }
            line.closeList()
        }
        line.closeObject()
    }
}

extension Redactor {
    /// Path and query of the client's request as records show them.
    package func recordedPath(of request: RequestHead) -> [UInt8] {
        if request.form == .asterisk { return [0x2A] }
        if request.pathAndQuery.isEmpty { return [0x2F] }
        let bytes = request.fields.storage.span.extracting(request.pathAndQuery.range)
        return cleaned(bytes) ?? [UInt8](copying: bytes)
    }
}

extension JSONLine {
    /// Appends a field name in lower case, as an element or as a key.
    ///
    /// Names that are tokens, and all that parsers accept are, need no escaping.
    fileprivate mutating func element(name: Span<UInt8>, _ redactor: Redactor) {
        var isToken = name.count <= LogText.bytesMax
        for i in name.indices { isToken = isToken && name[i].isTokenByte }
        if !isToken || redactor.cleaned(name) != nil {
            var shown = redactor.cleaned(name) ?? [UInt8](copying: name)
            for i in shown.indices { shown[i] = shown[i].asciiLowercased }
            element(shown.span)
            return
        }
        comma()
        bytes.append(addingCapacity: name.count + 2) { output in
            output.append(0x22)
            for i in name.indices { output.append(name[i].asciiLowercased) }
            output.append(0x22)
        }
    }
}

extension ProtocolVersion {
    /// As in `network.protocol.version`.
    package var text: String {
        switch self {
        case .http10: "1.0"
        case .http11: "1.1"
        case .http2: "2"
        }
    }
}

extension Timing {
    /// Whether no phase is known.
    package var isEmpty: Bool {
        blocked == nil && dns == nil && tcp == nil && send == nil && wait == nil
            && receive == nil && total == nil
    }
}

extension Array where Element == UInt8 {
    /// Appends the address as ``IPAddress/text``.
    fileprivate mutating func append(_ address: IPAddress) {
        guard case .v4(let value) = address else {
            append(contentsOf: address.text.utf8)
            return
        }
        for shift: UInt32 in [24, 16, 8, 0] {
            if shift < 24 { append(0x2E) }
            append(decimal: UInt64(value >> shift & 0xFF))
        }
    }

    /// Appends `140.82.121.6:443` or `[::1]:443`.
    fileprivate mutating func append(peer: IPAddress, port: UInt16) {
        if case .v6 = peer { append(0x5B) }
        append(peer)
        if case .v6 = peer { append(0x5D) }
        append(0x3A)
        append(decimal: UInt64(port))
    }
}
