// Converts a label that is not ASCII to an A-label.

/// The encoder of RFC 3492 and those label rules of RFC 5891 §5 that need no extra tables.
package enum Punycode {
    /// The A-label of `label`; nil if RFC 5891 §5.4 forbids its look-up.
    ///
    /// Letters become lower case, and combining accents are composed with their letter, as users
    /// expect. Scripts and direction (RFC 5893) are not checked: the A-label goes to the DNS
    /// unchanged, so a label that no registry accepts only fails to resolve.
    package static func asciiLabel(_ label: Substring) -> [UInt8]? {
        var scalars: [Unicode.Scalar] = []
        for character in label {
            for scalar in compose(character) {
                scalars.append(contentsOf: scalar.properties.lowercaseMapping.unicodeScalars)
            }
            // Every non-ASCII scalar takes at least one of the 63 bytes.
            if scalars.count > 63 { return nil }
        }
        guard mayBeLookedUp(scalars) else { return nil }
        if scalars.allSatisfy(\.isASCII) {
            return scalars.map { UInt8(truncatingIfNeeded: $0.value) }
        }
        return Array("xn--".utf8) + encode(scalars)
    }

    /// The punycode of `scalars`, at most 63 of them, without the prefix `xn--` (RFC 3492 §6.3).
    package static func encode(_ scalars: [Unicode.Scalar]) -> [UInt8] {
        var output: [UInt8] = []
        for scalar in scalars where scalar.isASCII {
            output.append(UInt8(truncatingIfNeeded: scalar.value))
        }
        let basicCount = output.count
        var handled = basicCount
        if basicCount > 0 { output.append(0x2D) }
        var next = 0x80
        // At most 64 × 0x110000: no overflow, so the checks of RFC 3492 §6.4 are not needed.
        var delta = 0
        var bias = 72
        while handled < scalars.count {
            var smallest = 0x11_0000
            for scalar in scalars where Int(scalar.value) >= next {
                smallest = min(smallest, Int(scalar.value))
            }
            delta += (smallest - next) * (handled + 1)
            next = smallest
            for scalar in scalars {
                if Int(scalar.value) < next { delta += 1 }
                guard Int(scalar.value) == next else { continue }
                append(delta, bias: bias, to: &output)
                bias = adapt(delta, count: handled + 1, isFirst: handled == basicCount)
                delta = 0
                handled += 1
            }
            delta += 1
            next += 1
        }
        return output
    }

    /// One number as a variable-length integer of base 36.
    private static func append(_ delta: Int, bias: Int, to output: inout [UInt8]) {
        var rest = delta
        var k = 36
        while true {
            let threshold = min(max(k - bias, 1), 26)
            if rest < threshold { break }
            output.append(digit(threshold + (rest - threshold) % (36 - threshold)))
            rest = (rest - threshold) / (36 - threshold)
            k += 36
        }
        output.append(digit(rest))
    }

    private static func digit(_ value: Int) -> UInt8 {
        UInt8(truncatingIfNeeded: value < 26 ? 0x61 + value : 0x30 + value - 26)
    }

    /// RFC 3492 §6.1.
    private static func adapt(_ delta: Int, count: Int, isFirst: Bool) -> Int {
        var rest = isFirst ? delta / 700 : delta / 2
        rest += rest / count
        var k = 0
        while rest > 455 {
            rest /= 35
            k += 36
        }
        return k + 36 * rest / (rest + 38)
    }
}

// MARK: What a label may hold

extension Punycode {
    private static func mayBeLookedUp(_ scalars: [Unicode.Scalar]) -> Bool {
        guard let first = scalars.first, !isMark(first) else { return false }
        // Hyphens at positions three and four are for prefixes such as `xn--` (RFC 5891 §5.4).
        if scalars.count >= 4, scalars[2] == "-", scalars[3] == "-" { return false }
        return scalars.indices.allSatisfy { mayStand(at: $0, in: scalars) }
    }

    private static func isMark(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .spacingMark, .enclosingMark: true
        default: false
        }
    }

    /// The derived property of RFC 5892, from the standard library's properties of a scalar.
    private static func mayStand(at i: Int, in scalars: [Unicode.Scalar]) -> Bool {
        let scalar = scalars[i]
        switch scalar.value {
        case ..<0x80:
            return scalar != "." && UInt8(truncatingIfNeeded: scalar.value).isHostNameByte
        case 0x200C, 0x200D:
            // Joiners are allowed after a virama.
            return i > 0 && scalars[i - 1].properties.canonicalCombiningClass == .virama
        case 0x00B7:
            // The Catalan middle dot is allowed between two l.
            return i > 0 && i + 1 < scalars.count && scalars[i - 1] == "l" && scalars[i + 1] == "l"
        case 0x00DF, 0x03C2, 0x06FD, 0x06FE, 0x0F0B, 0x3007, 0x0375, 0x05F3, 0x05F4, 0x30FB:
            // Exceptions that are allowed; the context of the last four is left to their registry.
            return true
        case 0x0640, 0x07FA, 0x302E, 0x302F, 0x3031...0x3035, 0x303B:
            return false
        case 0x1100...0x11FF, 0xA960...0xA97F, 0xD7B0...0xD7FF:
            // Hangul as separate jamo.
            return false
        default:
            break
        }
        switch scalar.properties.generalCategory {
        case .lowercaseLetter, .otherLetter, .modifierLetter, .decimalNumber, .nonspacingMark,
            .spacingMark:
            // A scalar that compatibility folding changes has another, valid spelling.
            return !scalar.properties.changesWhenNFKCCaseFolded
        default:
            return false
        }
    }
}

// MARK: Accents

extension Punycode {
    /// The scalars of `character`, composed into one where Unicode has such a scalar.
    ///
    /// That is NFC for Latin, Greek and Cyrillic; other scripts with two spellings stay unchanged.
    private static func compose(_ character: Character) -> [Unicode.Scalar] {
        let scalars = Array(character.unicodeScalars)
        guard scalars.count > 1, let one = composites[character] else { return scalars }
        return [one]
    }

    /// Characters compare by canonical equivalence, so a decomposed one finds its composite; of
    /// several equal scalars the first is the one that NFC keeps.
    private static let composites: [Character: Unicode.Scalar] = {
        let blocks: [ClosedRange<UInt32>] = [0xC0...0x24F, 0x370...0x52F, 0x1E00...0x1FFF]
        let known = blocks.joined().compactMap(Unicode.Scalar.init)
        return Dictionary(
            known.map { (Character($0), $0) },
            uniquingKeysWith: { first, _ in first }
        )
    }()
}
