// Finds the parts of a multipart form by their heads.

/// A part of a multipart form (RFC 7578).
struct FormPart {
    /// Where the head begins that names it.
    let start: Int
    /// As it is meant, without quotes and escapes.
    let name: [UInt8]
    /// The content; nil where it has not come yet.
    let value: Range<Int>?

    private static let field = Array("content-disposition:".utf8)
    /// A head has two or three short lines.
    private static let headBytesMax = 1024

    /// The parts with a name, in order.
    static func all(in text: Span<UInt8>) -> [FormPart] {
        var parts: [FormPart] = []
        var i = text.offset(of: 0x0D)
        while i < text.count {
            let line = i + 2
            if text.extracting(min(line, text.count)..<text.count).begins(with: field),
                let part = FormPart(in: text, at: i, parameters: line + field.count)
            {
                parts.append(part)
                // What lies in it is no part, and each byte is read once.
                i = max(i, (part.value?.upperBound ?? 0) - 1)
            }
            let rest = text.extracting(min(i + 1, text.count)..<text.count)
            i += 1 + rest.offset(of: 0x0D)
        }
        return parts
    }

    private init?(in text: Span<UInt8>, at start: Int, parameters: Int) {
        self.start = start
        let reached = text.extracting(first: start + Self.headBytesMax)
        var end = parameters
        while end < reached.count, reached[end] != 0x0D { end += 1 }
        guard let name = Self.name(in: reached.extracting(parameters..<end)) else { return nil }
        self.name = name
        // An empty line ends the head.
        var i = end
        while i < reached.count, !reached.hasLineEnds(at: i) { i += 1 }
        guard i < reached.count else {
            guard reached.count == text.count else { return nil }
            value = nil
            return
        }
        var close = i + 4
        while close < text.count, !text.hasDelimiter(at: close) { close += 1 }
        value = i + 4..<close
    }

    /// The value of `name`, or of `name*`, among parameters (RFC 9110 §5.6.6, RFC 8187).
    private static func name(in text: Span<UInt8>) -> [UInt8]? {
        var found: [UInt8]?
        var i = text.offset(of: 0x3B)
        while i < text.count {
            i += 1
            while i < text.count, text[i] == 0x20 || text[i] == 0x09 { i += 1 }
            let start = i
            while i < text.count, text[i] != 0x3D, text[i] != 0x3B { i += 1 }
            var keyEnd = i
            while keyEnd > start, text[keyEnd - 1] == 0x20 || text[keyEnd - 1] == 0x09 {
                keyEnd -= 1
            }
            let key = String(copying: text.extracting(start..<keyEnd)).lowercased()
            guard i < text.count, text[i] == 0x3D else { continue }
            let value = value(in: text, &i)
            if key == "name" { found = found ?? value }
            // The part behind the second apostrophe, which wins over the other form.
            guard key == "name*" else { continue }
            let parts = value.split(separator: 0x27, maxSplits: 2, omittingEmptySubsequences: false)
            if parts.count == 3 { return Array(parts[2]).span.percentDecoded ?? Array(parts[2]) }
        }
        return found
    }

    /// The token or the quoted string behind the `=` at `i`, which becomes the place of the next
    /// `;`.
    private static func value(in text: Span<UInt8>, _ i: inout Int) -> [UInt8] {
        var value: [UInt8] = []
        i += 1
        while i < text.count, text[i] == 0x20 || text[i] == 0x09 { i += 1 }
        let isQuoted = i < text.count && text[i] == 0x22
        if isQuoted { i += 1 }
        while i < text.count, text[i] != (isQuoted ? 0x22 : 0x3B) {
            if isQuoted, text[i] == 0x5C, i + 1 < text.count { i += 1 }
            value.append(text[i])
            i += 1
        }
        while i < text.count, text[i] != 0x3B { i += 1 }
        if !isQuoted { while value.last == 0x20 || value.last == 0x09 { value.removeLast() } }
        return value
    }
}

extension Span<UInt8> {
    /// Whether it begins with `prefix`, which is in lower case.
    fileprivate func begins(with prefix: [UInt8]) -> Bool {
        count >= prefix.count
            && extracting(first: prefix.count).equalsIgnoringCase(prefix.span)
    }

    /// Whether an empty line begins behind a line that ends at `i`.
    fileprivate func hasLineEnds(at i: Int) -> Bool {
        count - i >= 4 && self[i] == 0x0D && self[i + 1] == 0x0A && self[i + 2] == 0x0D
            && self[i + 3] == 0x0A
    }

    /// Whether a delimiter of a multipart body begins at `i`.
    fileprivate func hasDelimiter(at i: Int) -> Bool {
        count - i >= 4 && self[i] == 0x0D && self[i + 1] == 0x0A && self[i + 2] == 0x2D
            && self[i + 3] == 0x2D
    }
}
