// Compiles the tree of a regular expression to instructions.

import LupinCore

/// An instruction of the machine.
///
/// Numbers are indices of instructions unless stated otherwise.
enum RegularExpressionInstruction: Sendable, Equatable {
    case byte(UInt8)
    /// An ASCII letter in either case, given in lower case.
    case letter(UInt8)
    /// A unit in `sets[n]`, one byte long.
    case asciiSet(Int32)
    /// A unit in `sets[n]`; three `.tail` follow, and a unit of n bytes enters at the last n - 1.
    case set(Int32)
    /// A further byte of a unit, which was matched with its first byte.
    case tail
    /// Continues at both; the first is preferred.
    case split(Int32, Int32)
    case jump(Int32)
    /// Records the position in slot n.
    case save(Int32)
    case assertion(RegularExpressionAssertion)
    case match
}

/// A compiled expression.
struct RegularExpressionProgram: Sendable, Equatable {
    /// The maximum number of instructions, and so of steps per byte of input.
    static let instructionsMax = 10_000

    private(set) var instructions: [RegularExpressionInstruction] = []
    private(set) var sets: [ScalarSet] = []
    /// Two slots for the whole match and two for each group.
    let slotCount: Int
    /// Whether a match can only begin at 0.
    private(set) var isAnchored = false
    /// The bytes that a match can begin with; nil if it may be empty.
    private(set) var firstBytes: [Bool]?
    private let isIgnoringCase: Bool

    init(
        _ node: RegularExpressionNode,
        groupCount: Int,
        ignoringCase: Bool
    ) throws(PatternProblem) {
        slotCount = 2 * (groupCount + 1)
        isIgnoringCase = ignoringCase
        try emit(.save(0))
        try compile(node)
        try emit(.save(1))
        try emit(.match)
        findFirstBytes()
    }

    private var end: Int32 { Int32(truncatingIfNeeded: instructions.count) }

    private mutating func emit(
        _ instruction: RegularExpressionInstruction
    ) throws(PatternProblem) {
        guard instructions.count < Self.instructionsMax else {
            throw PatternProblem("the expression is too large: its counts multiply", at: 0)
        }
        instructions.append(instruction)
    }

    private mutating func compile(_ node: RegularExpressionNode) throws(PatternProblem) {
        switch node {
        case .bytes(let bytes):
            for byte in bytes {
                let isLetter = byte.asciiLowercased &- 0x61 < 26
                try emit(isLetter && isIgnoringCase ? .letter(byte.asciiLowercased) : .byte(byte))
            }
        case .set(let set):
            let index = Int32(truncatingIfNeeded: sets.count)
            sets.append(set)
            if set.isASCII {
                try emit(.asciiSet(index))
            } else {
                try emit(.set(index))
                for _ in 0..<3 { try emit(.tail) }
            }
        case .sequence(let parts):
            for part in parts { try compile(part) }
        case .alternatives(let choices): try compile(alternatives: choices)
        case .capture(let index, let inner):
            try emit(.save(Int32(truncatingIfNeeded: 2 * index)))
            try compile(inner)
            try emit(.save(Int32(truncatingIfNeeded: 2 * index + 1)))
        case .repeated(let inner, let min, let max, let isLazy):
            try compile(inner, min: min, max: max, isLazy: isLazy)
        case .assertion(let assertion): try emit(.assertion(assertion))
        }
    }

    private mutating func compile(
        alternatives choices: [RegularExpressionNode]
    ) throws(PatternProblem) {
        var exits: [Int] = []
        for choice in choices.dropLast() {
            let split = instructions.count
            try emit(.split(0, 0))
            try compile(choice)
            exits.append(instructions.count)
            try emit(.jump(0))
            instructions[split] = .split(Int32(truncatingIfNeeded: split + 1), end)
        }
        if let last = choices.last { try compile(last) }
        for exit in exits { instructions[exit] = .jump(end) }
    }

    private mutating func compile(
        _ node: RegularExpressionNode,
        min: Int,
        max: Int?,
        isLazy: Bool
    ) throws(PatternProblem) {
        var start = end
        for _ in 0..<min {
            start = end
            try compile(node)
            // Repeating a node without instructions has no effect, even a million times, and is
            // skipped.
            if end == start { return }
        }
        guard let max else {
            var entry: Int?
            if min == 0 {
                // `x*` is `(x+)?`: an empty iteration of x must not be preferred over leaving the
                // loop.
                entry = instructions.count
                try emit(.split(0, 0))
                start = end
                try compile(node)
            }
            try emit(isLazy ? .split(end + 1, start) : .split(start, end + 1))
            if let entry { instructions[entry] = isLazy ? .split(end, start) : .split(start, end) }
            return
        }
        var splits: [Int] = []
        for _ in min..<max {
            splits.append(instructions.count)
            try emit(.split(0, 0))
            let body = end
            try compile(node)
            if end == body { break }
        }
        for split in splits {
            let body = Int32(truncatingIfNeeded: split + 1)
            instructions[split] = isLazy ? .split(end, body) : .split(body, end)
        }
    }

    /// Walks all instructions that are reachable without consuming a byte.
    private mutating func findFirstBytes() {
        var bytes = [Bool](repeating: false, count: 256)
        var isSeen = [Bool](repeating: false, count: instructions.count)
        var mayBeEmpty = false
        var isAnchored = true
        var pending = [0]
        while let pc = pending.popLast() {
            if isSeen[pc] { continue }
            isSeen[pc] = true
            switch instructions[pc] {
            case .jump(let target): pending.append(Int(target))
            case .split(let a, let b): pending += [Int(a), Int(b)]
            case .save: pending.append(pc + 1)
            case .assertion(.start):
                // A match after it begins at 0; its first byte does not narrow the search.
                mayBeEmpty = true
            case .assertion: pending.append(pc + 1)
            case .match:
                mayBeEmpty = true
                isAnchored = false
            case .byte(let byte):
                bytes[Int(byte)] = true
                isAnchored = false
            case .letter(let byte):
                bytes[Int(byte)] = true
                bytes[Int(byte & 0xDF)] = true
                isAnchored = false
            case .asciiSet(let index), .set(let index):
                for byte in UInt8(0)..<0x80 where sets[Int(index)].contains(ascii: byte) {
                    bytes[Int(byte)] = true
                }
                if !sets[Int(index)].isASCII { for byte in 0x80...0xFF { bytes[byte] = true } }
                isAnchored = false
            case .tail: break
            }
        }
        self.isAnchored = isAnchored
        firstBytes = mayBeEmpty ? nil : bytes
    }
}
