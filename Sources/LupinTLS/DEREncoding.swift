// Encodes values in DER (X.690), as far as certificate extensions need it.

/// Writers of single DER values; each returns tag, length and contents.
package enum DEREncoding {
    /// Any value: one tag byte, the length, the contents.
    package static func value(tag: UInt8, _ contents: [UInt8]) -> [UInt8] {
        var bytes = [tag]
        let count = contents.count
        if count < 0x80 {
            bytes.append(UInt8(count))
        } else {
            let length = magnitude(UInt64(count))
            bytes.append(0x80 | UInt8(length.count))
            bytes += length
        }
        return bytes + contents
    }

    package static func sequence(_ elements: [[UInt8]]) -> [UInt8] {
        value(tag: 0x30, elements.flatMap(\.self))
    }

    package static func boolean(_ isTrue: Bool) -> [UInt8] {
        value(tag: 0x01, [isTrue ? 0xFF : 0])
    }

    package static func integer(_ number: Int) -> [UInt8] {
        var contents: [UInt8] = []
        var rest = number
        repeat {
            contents.insert(UInt8(truncatingIfNeeded: rest), at: 0)
            rest >>= 8
        } while rest != (contents[0] & 0x80 == 0 ? 0 : -1)
        return value(tag: 0x02, contents)
    }

    package static func octetString(_ bytes: [UInt8]) -> [UInt8] { value(tag: 0x04, bytes) }

    /// A list of named bits: bit 0 is the first one, and trailing zeros are omitted (§11.2.2).
    package static func namedBits(_ bits: UInt16) -> [UInt8] {
        guard bits != 0 else { return value(tag: 0x03, [0]) }
        let last = UInt16.bitWidth - bits.leadingZeroBitCount - 1
        var contents = [UInt8](repeating: 0, count: last / 8 + 2)
        contents[0] = UInt8(7 - last % 8)
        for bit in 0...last where bits >> UInt16(bit) & 1 == 1 {
            contents[1 + bit / 8] |= 0x80 >> UInt8(bit % 8)
        }
        return value(tag: 0x03, contents)
    }

    /// An object identifier such as `2.5.29.37`; nil if `text` is not one.
    package static func objectIdentifier(_ text: String) -> [UInt8]? {
        let arcs = text.split(separator: ".", omittingEmptySubsequences: false).map {
            UInt32($0).map(UInt64.init)
        }
        guard arcs.count >= 2, let first = arcs[0], let second = arcs[1], first < 3,
            first == 2 || second < 40
        else { return nil }
        var contents = base128(first * 40 + second)
        for arc in arcs.dropFirst(2) {
            guard let arc else { return nil }
            contents += base128(arc)
        }
        return value(tag: 0x06, contents)
    }

    /// Seven bits per byte, with the high bit set on all bytes but the last.
    private static func base128(_ number: UInt64) -> [UInt8] {
        var bytes = [UInt8(number & 0x7F)]
        var rest = number >> 7
        while rest > 0 {
            bytes.insert(0x80 | UInt8(rest & 0x7F), at: 0)
            rest >>= 7
        }
        return bytes
    }

    /// The big-endian bytes of a number, without leading zeros.
    private static func magnitude(_ number: UInt64) -> [UInt8] {
        var bytes: [UInt8] = []
        var rest = number
        while rest > 0 {
            bytes.insert(UInt8(truncatingIfNeeded: rest), at: 0)
            rest >>= 8
        }
        return bytes
    }
}
