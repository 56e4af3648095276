// Finds the second of two equal keys. Yams only reports the first, so the text is searched: below
// it in the same column, or further on between the same braces.

struct DuplicateFinder {
    private let source: SourceFile

    init(_ source: SourceFile) { self.source = source }

    /// Finds the next key of the same map with the name of the key at `first`.
    mutating func second(of first: Place, among names: [String]) -> (name: String, place: Place)? {
        guard let name = names.first(where: { isKey($0, at: first) }) else { return nil }
        if let place = inBlock(name, after: first) ?? inFlow(name, after: first) {
            return (name, place)
        }
        return nil
    }

    /// Returns the text with `count` scalars at `place` (inside quotes, if any) replaced.
    func replacing(
        at place: Place,
        count: Int,
        with key: String.UnicodeScalarView
    ) -> String? {
        guard let line = source.line(place.line) else { return nil }
        var start = line.index(line.startIndex, offsetBy: place.column - 1)
        if line[start] == "\"" || line[start] == "'" { start = line.index(after: start) }
        guard let end = line.index(start, offsetBy: count, limitedBy: line.endIndex) else {
            return nil
        }
        var scalars = source.text.unicodeScalars
        scalars.replaceSubrange(start..<end, with: key)
        return String(scalars)
    }

    /// Whether `name:` is at `place`, plain or in quotes without escapes.
    private func isKey(_ name: String, at place: Place) -> Bool {
        var rest = source.rest(at: place)
        let quote = rest.first.flatMap { $0 == "\"" || $0 == "'" ? $0 : nil }
        if quote != nil { rest = rest.dropFirst() }
        guard rest.starts(with: name.unicodeScalars) else { return false }
        rest = rest.dropFirst(name.unicodeScalars.count)
        if let quote {
            guard rest.first == quote else { return false }
            rest = rest.dropFirst()
        }
        let behind = rest.drop { $0 == " " || $0 == "\t" }
        guard behind.first == ":" else { return false }
        let next = behind.dropFirst().first
        return next == nil || next == " " || next == "\t" || quote != nil
    }

    private func inBlock(_ name: String, after first: Place) -> Place? {
        var number = first.line + 1
        while let line = source.line(number) {
            defer { number += 1 }
            let indentation = line.prefix { $0 == " " }.count
            guard let content = line.dropFirst(indentation).first, content != "#" else { continue }
            if indentation < first.column - 1 { return nil }
            let place = Place(line: number, column: first.column)
            if indentation == first.column - 1, isKey(name, at: place) { return place }
        }
        return nil
    }

    private func inFlow(_ name: String, after first: Place) -> Place? {
        var depth = 0
        var quote: Unicode.Scalar?
        var place = first.shifted(by: name.unicodeScalars.count)
        while let line = source.line(place.line) {
            var expectsKey = false
            for scalar in line.dropFirst(place.column - 1) {
                defer { place.column += 1 }
                if let open = quote {
                    if scalar == open { quote = nil }
                    continue
                }
                if expectsKey, depth == 0, scalar != " ", isKey(name, at: place) { return place }
                switch scalar {
                case "\"", "'": quote = scalar
                case "[", "{": depth += 1
                case "]", "}":
                    if depth == 0 { return nil }
                    depth -= 1
                case ",": expectsKey = true
                case " ", "\t": break
                default: expectsKey = false
                }
            }
            place = Place(line: place.line + 1, column: 1)
        }
        return nil
    }
}
