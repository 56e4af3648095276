// Shows a body as lines: JSON indented, the fields of protobuf, text, or hexadecimal digits.
import LupinCore
import LupinRecords

/// A body, or the kept part of it.
struct BodyContent: Sendable {
    /// The ways to show a body.
    enum Form: String, Sendable, CaseIterable {
        case json = "JSON"
        case protobuf, text, hex
    }

    let bytes: [UInt8]
    /// The forms that fit, the best one first; `hex` always does.
    let forms: [Form]

    /// What is behind isn't shown: a screen is no place to read it.
    private static let shownBytesMax = 1 << 20

    init(_ bytes: [UInt8], mediaType: String?) {
        self.bytes = bytes
        let isProtobuf = mediaType.map(Self.isProtobuf) ?? false
        if isProtobuf, bytes.count <= Self.shownBytesMax, ProtobufField.fields(of: bytes) != nil {
            forms = [.protobuf, .hex]
            return
        }
        guard let text = String(validating: bytes, as: UTF8.self), Self.isText(text) else {
            forms = [.hex]
            return
        }
        let mayBeJSON =
            mediaType?.lowercased().contains("json") == true
            || bytes.first.map { $0 == 0x7B || $0 == 0x5B } == true
        let isJSON =
            mayBeJSON && bytes.count <= Self.shownBytesMax
            && JSONValue(parsing: bytes.span) != nil
        forms = isJSON ? [.json, .text, .hex] : [.text, .hex]
    }

    private static func isProtobuf(_ mediaType: String) -> Bool {
        let name = mediaType.lowercased()
        return name.contains("protobuf") || name.contains("x-proto")
    }

    /// Control characters other than those of lines and terminals are no text.
    private static func isText(_ text: String) -> Bool {
        text.utf8.allSatisfy { $0 >= 0x20 || [0x09, 0x0A, 0x0C, 0x0D, 0x1B].contains($0) }
    }

    /// The lines in `columns` columns, and a last one about what isn't shown.
    func lines(_ form: Form, columns: Int) -> ScreenDocument {
        let shown = bytes.prefix(Self.shownBytesMax)
        var document = ScreenDocument()
        switch form {
        case .json: document.lines = JSONLines.of(Array(shown), columns: columns)
        case .protobuf:
            let fields = ProtobufField.fields(of: Array(shown)) ?? []
            document.lines = ProtobufField.lines(of: fields, columns: columns)
        case .text: document.lines = Self.textLines(shown, columns: columns)
        case .hex: document.hexadecimal = HexLines(Array(shown), columns: columns)
        }
        if shown.count < bytes.count {
            let rest = SummaryText.size(UInt64(bytes.count - shown.count))
            document.ending = [ScreenLine("… \(rest) more are not shown", .dim)]
        }
        return document
    }

    static func textLines(_ bytes: ArraySlice<UInt8>, columns: Int) -> [ScreenLine] {
        let parts = bytes.split(separator: 0x0A, omittingEmptySubsequences: false)
        return parts.flatMap { part in
            let line = part.last == 0x0D ? part.dropLast() : part
            return ScreenText.wrapped(String(decoding: line, as: UTF8.self), columns: columns)
                .map { ScreenLine($0) }
        }
    }
}

/// Lines that are drawn as they come into view.
struct ScreenDocument: Sendable {
    var lines: [ScreenLine] = []
    /// Behind `lines`.
    var hexadecimal: HexLines?
    /// Behind all else.
    var ending: [ScreenLine] = []

    var count: Int { lines.count + (hexadecimal?.count ?? 0) + ending.count }

    subscript(index: Int) -> ScreenLine {
        var i = index
        if i < lines.count { return lines[i] }
        i -= lines.count
        if let hexadecimal {
            if i < hexadecimal.count { return hexadecimal[i] }
            i -= hexadecimal.count
        }
        return i < ending.count ? ending[i] : ScreenLine()
    }
}

