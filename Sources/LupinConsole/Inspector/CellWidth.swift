// How many columns of a terminal a character takes (UAX #11).

/// Widths of characters in columns.
enum CellWidth {
    /// 0 for marks that join the character before, 2 for wide ones, 1 for all others.
    static func of(_ scalar: Unicode.Scalar) -> Int {
        let value = scalar.value
        if value < 0x300 { return 1 }
        switch value {
        // Medial and final letters of Hangul, variation selectors, and marks without a category
        // of their own.
        case 0x1160...0x11FF, 0xD7B0...0xD7FF, 0xFE00...0xFE0F, 0xE0100...0xE01EF: return 0
        // Halves of flags.
        case 0x1F1E6...0x1F1FF: return 1
        default: break
        }
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .enclosingMark: return 0
        default: break
        }
        return isWide(value) || scalar.properties.isEmojiPresentation ? 2 : 1
    }

    /// East Asian wide and full-width characters; those that are emoji have a property of their
    /// own.
    private static func isWide(_ value: UInt32) -> Bool {
        switch value {
        case 0..<0x1100: false
        case 0x1100...0x115F, 0x2329...0x232A, 0x2630...0x2637, 0x268A...0x268F: true
        case 0x2E80...0x303E, 0x3041...0x3247, 0x3250...0x4DBF, 0x4DC0...0xA4C6: true
        case 0xA960...0xA97C, 0xAC00...0xD7A3, 0xF900...0xFAFF: true
        case 0xFE10...0xFE19, 0xFE30...0xFE6B, 0xFF01...0xFF60, 0xFFE0...0xFFE6: true
        case 0x16FE0...0x16FF1, 0x17000...0x18D08, 0x1AFF0...0x1B2FB: true
        case 0x1D300...0x1D376, 0x1F200...0x1F202, 0x1F210...0x1F23B, 0x1F240...0x1F248: true
        case 0x1F250...0x1F251, 0x20000...0x2FFFD, 0x30000...0x3FFFD: true
        default: false
        }
    }
}
