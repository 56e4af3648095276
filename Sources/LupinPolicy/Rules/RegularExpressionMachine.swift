// Runs compiled regular expressions: all alternatives advance through the input in parallel.

/// A run of a program over one input, after Ken Thompson and Rob Pike.
///
/// Threads are kept in order of preference, at most one per instruction, so a run takes at most
/// `input × program` steps for any input. There is no backtracking.
struct RegularExpressionMachine {
    private let program: RegularExpressionProgram
    /// The number of slots in this run: 0 if only the existence of a match matters.
    private let slotCount: Int
    private var current: Threads
    private var following: Threads
    private var pending: [Pending] = []
    /// The slots of the thread being moved.
    private var slots: [Int]
    /// The slots of the best match so far.
    private var best: [Int]?

    /// The threads at one position, most preferred first.
    private struct Threads {
        /// Instructions that consume a byte, or `.match`.
        var instructions: [Int32] = []
        /// `slotCount` numbers per thread.
        var slots: [Int] = []
        /// All instructions that were reached, and the place of each in the list: a sparse set.
        private var reached: [Int32] = []
        private var positions: [Int32]

        init(size: Int) { positions = [Int32](repeating: 0, count: size) }

        /// Adds `pc`; returns false if it was already reached.
        mutating func reach(_ pc: Int) -> Bool {
            let position = Int(positions[pc])
            let number = Int32(truncatingIfNeeded: pc)
            if position < reached.count, reached[position] == number { return false }
            positions[pc] = Int32(truncatingIfNeeded: reached.count)
            reached.append(number)
            return true
        }

        mutating func removeAll() {
            instructions.removeAll(keepingCapacity: true)
            slots.removeAll(keepingCapacity: true)
            reached.removeAll(keepingCapacity: true)
        }
    }

    private enum Pending {
        case follow(Int)
        case restore(slot: Int, value: Int)
    }

    /// A unit of the input: a UTF-8 scalar, or one byte that is part of none.
    private struct Unit {
        var length = 1
        /// nil for a stray byte.
        var scalar: UInt32?
    }

    private init(_ program: RegularExpressionProgram, slotCount: Int) {
        self.program = program
        self.slotCount = slotCount
        current = Threads(size: program.instructions.count)
        following = Threads(size: program.instructions.count)
        slots = [Int](repeating: -1, count: slotCount)
    }

    /// Returns the slots of the leftmost match, or nil.
    ///
    /// With `wantsSlots: false` the array is empty.
    ///
    /// The match begins at or after `start`. Each byte that is inspected takes one off `budget`;
    /// below zero the search stops without a result.
    static func run(
        _ program: RegularExpressionProgram,
        over bytes: Span<UInt8>,
        from start: Int,
        wantsSlots: Bool,
        budget: inout Int
    ) -> [Int]? {
        // Most inputs do not match, and most of those don't even have a possible first byte.
        guard candidate(program, in: bytes, from: start) != nil else { return nil }
        var machine = Self(program, slotCount: wantsSlots ? program.slotCount : 0)
        return machine.search(bytes, from: start, &budget)
    }

    /// The first start of a unit at or after `from` at which a match may begin.
    private static func candidate(
        _ program: RegularExpressionProgram,
        in bytes: Span<UInt8>,
        from: Int
    ) -> Int? {
        if program.isAnchored { return from == 0 ? 0 : nil }
        guard let firstBytes = program.firstBytes else { return from <= bytes.count ? from : nil }
        var at = from
        while at < bytes.count {
            if firstBytes[Int(bytes[at])] { return at }
            at += unit(at: at, in: bytes).length
        }
        return nil
    }

    private mutating func search(
        _ bytes: Span<UInt8>,
        from start: Int,
        _ budget: inout Int
    ) -> [Int]? {
        var at = start
        // A match begins at the start of a character, never inside one.
        var nextUnit = start
        while true {
            budget -= 1
            if budget < 0 { return nil }
            if following.instructions.isEmpty {
                if best != nil { return best }
                guard let start = Self.candidate(program, in: bytes, from: nextUnit) else {
                    return nil
                }
                at = start
                nextUnit = start
            }
            let isUnitStart = at == nextUnit
            if isUnitStart, best == nil, !program.isAnchored || at == 0 {
                for slot in slots.indices { slots[slot] = -1 }
                enter(0, at: at, of: bytes)
            }
            swap(&current, &following)
            following.removeAll()
            let unit = Self.unit(at: at, in: bytes)
            if isUnitStart { nextUnit = at + unit.length }
            step(at: at, unit: unit, in: bytes)
            if slotCount == 0, best != nil { return best }
            at += 1
        }
    }

