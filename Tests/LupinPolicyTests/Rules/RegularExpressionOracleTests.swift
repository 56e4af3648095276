// Whether the engine agrees with another one on expressions and texts made at random.

import LupinPolicy
import Testing

@Suite struct RegularExpressionOracleTests {
    /// A generator that gives the same numbers every time.
    private struct Dice: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return state ^ state >> 29
        }
    }

    private func pattern(_ dice: inout Dice, depth: Int = 0) -> String {
        let atoms = ["a", "b", ".", "[ab]", "[^a]", "ab", "c", "^", "$", #"\b"#, "é"]
        var text = ""
        for _ in 0..<Int.random(in: 1...3, using: &dice) {
            let isGroup = depth < 3 && Int.random(in: 0..<3, using: &dice) == 0
            var atom = atoms[Int.random(in: 0..<atoms.count, using: &dice)]
            if isGroup { atom = "(" + pattern(&dice, depth: depth + 1) + ")" }
            let isPosition = ["^", "$", #"\b"#].contains(atom)
            // The engines differ on which empty rounds of a loop count, so loops are over text.
            let quantifiers = ["", "", "?", "*", "+", "*?", "+?", "??", "{1,2}"]
            let mayRepeat = !isPosition && (atom == "ab" ? false : !isGroup)
            text += atom
            if mayRepeat { text += quantifiers[Int.random(in: 0..<9, using: &dice)] }
            if isGroup { text += ["", "?", "??"][Int.random(in: 0..<3, using: &dice)] }
        }
        if Int.random(in: 0..<4, using: &dice) == 0 { text += "|" + pattern(&dice, depth: 3) }
        return text
    }

    @Test(arguments: 0..<8)
    func `match and groups are those of the standard library`(seed: Int) throws {
        var dice = Dice(state: UInt64(seed) &* 7919 &+ 1)
        for _ in 0..<20 {
            let pattern = pattern(&dice)
            let ours = try RegularExpression(pattern)
            let theirs = try Regex(pattern).matchingSemantics(.unicodeScalar)
                .wordBoundaryKind(.simple).asciiOnlyWordCharacters()
            for _ in 0..<5 {
                let text = String(
                    (0..<Int.random(in: 0...6, using: &dice)).map { _ in
                        "aabbcé"[
                            "aabbcé".index(
                                "aabbcé".startIndex,
                                offsetBy: Int.random(in: 0..<6, using: &dice)
                            )
                        ]
                    }
                )
                let expected = text.firstMatch(of: theirs).map { match in
                    match.output.map { group in group.range.map { String(text[$0]) } }
                }
                let bytes = Array(text.utf8)
                let found = ours.captures(in: bytes.span)?.map { range in
                    range.map { String(decoding: bytes[$0], as: UTF8.self) }
                }
                #expect(found == expected, "/\(pattern)/ on \(text)")
            }
        }
    }
}
