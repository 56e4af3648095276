// Texts that a report must not repeat: what is written in their places.

/// Finds any of many texts in short ones, at a cost that doesn't grow with their number.
struct HiddenTexts {
    private struct Entry {
        let text: [UInt8]
        let mark: [UInt8]
    }

    /// By their first byte, or the first four, longest first.
    private var byBeginning: [UInt32: [Entry]] = [:]
    private var hasShort = false

    init(_ texts: [(text: String, mark: String)]) {
        for (text, mark) in texts.sorted(by: { $0.text.utf8.count > $1.text.utf8.count }) {
            let entry = Entry(text: Array(text.utf8), mark: Array(mark.utf8))
            if entry.text.count < 4 { hasShort = true }
            byBeginning[Self.beginning(entry.text[...]), default: []].append(entry)
        }
    }

    /// Returns `text` with the marks of all hidden ones in their places.
    func masked(_ text: String) -> String {
        if byBeginning.isEmpty { return text }
        let bytes = Array(text.utf8)
        var result: [UInt8] = []
        var i = 0
        var isChanged = false
        while i < bytes.count {
            if let entry = entry(at: bytes[i...]) {
                result += entry.mark
                i += entry.text.count
                isChanged = true
            } else {
                result.append(bytes[i])
                i += 1
            }
        }
        return isChanged ? String(decoding: result, as: UTF8.self) : text
    }

    private func entry(at rest: ArraySlice<UInt8>) -> Entry? {
        let longer = rest.count < 4 ? nil : byBeginning[Self.beginning(rest)]
        if let found = longer?.first(where: { rest.starts(with: $0.text) }) { return found }
        guard hasShort else { return nil }
        for count in [3, 2, 1] where rest.count >= count {
            let short = byBeginning[Self.beginning(rest.prefix(count))]
            if let found = short?.first(where: {
                $0.text.count == count && rest.starts(with: $0.text)
            }) {
                return found
            }
        }
        return nil
    }

    private static func beginning(_ bytes: ArraySlice<UInt8>) -> UInt32 {
        bytes.prefix(4).reduce(0) { $0 << 8 | UInt32($1) }
    }
}
