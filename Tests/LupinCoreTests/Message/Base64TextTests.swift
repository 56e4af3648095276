// Whether bytes come back from base64 as they went in, and what is no base64.

import LupinCore
import Testing

struct Base64TextTests {
    @Test(arguments: [
        ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="),
        ("fooba", "Zm9vYmE="), ("foobar", "Zm9vYmFy"),
    ])
    func `bytes go in and come back`(bytes: String, text: String) {
        #expect(Base64Text.encode(Array(bytes.utf8)) == text)
        #expect(Base64Text.decode(Array(text.utf8)) == Array(bytes.utf8))
    }

    @Test func `every byte comes back`() {
        let bytes = [UInt8](0...255)
        #expect(Base64Text.decode(Array(Base64Text.encode(bytes).utf8)) == bytes)
    }

    @Test(arguments: [
        "Z", "Zg", "Zg=", "Zg===", "Z===", "====", "Zm9-", "Zm 9v", "Zg==Zg==", "=g==",
    ])
    func `what is no base64 is nil`(text: String) {
        #expect(Base64Text.decode(Array(text.utf8)) == nil)
    }
}
