// Formats the smaller parts of a record, with secrets redacted in untrusted texts.

import LupinCore

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

    /// Appends a field name in lower case, as an element or as a key.
    ///
    /// Tokens, which is all that parsers accept, need no escaping.
    mutating func element(name: Span<UInt8>, _ redactor: Redactor) {
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
    /// `{"accept":["*/*"]}`: the values of the fields to show, by name.
    func values(of fields: FieldSection, _ headers: LogSettings.Headers) -> [UInt8] {
        let wanted: NameSet? = if case .listed(let names) = headers { NameSet(names) } else { nil }
        var line = JSONLine()
        line.openObject()
        let lines = fields.lines
        for i in lines.indices {
            let name = fields.storage.span.extracting(lines[i].name.range)
            let isRepeated = lines[..<i].contains { fields.nameEquals($0, name) }
            if isRepeated || wanted?.contains(name) == false { continue }
            line.element(name: name, self)
            line.bytes.append(contentsOf: ":[".utf8)
            for other in lines[i...] where fields.nameEquals(other, name) {
                let value = fields.storage.span.extracting(other.value.range)
                if hides(field: name, value, known: other.known) {
                    line.element(mark(for: value).span)
                } else if let cleaned = cleaned(value) {
                    line.element(cleaned.span)
                } else {
                    line.element(value)
                }
            }
            line.closeList()
        }
        line.closeObject()
        return line.bytes
    }

    /// `["everyone","github"]`.
    func list(of texts: [String]) -> [UInt8] {
        var line = JSONLine()
        line.bytes.append(0x5B)
        for text in texts { line.element(text, self) }
        line.closeList()
        return line.bytes
    }

    /// `[{"status":302,"location":"https://api.github.com/new"}]`.
    func list(of redirects: [RedirectRecord]) -> [UInt8] {
        var line = JSONLine()
        line.bytes.append(0x5B)
        for redirect in redirects {
            line.openObject()
            line.add("status", UInt64(redirect.status))
            line.add("location", redirect.location, self)
            line.closeObject()
        }
        line.closeList()
        return line.bytes
    }

    /// `[{"is":"pins","ok":true,"match":"sha256/…"}]`.
    func list(of checks: [TrustCheck]) -> [UInt8] {
        var line = JSONLine()
        line.bytes.append(0x5B)
        for check in checks {
            line.openObject()
            line.add("is", literal: check.name)
            line.add("ok", check.passed)
            if let match = check.match { line.add("match", literal: match) }
            if !check.note.isEmpty { line.add("note", check.note, self) }
            line.closeObject()
        }
        line.closeList()
        return line.bytes
    }
}

extension LogSettings.Headers {
    /// Whether records list the names of all fields.
    var showsNames: Bool {
        switch self {
        case .names, .listed: true
        case .none, .all: false
        }
    }

    /// Whether records contain values of fields.
    var showsValues: Bool {
        switch self {
        case .listed, .all: true
        case .none, .names: false
        }
    }
}
