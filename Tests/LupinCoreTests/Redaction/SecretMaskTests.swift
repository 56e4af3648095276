// That secrets are masked in any form and in any pieces, and that nothing else changes.
import LupinCore
import Testing

struct SecretMaskTests {
    private static let secret = "s3cr&t/value-0123456789+x"

    private func stars(_ text: String) -> String { String(repeating: "*", count: text.utf8.count) }

    /// What becomes of `text` when it comes in pieces of this length.
    private func masked(_ text: String, pieces: Int, _ secrets: [String]) -> String {
        var mask = SecretMask(secrets)
        var output: [UInt8] = []
        let bytes = Array(text.utf8)
        for start in stride(from: 0, to: bytes.count, by: pieces) {
            let piece = Array(bytes[start..<min(start + pieces, bytes.count)])
            mask.mask(piece.span, isLast: false, into: &output)
        }
        mask.mask([UInt8]().span, isLast: true, into: &output)
        return String(decoding: output, as: UTF8.self)
    }

    private static let forms = [
        secret, "s3cr%26t%2Fvalue-0123456789%2Bx", #"s3cr\u0026t\/value-0123456789+x"#,
        "s3cr&amp;t/value-0123456789+x", "733363722674", "s3cr%2526t%252Fvalue-0123456789%252Bx",
        #"s3cr\\u0026t\\/value-0123456789+x"#,
    ]

    @Test(arguments: forms, [1, 2, 3, 7, 64, 4096])
    func `every form is masked in its length, however it comes`(form: String, pieces: Int) {
        // Hexadecimal is found as a whole only.
        let form = form == "733363722674" ? Self.secret.utf8.map(Self.hex).joined() : form
        let text = "{\"a\":\"\(form)\",\"b\":[\"x\(form)\"],\"c\":\"\(form.dropLast())\"}"
        let expected = text.replacing(form, with: stars(form))
        #expect(masked(text, pieces: pieces, [Self.secret]) == expected)
    }

    private static func hex(_ byte: UInt8) -> String {
        let digits = String(byte, radix: 16)
        return digits.utf8.count < 2 ? "0\(digits)" : digits
    }

    @Test(arguments: [1, 5, 4096])
    func `base64 is masked from the secret to its end`(pieces: Int) {
        for before in ["", "u", "us", "use:"] {
            let text = Base64Text.encode(Array("\(before)\(Self.secret)".utf8))
            let result = masked("a \(text) b", pieces: pieces, [Self.secret])
            #expect(result.utf8.count == text.utf8.count + 4)
            #expect(result.hasPrefix("a ") && result.hasSuffix("* b"))
            let lead = result.dropFirst(2).prefix { $0 != "*" }
            #expect(lead.utf8.count <= before.utf8.count * 4 / 3)
        }
    }

    @Test func `a run of base64 of any length is masked to its end, and nothing is kept`() {
        var mask = SecretMask([Self.secret])
        var output: [UInt8] = []
        let start = Array(Base64Text.encode(Array(Self.secret.utf8)).utf8)
        mask.mask(start.span, isLast: false, into: &output)
        let piece = [UInt8](repeating: 0x41, count: 1 << 14)
        for _ in 0..<64 { mask.mask(piece.span, isLast: false, into: &output) }
        #expect(output.count >= 60 << 14)
        mask.mask(Array(" AAAA".utf8).span, isLast: true, into: &output)
        #expect(output.count == start.count + 64 << 14 + 5)
        #expect(output.dropLast(5).allSatisfy { $0 == UInt8(ascii: "*") })
        #expect(Array(output.suffix(5)) == Array(" AAAA".utf8))
    }

    /// 8 bytes may be missing, and 16 are needed.
    @Test(arguments: [1, 3, 4096])
    func `a secret that lacks little at the end of a text is masked`(pieces: Int) {
        for count in 17..<Self.secret.utf8.count {
            let cut = String(Self.secret.prefix(count))
            #expect(masked("x: \(cut)", pieces: pieces, [Self.secret]) == "x: \(stars(cut))")
        }
        for text in ["x: s3cr&t/", "x: s3cr&t/value-0123456 and more", "s3cr%26t%2Fvalue-01"] {
            #expect(masked(text, pieces: pieces, [Self.secret]) == text)
        }
        let coded = "s3cr%26t%2Fvalue-0123456"
        #expect(masked(coded, pieces: pieces, [Self.secret]) == stars(coded))
        let base64 = String(Base64Text.encode(Array(Self.secret.utf8)).dropLast(8))
        #expect(masked(base64, pieces: pieces, [Self.secret]) == stars(base64))
    }

    /// Else a server that repeats what the client writes told the secret, a character at a time.
    @Test(arguments: [
        secret, "ghp_0123456789abcdefABCDEF", "a.JWT-with-claims-known.sEcReT0123456789",
    ])
    func `a guess is right as a whole or not at all`(secret: String) {
        let bytes = Array(secret.utf8)
        let most = bytes.count - 9
        for count in 1...most {
            let known = Array(bytes[..<count])
            let forms = [
                String(decoding: known, as: UTF8.self), known.map(Self.hex).joined(),
                known.map { "%" + Self.hex($0) }.joined(), Base64Text.encode(known),
                known.map { "&#\($0);" }.joined(), known.map { "\\u00" + Self.hex($0) }.joined(),
            ]
            for form in forms {
                #expect(masked("x: \(form)", pieces: 99, [secret]) == "x: \(form)")
            }
        }
    }

