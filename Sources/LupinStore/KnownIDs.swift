// Which exchanges of a batch have which IDs, in a form that is quick to write and to search.

import LupinCore

/// The first half of each ID of a batch, with the number of its exchange.
///
/// A look-up reads the lists of all batches: 16 bytes an exchange, so some milliseconds for a
/// million of them.
struct KnownIDs {
    /// The largest number among them.
    let last: Int64
    /// Pairs of the first 8 bytes of an ID and a number, both with the least byte first.
    let bytes: [UInt8]

    private static let pairBytes = 16

    /// nil if there is none.
    init?(of exchanges: [CapturedExchange]) {
        var last: Int64?
        var bytes: [UInt8] = []
        bytes.reserveCapacity(exchanges.count * Self.pairBytes)
        for exchange in exchanges {
            last = max(last ?? exchange.number, exchange.number)
            Self.append(exchange.identity.high, to: &bytes)
            Self.append(UInt64(bitPattern: exchange.number), to: &bytes)
        }
        guard let last else { return nil }
        self.last = last
        self.bytes = bytes
    }

    private static func append(_ value: UInt64, to bytes: inout [UInt8]) {
        bytes.append(addingCapacity: 8) { output in
            for i in 0..<8 as Range<UInt64> {
                output.append(UInt8(truncatingIfNeeded: value &>> (8 &* i)))
            }
        }
    }

    /// The beginning of an ID, as it is compared.
    struct Prefix {
        /// The digits, from the highest bits on; zeros behind them.
        let value: UInt64
        let mask: UInt64

        /// nil where a digit is none; of more than 16 digits the first 16 are compared.
        init?(_ digits: String) {
            let digits = digits.utf8Span.span
            // Digits of one byte each: the shift below goes by their number.
            for i in digits.indices where digits[i] &- 0x30 >= 10 && digits[i] &- 0x61 >= 6 {
                return nil
            }
            let first = digits.extracting(first: 16)
            let unused = UInt64(64 - 4 * first.count)
            mask = UInt64.max << unused
            if first.isEmpty {
                value = 0
            } else {
                guard let number = NumberReader.hexadecimal(first) else { return nil }
                value = number << unused
            }
        }
    }

    /// Adds the numbers of a list whose IDs begin so.
    static func collect(_ prefix: Prefix, in list: Span<UInt8>, into numbers: inout Set<Int64>) {
        var at = 0
        while at + pairBytes <= list.count {
            if word(at, of: list) & prefix.mask == prefix.value {
                numbers.insert(Int64(bitPattern: word(at + 8, of: list)))
            }
            at += pairBytes
        }
    }

    private static func word(_ at: Int, of list: Span<UInt8>) -> UInt64 {
        var value: UInt64 = 0
        for i in 0..<8 { value |= UInt64(list[at + i]) << UInt64(8 * i) }
        return value
    }
}