/// Bytes as `00000010  48 65 6c 6c 6f 20 77 6f  Hello wo`.
struct HexLines: Sendable {
    private let bytes: [UInt8]
    private let bytesPerLine: Int

    init(_ bytes: [UInt8], columns: Int) {
        self.bytes = bytes
        bytesPerLine = columns >= 76 ? 16 : columns >= 44 ? 8 : 4
    }

    var count: Int { (bytes.count + bytesPerLine - 1) / bytesPerLine }

    subscript(index: Int) -> ScreenLine {
        let start = index * bytesPerLine
        let part = bytes[start..<min(bytes.count, start + bytesPerLine)]
        var offset: [UInt8] = []
        offset.append(hex: UInt64(start), digits: 8)
        var digits: [UInt8] = []
        var text: [UInt8] = []
        for byte in part {
            digits.append(0x20)
            digits.append(hex: UInt64(byte), digits: 2)
            text.append(0x20..<0x7F ~= byte ? byte : 0x2E)
        }
        var line = ScreenLine()
        line.append(String(decoding: offset, as: UTF8.self), .dim)
        line.append(" ")
        line.append(String(decoding: digits, as: UTF8.self), columns: bytesPerLine * 3)
        line.append("  ")
        line.append(String(decoding: text, as: UTF8.self), .cyan)
        return line
    }
}

/// Indents a JSON text without changing its tokens: numbers keep their digits.
enum JSONLines {
    /// A member or element with its bracket or comma.
    private struct Line {
        var depth = 0
        var bytes: [UInt8] = []
        /// The length of the member's name with its quotes.
        var nameBytes = 0
    }

    /// The lines of a valid text.
    static func of(_ bytes: [UInt8], columns: Int) -> [ScreenLine] {
        indented(bytes).flatMap { line in
            let indent = String(repeating: "  ", count: min(line.depth, columns / 4))
            let text = String(decoding: line.bytes, as: UTF8.self)
            let pieces = ScreenText.wrapped(text, columns: columns - indent.utf8.count)
            return pieces.enumerated().map { i, piece in
                var drawn = ScreenLine(indent)
                let name = i == 0 ? piece.utf8.prefix(line.nameBytes) : piece.utf8.prefix(0)
                guard let text = String(name), piece.hasPrefix(text) else {
                    drawn.append(piece)
                    return drawn
                }
                drawn.append(text, .cyan)
                drawn.append(String(piece.dropFirst(text.count)))
                return drawn
            }
        }
    }

    private static func indented(_ bytes: [UInt8]) -> [Line] {
        var lines: [Line] = []
        var line = Line()
        var depth = 0
        var i = 0
        func next(behind i: Int) -> UInt8? {
            bytes[(i + 1)...].first { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }
        }
        func end() {
            lines.append(line)
            line = Line(depth: depth)
        }
        while i < bytes.count {
            let byte = bytes[i]
            switch byte {
            case 0x20, 0x09, 0x0A, 0x0D: break
            case 0x22:
                let start = i
                i += 1
                while i < bytes.count, bytes[i] != 0x22 { i += bytes[i] == 0x5C ? 2 : 1 }
                line.bytes += bytes[start..<min(bytes.count, i + 1)]
                if next(behind: min(i, bytes.count - 1)) == 0x3A {
                    line.nameBytes = line.bytes.count
                }
            case 0x7B, 0x5B:
                line.bytes.append(byte)
                // Brackets without content stay together.
                if let close = next(behind: i), close == byte + 2 { break }
                depth += 1
                end()
            case 0x7D, 0x5D:
                if line.bytes.last == byte - 2, line.bytes.count > 0 {
                    line.bytes.append(byte)
                    break
                }
                depth = max(0, depth - 1)
                end()
                line.bytes.append(byte)
            case 0x2C:
                line.bytes.append(byte)
                end()
            case 0x3A: line.bytes += [0x3A, 0x20]
            default: line.bytes.append(byte)
            }
            i += 1
        }
        if !line.bytes.isEmpty { lines.append(line) }
        return lines
    }
}
