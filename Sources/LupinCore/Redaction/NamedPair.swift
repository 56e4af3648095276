// Finds names and values that stand side by side in an object of JSON.

/// A name and its value as two members of one object: `{"name": "a", "value": "b"}`, in either
/// order and with others between them, as forms and archives list them.
struct NamedPair {
    /// The name, in its quotes.
    let name: Range<Int>
    /// Where the value begins.
    let value: Int

    /// How far the second member may be from the first: what is masked in pieces is seen that far.
    private static let bytesMax = 2048
    /// How many members are looked through for the second one.
    private static let membersMax = 16
    private static let names = NameSet(["name", "key"])
    private static let values = NameSet(["value", "val"])
    private static let initials = Array("knv".utf8)

    /// nil where the member whose quote is at `quote` is not the first of a pair.
    init?(in text: Span<UInt8>, at quote: Int) {
        // Most members are called otherwise.
        guard quote + 1 < text.count, Self.initials.contains(text[quote + 1] | 0x20) else {
            return nil
        }
        let near = text.extracting(first: quote + Self.bytesMax)
        guard let first = Member(in: near, at: quote) else { return nil }
        let isName = Self.names.contains(near.extracting(first.name))
        guard isName || Self.values.contains(near.extracting(first.name)) else { return nil }
        let wanted = isName ? Self.values : Self.names
        var last = first
        for _ in 0..<Self.membersMax {
            guard let next = last.next(in: near) else { return nil }
            last = next
            guard wanted.contains(near.extracting(next.name)) else { continue }
            let (named, valued) = isName ? (first, next) : (next, first)
            guard let name = named.text else { return nil }
            self.name = name
            value = valued.value
            return
        }
        return nil
    }

    /// A member of an object.
    private struct Member {
        let name: Range<Int>
        let value: Int
        /// The value without its quotes, where it is a text.
        private(set) var text: Range<Int>?
        /// Where the value ends; nil where that is too far to see, or it has members itself.
        private var end: Int?

        init?(in text: Span<UInt8>, at quote: Int) {
            guard quote < text.count, text[quote] == 0x22,
                let close = text.jsonStringEnd(from: quote, within: NamedPair.bytesMax)
            else { return nil }
            name = quote + 1..<close
            let colon = text.behindSpace(from: close + 1)
            guard colon < text.count, text[colon] == 0x3A else { return nil }
            value = text.behindSpace(from: colon + 1)
            guard value < text.count else { return nil }
            if text[value] == 0x22 {
                guard let close = text.jsonStringEnd(from: value, within: NamedPair.bytesMax) else {
                    return
                }
                self.text = value + 1..<close
                end = close + 1
            } else if text[value] != 0x7B, text[value] != 0x5B {
                var i = value
                while i < text.count, text[i] != 0x2C, text[i] != 0x7D { i += 1 }
                end = i
            }
        }

        func next(in text: Span<UInt8>) -> Member? {
            guard let end else { return nil }
            let comma = text.behindSpace(from: end)
            guard comma < text.count, text[comma] == 0x2C else { return nil }
            return Member(in: text, at: text.behindSpace(from: comma + 1))
        }
    }
}
