// A run of one target: its inputs again, then mutated ones, and what was found by them.

/// An input by which a promise is broken.
package struct FuzzFinding: Sendable, CustomStringConvertible {
    package let target: String
    package let input: [UInt8]
    package let problem: String

    package var description: String { "\(target): \(problem) for \"\(escapedInput(input))\"" }
}

/// Feeds a target.
package struct FuzzRun {
    /// The pool of inputs that others are made of holds no more.
    private static let poolMax = 2048

    private let target: FuzzTarget
    private var mutator: Mutator
    private var pool: [[UInt8]]
    /// What was told of inputs, and how often.
    package private(set) var outcomes: [String: Int] = [:]
    /// The first input of each outcome that only a mutated one had.
    package private(set) var discoveries: [[UInt8]] = []
    package private(set) var rounds = 0

    /// A run that begins with the target's seeds and the inputs of earlier runs.
    ///
    /// `seed` decides which mutations are made.
    package init(_ target: FuzzTarget, kept: [[UInt8]], seed: UInt64) {
        self.target = target
        pool = target.seeds.map(inputBytes) + kept + [[]]
        mutator = Mutator(words: target.words, generator: Generator(seed: seed))
    }

    /// Reads every input that the run begins with.
    package mutating func readKept() -> [FuzzFinding] {
        pool.compactMap { read($0, isNew: false) }
    }

    /// The input of the next round.
    package mutating func next() -> [UInt8] { mutator.next(from: pool) }

    /// Reads an input of `next`, or one that is kept.
    package mutating func read(_ input: [UInt8], isNew: Bool = true) -> FuzzFinding? {
        rounds += 1
        do {
            let outcome = try target.check(input)
            outcomes[outcome, default: 0] += 1
            if isNew, outcomes[outcome] == 1 {
                discoveries.append(input)
                if pool.count < FuzzRun.poolMax { pool.append(input) }
            }
            return nil
        } catch {
            return FuzzFinding(target: target.name, input: input, problem: "\(error)")
        }
    }
}
