// The names by which HTML refers to characters (HTML §13.5).

/// Named character references: all that HTML has for one ASCII character, and one for each of
/// Latin-1.
///
/// HTML has none for letters and digits of ASCII.
enum ReferenceNames {
    /// The longest name, without its semicolon.
    static let bytesMax = 16

    private static let ascii: KeyValuePairs<Unicode.Scalar, String> = [
        "\t": "Tab", "\n": "NewLine", "!": "excl", "\"": "quot QUOT", "#": "num", "$": "dollar",
        "%": "percnt", "&": "amp AMP", "'": "apos", "(": "lpar", ")": "rpar", "*": "ast midast",
        "+": "plus", ",": "comma", ".": "period", "/": "sol", ":": "colon", ";": "semi",
        "<": "lt LT", "=": "equals", ">": "gt GT", "?": "quest", "@": "commat",
        "[": "lbrack lsqb", "\\": "bsol", "]": "rbrack rsqb", "^": "Hat", "_": "lowbar UnderBar",
        "`": "grave DiacriticalGrave", "{": "lbrace lcub", "|": "verbar vert VerticalLine",
        "}": "rbrace rcub",
    ]

    /// From U+00A0 on, in order.
    private static let latin1 = """
        nbsp iexcl cent pound curren yen brvbar sect uml copy ordf laquo not shy reg macr deg \
        plusmn sup2 sup3 acute micro para middot cedil sup1 ordm raquo frac14 frac12 frac34 \
        iquest Agrave Aacute Acirc Atilde Auml Aring AElig Ccedil Egrave Eacute Ecirc Euml \
        Igrave Iacute Icirc Iuml ETH Ntilde Ograve Oacute Ocirc Otilde Ouml times Oslash Ugrave \
        Uacute Ucirc Uuml Yacute THORN szlig agrave aacute acirc atilde auml aring aelig ccedil \
        egrave eacute ecirc euml igrave iacute icirc iuml eth ntilde ograve oacute ocirc otilde \
        ouml divide oslash ugrave uacute ucirc uuml yacute thorn yuml
        """

    private static let scalars: [String: Unicode.Scalar] = {
        var scalars: [String: Unicode.Scalar] = [:]
        for (scalar, names) in ascii {
            for name in names.split(separator: " ") { scalars[String(name)] = scalar }
        }
        for (scalar, name) in zip(0xA0...0xFF as ClosedRange<UInt8>, latin1.split(separator: " ")) {
            scalars[String(name)] = Unicode.Scalar(scalar)
        }
        return scalars
    }()

    /// Those that HTML also takes without a semicolon.
    private static let bare: [(name: [UInt8], scalar: Unicode.Scalar)] = [
        (Array("amp".utf8), "&"), (Array("lt".utf8), "<"), (Array("gt".utf8), ">"),
        (Array("quot".utf8), "\""), (Array("AMP".utf8), "&"), (Array("LT".utf8), "<"),
        (Array("GT".utf8), ">"), (Array("QUOT".utf8), "\""),
    ]

    /// Reads the name at `start`, behind an ampersand; returns nil when there is none.
    static func read(
        _ text: Span<UInt8>,
        at start: Int
    ) -> (count: Int, scalar: Unicode.Scalar)? {
        var end = start
        // Most ampersands separate the parameters of a URL, and their names end with `=`.
        while end < text.count, end - start < bytesMax, text[end].isLetterOrDigit { end += 1 }
        if end > start, end < text.count, text[end] == UInt8(ascii: ";"),
            let scalar = scalars[String(copying: text.extracting(start..<end))]
        {
            return (end + 1 - start, scalar)
        }
        let name = text.extracting(start..<end)
        for (bare, scalar) in bare where bare.span.begins(name) { return (bare.count, scalar) }
        return nil
    }

    /// The number of bytes of the longest name of a byte; 0 for one without a name.
    static func longestName(of byte: UInt8) -> Int { longest[Int(byte)] }

    private static let longest: [Int] = (0...UInt8.max).map { byte in
        let names = ascii.first { $0.key.value == UInt32(byte) }?.value ?? ""
        return names.split(separator: " ").map(\.utf8.count).max() ?? 0
    }
}

extension UInt8 {
    var isLetterOrDigit: Bool { isASCIIDigit || asciiLowercased &- 0x61 < 26 }
}
