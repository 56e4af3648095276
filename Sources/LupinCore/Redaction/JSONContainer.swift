// Where a list or an object of JSON ends, and whether a text is in it.

/// A list or an object, as far as it is there, in a JSON text or in one inside a string.
struct JSONContainer {
    /// Behind its last bracket, or where the text or the string around it ends.
    private(set) var end: Int
    /// Whether a text is one of its values, at any depth; one that is cut off may have any.
    private(set) var holdsText = false
    /// It ends where it begins.
    private(set) var isEmpty = false

    /// Reads the container whose first bracket stands at `start`.
    ///
    /// `quote` is how its quotes are written in a string; nil where it lies in none.
    init(in text: Span<UInt8>, at start: Int, quotedBy quote: NestedQuote?) {
        end = text.count
        var depth = 0
        var i = start
        while i < text.count {
            switch text[i] {
            case 0x5B, 0x7B: depth += 1
            case 0x5D, 0x7D:
                depth -= 1
                if depth == 0 {
                    end = i + 1
                    isEmpty = text.behindSpace(from: start + 1) == i
                    return
                }
            case 0x22, 0x5C:
                guard let next = readMark(in: text, at: i, quote) else {
                    holdsText = true
                    return
                }
                i = next
                continue
            default: break
            }
            i += 1
        }
        holdsText = true
    }

    /// Passes the text or the escape that begins at `i`; nil where the container ends there.
    private mutating func readMark(
        in text: Span<UInt8>,
        at i: Int,
        _ quote: NestedQuote?
    ) -> Int? {
        let next: Int
        if let quote {
            guard text[i] == 0x5C else {
                end = i
                return nil
            }
            // Between its texts a container has escapes of blanks only, such as `\n`.
            guard let open = NestedQuote(in: text, at: i) else { return i + 2 }
            guard open.backslashes >= quote.backslashes else {
                end = i
                return nil
            }
            guard let close = open.end(in: text, from: i + open.length, within: .max) else {
                return nil
            }
            if close.isEmpty {
                end = close.lowerBound
                return nil
            }
            next = close.upperBound
        } else {
            guard text[i] == 0x22 else { return i + 1 }
            guard let close = text.jsonStringEnd(from: i, within: .max), close < text.count else {
                return nil
            }
            next = close + 1
        }
        let behind = text.behindSpace(from: next)
        if behind == text.count || text[behind] != 0x3A { holdsText = true }
        return next
    }
}

extension Span<UInt8> {
    /// The closing quote of the JSON string that opens at `quote`; nil when it is not there, or
    /// only farther away than `most`.
    func jsonStringEnd(from quote: Int, within most: Int) -> Int? {
        var i = quote + 1
        while i < count, i - quote <= most {
            if self[i] == 0x22 { return i }
            i += self[i] == 0x5C ? 2 : 1
        }
        return nil
    }

    /// The last place up to `start` that holds no space of JSON; -1 if there is none.
    func beforeSpace(from start: Int) -> Int {
        var i = start
        while i >= 0, self[i].isJSONSpace { i -= 1 }
        return i
    }

    /// The first place from `start` on without white space of JSON, or `count`.
    func behindSpace(from start: Int) -> Int {
        var i = start
        while i < count, self[i].isJSONSpace { i += 1 }
        return i
    }
}

extension UInt8 {
    var isJSONSpace: Bool { self == 0x20 || self == 0x0A || self == 0x0D || self == 9 }
}
