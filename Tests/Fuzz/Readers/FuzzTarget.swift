// What is fuzzed: a reader, the inputs to begin with, and what must hold of whatever it is given.

/// A reader of bytes from outside, and its promises.
package struct FuzzTarget: Sendable {
    /// What the program and the file of kept inputs call it.
    package let name: String
    /// Inputs to begin with, besides those kept; `\u{80}` to `\u{FF}` stand for single bytes.
    package let seeds: [String]
    /// Words of its grammar, besides those of the mutator.
    package let words: [String]
    /// How many mutated inputs a run of the tests tries.
    package let roundsInTests: Int
    /// Reads an input and says in a few words what became of it.
    ///
    /// There are few such outcomes: an input with a new one is worth keeping.
    /// - Throws: `Broken`.
    package let check: @Sendable ([UInt8]) throws -> String

    package init(
        _ name: String,
        seeds: [String],
        words: [String] = [],
        roundsInTests: Int = 50,
        check: @escaping @Sendable ([UInt8]) throws -> String
    ) {
        self.name = name
        self.seeds = seeds
        self.words = words
        self.roundsInTests = roundsInTests
        self.check = check
    }
}

/// A promise that a reader did not keep.
package struct Broken: Error, CustomStringConvertible {
    package let description: String

    package init(_ promise: String) { description = promise }
}

/// Throws unless a promise is kept.
func hold(_ isKept: Bool, _ promise: @autoclosure () -> String) throws {
    if !isKept { throw Broken(promise()) }
}

/// A number as one of few words, for outcomes.
func size(_ count: Int) -> String {
    switch count {
    case ...0: "0"
    case 1: "1"
    case 2...3: "few"
    case 4...31: "some"
    default: "many"
    }
}

/// `some` or `nil`.
func told(_ value: (some Any)?) -> String { value == nil ? "nil" : "some" }

func text(_ bytes: some Sequence<UInt8>) -> String { String(decoding: Array(bytes), as: UTF8.self) }

/// The two sides of the first line feed; nothing on the right where there is none.
func halves(_ bytes: [UInt8]) -> (first: [UInt8], second: [UInt8]) {
    guard let cut = bytes.firstIndex(of: 0x0A) else { return (bytes, []) }
    return (Array(bytes[..<cut]), Array(bytes[(cut + 1)...]))
}
