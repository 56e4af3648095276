// Parses the directives of a Cache-Control field, even malformed ones (RFC 9111 §5.2).

import LupinCore

/// One directive of a Cache-Control field, as ranges of the field's value.
struct CacheDirective {
    enum Argument: Equatable {
        case none
        case token(Range<Int>)
        /// The text between the quotes, including escapes.
        case quoted(Range<Int>)
        /// The name is followed by something else than an argument: `=` with spaces around it, an
        /// unterminated string, a second word.
        case malformed
    }

    var name: Range<Int>
    var argument: Argument

    /// Returns the next directive of `text` and moves `position` behind it; nil at the end.
    ///
    /// Elements without a name are skipped: they can't be directives.
    static func next(in text: Span<UInt8>, from position: inout Int) -> CacheDirective? {
        while true {
            while position < text.count, text[position].isSpaceOrComma { position += 1 }
            guard position < text.count else { return nil }
            let start = position
            while position < text.count, text[position].isTokenByte { position += 1 }
            if position > start {
                let name = start..<position
                return CacheDirective(name: name, argument: argument(in: text, from: &position))
            }
            skipElement(in: text, from: &position)
        }
    }

    /// Parses what follows the name, up to the comma or the end.
    private static func argument(in text: Span<UInt8>, from position: inout Int) -> Argument {
        guard position < text.count, text[position] == 0x3D else {
            // Without `=` only spaces may follow.
            return end(in: text, from: &position) ? .none : .malformed
        }
        position += 1
        var argument = Argument.malformed
        if position < text.count, text[position] == 0x22 {
            let start = position + 1
            if skipQuoted(in: text, from: &position) { argument = .quoted(start..<(position - 1)) }
        } else {
            let start = position
            while position < text.count, text[position].isTokenByte { position += 1 }
            if position > start { argument = .token(start..<position) }
        }
        return end(in: text, from: &position) ? argument : .malformed
    }

    /// Moves to the end of the element; returns false if it skipped more than spaces.
    private static func end(in text: Span<UInt8>, from position: inout Int) -> Bool {
        while position < text.count, text[position] == 0x20 || text[position] == 0x09 {
            position += 1
        }
        if position == text.count || text[position] == 0x2C { return true }
        skipElement(in: text, from: &position)
        return false
    }

    /// Moves to the comma that ends the element, ignoring commas in quotes.
    private static func skipElement(in text: Span<UInt8>, from position: inout Int) {
        while position < text.count, text[position] != 0x2C {
            if text[position] == 0x22 {
                _ = skipQuoted(in: text, from: &position)
            } else {
                position += 1
            }
        }
    }

    /// Moves behind the closing quote; without one, moves to the end and returns false.
    private static func skipQuoted(in text: Span<UInt8>, from position: inout Int) -> Bool {
        position += 1
        while position < text.count {
            let byte = text[position]
            position += 1
            if byte == 0x22 { return true }
            if byte == 0x5C, position < text.count { position += 1 }
        }
        return false
    }
}

/// The number of seconds of a directive or of Age (RFC 9111 §1.2.2).
enum DeltaSeconds {
    /// The value that larger numbers are reduced to: 68 years.
    static let max: Int64 = 1 << 31

    /// Parses digits; returns nil for anything else.
    static func parse(_ text: Span<UInt8>) -> Int64? {
        // Bounded: by 2^31.
        NumberReader.saturated(text, at: UInt64(max)).map { Int64($0) }
    }
}

extension CacheDirective {
    /// The argument in seconds; nil when there is none or it is no number.
    func seconds(in text: Span<UInt8>) -> Int64? {
        switch argument {
        case .token(let range), .quoted(let range): DeltaSeconds.parse(text.extracting(range))
        case .none, .malformed: nil
        }
    }

    /// The field names that the argument lists, in lower case; empty when it lists none.
    ///
    /// RFC 9111 §5.2.2.4 demands a quoted string; §5.2 lets recipients accept a token instead.
    func fieldNames(in text: Span<UInt8>) -> [String] {
        let range: Range<Int>
        switch argument {
        case .token(let found), .quoted(let found): range = found
        case .none, .malformed: return []
        }
        var names: [String] = []
        var position = range.lowerBound
        while position < range.upperBound {
            let start = position
            while position < range.upperBound, text[position].isTokenByte { position += 1 }
            if position > start {
                names.append(String(copying: text.extracting(start..<position)).lowercased())
            } else {
                position += 1
            }
        }
        return names
    }
}

extension UInt8 {
    fileprivate var isSpaceOrComma: Bool { self == 0x20 || self == 0x09 || self == 0x2C }
}
