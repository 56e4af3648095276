// The Huffman code of RFC 7541 Appendix B, and what is wrong with a string that pretends to be it.

package enum HPACKHuffman {
    /// Bits of each octet's code, a row for sixteen; the end of the string has 30.
    ///
    /// Codes of one length count up in the order of the octets, and each length goes on where the
    /// shorter one stopped, so the lengths say it all.
    private static let lengths: [UInt8] = [
        13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28,
        28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28,
        6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6,
        5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10,
        13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
        7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6,
        15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5,
        6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28,
        20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23,
        24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24,
        22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23,
        21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
        26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25,
        19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27,
        20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23,
        26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,
    ]

    private struct Code: Hashable {
        var bits: UInt32
        var length: UInt8
    }

    private static let endOfString = Code(bits: 0x3FFF_FFFF, length: 30)

    private static let codes: [Code] = {
        var codes = [Code](repeating: endOfString, count: 256)
        var next: UInt32 = 0
        for length in UInt8(5)...30 {
            next <<= 1
            for symbol in 0..<256 where lengths[symbol] == length {
                codes[symbol] = Code(bits: next, length: length)
                next += 1
            }
        }
        return codes
    }()

    private static let symbols = Dictionary(
        uniqueKeysWithValues: codes.enumerated().map { ($0.element, UInt8($0.offset)) }
    )

    /// The code of `octets`; the last octet is filled with ones.
    package static func encode(_ octets: [UInt8]) -> [UInt8] {
        pack(octets.map { codes[Int($0)] }, filling: 1)
    }

    /// The same with a last octet that is filled with zeros, which nobody may do.
    package static func encodeFillingWithZeros(_ octets: [UInt8]) -> [UInt8] {
        pack(octets.map { codes[Int($0)] }, filling: 0)
    }

    /// The same with the code for the end of the string behind it, which nobody may send.
    package static func encodeWithEndOfString(_ octets: [UInt8]) -> [UInt8] {
        pack(octets.map { codes[Int($0)] } + [endOfString], filling: 1)
    }

    private static func pack(_ codes: [Code], filling: UInt8) -> [UInt8] {
        var bits = codes.flatMap { code in
            (0..<code.length).reversed().map { UInt8(code.bits >> $0 & 1) }
        }
        while bits.count % 8 != 0 { bits.append(filling) }
        return stride(from: 0, to: bits.count, by: 8).map { start in
            bits[start..<start + 8].reduce(0) { $0 << 1 | $1 }
        }
    }

    /// - Throws: When it is no code of whole octets with less than eight ones behind it.
    package static func decode(_ code: ArraySlice<UInt8>) throws(HPACKProblem) -> [UInt8] {
        var octets: [UInt8] = []
        var open = Code(bits: 0, length: 0)
        for octet in code {
            for shift in (0..<8).reversed() {
                open.bits = open.bits << 1 | UInt32(octet >> shift & 1)
                open.length += 1
                if open == endOfString { throw HPACKProblem("the end of a Huffman string") }
                if let symbol = symbols[open] {
                    octets.append(symbol)
                    open = Code(bits: 0, length: 0)
                }
            }
        }
        guard open.length < 8, open.bits == 1 << UInt32(open.length) - 1 else {
            throw HPACKProblem("a Huffman string is filled with more or less than ones")
        }
        return octets
    }
}
