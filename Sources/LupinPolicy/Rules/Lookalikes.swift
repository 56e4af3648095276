// Which characters servers take for ASCII ones: those that Unicode's NFKC makes ASCII, and others
// that Windows does.

/// Characters that look like ASCII.
enum Lookalikes {
    /// What a character beyond ASCII stands for; nil if it is no such.
    static func ascii(of code: UInt32) -> String? {
        switch code {
        // Full-width forms: U+FF01 is an exclamation mark.
        case 0xFF01...0xFF5E: character(code - 0xFF01 + 0x21)
        // Mathematical letters in 13 styles, and digits in 5. What is missing among them is a
        // letter-like symbol, at 0x2100.
        case 0x1D400...0x1D6A3: letter((code - 0x1D400) % 52)
        case 0x1D7CE...0x1D7FF: character(0x30 + (code - 0x1D7CE) % 10)
        case 0x1FBF0...0x1FBF9: character(0x30 + code - 0x1FBF0)
        // In circles, brackets and squares, and with a full stop or a comma.
        case 0x2460...0x2473: "\(code - 0x2460 + 1)"
        case 0x2474...0x2487: "(\(code - 0x2474 + 1))"
        case 0x2488...0x249B: "\(code - 0x2488 + 1)."
        case 0x249C...0x24B5: "(\(letter(code - 0x249C + 26)))"
        case 0x24B6...0x24E9: letter(code - 0x24B6)
        case 0x24EA: "0"
        case 0x3251...0x325F: "\(code - 0x3251 + 21)"
        case 0x32B1...0x32BF: "\(code - 0x32B1 + 36)"
        case 0x1F101...0x1F10A: "\(code - 0x1F101),"
        case 0x1F110...0x1F129: "(\(letter(code - 0x1F110)))"
        case 0x1F130...0x1F149: letter(code - 0x1F130)
        // Not NFKC: slashes, backslashes and full stops of other kinds.
        case 0x2044, 0x2215, 0x2571, 0x29F8: "/"
        case 0x2216, 0x29F5, 0x29F9: "\\"
        case 0x3002, 0xFF61: "."
        case 0x85, 0xA0, 0x1680, 0x2000...0x200A, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000: " "
        default: others[code]
        }
    }

    private static func character(_ code: UInt32) -> String {
        String(Unicode.Scalar(UInt8(truncatingIfNeeded: code)))
    }

    /// The capitals from 0, the small letters from 26.
    private static func letter(_ number: UInt32) -> String {
        character(number < 26 ? 0x41 + number : 0x61 + number - 26)
    }

    private static let others: [UInt32: String] = rows.reduce(into: [:]) { others, row in
        for (i, text) in row.texts.split(separator: " ").enumerated() where text != "~" {
            others[row.first + UInt32(i)] = String(text)
        }
    }

    /// A character, with what it and those that follow it stand for; `~` is none.
    private static let rows: [(first: UInt32, texts: String)] = [
        (0xAA, "a"),
        (0xB2, "2 3 ~ ~ ~ ~ ~ 1 o"),
        (0x132, "IJ ij"),
        (0x17F, "s"),
        (0x1C7, "LJ Lj lj NJ Nj nj"),
        (0x1F1, "DZ Dz dz"),
        (0x2B0, "h ~ j r ~ ~ ~ w y"),
        (0x2E1, "l s x"),
        (0x37E, ";"),
        (0x1D2C, "A ~ B ~ D E ~ G H I J K L M N ~ O ~ P R T U W a ~ ~ ~ b d e ~ ~ ~ g ~ k m"),
        (0x1D52, "o ~ ~ ~ p t u ~ ~ v ~ ~ ~ ~ ~ ~ i r u v"),
        (0x1D9C, "c ~ ~ ~ f"),
        (0x1DBB, "z"),
        (0x1FEF, "`"),
        (0x2024, ". .. ..."),
        (0x203C, "!!"),
        (0x2047, "?? ?! !?"),
        (0x2070, "0 i ~ ~ 4 5 6 7 8 9 + ~ = ( ) n 0 1 2 3 4 5 6 7 8 9 + ~ = ( ) ~ a e o x"),
        (0x2095, "h k l m n p s t"),
        (0x20A8, "Rs"),
        (0x2100, "a/c a/s C ~ ~ c/o c/u ~ ~ ~ g H H H h ~ I I L l ~ N No ~ ~ P Q R R R"),
        (0x2120, "SM TEL TM ~ Z ~ ~ ~ Z ~ K ~ B C ~ e E F ~ M o ~ ~ ~ ~ i ~ FAX"),
        (0x2145, "D d e i j"),
        (0x2160, "I II III IV V VI VII VIII IX X XI XII L C D M i ii iii iv v vi vii viii ix"),
        (0x2179, "x xi xii l c d m"),
        (0x2A74, "::= == ==="),
        (0x2C7C, "j V"),
        (0x3250, "PTE"),
        (0x32CC, "Hg erg eV LTD"),
        (0x3371, "hPa da AU bar oV pc dm dm2 dm3 IU ~ ~ ~ ~ ~ pA nA ~ mA kA KB MB GB cal"),
        (0x3389, "kcal pF nF ~ ~ mg kg Hz kHz MHz GHz THz ~ ml dl kl fm nm ~ mm cm km mm2"),
        (0x33A0, "cm2 m2 km2 mm3 cm3 m3 km3 ~ ~ Pa kPa MPa GPa rad ~ ~ ps ns ~ ms pV nV ~ mV"),
        (0x33B8, "kV MV pW nW ~ mW kW MW ~ ~ a.m. Bq cc cd ~ Co. dB Gy ha HP in KK KM kt lm"),
        (0x33D1, "ln log lx mb mil mol PH p.m. PPM PR sr Sv Wb"),
        (0x33FF, "gal"),
        (0xA7F2, "C F Q"),
        (0xFB00, "ff fi fl ffi ffl st st"),
        (0xFB29, "+"),
        (0xFE10, ", ~ ~ : ; ! ? ~ ~ ..."),
        (0xFE30, ".. ~ ~ _ _ ( ) { }"),
        (0xFE47, "[ ] ~ ~ ~ ~ _ _ _ , ~ . ~ ; : ? ! ~ ( ) { } ~ ~ # & * + - < > = ~ \\ $ % @"),
        (0x107A5, "q"),
        (0x1F100, "0."),
        (0x1F12B, "C R CD WZ"),
        (0x1F14A, "HV MV SD SS PPV WC"),
        (0x1F16A, "MC MD MR"),
        (0x1F190, "DJ"),
    ]
}