    @Test(arguments: [
        (secret, "S3CR&T/VALUE-0123456789+X"), ("GHP_AbCdEf0123", "ghp_abcdef0123"),
        ("pä€ss-word", "p\u{C3}\u{A4}\u{E2}\u{82}\u{AC}ss-word"),
        ("pässword", "p\u{C3}\u{A4}ssword"),
    ])
    func `a form in another case or character set is masked`(secret: String, form: String) {
        #expect(masked("x: \(form).", pieces: 3, [secret]) == "x: \(stars(form)).")
    }

    /// What an origin repeats of a head: the line behind the credential is no part of it.
    @Test(arguments: ["\r\n", "\n", #"\r\n"#, "%0D%0A", "&#13;&#10;", "\n ", "\r\n\r\n"])
    func `a mask ends with the line of the credential`(lineEnd: String) {
        for before in ["", "u", "us", "use:"] {
            for layers in 1...2 {
                var coded = "\(before)\(Self.secret)"
                for _ in 0..<layers { coded = Base64Text.encode(Array(coded.utf8)) }
                let next = "\(lineEnd)X-Next: v\(lineEnd)Y"
                for form in [coded, coded.replacing("=", with: "")] {
                    for pieces in [7, 4096] {
                        let result = masked("a \(form)\(next)", pieces: pieces, [Self.secret])
                        #expect(result.hasSuffix("*\(next)"), "\(form) \(result)")
                    }
                }
            }
        }
    }

    /// Where the encoding goes on behind a fold, so does the mask.
    @Test func `a fold anywhere in base64 hides no part of a secret`() {
        for before in ["", "u", "us", "use:"] {
            let coded = Base64Text.encode(Array("\(before)\(Self.secret)".utf8))
            let unpadded = coded.replacing("=", with: "")
            let lead = before.utf8.count * 8 / 6
            for index in lead + 1..<unpadded.utf8.count {
                let text = "\(unpadded.prefix(index))\r\n\(unpadded.dropFirst(index))\r\nX-Next: v"
                let result = masked(text, pieces: 4096, [Self.secret])
                #expect(result.hasSuffix("*\r\nX-Next: v"), "\(result)")
                let visible = result.utf8.dropLast(11).filter { $0 != UInt8(ascii: "*") }
                #expect(visible.count <= lead, "\(index) \(result)")
            }
        }
    }

    @Test(arguments: [
        #"\u{73}3cr\u{26}t\u{2f}value-0123456789\u{2B}x"#,
        #"\x{73}3cr\x{26}t\u{00002F}value-0123456789\x{2b}x"#,
        #"\U000000733cr\U00000026t/value-0123456789\U0000002Bx"#,
        #"\u{5c}u{73}3cr\U0000005cU00000026t/value-0123456789+x"#,
    ])
    func `braces and eight digits are escapes, too`(form: String) {
        for pieces in [1, 5, 4096] {
            #expect(masked("<\(form)>", pieces: pieces, [Self.secret]) == "<\(stars(form))>")
        }
    }

    @Test(arguments: [#"{"a":{"b":1f}}"#, "x{1}", "{}", "u{", #"C:\Users\x{"#])
    func `braces hold nothing back but where an escape may go on`(text: String) {
        var mask = SecretMask([Self.secret])
        var output: [UInt8] = []
        mask.mask(Array("<\(text)".utf8).span, isLast: false, into: &output)
        let isOpen = text.hasSuffix("u{") || text.hasSuffix("x{") || text == "x{1}"
        #expect((output.count == text.utf8.count + 1) != isOpen)
        mask.mask([UInt8]().span, isLast: true, into: &output)
        #expect(String(decoding: output, as: UTF8.self) == "<\(text)")
    }

    @Test func `of several secrets each is masked`() {
        let text = "first-secret second-secret first-secre."
        #expect(
            masked(text, pieces: 3, ["first-secret", "second-secret", "short"])
                == "************ ************* first-secre."
        )
    }

    @Test func `a text without secrets passes unchanged`() {
        let text = String(
            repeating: "Lorem ipsum dolor sit amet, \"s3cr&t/value\" %26 \\ ",
            count: 99
        )
        for pieces in [1, 100, 1 << 20] {
            #expect(masked(text, pieces: pieces, [Self.secret]) == text)
            #expect(masked(text, pieces: pieces, []) == text)
        }
        #expect(SecretMask([Self.secret]).masked(Array(text.utf8).span) == nil)
    }

    @Test func `what no secret can go on behind passes at once`() {
        var mask = SecretMask([Self.secret])
        var output: [UInt8] = []
        mask.mask(Array("{\"a\":\"s3cr\"}".utf8).span, isLast: false, into: &output)
        #expect(output.count == 12)
        // The beginning of a secret waits for its end.
        mask.mask(Array("{\"a\":\"s3cr".utf8).span, isLast: false, into: &output)
        #expect(output.count == 12 + 6)
        var lines = SecretMask([Self.secret], passesLines: true)
        output = []
        lines.mask(Array("data: s3cr\n\ndata".utf8).span, isLast: false, into: &output)
        #expect(String(decoding: output, as: UTF8.self) == "data: s3cr\n\n")
    }

    @Test func `a field's value is masked as a whole`() {
        let mask = SecretMask([Self.secret])
        let value = Array("Bearer \(Self.secret)".utf8)
        #expect(mask.masked(value.span) == Array("Bearer \(stars(Self.secret))".utf8))
        var fields = FieldSection()
        fields.add(name: "X-Echo", value: "v=\(Self.secret)")
        fields.add(name: "X-Other", value: "v")
        fields.mask(with: mask)
        #expect(fields.pairs.map(\.value) == ["v=\(stars(Self.secret))", "v"])
        #expect(fields.pairs.map(\.name) == ["X-Echo", "X-Other"])
    }
}
