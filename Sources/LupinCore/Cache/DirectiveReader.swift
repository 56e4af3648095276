// How one directive of a cache is told from the next (RFC 9111 §5.2), whatever stands around it.

/// One directive of a Cache-Control field, as ranges of the value it stands in.
struct CacheDirective {
    enum Argument: Equatable {
        case none
        case token(Range<Int>)
        /// What stands between the quotes, escapes and all.
        case quoted(Range<Int>)
        /// There is something behind the name that is no argument: `=` with spaces around it, a
        /// string that isn't closed, a second word.
        case malformed
    }

    var name: Range<Int>
    var argument: Argument

    /// The next directive of `text` from `position` on, which moves behind it; nil at the end.
    ///
    /// Elements without a name are skipped: they can't be a directive.
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

    /// What follows the name, up to the comma or the end.
    private static func argument(in text: Span<UInt8>, from position: inout Int) -> Argument {
        guard position < text.count, text[position] == 0x3D else {
            // Without `=` nothing but spaces may stand here.
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

    /// Moves to the end of the element; false if more than spaces stood there.
    private static func end(in text: Span<UInt8>, from position: inout Int) -> Bool {
        while position < text.count, text[position] == 0x20 || text[position] == 0x09 {
            position += 1
        }
        if position == text.count || text[position] == 0x2C { return true }
        skipElement(in: text, from: &position)
        return false
    }

    /// Up to the comma that ends the element; commas in quotes do not.
    private static func skipElement(in text: Span<UInt8>, from position: inout Int) {
        while position < text.count, text[position] != 0x2C {
            if text[position] == 0x22 {
                _ = skipQuoted(in: text, from: &position)
            } else {
                position += 1
            }
        }
    }

    /// Behind the closing quote, or to the end and false where there is none.
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

/// The number of seconds that a directive or Age tells (RFC 9111 §1.2.2).
enum DeltaSeconds {
    /// What larger numbers count as: 68 years.
    static let max: Int64 = 1 << 31

    /// Digits and nothing else; nil for whatever is no number.
    static func parse(_ text: Span<UInt8>) -> Int64? {
        // Bounded: by 2^31.
        NumberReader.saturated(text, at: UInt64(max)).map { Int64($0) }
    }
}

extension CacheDirective {
    /// The argument in seconds; nil where there is none or it is no number.
    func seconds(in text: Span<UInt8>) -> Int64? {
        switch argument {
        case .token(let range), .quoted(let range): DeltaSeconds.parse(text.extracting(range))
        case .none, .malformed: nil
        }
    }

    /// The field names that the argument lists, in lower case; empty where it lists none.
    ///
    /// RFC 9111 §5.2.2.4 wants a quoted string; §5.2 lets recipients take a token for one.
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
