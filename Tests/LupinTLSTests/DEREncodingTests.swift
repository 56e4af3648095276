// That DER is written with the shortest lengths and numbers, and read only where it is whole.

import LupinTLS
import Testing

struct DEREncodingTests {
    @Test(
        arguments: [
            (0, [2, 1, 0]), (127, [2, 1, 127]), (128, [2, 2, 0, 128]), (256, [2, 2, 1, 0]),
            (-1, [2, 1, 255]), (-128, [2, 1, 128]), (-129, [2, 2, 255, 127]),
        ] as [(Int, [UInt8])]
    )
    func `integers have the fewest bytes`(sample: (number: Int, der: [UInt8])) {
        #expect(DEREncoding.integer(sample.number) == sample.der)
    }

    @Test(
        arguments: [
            (0, [3, 1, 0]), (1, [3, 2, 7, 0x80]), (0b110_0000, [3, 2, 1, 6]), (0x80, [3, 2, 0, 1]),
            (0x101, [3, 3, 7, 0x80, 0x80]),
        ] as [(UInt16, [UInt8])]
    )
    func `named bits begin at the first and leave out zeros`(sample: (bits: UInt16, der: [UInt8])) {
        #expect(DEREncoding.namedBits(sample.bits) == sample.der)
    }

    @Test(
        arguments: [
            ("2.5.29.37.0", [6, 4, 0x55, 0x1D, 0x25, 0]), ("1.2.840", [6, 3, 0x2A, 0x86, 0x48]),
            ("2.999", [6, 2, 0x88, 0x37]), ("1", nil), ("", nil), ("3.1", nil), ("1.40", nil),
            ("1.2.x", nil), ("1..2", nil), ("1.2.99999999999999999999", nil),
        ] as [(String, [UInt8]?)]
    )
    func `object identifiers are written or refused`(sample: (text: String, der: [UInt8]?)) {
        #expect(DEREncoding.objectIdentifier(sample.text) == sample.der)
    }

    @Test(arguments: [0, 127, 128, 255, 256, 70_000])
    func `a value of any length is read again`(count: Int) {
        let contents = [UInt8](repeating: 7, count: count)
        var reader = DERReader(DEREncoding.octetString(contents) + [5, 0])
        #expect(reader.next(tag: 4).map(Array.init) == contents)
        #expect(reader.next(tag: 4) == nil)
        #expect(reader.next()?.tag == 5)
        #expect(reader.isAtEnd)
        #expect(reader.next() == nil)
    }

    @Test(
        arguments: [
            [4], [4, 1], [4, 0x81], [4, 0x80], [4, 0x82, 1], [4, 0x84, 0, 0, 0, 0], [0x1F, 1, 0],
            [4, 0x83, 0xFF, 0xFF, 0xFF],
        ] as [[UInt8]]
    )
    func `values that are not whole are none`(der: [UInt8]) {
        var reader = DERReader(der)
        #expect(reader.next() == nil)
    }
}
