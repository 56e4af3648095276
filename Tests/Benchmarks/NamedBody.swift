// How a body tells to which exchange it belongs, and whether it is the right one.

/// A body of lines that begin with an ID.
///
/// A piece that is missing, repeated or from another body moves or changes an ID.
enum NamedBody {
    /// Bytes of a line; a body is a whole number of lines.
    static let lineBytes = 64

    /// The template of a body of `count` bytes, with `mark` at the start of each line.
    static func template(_ count: Int, naming mark: String) -> [UInt8] {
        let filler = String(repeating: "x", count: lineBytes - mark.utf8.count - 1)
        let line = Array("\(mark)\(filler)\n".utf8)
        return Array(repeatElement(line, count: count / lineBytes).joined())
    }

    /// Whether all lines of `piece` name `id`; the piece lies behind `offset` bytes of the body.
    ///
    /// Between the IDs nothing is compared: the load has no time to spare.
    static func isRight(_ piece: Span<UInt8>, from offset: Int, for id: RequestID) -> Bool {
        var i = 0
        while i < piece.count {
            let column = (offset + i) % lineBytes
            if column < RequestID.length {
                guard piece[i] == id.digit(column) else { return false }
                i += 1
            } else {
                i += lineBytes - column
            }
        }
        return true
    }
}

/// Templates of named bodies, one for each length.
struct NamedBodies {
    private var templates: [Int: VariedText] = [:]

    /// The template of a body of so many bytes; nil for none.
    mutating func template(of bytes: Int) -> VariedText? {
        guard bytes > 0 else { return nil }
        if let made = templates[bytes] { return made }
        let template = VariedText(NamedBody.template(bytes, naming: VariedText.urlID))
        templates[bytes] = template
        return template
    }
}
