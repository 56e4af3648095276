// Parses filters: comparisons, joined by `and`, `or`, `not` and parentheses.

import LupinCore
import LupinPolicy

/// Reads a filter from left to right.
///
///     filter  = any
///     any     = all *( "or" all )
///     all     = not *( [ "and" ] not )
///     not     = "not" not / "(" any ")" / test
///     test    = key ( ":" / "=" / "~" / "<" / "<=" / ">" / ">=" ) value
struct FilterParser {
    /// Deeper nesting and more tests are refused: the filter may come from the admin interface.
    private static let depthMax = 32
    private static let testsMax = 200

    private let bytes: [UInt8]
    private var position = 0
    private var tests = 0

    init(_ text: String) { bytes = Array(text.utf8) }

    mutating func parse() throws(FilterProblem) -> ExchangeFilter.Node {
        skipSpace()
        guard position < bytes.count else { return .all([]) }
        let node = try any(depth: 0)
        guard position == bytes.count else {
            // Only a closing parenthesis ends the loops before the end.
            throw FilterProblem(position..<position + 1, "this parenthesis closes nothing")
        }
        return node
    }

    // MARK: Grammar

    private mutating func any(depth: Int) throws(FilterProblem) -> ExchangeFilter.Node {
        var nodes = [try all(depth: depth)]
        while take(word: "or") { nodes.append(try all(depth: depth)) }
        return nodes.count == 1 ? nodes[0] : .any(nodes)
    }

    private mutating func all(depth: Int) throws(FilterProblem) -> ExchangeFilter.Node {
        var nodes = [try not(depth: depth)]
        while position < bytes.count, bytes[position] != Self.closing, !isAt(word: "or") {
            _ = take(word: "and")
            nodes.append(try not(depth: depth))
        }
        return nodes.count == 1 ? nodes[0] : .all(nodes)
    }

    private mutating func not(depth: Int) throws(FilterProblem) -> ExchangeFilter.Node {
        guard depth < Self.depthMax else {
            throw FilterProblem(position..<bytes.count, "nested more than \(Self.depthMax) deep")
        }
        if take(word: "not") { return .not(try not(depth: depth + 1)) }
        guard position < bytes.count, bytes[position] == Self.opening else {
            return .test(try test())
        }
        let start = position
        position += 1
        skipSpace()
        let node = try any(depth: depth + 1)
        guard position < bytes.count else {
            throw FilterProblem(start..<start + 1, "this parenthesis is not closed")
        }
        position += 1
        skipSpace()
        return node
    }

    private mutating func test() throws(FilterProblem) -> FilterTest {
        let start = position
        while position < bytes.count, bytes[position].isFilterKeyByte { position += 1 }
        let name = String(decoding: bytes[start..<position], as: UTF8.self)
        guard let comparator = takeComparator() else {
            let end = endOfWord(from: start)
            throw FilterProblem(start..<max(end, start), Self.missing(word(start..<end)))
        }
        guard let key = FilterKey(rawValue: name.lowercased()) else {
            let known = FilterKey.allCases.map(\.rawValue)
            let near = nearest(to: name, among: known).map { " did you mean \($0)?" } ?? ""
            throw FilterProblem(
                start..<max(start + 1, start + name.utf8.count),
                "there is no key \"\(name)\";\(near) `lupin help filters` lists all"
            )
        }
        let valueStart = position
        let value = try takeValue(after: key)
        tests += 1
        guard tests <= Self.testsMax else {
            throw FilterProblem(start..<position, "more than \(Self.testsMax) comparisons")
        }
        defer { skipSpace() }
        do throws(FilterValueProblem) {
            return FilterTest(key, try FilterTest.Comparison(key, comparator, value))
        } catch {
            throw FilterProblem(
                error.isAboutComparator ? start..<valueStart : valueStart..<position,
                error.message
            )
        }
    }

