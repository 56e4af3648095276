// A filter on a command line: its words, of which the shell has removed the quotes.

/// The words of a command line that make up a filter.
package enum FilterWords {
    /// Whether a word belongs to a filter: it begins with a comparison, or joins comparisons.
    package static func belongs(_ word: String) -> Bool {
        let core = word.drop { $0 == "(" || $0 == " " }
        if core.isEmpty || core.allSatisfy({ $0 == ")" }) { return true }
        let name = core.prefix { !$0.isWhitespace && !":~<>=()".contains($0) }
        if ["and", "or", "not"].contains(name.lowercased()) { return true }
        guard !name.isEmpty, let next = core.dropFirst(name.count).first else { return false }
        // `./a:b` and `C:\log` are files.
        return ":~<>=".contains(next) && name.utf8.allSatisfy(\.isFilterKeyByte)
    }

    /// The filter that words make up.
    ///
    /// The shell turns `rule:"dev tenant"` into one word with a space; its value is quoted again,
    /// unless comparisons follow in the same word.
    package static func joined(_ words: [String]) -> String {
        words.map(quoted).joined(separator: " ")
    }

    private static func quoted(_ word: String) -> String {
        let parts = word.split(whereSeparator: \.isWhitespace).map(String.init)
        guard parts.count > 1, !word.contains("\""), !parts.dropFirst().contains(where: belongs),
            let end = word.firstIndex(where: { ":~<>=".contains($0) })
        else { return word }
        let value = word[word.index(after: end)...].replacing("\\", with: "\\\\")
        return "\(word[...end])\"\(value)\""
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
