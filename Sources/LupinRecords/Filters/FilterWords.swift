// A filter on a command line: its words, of which the shell has removed the quotes.

import LupinCore

/// The words of a command line that make up a filter.
package enum FilterWords {
    /// Whether a word belongs to a filter: it begins with a comparison, or joins comparisons.
    package static func belongs(_ word: String) -> Bool {
        let core = word.drop { $0 == "(" || $0 == " " }
        if core.allSatisfy({ $0 == ")" }) { return !word.isEmpty }
        return isComparison(core) || joins(core.prefix { !$0.isWhitespace && $0 != "(" })
    }

    /// Whether a word compares a key that exists.
    package static func namesKey(_ word: String) -> Bool {
        let name = word.drop { $0 == "(" || $0 == " " }.prefix(while: isNameLetter)
        return FilterKey(rawValue: name.lowercased()) != nil
    }

    /// The filter that words make up.
    ///
    /// The shell turns `rule:"dev tenant"` into one word with a space; its value is quoted again
    /// where the word is no filter by itself.
    package static func joined(_ words: [String]) -> String {
        words.filter { !$0.allSatisfy(\.isWhitespace) }.map(completed).joined(separator: " ")
    }

    /// A value in quotation marks.
    package static func quoted(_ value: Substring) -> String {
        "\"\(value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\""))\""
    }

    private static func completed(_ word: String) -> String {
        let parts = word.split(whereSeparator: \.isWhitespace)
        guard parts.count > 1, let last = parts.last, !joins(last),
            !parts.dropFirst().contains(where: isComparison), (try? ExchangeFilter(word)) == nil
        else { return word }
        let opening = word.prefix { $0 == "(" || $0 == " " }
        let name = word.dropFirst(opening.count).prefix(while: isNameLetter)
        let rest = word.dropFirst(opening.count + name.count)
        let isLong = rest.hasPrefix("<=") || rest.hasPrefix(">=")
        let comparator = rest.prefix(isLong ? 2 : 1)
        var value = rest.dropFirst(comparator.count)
        // Who writes quotation marks has written all that there are.
        guard value.first != "\"" else { return word }
        var closing = ""
        for _ in opening.filter({ $0 == "(" }) where value.last == ")" {
            closing += String(value.removeLast())
        }
        return "\(opening)\(name)\(comparator)\(quoted(value))\(closing)"
    }

    private static func isNameLetter(_ letter: Character) -> Bool {
        letter.utf8.allSatisfy(\.isFilterKeyByte)
    }

    private static func joins(_ word: Substring) -> Bool {
        ["and", "or", "not"].contains(word.lowercased())
    }

    /// Whether a word begins with the name of a key and a comparator; `./a:b` and `a.b:c` don't.
    private static func isComparison(_ word: Substring) -> Bool {
        let name = word.drop { $0 == "(" }.prefix(while: isNameLetter)
        let rest = word.drop { $0 == "(" }.dropFirst(name.count)
        guard !name.isEmpty, let next = rest.first else { return false }
        return ":~<>=".contains(next) || rest.hasPrefix("!=")
    }
}

extension UInt8 {
    /// Whether the byte can stand in the name of a key.
    var isFilterKeyByte: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "_"):
            true
        default: false
        }
    }
}
