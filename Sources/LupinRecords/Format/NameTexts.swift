// The names of fields as a list in a line: each known name is one piece, others are remembered.

import LupinCore

/// Appends the names of a message's fields.
///
/// Nearly all names are known ones, or short ones that came before; each is a few stores then.
struct NameTexts: Sendable {
    /// The text of a short name that isn't known: `"x-trace",`.
    private struct Entry: Sendable {
        var key = ShortKey()
        var text = Fragment("")
    }

    /// By the raw value of a known name: `"accept",`.
    private let known = FieldName.allCases.map { Fragment(#""\#($0.spelling.lowercased())","#) }
    private var others = [Entry](repeating: Entry(), count: recentCount)

    /// Appends `["accept","x-trace"]`.
    mutating func append(
        _ fields: borrowing FieldSection,
        _ redactor: Redactor,
        to output: inout TextCursor
    ) {
        output.append(0x5B)
        let lines = fields.lines.span
        for i in lines.indices {
            if lines[i].known != .other {
                output.append(known[Int(lines[i].known.rawValue)])
            } else {
                let name = fields.storage.span.extracting(lines[i].name.range)
                append(name, redactor, to: &output)
            }
        }
        if lines.isEmpty { return output.append(0x5D) }
        output.replaceLast(with: 0x5D)
    }

    private mutating func append(
        _ name: Span<UInt8>,
        _ redactor: Redactor,
        to output: inout TextCursor
    ) {
        guard let key = ShortKey(name) else {
            return output.append(NameTexts.text(of: name, redactor))
        }
        let index = recentIndex(key.hash)
        if others[index].key != key {
            let text = NameTexts.text(of: name, redactor)
            guard let fragment = Fragment(text) else { return output.append(text) }
            others[index] = Entry(key: key, text: fragment)
        }
        output.append(others[index].text)
    }

    private static func text(of name: Span<UInt8>, _ redactor: Redactor) -> [UInt8] {
        var line = JSONLine()
        line.element(name: name, redactor)
        return line.bytes + [0x2C]
    }
}

/// The bytes of a name of one to 32 bytes, for a comparison without a loop.
private struct ShortKey: Equatable, Sendable {
    private var count = 0
    /// The words at both ends, which may overlap.
    private var ends = SIMD2<UInt64>()
    /// The words next to these, of a name that has more bytes.
    private var middle = SIMD2<UInt64>()

    /// A key that no name has.
    init() {}

    /// Returns nil for no bytes, and for more than 32.
    init?(_ bytes: Span<UInt8>) {
        guard 1...32 ~= bytes.count else { return nil }
        count = bytes.count
        if bytes.count >= 8 {
            ends = SIMD2(bytes.word(at: 0), bytes.word(at: bytes.count &- 8))
            guard bytes.count > 16 else { return }
            middle = SIMD2(bytes.word(at: 8), bytes.word(at: bytes.count &- 16))
        } else {
            var word: UInt64 = 0
            for i in bytes.indices { word = word &<< 8 | UInt64(bytes[i]) }
            ends = SIMD2(word, 0)
        }
    }

    var hash: UInt64 { ends.x &+ ends.y &* 31 &+ UInt64(truncatingIfNeeded: count) }
}
