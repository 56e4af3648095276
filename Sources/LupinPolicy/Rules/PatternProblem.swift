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

    /// Finds the scheme in `http//a.example` or `https:/a.example`, and what follows the slashes.
    static func schemeWithoutColon(_ text: String) -> (scheme: String, rest: Substring)? {
        for scheme in ["https", "http"] where text.lowercased().hasPrefix(scheme) {
            let rest = text.dropFirst(scheme.count)
            guard rest.hasPrefix("//") || (rest.hasPrefix(":/") && !rest.hasPrefix("://"))
            else { continue }
            return (scheme, rest.drop { $0 == ":" || $0 == "/" })
        }
        return nil
    }

    /// The same problem in a text with `count` more characters before this one.
    package func shifted(by count: Int) -> PatternProblem {
        PatternProblem(message, at: offset + count)
    }
}
