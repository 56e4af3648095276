// The forms in which a secret is found: one table for the tests and for the documentation.

import LupinCore

/// A way to write a secret.
package enum SecretForm: CaseIterable {
    case plain, percent, lowerPercent, everyBytePercent, form, percentTwice
    case json, slashes, unicodeEscapes, bracedEscapes, longEscapes, jsonTwice, jsonInPercent
    case quotedString, hexEscapes
    case html, htmlNames, bareReferences, decimalReferences, hexReferences, paddedReferences
    case htmlInJSON, htmlNamesInJSON
    case hex, upperHex
    case base64, base64URL, base64InPercent, base64Lines, base64LinesInJSON
    case base64OfForm, base64OfJSON, base64OfSlashes, base64Twice, base64URLTwice

    /// What the documentation calls it.
    package var name: String {
        switch self {
        case .plain: "as it is"
        case .percent: "percent-encoded (RFC 3986 §2.1)"
        case .lowerPercent: "percent-encoded, with lower-case digits"
        case .everyBytePercent: "percent-encoded, every byte"
        case .form: "form-encoded, a space as `+`"
        case .percentTwice: "percent-encoded twice"
        case .json: "in a JSON string (RFC 8259 §7)"
        case .slashes: "in a JSON string, with `\\/`"
        case .unicodeEscapes: "in a JSON string, every character as `\\uXXXX`"
        case .bracedEscapes: "in a string, every character as `\\u{X}`"
        case .longEscapes: "in a string, every character as `\\UXXXXXXXX`"
        case .jsonTwice: "in a JSON string inside a JSON string"
        case .jsonInPercent: "in a JSON string, percent-encoded"
        case .quotedString: "in a quoted string (RFC 9110 §5.6.4)"
        case .hexEscapes: "with `\\xXX`, as access logs write it"
        case .html: "in HTML, with named references"
        case .htmlNames: "in HTML, with a name wherever HTML has one"
        case .bareReferences: "in HTML, without the semicolons that it can do without"
        case .decimalReferences: "in HTML, with decimal references"
        case .hexReferences: "in HTML, with hexadecimal references"
        case .paddedReferences: "in HTML, with zeros before the numbers"
        case .htmlInJSON: "in HTML inside a JSON string"
        case .htmlNamesInJSON: "in HTML with names, inside a JSON string"
        case .hex: "in hexadecimal"
        case .upperHex: "in upper-case hexadecimal"
        case .base64: "in base64 (RFC 4648 §4), at any place of it"
        case .base64URL: "in base64url (RFC 4648 §5), at any place of it"
        case .base64InPercent: "in base64, percent-encoded"
        case .base64Lines: "in base64 that is broken into lines"
        case .base64LinesInJSON: "in base64 that is broken into lines, in a JSON string"
        case .base64OfForm: "form-encoded, then base64 (RFC 6749 §2.3.1)"
        case .base64OfJSON: "in a JSON string, then base64"
        case .base64OfSlashes: "in a JSON string, with `\\/`, then base64"
        case .base64Twice: "in base64 twice"
        case .base64URLTwice: "in base64url twice"
        }
    }

    /// The form of `secret`; `before` stands before it inside base64.
    package func text(of secret: String, after before: String = "") -> String {
        let all = before + secret
        switch self {
        case .plain: return secret
        case .percent: return secret.percentEncoded()
        case .lowerPercent: return secret.percentEncoded(isUpper: false)
        case .everyBytePercent: return secret.percentEncoded(keepsLetters: false)
        case .form: return FormText.encode(secret)
        case .percentTwice: return secret.percentEncoded().percentEncoded()
        case .json: return secret.jsonEscaped
        case .slashes: return secret.jsonEscaped.replacing("/", with: "\\/")
        case .unicodeEscapes:
            return secret.utf16.map { "\\u" + String($0, radix: 16).leftPadded(4) }.joined()
        case .bracedEscapes:
            return secret.unicodeScalars.map { "\\u{\(String($0.value, radix: 16))}" }.joined()
        case .longEscapes:
            return secret.unicodeScalars.map {
                "\\U" + String($0.value, radix: 16).leftPadded(8)
            }.joined()
        case .jsonTwice: return secret.jsonEscaped.jsonEscaped
        case .jsonInPercent: return secret.jsonEscaped.percentEncoded()
        case .quotedString: return secret.quoted
        case .hexEscapes: return secret.withEscapes { "\\x" + $0.hexDigits }
        case .html: return secret.htmlEscaped
        case .htmlNames: return secret.named
        case .bareReferences: return secret.barelyEscaped
        case .decimalReferences: return secret.withReferences { "&#\($0);" }
        case .hexReferences:
            return secret.withReferences { "&#x" + String($0, radix: 16, uppercase: true) + ";" }
        case .paddedReferences:
            return secret.withReferences { "&#x0000000\(String($0, radix: 16));" }
        case .htmlInJSON: return secret.htmlEscaped.jsonEscaped.replacing("&", with: "\\u0026")
        case .htmlNamesInJSON:
            return secret.named.replacing("&", with: "\\u0026").replacing(";", with: "\\u003b")
        case .hex: return secret.utf8.map(\.hexDigits).joined()
        case .upperHex: return secret.utf8.map(\.hexDigits).joined().uppercased()
        case .base64: return all.base64
        case .base64URL: return all.base64URL
        case .base64InPercent: return all.base64.percentEncoded()
        case .base64Lines: return all.base64.broken("\r\n")
        case .base64LinesInJSON: return all.base64.broken("\\n")
        case .base64OfForm: return (before + FormText.encode(secret)).base64
        case .base64OfJSON: return (before + secret.jsonEscaped).base64
        case .base64OfSlashes:
            return (before + secret.jsonEscaped.replacing("/", with: "\\/")).base64
        case .base64Twice: return all.base64.base64
        case .base64URLTwice: return all.base64URL.base64URL
        }
    }

    /// How often base64 is applied; what stands before the secret inside it may stay visible.
    package var base64Layers: Int {
        switch self {
        case .base64, .base64URL, .base64OfForm, .base64OfJSON, .base64OfSlashes: 1
        case .base64Twice, .base64URLTwice: 2
        default: 0
        }
    }
}

