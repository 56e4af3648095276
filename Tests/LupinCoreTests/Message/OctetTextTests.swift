// Texts that keep bytes which are not UTF-8.

import LupinCore
import Testing

struct OctetTextTests {
    @Test(
        arguments: [
            [], Array("plain".utf8), Array("grüß".utf8), [0xFC], [0x67, 0xFC, 0xDF, 0x3B],
            [0xC3], [0xC3, 0x28], [0xE2, 0x82], [0xF4, 0x8F, 0xBE, 0x80], [0xF4, 0x8F, 0xBF, 0xBF],
            [0xED, 0xA0, 0x80], [0xC0, 0x80], Array("ü".utf8) + [0xFC] + Array("ü".utf8),
            Array(0...255),
        ] as [[UInt8]]
    )
    func `every byte comes back`(bytes: [UInt8]) {
        #expect(OctetText.bytes(OctetText.text(bytes)) == bytes)
    }

    @Test func `UTF-8 is itself, and others are told apart`() {
        #expect(OctetText.text(Array("grüß".utf8)) == "grüß")
        #expect(OctetText.bytes("grüß \u{10FFFD}").count == 8)
        let texts: [[UInt8]] = [[0xFC], [0xFD], [0xC3, 0xBC], [0xF4, 0x8F, 0xBF, 0xBC]]
        #expect(Set(texts.map(OctetText.text)).count == 4)
    }
}
