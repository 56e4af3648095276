// Whether bytes begin HTTP/2 by prior knowledge: yes, no, or too few to say.
import LupinWire
import Testing

struct HTTP2PrefaceTests {
    private static let preface = "PRI * HTTP/2.0\r\n\r\n"

    private func isThere(_ text: String) -> Bool? {
        HTTP2Preface.isThere(Array(text.utf8).span)
    }

    @Test func `every true beginning of the preface says nothing yet`() {
        for count in 0..<Self.preface.utf8.count {
            #expect(
                isThere(String(decoding: Self.preface.utf8.prefix(count), as: UTF8.self)) == nil
            )
        }
    }

    @Test func `the preface is there, whatever follows`() {
        for rest in ["", "S", "SM\r\n\r\n", "XX\r\n\r\n"] {
            #expect(isThere(Self.preface + rest) == true)
        }
    }

    @Test func `a wrong byte at any place says no at once`() {
        for index in 0..<Self.preface.utf8.count {
            var bytes = Array(Self.preface.utf8.prefix(index + 1))
            bytes[index] ^= 0x20
            #expect(HTTP2Preface.isThere(bytes.span) == false)
        }
    }

    @Test(arguments: ["GET / HTTP/1.1\r\n", "PRI * HTTP/1.1\r\n", "pri", "\u{16}\u{3}\u{1}"])
    func `another protocol is none`(text: String) {
        #expect(isThere(text) == false)
    }
}
