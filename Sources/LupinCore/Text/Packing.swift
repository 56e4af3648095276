// Numbers and texts in few bytes: how they are written and read back.

/// The bytes of a number, at least 0: seven bits each, the lowest first; the last is below 128.
@usableFromInline struct PackedNumber {
    @usableFromInline var rest: UInt64?

    @inlinable @inline(__always) init(_ number: Int) { rest = UInt64(number.magnitude) }

    @inlinable @inline(__always) mutating func next() -> UInt8? {
        guard let number = rest else { return nil }
        rest = number < 0x80 ? nil : number &>> 7
        return UInt8(truncatingIfNeeded: number & 0x7F) | (number < 0x80 ? 0 : 0x80)
    }
}

extension TextCursor {
    @inlinable @inline(__always) package mutating func append(packed number: Int) {
        var bytes = PackedNumber(number)
        while let byte = bytes.next() { append(byte) }
    }

    /// Appends a text behind its length, to which `more` is added.
    @inlinable @inline(__always) package mutating func append(
        packed text: Span<UInt8>,
        more: Int = 0
    ) {
        append(packed: text.count + more)
        append(text)
    }
}

extension [UInt8] {
    package mutating func append(packed number: Int) {
        if 0..<0x80 ~= number { return append(UInt8(truncatingIfNeeded: number)) }
        var bytes = PackedNumber(number)
        while let byte = bytes.next() { append(byte) }
    }

    /// Appends a text behind its length.
    package mutating func append(packed text: Span<UInt8>) {
        append(packed: text.count)
        if !text.isEmpty { append(copying: text) }
    }
}

/// Reads numbers and texts that were packed.
package struct PackedReader: ~Copyable {
    private let bytes: [UInt8]
    private var position = 0

    package init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// The next number; nil at the end, and where it is none.
    package mutating func number() -> Int? {
        var number = 0
        // Bounded: nine bytes have 63 bits.
        for shift in stride(from: 0, to: 63, by: 7) {
            guard position < bytes.count else { return nil }
            let byte = bytes[position]
            position += 1
            number |= Int(byte & 0x7F) << shift
            if byte < 0x80 { return number }
        }
        return nil
    }

    /// Where the next text is, whose length was written with `less` more; nil for a shorter one,
    /// and where there is not so much.
    package mutating func text(less: Int = 0) -> Range<Int>? {
        guard let number = number(), number >= less, number - less <= bytes.count - position else {
            return nil
        }
        let start = position
        position += number - less
        return start..<position
    }
}
