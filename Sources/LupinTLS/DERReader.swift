// Reads values in DER (X.690): bounded, without recursion, and without traps on bad bytes.

/// Iterates over consecutive values.
package struct DERReader {
    package struct Value: Equatable {
        /// The tag byte with class and form.
        package let tag: UInt8
        package let contents: ArraySlice<UInt8>
    }

    private var rest: ArraySlice<UInt8>

    package init(_ bytes: some Sequence<UInt8>) { rest = ArraySlice(bytes) }

    /// Whether nothing is left.
    package var isAtEnd: Bool { rest.isEmpty }

    /// The next value; nil at the end or if the bytes are malformed.
    package mutating func next() -> Value? {
        // Tags above 30 take more bytes; certificates have none.
        guard let tag = rest.popFirst(), tag & 0x1F != 0x1F, let first = rest.popFirst() else {
            return nil
        }
        var length = Int(first)
        if first >= 0x80 {
            let count = Int(first & 0x7F)
            guard count > 0, count <= 3, count <= rest.count else { return nil }
            length = rest.prefix(count).reduce(0) { $0 << 8 | Int($1) }
            rest = rest.dropFirst(count)
        }
        guard length <= rest.count else { return nil }
        let contents = rest.prefix(length)
        rest = rest.dropFirst(length)
        return Value(tag: tag, contents: contents)
    }

    /// The next value if it has this tag.
    package mutating func next(tag: UInt8) -> ArraySlice<UInt8>? {
        guard rest.first == tag else { return nil }
        return next()?.contents
    }
}
