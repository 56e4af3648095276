// How an input becomes another one: bits, bytes, words, pieces of itself and of others.

/// SplitMix64: deterministic and good enough to choose mutations.
package struct Generator: RandomNumberGenerator {
    private var state: UInt64

    package init(seed: UInt64) { state = seed }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ mixed &>> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed &>> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed &>> 31
    }

    mutating func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &self) }
}

/// Makes inputs of others.
struct Mutator {
    /// Longer inputs are cut.
    static let bytesMax = 4096

    /// Numbers at the bounds of what computers count with, and what looks like numbers.
    static let numbers = [
        "0", "1", "-1", "00", "255", "256", "999", "65535", "65536", "2147483647", "2147483648",
        "4294967295", "4294967296", "4611686018427387904", "4611686018427387905",
        "9223372036854775807", "9223372036854775808", "18446744073709551615",
        "18446744073709551616", "18446744073709551619", "99999999999999999999", "1e999", "-1e999",
        "1e-999", "NaN", "inf", "0x7fffffff", "ffffffffffffffff", "-9223372036854775808",
        "-9223372036854775809", "3.5", "0000000000000000000000000000000000000001",
    ]
    /// What separates, quotes, ends and escapes anywhere, and bytes that are no text.
    static let marks = [
        " ", "\t", "\r\n", "\n", "\r", "\0", ",", ";", ":", "=", "\"", "'", "\\", "/", "//", "?",
        "#", "%", "%41", "%2", "@", "*", "**", "-", "_", ".", "..", "(", ")", "[", "]", "{", "}",
        "<", ">", "|", "&", "$", "!", "+", "~", "\u{7F}", "\u{80}", "\u{FF}", "\u{C0}\u{80}",
        "\u{E0}\u{80}\u{80}", "\u{F4}\u{90}\u{80}\u{80}", "\u{ED}\u{A0}\u{80}",
        "\u{EF}\u{BB}\u{BF}",
        "\u{C3}\u{A9}", "\u{E2}\u{82}\u{AC}", "\u{F0}\u{9F}\u{98}\u{80}",
    ]

    private let words: [[UInt8]]
    private let common: [[UInt8]]
    var generator: Generator

    init(words: [String], generator: Generator) {
        self.words = words.map(inputBytes)
        common = (Mutator.numbers + Mutator.marks).map(inputBytes)
        self.generator = generator
    }

    /// One to five changes of one of `pool`.
    mutating func next(from pool: [[UInt8]]) -> [UInt8] {
        var input = pool[generator.below(pool.count)]
        for _ in 0...generator.below(5) { change(&input, pool) }
        return Array(input.prefix(Mutator.bytesMax))
    }

    private mutating func change(_ input: inout [UInt8], _ pool: [[UInt8]]) {
        let index = generator.below(input.count + 1)
        switch generator.below(10) {
        case 0 where index < input.count: input[index] ^= 1 &<< UInt8(generator.below(8))
        case 1 where index < input.count: input[index] = UInt8(generator.below(256))
        case 2: input.removeSubrange(piece(of: input))
        case 3: input.insert(contentsOf: input[piece(of: input)], at: index)
        case 4:
            let other = pool[generator.below(pool.count)]
            input.insert(contentsOf: other[piece(of: other)], at: index)
        case 5:
            let other = pool[generator.below(pool.count)]
            input = Array(input[..<index]) + other[generator.below(other.count + 1)...]
        case 6: replaceDigits(in: &input)
        case 7 where !words.isEmpty, 8 where !words.isEmpty:
            input.insert(contentsOf: words[generator.below(words.count)], at: index)
        default: input.insert(contentsOf: common[generator.below(common.count)], at: index)
        }
    }

    /// Puts another number in the place of one.
    private mutating func replaceDigits(in input: inout [UInt8]) {
        let digits = input.indices.filter { (0x30...0x39).contains(input[$0]) }
        guard !digits.isEmpty else { return }
        let start = digits[generator.below(digits.count)]
        let end = input[start...].firstIndex { !(0x30...0x39).contains($0) } ?? input.count
        let number = Mutator.numbers[generator.below(Mutator.numbers.count)]
        input.replaceSubrange(start..<end, with: inputBytes(number))
    }

    private mutating func piece(of input: [UInt8]) -> Range<Int> {
        let start = generator.below(input.count + 1)
        return start..<min(input.count, start + generator.below(24))
    }
}

/// The bytes of a seed or word: a scalar below 256 is that byte, any other its UTF-8.
package func inputBytes(_ text: String) -> [UInt8] {
    text.unicodeScalars.flatMap { scalar in
        UInt8(exactly: scalar.value).map { [$0] } ?? Array(String(scalar).utf8)
    }
}
