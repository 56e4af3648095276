// A mistake in a filter: where it is, and what to write.

/// Why a text is no filter.
package struct FilterProblem: Error, Sendable, Equatable {
    /// Where the mistake begins in the filter's UTF-8, and how many bytes it has.
    package let offset: Int
    package let count: Int
    /// A sentence without a full stop.
    package let message: String

    init(_ range: Range<Int>, _ message: String) {
        offset = range.lowerBound
        count = range.count
        self.message = message
    }

    /// The message with the place, in one line.
    package func sentence(in filter: String) -> String {
        "at character \(column(in: filter) + 1) of the filter: \(message)"
    }

    /// The filter with the mistake underlined, and the message.
    package func text(in filter: String) -> String {
        // A line feed would move what is underlined.
        let filter = String(filter.map { $0.isNewline || $0 == "\t" ? " " : $0 })
        let column = column(in: filter)
        let bytes = Array(filter.utf8)
        let end = min(bytes.count, offset + count)
        let marked = String(decoding: bytes[min(offset, end)..<end], as: UTF8.self)
        let line = String(repeating: "^", count: max(1, marked.count))
        return "\(message)\n  \(filter)\n  \(String(repeating: " ", count: column))\(line)"
    }

    private func column(in filter: String) -> Int {
        String(decoding: filter.utf8.prefix(offset), as: UTF8.self).count
    }
}
