// How the smaller parts of a record stand in its line, texts of strangers cleaned of secrets.

extension JSONLine {
    /// Appends a text that may hold secrets.
    mutating func add(_ key: String, _ text: String, _ redactor: Redactor) {
        guard let bytes = redactor.cleaned(text.utf8Span.span) else {
            add(key, text: text)
            return
        }
        add(key, text: bytes.span)
    }

    /// Appends a text that may hold secrets to the open list.
    mutating func element(_ text: String, _ redactor: Redactor) {
        guard let bytes = redactor.cleaned(text.utf8Span.span) else {
            element(text.utf8Span.span)
            return
        }
        element(bytes.span)
    }

    /// Appends `"error":{"type":"dns_error","detail":"…","side":"upstream"}`.
    mutating func add(_ error: LupinError, _ redactor: Redactor) {
        openObject("error")
        add("type", literal: error.kind.token)
        if !error.detail.isEmpty { add("detail", error.detail, redactor) }
        add("side", literal: error.side.rawValue)
        closeObject()
    }

    /// Appends `"auth":{"token":"github","version":7,"action":"refreshed","wait":212.431}`.
    mutating func add(_ authentication: AuthenticationRecord, _ redactor: Redactor) {
        openObject("auth")
        add("token", authentication.token, redactor)
        if authentication.version > 0 { add("version", UInt64(authentication.version)) }
        add("action", literal: authentication.action.rawValue)
        add("wait", milliseconds: authentication.waitMicroseconds)
        closeObject()
    }

    /// Appends `"cache":{"status":"lupin; hit; ttl=59"}`.
    ///
    /// It is lupin's own text, so there is nothing in it to redact.
    mutating func add(cache status: String) {
        openObject("cache")
        add("status", text: status)
        closeObject()
    }

    /// Appends `"validate":{"ok":false,"condition":"status 503","then":"fail"}`.
    mutating func add(_ validation: ValidationRecord, _ redactor: Redactor) {
        openObject("validate")
        add("ok", validation.condition == nil)
        if let condition = validation.condition { add("condition", condition, redactor) }
        if let action = validation.action { add("then", literal: action.rawValue) }
        if !validation.note.isEmpty { add("note", validation.note, redactor) }
        closeObject()
    }

    /// Appends `"redirects":[{"status":302,"location":"https://api.github.com/new"}]`.
    mutating func add(_ redirects: [RedirectRecord], _ redactor: Redactor) {
        openList("redirects")
        for redirect in redirects {
            openObject()
            add("status", UInt64(redirect.status))
            add("location", redirect.location, redactor)
            closeObject()
        }
        closeList()
    }

    /// `,"rules":{…}`.
    static func rules(_ record: RulesRecord, _ redactor: Redactor) -> [UInt8] {
        var line = JSONLine()
        line.bytes.append(contentsOf: #","rules":{"#.utf8)
        line.add("version", literal: record.version)
        line.openList("matched")
        for name in record.matched { line.element(name, redactor) }
        line.closeList()
        if !record.steps.isEmpty {
            line.openList("steps")
            for step in record.steps { line.element(step, redactor) }
            line.closeList()
        }
        line.closeObject()
        return line.bytes
    }

    mutating func addHost(_ origin: Origin, _ redactor: Redactor) {
        add("domain", origin.host.text, redactor)
        add("port", UInt64(origin.port))
    }

    mutating func add(bodyBytes: UInt64) {
        openObject("body")
        add("size", bodyBytes)
        closeObject()
    }

    /// `,"names":[…]`, in lower case.
    static func names(of fields: FieldSection, _ redactor: Redactor) -> [UInt8] {
        var line = JSONLine()
        line.bytes.append(contentsOf: #","names":["#.utf8)
        for field in fields.lines {
            if field.known == .other {
                line.element(name: fields.storage.span.extracting(field.name.range), redactor)
            } else {
                line.element(literal: field.known.spelling.lowercased())
            }
        }
        line.closeList()
        return line.bytes
    }

    /// Appends the values of the fields whose names are wanted, by name.
    mutating func addValues(
        _ fields: FieldSection,
        _ redactor: Redactor,
        where isWanted: (Span<UInt8>) -> Bool
    ) {
        openObject("header")
        let lines = fields.lines
        for i in lines.indices {
            let name = fields.storage.span.extracting(lines[i].name.range)
            let isRepeated = lines[..<i].contains { fields.nameEquals($0, name) }
            if isRepeated || !isWanted(name) { continue }
            let isHidden = redactor.hides(field: name)
            element(name: name, redactor)
            bytes.append(contentsOf: ":[".utf8)
            for other in lines[i...] where fields.nameEquals(other, name) {
                let value = fields.storage.span.extracting(other.value.range)
                if isHidden {
                    element(redactor.mark(for: value).span)
                } else if let cleaned = redactor.cleaned(value) {
                    element(cleaned.span)
                } else {
                    element(value)
                }
            }
            closeList()
        }
        closeObject()
    }

    /// Appends a field name in lower case, as an element or as a key.
    ///
    /// Names that are tokens, and all that parsers accept are, need no escaping.
    private mutating func element(name: Span<UInt8>, _ redactor: Redactor) {
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

extension Redactor {
    /// Path and query of the client's request as records show them.
    package func recordedPath(of request: RequestHead) -> [UInt8] {
        if request.form == .asterisk { return [0x2A] }
        if request.pathAndQuery.isEmpty { return [0x2F] }
        let bytes = request.fields.storage.span.extracting(request.pathAndQuery.range)
        return cleaned(bytes) ?? [UInt8](copying: bytes)
    }
}

extension Redactor {
    /// The URL of the client's request as records show it; of a CONNECT host and port.
    package func recordedURL(of request: RequestHead, at origin: Origin) -> String {
        if request.form == .authority { return cleaned(origin.hostAndPort) }
        let start = "\(origin.scheme.name)://\(origin.authority)"
        if request.form == .asterisk { return start }
        return start + String(decoding: recordedPath(of: request), as: UTF8.self)
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