    /// What to say of a word without a comparator.
    private static func missing(_ word: String) -> String {
        if let bang = word.firstIndex(of: "!"), word[bang...].hasPrefix("!=") {
            let value = word[bang...].dropFirst(2)
            return "\"!=\" is no comparator; write not \(word[..<bang]):\(value)"
        }
        return switch word.lowercased() {
        case "": "a comparison is missing here, such as host:a.example"
        case "and", "or": "\"\(word)\" stands between two comparisons"
        default: "\"\(word)\" is no comparison; write url~\(word) for URLs that contain it"
        }
    }

    // MARK: Values

    private mutating func takeComparator() -> FilterComparator? {
        guard position < bytes.count else { return nil }
        let isOrEqual = position + 1 < bytes.count && bytes[position + 1] == UInt8(ascii: "=")
        let found: FilterComparator
        switch bytes[position] {
        case UInt8(ascii: ":"): found = .equals
        case UInt8(ascii: "="): found = .isExactly
        case UInt8(ascii: "~"): found = .contains
        case UInt8(ascii: "<"): found = isOrEqual ? .atMost : .below
        case UInt8(ascii: ">"): found = isOrEqual ? .atLeast : .above
        default: return nil
        }
        position += found == .atMost || found == .atLeast ? 2 : 1
        return found
    }

    private mutating func takeValue(after key: FilterKey) throws(FilterProblem) -> String {
        let start = position
        guard position < bytes.count, bytes[position] == Self.quote else {
            position = endOfWord(from: position)
            guard position > start else {
                throw FilterProblem(
                    start..<start,
                    "a value is missing behind \(key.rawValue), as in \(key.row.example)"
                )
            }
            let value = word(start..<position)
            guard let first = value.first, !"=<>~".contains(first) else {
                throw FilterProblem(
                    start..<position,
                    "a value can't begin with \(value.prefix(1)): comparators are : = ~ < <= > >="
                )
            }
            return value
        }
        var value: [UInt8] = []
        position += 1
        while position < bytes.count, bytes[position] != Self.quote {
            // `\"` and `\\`.
            if bytes[position] == UInt8(ascii: "\\"), position + 1 < bytes.count { position += 1 }
            value.append(bytes[position])
            position += 1
        }
        guard position < bytes.count else {
            throw FilterProblem(start..<bytes.count, "this quotation mark is not closed")
        }
        position += 1
        return String(decoding: value, as: UTF8.self)
    }

    // MARK: Words

    private static let opening = UInt8(ascii: "(")
    private static let closing = UInt8(ascii: ")")
    private static let quote = UInt8(ascii: "\"")

    private func word(_ range: Range<Int>) -> String {
        String(decoding: bytes[range], as: UTF8.self)
    }

    /// Where the word at `start` ends: at a space, or a parenthesis that it has not opened.
    private func endOfWord(from start: Int) -> Int {
        var end = start
        var open = 0
        while end < bytes.count, !bytes[end].isSpace {
            if bytes[end] == Self.opening { open += 1 }
            if bytes[end] == Self.closing {
                if open == 0 { break }
                open -= 1
            }
            end += 1
        }
        return end
    }

    private func isAt(word: String) -> Bool {
        let end = position + word.utf8.count
        guard end <= bytes.count,
            bytes[position..<end].map(\.asciiLowercased) == Array(word.utf8)
        else { return false }
        return end == bytes.count || bytes[end].isSpace || bytes[end] == Self.opening
            || bytes[end] == Self.closing
    }

    private mutating func take(word: String) -> Bool {
        guard isAt(word: word) else { return false }
        // Bounded: by the length of the text, as `isAt` has seen.
        position += word.utf8.count
        skipSpace()
        return true
    }

    private mutating func skipSpace() {
        while position < bytes.count, bytes[position].isSpace { position += 1 }
    }
}

extension UInt8 {
    fileprivate var isSpace: Bool { self == 0x20 || self == 0x09 || self == 0x0A || self == 0x0D }
}