extension String {
    fileprivate func percentEncoded(isUpper: Bool = true, keepsLetters: Bool = true) -> String {
        utf8.map { byte in
            if keepsLetters && byte.isUnreserved { return String(UnicodeScalar(byte)) }
            return "%" + (isUpper ? byte.hexDigits.uppercased() : byte.hexDigits)
        }.joined()
    }

    fileprivate var quoted: String {
        replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
    }

    fileprivate var jsonEscaped: String {
        quoted.replacing("\n", with: "\\n").replacing("\t", with: "\\t")
    }

    fileprivate var htmlEscaped: String {
        replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
            .replacing("\"", with: "&quot;").replacing("'", with: "&#39;")
    }

    /// With the references that need no semicolon.
    fileprivate var barelyEscaped: String {
        map { character in
            ["&": "&amp", "<": "&lt", ">": "&gt", "\"": "&quot"][character] ?? String(character)
        }.joined()
    }

    /// With each character as its named reference, where HTML has one.
    fileprivate var named: String {
        map { character in
            HTMLNames.all[character].map { "&\($0);" } ?? String(character)
        }.joined()
    }

    /// All but letters and digits as `escape` writes their bytes.
    fileprivate func withEscapes(_ escape: (UInt8) -> String) -> String {
        utf8.map { $0.isUnreserved ? String(UnicodeScalar($0)) : escape($0) }.joined()
    }

    /// All but letters and digits as `reference` writes their scalars.
    fileprivate func withReferences(_ reference: (UInt32) -> String) -> String {
        unicodeScalars.map { scalar in
            let isPlain = scalar.isASCII && UInt8(scalar.value).isUnreserved
            return isPlain ? String(scalar) : reference(scalar.value)
        }.joined()
    }

    fileprivate func broken(_ lineBreak: String) -> String {
        var text = ""
        for (i, character) in enumerated() {
            if i > 0, i.isMultiple(of: 10) { text += lineBreak }
            text.append(character)
        }
        return text
    }

    fileprivate var base64: String { Base64Text.encode(Array(utf8)) }

    /// Without padding, as RFC 7515 writes it.
    fileprivate var base64URL: String {
        base64.replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }

    fileprivate func leftPadded(_ count: Int) -> String {
        String(repeating: "0", count: max(0, count - self.count)) + self
    }
}

extension UInt8 {
    fileprivate var isUnreserved: Bool {
        isASCIIDigit || asciiLowercased &- 0x61 < 26 || [0x2D, 0x2E, 0x5F, 0x7E].contains(self)
    }

    fileprivate var hexDigits: String { String(self, radix: 16).leftPadded(2) }
}

/// Names of HTML's, as its standard lists them.
private enum HTMLNames {
    package static let all: [Character: String] = [
        "\t": "Tab", "\n": "NewLine", "!": "excl", "\"": "quot", "#": "num", "$": "dollar",
        "%": "percnt", "&": "amp", "'": "apos", "(": "lpar", ")": "rpar", "*": "ast", "+": "plus",
        ",": "comma", ".": "period", "/": "sol", ":": "colon", ";": "semi", "<": "lt",
        "=": "equals", ">": "gt", "?": "quest", "@": "commat", "[": "lsqb", "\\": "bsol",
        "]": "rsqb", "^": "Hat", "_": "lowbar", "`": "grave", "{": "lcub", "|": "verbar",
        "}": "rcub", "é": "eacute", "ý": "yacute", "ß": "szlig", "÷": "divide", "Å": "Aring",
    ]
}

/// Secrets with everything in them that some form escapes.
package let plantedSecrets = [
    "ghp_0123456789abcdefghij", "s3cr3t/with+odd=chars", "correct horse battery",
    "user:passw0rd!", "žluťoučký-kůň", #"q"uo\te/s & <'a'>"#, #"C:\new\u0041\table"#,
    "a%41&amp;%2525~tail", "𝄞 clef + 𝄢?>", "abcdef", "two\nlines\tand more",
    "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.c2lnbmF0dXJl_-x",
]
