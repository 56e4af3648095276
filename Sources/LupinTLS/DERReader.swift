// How values in DER (X.690) are read: bounded, without recursion, and never trapping on bad bytes.

/// Walks over the values that follow each other in some bytes.
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

    /// The next value; nil at the end and where the bytes are no DER.
    package mutating func next() -> Value? {
        // Tags beyond 30 take more bytes; certificates have none.
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
