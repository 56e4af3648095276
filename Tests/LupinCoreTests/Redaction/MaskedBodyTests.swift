// What bodies lose when they are masked, and what they keep.
import LupinCore
import LupinTestKit
import Testing

struct MaskedBodyTests {
    private func masked(_ bytes: [UInt8]) -> [UInt8] {
        makeRedactor().masked(
            bytes.span,
            upTo: bytes.count,
            isStart: true,
            isLast: true,
            isCut: false
        ).text ?? bytes
    }

    @Test(
        arguments: [
            ("see http://user:geheim@host/", "see http://host/"),
            ("//user:geheim@host/", "//host/"),
            (#"{"url":"//user:geheim@host/"}"#, #"{"url":"//host/"}"#),
        ]
    )
    func `userinfo of a URL is removed`(body: String, rest: String) {
        #expect(masked(Array(body.utf8)) == Array(rest.utf8))
    }

    @Test(
        arguments: [
            Array("x//y@z".utf8), Array("http://a".utf8) + [0xF5] + Array("b@c".utf8),
            [0x2F, 0x2F, 0xFF, 0x40],
        ] as [[UInt8]]
    )
    func `bytes that only look like it are kept`(body: [UInt8]) {
        #expect(masked(body) == body)
    }
}
