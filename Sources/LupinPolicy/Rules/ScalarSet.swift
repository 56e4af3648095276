// The character sets of regular expressions.

/// A set of units: a unit is a well-formed UTF-8 scalar, or a byte that belongs to none.
struct ScalarSet: Sendable, Equatable {
    /// One bit per ASCII byte.
    private var low: UInt64 = 0
    private var high: UInt64 = 0
    /// One bit per stray byte 0x80 to 0xFF.
    private var strayLow: UInt64 = 0
    private var strayHigh: UInt64 = 0
    /// Scalars from U+0080; ranges may overlap.
    private var ranges: [ClosedRange<UInt32>] = []
    /// Whether the members from U+0080 are those outside `ranges`.
    private var isInverted = false

    /// The set of all units that are not in this one.
    var complement: ScalarSet {
        var other = self
        (other.low, other.high) = (~low, ~high)
        (other.strayLow, other.strayHigh) = (~strayLow, ~strayHigh)
        other.isInverted = !isInverted
        return other
    }

    /// Whether every member is one ASCII byte, so that a match consumes exactly one byte.
    var isASCII: Bool { strayLow | strayHigh == 0 && ranges.isEmpty && !isInverted }

    func contains(ascii byte: UInt8) -> Bool {
        (byte < 64 ? low : high) &>> UInt64(byte & 63) & 1 == 1
    }

    /// Whether the byte is an ASCII member; stray bytes never are.
    func contains(byte: UInt8) -> Bool { byte < 0x80 && contains(ascii: byte) }

    func contains(stray byte: UInt8) -> Bool {
        (byte < 0xC0 ? strayLow : strayHigh) &>> UInt64(byte & 63) & 1 == 1
    }

    /// Whether the set has a scalar from U+0080.
    func contains(scalar: UInt32) -> Bool {
        for range in ranges where range.contains(scalar) { return !isInverted }
        return isInverted
    }

    mutating func insert(byte: UInt8) {
        let bit: UInt64 = 1 &<< UInt64(byte & 63)
        switch byte >> 6 {
        case 0: low |= bit
        case 1: high |= bit
        case 2: strayLow |= bit
        default: strayHigh |= bit
        }
    }

    mutating func insert(_ scalars: ClosedRange<UInt32>) {
        var scalar = scalars.lowerBound
        while scalar < 0x80, scalar <= scalars.upperBound {
            insert(byte: UInt8(truncatingIfNeeded: scalar))
            scalar += 1
        }
        if scalar <= scalars.upperBound { formUnion(scalar...scalars.upperBound) }
    }

    mutating func formUnion(_ other: ScalarSet) {
        low |= other.low
        high |= other.high
        strayLow |= other.strayLow
        strayHigh |= other.strayHigh
        // Until a class is complete, only complements of ASCII classes are inverted.
        if other.isInverted {
            formUnion(0x80...0x10FFFF)
        } else {
            for range in other.ranges { formUnion(range) }
        }
    }

    private mutating func formUnion(_ scalars: ClosedRange<UInt32>) { ranges.append(scalars) }

    /// Adds the other case of every ASCII letter in the set.
    mutating func addOtherCases() {
        let letters: UInt64 = 0x07FF_FFFE
        high |= (high & letters) << 32 | (high >> 32 & letters)
    }

    static let digits: ScalarSet = {
        var set = ScalarSet()
        set.insert(0x30...0x39)
        return set
    }()

    static let words: ScalarSet = {
        var set = digits
        set.insert(0x41...0x5A)
        set.insert(0x61...0x7A)
        set.insert(byte: 0x5F)
        return set
    }()

    static let spaces: ScalarSet = {
        var set = ScalarSet()
        set.insert(0x09...0x0D)
        set.insert(byte: 0x20)
        return set
    }()

    static let anyButNewline: ScalarSet = {
        var set = ScalarSet()
        set.insert(byte: 0x0A)
        return set.complement
    }()
}
