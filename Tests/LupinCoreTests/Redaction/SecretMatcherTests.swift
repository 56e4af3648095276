// That a secret is found in every form of the table, all of it, and nothing else is.

import LupinCore
import LupinTestKit
import Testing

struct SecretMatcherTests {
    private func mark(_ secret: String) -> String {
        let mark = makeRedactor().mark(for: secret.utf8Span.span)
        return String(decoding: mark, as: UTF8.self)
    }

    @Test(arguments: plantedSecrets)
    func `all of a secret is hidden in each form, and nothing beside it`(secret: String) {
        let redactor = makeRedactor(secrets: [secret])
        let mark = mark(secret)
        for form in SecretForm.allCases {
            let planted = form.text(of: secret)
            for before in ["", "x", "\u{1F512} ", "(\"", "{\""] {
                let cleaned = redactor.cleaned(before + planted + "\") after")
                #expect(cleaned == before + mark + "\") after", "\(form) \(planted)")
            }
        }
    }

    @Test(arguments: plantedSecrets)
    func `a secret is found at any place inside base64`(secret: String) {
        let redactor = makeRedactor(secrets: [secret])
        let mark = mark(secret)
        for form in SecretForm.allCases where form.base64Layers > 0 {
            for count in 0..<9 {
                let planted = form.text(of: secret, after: String("user-name".prefix(count)))
                let cleaned = redactor.cleaned("<\(planted)>")
                #expect(cleaned.hasSuffix(mark + ">"), "\(form) \(count) \(cleaned)")
                // Only characters that hold nothing of the secret are left.
                var visible = count
                for _ in 0..<form.base64Layers { visible = visible * 8 / 6 }
                let left = cleaned.dropFirst().dropLast(mark.count + 1)
                #expect(left.count <= visible, "\(form) \(count) \(cleaned)")
            }
        }
    }

    @Test func `an escape that is none is left alone`() {
        let secret = "1111111111"
        let redactor = makeRedactor(secrets: [secret])
        for text in [
            "%", "%3", "%3g", "\\", "\\u", "\\u003", "\\ud834", "\\ud834\\u0030", "\\udd1e", "\\x3",
            "\\u{", "\\u{3", "\\u{}", "\\u{g}", "\\u{110000}", "\\x{30", "\\U0000003",
            "\\UD8000000",
            "&", "&;", "&#;", "&#x;", "&#x110000;", "&#99999999999999999999;", "&#xD800;", "&#0",
            "&quot", "&nothing;", "&#x0000000000000000030;", "\r\n", "\n \t",
        ] {
            #expect(redactor.cleaned(text) == text)
            let cleaned = redactor.cleaned("\(text)|\(secret)|\(text)")
            #expect(cleaned == "\(text)|REDACTED.01ea|\(text)")
        }
    }

    /// HTML §13.5: every name of an ASCII character.
    @Test(arguments: [
        ("\t", "Tab;"), ("\n", "NewLine;"), ("!", "excl;"), ("\"", "quot; quot QUOT; QUOT"),
        ("#", "num;"), ("$", "dollar;"), ("%", "percnt;"), ("&", "amp; amp AMP; AMP"),
        ("'", "apos;"), ("(", "lpar;"), (")", "rpar;"), ("*", "ast; midast;"), ("+", "plus;"),
        (",", "comma;"), (".", "period;"), ("/", "sol;"), (":", "colon;"), (";", "semi;"),
        ("<", "lt; lt LT; LT"), ("=", "equals;"), (">", "gt; gt GT; GT"), ("?", "quest;"),
        ("@", "commat;"), ("[", "lbrack; lsqb;"), ("\\", "bsol;"), ("]", "rbrack; rsqb;"),
        ("^", "Hat;"), ("_", "lowbar; UnderBar;"), ("`", "grave; DiacriticalGrave;"),
        ("{", "lbrace; lcub;"), ("|", "verbar; vert; VerticalLine;"), ("}", "rbrace; rcub;"),
    ])
    func `each name of a character is undone, alone and in a stream`(
        character: String,
        names: String
    ) {
        let secret = "a1\(character)b2\(character)c3"
        let redactor = makeRedactor(secrets: [secret])
        for name in names.split(separator: " ") {
            let planted = secret.replacing(character, with: "&\(name)")
            #expect(redactor.cleaned("<\(planted)>") == "<\(mark(secret))>", "\(planted)")
            var mask = SecretMask([secret])
            var output: [UInt8] = []
            for byte in "<\(planted)>".utf8 {
                let piece = [byte]
                mask.mask(piece.span, isLast: false, into: &output)
            }
            let end: [UInt8] = []
            mask.mask(end.span, isLast: true, into: &output)
            let stars = String(repeating: "*", count: planted.utf8.count)
            #expect(String(decoding: output, as: UTF8.self) == "<\(stars)>", "\(planted)")
        }
    }

    @Test func `overlapping secrets are hidden with all that each of them covers`() {
        let redactor = makeRedactor(secrets: ["abcdefgh", "efghijkl", "efghij"])
        #expect(redactor.cleaned("<abcdefghijkl>") == "<\(mark("abcdefgh"))>")
        #expect(redactor.cleaned("<efghijkl>") == "<\(mark("efghijkl"))>")
        #expect(redactor.cleaned("<efghij>") == "<\(mark("efghij"))>")
    }

    @Test func `a secret that is added twice counts once`() {
        var matcher = SecretMatcher()
        let isNew = [matcher.add(Array("abcdef".utf8)), matcher.add(Array("abcdef".utf8))]
        #expect(isNew == [true, false] && matcher.count == 1)
    }

    @Test(arguments: 1...4)
    func `mutated forms are survived, and every hit is a range of the text`(seed: UInt64) {
        var numbers = Numbers(state: seed)
        var matcher = SecretMatcher()
        for secret in plantedSecrets { _ = matcher.add(Array(secret.utf8)) }
        for form in SecretForm.allCases {
            for secret in plantedSecrets {
                var text = Array(form.text(of: secret).utf8)
                for _ in 0..<numbers.next(below: 4) {
                    let index = numbers.next(below: text.count)
                    switch numbers.next(below: 4) {
                    case 0: text.remove(at: index)
                    case 1: text.insert(Array("%\\&#;ux\r".utf8)[numbers.next(below: 8)], at: index)
                    case 2: text[index] = UInt8(truncatingIfNeeded: numbers.next(below: 256))
                    default: text.removeSubrange(index...)
                    }
                    if text.isEmpty { text = [0x25] }
                }
                var end = 0
                for hit in matcher.find(in: text.span) {
                    #expect(hit.range.lowerBound >= end && hit.range.upperBound <= text.count)
                    #expect(!hit.range.isEmpty && hit.secret < matcher.count)
                    end = hit.range.upperBound
                }
            }
        }
    }

    @Test(arguments: 1...4)
    func `a text of escapes without a secret stays as it is`(seed: UInt64) {
        var numbers = Numbers(state: seed)
        let pieces = [
            "%", "\\", "&", "#", ";", "x", "u", "2", "5", "6", "d8", "dc", "\r\n", " ", "=", "%25",
            "\\\\", "&amp;", "&#38;", "\\u005c", "\\ud834\\udd1e", "eyJ", "Z2hw", "676870",
        ]
        let redactor = makeRedactor(secrets: ["ghp_0123456789abcdefghij", "s3cr3t/with+odd=chars"])
        for _ in 0..<150 {
            var text = ""
            for _ in 0..<numbers.next(below: 40) {
                text += pieces[numbers.next(below: pieces.count)]
            }
            #expect(redactor.cleaned(text) == text)
        }
    }
}
