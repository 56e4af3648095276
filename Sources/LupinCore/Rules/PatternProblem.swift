// A problem with a pattern of the rules file, and its position.

/// A pattern that cannot be used.
///
/// The message is a sentence for the author of the file.
package struct PatternProblem: Error, Equatable, Sendable {
    /// The problem, and what to write instead.
    package var message: String
    /// The position in the given text, in characters from 0.
    package var offset: Int

    package init(_ message: String, at offset: Int) {
        self.message = message
        self.offset = offset
    }

    /// The same problem in a text with `count` more characters before this one.
    package func shifted(by count: Int) -> PatternProblem {
        PatternProblem(message, at: offset + count)
    }
}
