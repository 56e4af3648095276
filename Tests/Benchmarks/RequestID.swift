// How requests are told apart: each has an ID, which its answer names.

/// The ID of a request of the load, or of a URL that it asks for.
struct RequestID: Hashable, CustomStringConvertible {
    /// Bytes of the ID as text: hex digits in lower case.
    static let length = 16

    private let value: UInt64

    /// An ID that no other number has.
    ///
    /// The multiplier is odd, so no two products are equal, and it is the golden ratio's, so IDs of
    /// neighbours have no prefix in common that a compression could profit from.
    init(number: UInt64) { value = (number &+ 1) &* 0x9E37_79B9_7F4A_7C15 }

    /// Reads an ID; nil for any other text.
    init?(_ text: Span<UInt8>) {
        guard text.count == Self.length else { return nil }
        var value: UInt64 = 0
        for i in text.indices {
            let digit: UInt8
            switch text[i] {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): digit = text[i] - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "f"): digit = text[i] - UInt8(ascii: "a") + 10
            default: return nil
            }
            value = value << 4 | UInt64(digit)
        }
        self.value = value
    }

    /// The byte at `place` of the text.
    @inline(__always)
    func digit(_ place: Int) -> UInt8 {
        let digit = UInt8(truncatingIfNeeded: value >> UInt64(60 - 4 * place)) & 15
        return digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") - 10 + digit
    }

    var description: String {
        String(decoding: (0..<Self.length).map(digit), as: UTF8.self)
    }

    /// A second of the first 25 days of a month; of 2^21 numbers in a row each has another.
    var second: Int { Int(value & (1 << 21 - 1)) }
}

/// What is particular to one exchange.
struct ExchangeIDs {
    let request: RequestID
    /// What the URL names, and with it the answer; equal to `request` where no URL comes twice.
    let url: RequestID
}