    /// Moves every thread over the byte at `at`.
    private mutating func step(at: Int, unit: Unit, in bytes: Span<UInt8>) {
        for index in current.instructions.indices {
            let pc = Int(current.instructions[index])
            for slot in 0..<slotCount { slots[slot] = current.slots[index * slotCount + slot] }
            if case .match = program.instructions[pc] {
                // The threads after this one are less preferred.
                best = slots
                return
            }
            if at < bytes.count, let target = target(of: pc, byte: bytes[at], unit: unit) {
                enter(target, at: at + 1, of: bytes)
            }
        }
    }

    /// Returns where a thread at `pc` continues after the byte, or nil if it ends.
    private func target(of pc: Int, byte: UInt8, unit: Unit) -> Int? {
        switch program.instructions[pc] {
        case .byte(let wanted): return byte == wanted ? pc + 1 : nil
        case .letter(let wanted): return byte | 0x20 == wanted ? pc + 1 : nil
        case .tail: return pc + 1
        case .asciiSet(let index):
            return byte < 0x80 && program.sets[Int(index)].contains(ascii: byte) ? pc + 1 : nil
        case .set(let index):
            let isMember =
                if byte < 0x80 {
                    program.sets[Int(index)].contains(ascii: byte)
                } else if let scalar = unit.scalar {
                    program.sets[Int(index)].contains(scalar: scalar)
                } else {
                    program.sets[Int(index)].contains(stray: byte)
                }
            // Three tails follow the set: a longer unit enters at an earlier one.
            return isMember ? pc + 5 - unit.length : nil
        case .split, .jump, .save, .assertion, .match: return nil
        }
    }

    /// Adds to `following` what is reachable from `pc` without input, most preferred first.
    private mutating func enter(_ pc: Int, at position: Int, of bytes: Span<UInt8>) {
        pending.append(.follow(pc))
        while let next = pending.popLast() {
            guard case .follow(let pc) = next else {
                if case .restore(let slot, let value) = next { slots[slot] = value }
                continue
            }
            guard following.reach(pc) else { continue }
            switch program.instructions[pc] {
            case .jump(let target): pending.append(.follow(Int(target)))
            case .split(let preferred, let other):
                pending.append(.follow(Int(other)))
                pending.append(.follow(Int(preferred)))
            case .save(let slot):
                if slotCount > 0 {
                    pending.append(.restore(slot: Int(slot), value: slots[Int(slot)]))
                    slots[Int(slot)] = position
                }
                pending.append(.follow(pc + 1))
            case .assertion(let assertion):
                if Self.holds(assertion, at: position, of: bytes) {
                    pending.append(.follow(pc + 1))
                }
            case .byte, .letter, .asciiSet, .set, .tail, .match:
                following.instructions.append(Int32(truncatingIfNeeded: pc))
                for slot in slots { following.slots.append(slot) }
            }
        }
    }

    private static func holds(
        _ assertion: RegularExpressionAssertion,
        at position: Int,
        of bytes: Span<UInt8>
    ) -> Bool {
        switch assertion {
        case .start: return position == 0
        case .end: return position == bytes.count
        case .wordBoundary, .notWordBoundary:
            let before = position > 0 && ScalarSet.words.contains(byte: bytes[position - 1])
            let after = position < bytes.count && ScalarSet.words.contains(byte: bytes[position])
            return (before != after) == (assertion == .wordBoundary)
        }
    }

    /// Returns the unit at `at`; at the end one of length 1 that no thread consumes.
    private static func unit(at: Int, in bytes: Span<UInt8>) -> Unit {
        guard at < bytes.count, bytes[at] >= 0xC2 else { return Unit() }
        let lead = bytes[at]
        let length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4
        guard lead < 0xF5, at + length <= bytes.count else { return Unit() }
        var scalar = UInt32(lead) & (0x7F >> UInt32(length))
        for i in 1..<length {
            guard bytes[at + i] & 0xC0 == 0x80 else { return Unit() }
            scalar = scalar << 6 | UInt32(bytes[at + i] & 0x3F)
        }
        // Overlong forms, surrogates and values beyond Unicode are not UTF-8 (RFC 3629 §3).
        let least: UInt32 = length == 2 ? 0x80 : length == 3 ? 0x800 : 0x10000
        guard scalar >= least, Unicode.Scalar(scalar) != nil else { return Unit() }
        return Unit(length: length, scalar: scalar)
    }
}
