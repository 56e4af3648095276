// Writes a JSON object byte by byte: one line, no whitespace, no exponents.

/// An append-only JSON writer.
///
/// The bytes are its only state: the last one tells whether a comma is due. Keys are lupin's own
/// literals and need no escaping; values are escaped.
package struct JSONLine: Sendable {
    /// The output; it may hold several lines.
    package var bytes: [UInt8] = []

    package init() {}

    /// With room for `capacity` bytes, which may become more.
    package init(capacity: Int) { bytes.reserveCapacity(capacity) }

    /// Opens the object of a line, or one in a list.
    package mutating func openObject() {
        comma()
        bytes.append(0x7B)
    }

    package mutating func openObject(_ key: String) {
        add(key)
        bytes.append(0x7B)
    }

    package mutating func closeObject() { bytes.append(0x7D) }

    /// Closes `count` objects.
    package mutating func closeObjects(_ count: Int) {
        for _ in 0..<count { bytes.append(0x7D) }
    }

    package mutating func openList(_ key: String) {
        add(key)
        bytes.append(0x5B)
    }

    package mutating func closeList() { bytes.append(0x5D) }

    package mutating func endLine() { bytes.append(0x0A) }

    /// Appends a text from lupin's own source, without escaping.
    package mutating func add(_ key: String, literal: String) {
        add(key)
        quote(literal)
    }

    /// Appends a text from lupin's own source to the open list, without escaping.
    package mutating func element(literal: String) {
        comma()
        quote(literal)
    }

    private mutating func quote(_ literal: String) {
        let text = literal.utf8Span.span
        bytes.append(addingCapacity: text.count + 2) { output in
            output.append(0x22)
            for i in text.indices { output.append(text[i]) }
            output.append(0x22)
        }
    }

    package mutating func add(_ key: String, _ value: UInt64) {
        add(key)
        bytes.append(decimal: value)
    }

    /// Appends a number to the open list.
    package mutating func element(_ value: UInt64) {
        comma()
        bytes.append(decimal: value)
    }

    package mutating func add(_ key: String, _ value: Bool) {
        add(key)
        bytes.append(contentsOf: (value ? "true" : "false").utf8)
    }

    /// Appends a duration in ms; appends nothing for nil.
    package mutating func add(_ key: String, milliseconds: Int64?) {
        guard let milliseconds else { return }
        add(key)
        bytes.append(milliseconds: milliseconds)
    }

    package mutating func add(_ key: String, text: String) {
        add(key)
        element(text.utf8Span.span)
    }

    package mutating func add(_ key: String, text: Span<UInt8>) {
        add(key)
        element(text)
    }

    /// Appends a string to the open list, or as the value of the key just written.
    package mutating func element(_ text: Span<UInt8>) {
        if LogText.isPlain(text) {
            let needsComma = needsComma
            bytes.append(addingCapacity: text.count + 3) { output in
                if needsComma { output.append(0x2C) }
                output.append(0x22)
                output.append(copying: text)
                output.append(0x22)
            }
            return
        }
        comma()
        bytes.append(0x22)
        LogText.append(text, as: .json, to: &bytes)
        bytes.append(0x22)
    }

    /// Appends `"key":`.
    ///
    /// The key must be one of lupin's own.
    package mutating func add(_ key: String) {
        let needsComma = needsComma
        let key = key.utf8Span.span
        bytes.append(addingCapacity: key.count + 4) { output in
            if needsComma { output.append(0x2C) }
            output.append(0x22)
            for i in key.indices { output.append(key[i]) }
            output.append(0x22)
            output.append(0x3A)
        }
    }

    /// Appends a comma when one is due.
    package mutating func comma() {
        if needsComma { bytes.append(0x2C) }
    }

    /// Whether a comma is due: not after an opening bracket, a key or a line end.
    ///
    /// A value never ends with one of these bytes, since strings end with a quotation mark.
    private var needsComma: Bool {
        switch bytes.last {
        case nil, 0x7B, 0x5B, 0x3A, 0x0A: false
        default: true
        }
    }
}

extension String {
    /// The text as a JSON string (RFC 8259 §7), with its quotes.
    package var jsonText: String {
        var bytes: [UInt8] = [0x22]
        for byte in utf8 {
            switch byte {
            case 0x22, 0x5C: bytes += [0x5C, byte]
            case 0..<0x20:
                bytes += "\\u00".utf8
                bytes.append(hex: UInt64(byte), digits: 2)
            default: bytes.append(byte)
            }
        }
        return String(decoding: bytes + [0x22], as: UTF8.self)
    }
}
