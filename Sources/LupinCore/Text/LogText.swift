// Escapes untrusted bytes, so that they can neither inject into a terminal nor break a line.

/// Escaping for records.
///
/// All that lupin logs passes through here, because a field value may hold escape sequences for the
/// reader's terminal.
package enum LogText {
    /// The maximum number of bytes written of one string; the rest becomes `…+n`.
    package static let bytesMax = 4096

    /// The target: the inside of a JSON string, or a line for users.
    package enum Form: Sendable { case json, plain }

    /// Appends `text`, escaped and truncated.
    package static func append(_ text: String, as form: Form, to output: inout [UInt8]) {
        append(text.utf8Span.span, as: form, to: &output)
    }

    /// Appends `bytes`, escaped and truncated: control characters, U+007F to U+009F and characters
    /// that reorder text as `\u00NN`, invalid UTF-8 as the text `\xNN`.
    package static func append(
        _ bytes: Span<UInt8>,
        as form: Form,
        to output: inout [UInt8]
    ) {
        if isPlain(bytes) {
            output.append(copying: bytes)
            return
        }
        let end = cut(bytes)
        var i = appendPlain(bytes, from: 0, to: end, &output)
        while i < end {
            i += appendOne(bytes, at: i, as: form, to: &output)
            i = appendPlain(bytes, from: i, to: end, &output)
        }
        if end < bytes.count {
            output.append(contentsOf: "…+".utf8)
            output.append(decimal: UInt64(bytes.count - end))
        }
    }

    /// Returns `text` for users, escaped and truncated.
    package static func plain(_ text: String) -> String {
        var output: [UInt8] = []
        append(text, as: .plain, to: &output)
        return String(decoding: output, as: UTF8.self)
    }

    /// Returns `text` for a terminal: escaped like `plain`, but whole and with its line breaks.
    package static func lines(_ text: String, keepsTabs: Bool = false) -> String {
        var output: [UInt8] = []
        append(lines: text.utf8Span.span, keepsTabs: keepsTabs, to: &output)
        return String(decoding: output, as: UTF8.self)
    }

    /// Appends `bytes` for a terminal: escaped like `plain`, but whole and with the line breaks.
    ///
    /// JSON means the same afterwards, if tabs are kept.
    package static func append(
        lines bytes: Span<UInt8>,
        keepsTabs: Bool,
        to output: inout [UInt8]
    ) {
        var i = 0
        while true {
            i = appendPlain(bytes, from: i, to: bytes.count, &output)
            guard i < bytes.count else { return }
            if bytes[i] == 0x0A || keepsTabs && bytes[i] == 0x09 {
                output.append(bytes[i])
                i += 1
            } else {
                i += appendOne(bytes, at: i, as: .plain, to: &output)
            }
        }
    }

    /// Whether nothing in `text` would act on a terminal, or reorder or hide the text around it.
    package static func isHarmless(_ text: String) -> Bool {
        !text.unicodeScalars.contains { isHarmful($0) }
    }

    /// Where to truncate: at `bytesMax`, or up to three bytes earlier to keep a character whole.
    private static func cut(_ bytes: Span<UInt8>) -> Int {
        guard bytes.count > bytesMax else { return bytes.count }
        var end = bytesMax
        while end > bytesMax - 3, bytes[end] & 0xC0 == 0x80 { end -= 1 }
        return end
    }

    /// Whether no byte needs escaping in either form, and none is to be truncated.
    package static func isPlain(_ bytes: Span<UInt8>) -> Bool {
        if bytes.count > bytesMax { return false }
        guard bytes.count >= 8 else {
            for i in bytes.indices where bytes[i].needsCare { return false }
            return true
        }
        // The last word overlaps the one before, so that it ends with the bytes.
        let last = bytes.count &- 8
        var care = bytes.word(at: last).needsCare
        var i = 0
        while i < last {
            care |= bytes.word(at: i).needsCare
            i &+= 8
        }
        return care == 0
    }

    /// Appends the bytes from `start` on that need no escaping in either form; returns their end.
    private static func appendPlain(
        _ bytes: Span<UInt8>,
        from start: Int,
        to end: Int,
        _ output: inout [UInt8]
    ) -> Int {
        var i = start
        output.append(addingCapacity: end - start) { output in
            while i < end {
                if bytes[i].needsCare { break }
                output.append(bytes[i])
                i &+= 1
            }
        }
        return i
    }

    /// Appends the character at `i`; returns the number of its bytes.
    private static func appendOne(
        _ bytes: Span<UInt8>,
        at i: Int,
        as form: Form,
        to output: inout [UInt8]
    ) -> Int {
        let byte = bytes[i]
        if byte < 0x80 {
            appendASCII(byte, as: form, to: &output)
            return 1
        }
        guard let (scalar, length) = scalar(in: bytes, at: i) else {
            if form == .json { output.append(0x5C) }
            output.append(0x5C)
            output.append(0x78)
            output.append(hex: UInt64(byte), digits: 2)
            return 1
        }
        if isHarmful(scalar) {
            for unit in String(decoding: [scalar], as: UTF32.self).utf16 {
                output.append(0x5C)
                output.append(0x75)
                output.append(hex: UInt64(unit), digits: 4)
            }
        } else {
            output.append(copying: bytes.extracting(i..<i + length))
        }
        return length
    }

    private static func appendASCII(_ byte: UInt8, as form: Form, to output: inout [UInt8]) {
        switch (byte, form) {
        case (0x22, .json), (0x5C, .json):
            output.append(0x5C)
            output.append(byte)
        case (0x20..<0x7F, _): output.append(byte)
        case (0x0A, _): output.append(contentsOf: "\\n".utf8)
        case (0x0D, _): output.append(contentsOf: "\\r".utf8)
        case (0x09, _): output.append(contentsOf: "\\t".utf8)
        default:
            output.append(contentsOf: "\\u00".utf8)
            output.append(hex: UInt64(byte), digits: 2)
        }
    }

    /// Whether a character is a control, or reorders or hides the text around it.
    package static func isHarmful(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value < 0x20 || scalar.value == 0x7F || isHarmful(scalar.value)
    }

    /// C1 controls, line separators, what annotates text, and all that Unicode lets a terminal
    /// ignore: it reorders or hides the text around it, or is not seen itself.
    private static func isHarmful(_ scalar: UInt32) -> Bool {
        switch scalar {
        case 0x80...0x9F, 0x2028...0x202E, 0xFFF9...0xFFFB: true
        default: Unicode.Scalar(scalar)?.properties.isDefaultIgnorableCodePoint ?? false
        }
    }

    /// Returns the character at `i`, or nil for invalid UTF-8 (RFC 3629 §4: no overlong forms, no
    /// surrogates, nothing above U+10FFFF).
    private static func scalar(in bytes: Span<UInt8>, at i: Int) -> (scalar: UInt32, length: Int)? {
        let first = bytes[i]
        let length: Int
        let minimum: UInt32
        switch first {
        case 0xC2...0xDF: (length, minimum) = (2, 0x80)
        case 0xE0...0xEF: (length, minimum) = (3, 0x800)
        case 0xF0...0xF4: (length, minimum) = (4, 0x1_0000)
        default: return nil
        }
        guard bytes.count - i >= length else { return nil }
        var scalar = UInt32(first) & (0x7F >> UInt32(length))
        for j in 1..<length {
            let next = bytes[i + j]
            guard next & 0xC0 == 0x80 else { return nil }
            scalar = scalar << 6 | UInt32(next & 0x3F)
        }
        guard scalar >= minimum, scalar <= 0x10_FFFF, !(0xD800...0xDFFF ~= scalar) else {
            return nil
        }
        return (scalar, length)
    }
}

extension UInt8 {
    /// Whether it is anything but visible ASCII without `"` and `\`.
    @inline(__always) fileprivate var needsCare: Bool {
        self &- 0x20 >= 0x5F || self == 0x22 || self == 0x5C
    }
}

extension UInt64 {
    /// Other than 0 if one of eight bytes needs care.
    @inline(__always) fileprivate var needsCare: UInt64 {
        // From 0x7F on: the top bit is set already, or adding one sets it.
        let above = (self | (self &+ 0x0101_0101_0101_0101)) & 0x8080_8080_8080_8080
        return marks(below: 0x20) | marks(of: 0x22) | marks(of: 0x5C) | above
    }
}
