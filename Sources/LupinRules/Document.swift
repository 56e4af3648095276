// Parses YAML text to a tree with places: restricts YAML to a subset, and translates libyaml's
// errors to messages that say what to write instead.
import LupinCore

/// A value of the file with its place.
struct YAMLNode: Sendable {
    struct Entry: Sendable {
        var key: String
        var keyLocation: FileLocation
        var value: YAMLNode
    }

    enum Content: Sendable {
        /// `isPlain` is false for quoted texts and block scalars.
        case scalar(String, isPlain: Bool)
        case list([YAMLNode])
        case map([Entry])
    }

    var content: Content
    var location: FileLocation

    /// Whether there is no value after the colon.
    var isEmpty: Bool {
        if case .scalar("", isPlain: true) = content { return true }
        return false
    }

    /// The text of a scalar.
    var scalarText: String? {
        if case .scalar(let text, _) = content { return text }
        return nil
    }

    /// The text above the carets: a scalar, or the first key of a map.
    var markedText: String? {
        if case .map(let entries) = content { return entries.first?.key }
        return scalarText
    }

    /// The kind of value, for sentences.
    var kindText: String {
        switch content {
        case .scalar("", isPlain: true): "nothing"
        case .scalar(let text, _): text.count > 40 ? "\"\(text.prefix(40))…\"" : "\"\(text)\""
        case .list: "a list"
        case .map: "a map"
        }
    }
}

/// The place at which a problem is shown: a value, or the key of an entry.
protocol DiagnosticLocation {
    var location: FileLocation { get }
    /// The text above the carets.
    var markedText: String? { get }
}

extension YAMLNode: DiagnosticLocation {}

extension YAMLNode.Entry: DiagnosticLocation {
    var location: FileLocation { keyLocation }
    var markedText: String? { key }
}

/// Reads one YAML document.
struct DocumentReader {
    /// The number of values that aliases may add to those in the text.
    static let aliasedValuesMax = 100_000
    /// Deeper nesting than this has no meaning in the format.
    static let depthMax = 64
    /// The maximum number of duplicate keys to report.
    private static let duplicatesMax = 20

    let source: SourceFile
    private(set) var problems: [Diagnostic] = []
    private var valuesLeft: Int

    init(source: SourceFile) {
        self.source = source
        valuesLeft = DocumentReader.aliasedValuesMax + source.text.utf8.count
    }

    /// Returns the tree of the file; nil when the text is not supported YAML or has no value.
    mutating func read() -> YAMLNode? {
        if let location = aliasedKey() {
            note("an alias or a collection as a key is not supported", at: location)
            return nil
        }
        guard let root = compose() else { return nil }
        return convert(root, depth: 0)
    }

    // MARK: Composing

    /// Composes the tree and reports keys that are written twice, also in front of an error.
    private mutating func compose() -> ComposedNode? {
        do throws(YAMLFailure) {
            var composer = try YAMLComposer(source.text)
            defer { note(composer.duplicates) }
            let root = try composer.compose()
            return composer.duplicates.count > DocumentReader.duplicatesMax ? nil : root
        } catch {
            note(error)
            return nil
        }
    }

    private mutating func note(_ duplicates: [YAMLComposer.Duplicate]) {
        for duplicate in duplicates.prefix(DocumentReader.duplicatesMax) {
            problems.append(
                source.diagnostic(
                    .duplicate,
                    "\"\(duplicate.name)\" is written twice",
                    at: duplicate.second,
                    value: duplicate.name,
                    hint: "first on line \(duplicate.first.line)"
                )
            )
        }
    }

    // MARK: Converting

    private mutating func convert(_ node: ComposedNode, depth: Int) -> YAMLNode {
        let location = valueLocation(node.location)
        valuesLeft -= 1
        guard valuesLeft > 0, depth < DocumentReader.depthMax else {
            if valuesLeft == 0 {
                note("aliases make the file too large", at: location, "write the values out")
            } else if valuesLeft > 0 {
                note("the file is nested too deeply", at: location, "at most 64 levels")
            }
            return YAMLNode(content: .scalar("", isPlain: true), location: location)
        }
        switch node {
        case .scalar(let text, let isPlain, _):
            let text = isPlain ? withoutForeignSpaces(text, at: location) : text
            return YAMLNode(content: .scalar(text, isPlain: isPlain), location: location)
        case .list(let composed, _):
            var items: [YAMLNode] = []
            for item in composed {
                guard valuesLeft > 0 else { break }
                items.append(convert(item, depth: depth + 1))
            }
            return YAMLNode(content: .list(items), location: location)
        case .map(let composed, _):
            return YAMLNode(content: .map(entries(composed, depth: depth)), location: location)
        }
    }

    /// The text without spaces that YAML takes for letters at its ends, which are reported.
    private mutating func withoutForeignSpaces(_ text: String, at location: FileLocation) -> String
    {
        let scalars = text.unicodeScalars
        let isAtEnd = scalars.last?.isForeignSpace == true
        guard isAtEnd || scalars.first?.isForeignSpace == true else { return text }
        let kept = Substring(scalars.drop(while: \.isForeignSpace))
        let start = scalars.first?.isForeignSpace == true ? 0 : scalars.count - 1
        let scalar = start == 0 ? scalars.first : scalars.last
        if let scalar { note(foreignSpace: scalar, at: location.shifted(by: start)) }
        var rest = kept.unicodeScalars
        while rest.last?.isForeignSpace == true { rest.removeLast() }
        return String(rest)
    }

    private mutating func entries(
        _ composed: [(key: ComposedNode, value: ComposedNode)],
        depth: Int
    ) -> [YAMLNode.Entry] {
        var result: [YAMLNode.Entry] = []
        for (key, value) in composed {
            guard valuesLeft > 0 else { break }
            let keyNode = convert(key, depth: depth + 1)
            guard case .scalar(let name, let isPlain) = keyNode.content else {
                note("a list or a map as a key is not supported", at: keyNode.location)
                continue
            }
            if name == "<<", isPlain {
                note(
                    "merge keys are not supported",
                    at: keyNode.location,
                    count: 2,
                    "write the keys out, or use a named policy"
                )
                continue
            }
            if isPlain, let offset = Array(name.unicodeScalars).firstIndex(where: \.isForeignSpace)
            {
                let at = keyNode.location.shifted(by: offset)
                note(foreignSpace: Array(name.unicodeScalars)[offset], at: at)
                continue
            }
            if !LogText.isHarmless(name) {
                problems.append(
                    source.diagnostic(
                        .name,
                        "a key holds a control character, or one that reorders or hides text",
                        at: keyNode.location,
                        hint: "lupin would show it as \(LogText.plain(name))"
                    )
                )
            }
            let entry = YAMLNode.Entry(
                key: name,
                keyLocation: keyNode.location,
                value: convert(value, depth: depth + 1)
            )
            result.append(entry)
        }
        return result
    }

    /// Returns the place of the value itself, after an anchor; reports tags.
    private mutating func valueLocation(_ mark: FileLocation) -> FileLocation {
        var location = mark
        var rest = source.rest(at: mark)
        while let first = rest.first, first == "&" || first == "!" {
            let word = rest.prefix { $0 != " " && $0 != "\t" }
            if first == "!" {
                let tag = String(String.UnicodeScalarView(word))
                note(
                    "tags such as \(tag) are not supported",
                    at: location,
                    count: word.count,
                    "leave it out: the key decides the type"
                )
            }
            let blank = rest.dropFirst(word.count).prefix { $0 == " " || $0 == "\t" }
            location = location.shifted(by: word.count + blank.count)
            rest = source.rest(at: location)
        }
        return rest.isEmpty || rest.first == "#" ? mark : location
    }

    // MARK: Problems

    private mutating func note(
        _ message: String,
        at location: FileLocation,
        count: Int? = nil,
        _ hint: String? = nil
    ) {
        let problem = source.diagnostic(.syntax, message, at: location, count: count, hint: hint)
        if problems.last != problem { problems.append(problem) }
    }

    /// Finds a key that looks like a collection or an alias, in a file with many aliases.
    ///
    /// Nothing in the format has such a key.
    private func aliasedKey() -> FileLocation? {
        var aliases = 0
        var suspect: FileLocation?
        for number in 1...max(1, source.lineCount) {
            guard let line = source.line(number).map(Array.init) else { continue }
            var solid: Unicode.Scalar = " "
            var isAlias = false
            for (i, scalar) in line.enumerated() {
                let next = i + 1 < line.count ? line[i + 1] : " "
                let previous = i > 0 ? line[i - 1] : " "
                let opens = " [{,".unicodeScalars.contains(previous)
                if scalar == "*", opens, next != " " { aliases += 1 }
                let closes = scalar == ":" && (solid == "]" || solid == "}" || isAlias)
                if " [{,".unicodeScalars.contains(scalar) {
                    if scalar != " " { isAlias = false }
                } else if opens {
                    isAlias = scalar == "*"
                }
                if scalar != " " { solid = scalar }
                if suspect == nil, next == " ", closes || (scalar == "?" && opens) {
                    suspect = FileLocation(line: number, column: i + 1)
                }
            }
        }
        return aliases >= 16 ? suspect : nil
    }
}

// MARK: libyaml's errors

extension DocumentReader {
    private mutating func note(_ failure: YAMLFailure) {
        switch failure {
        case .syntax(let problem, let location, let opening):
            // For an unclosed list, its beginning is more helpful than the place of detection.
            let isOpen = problem.contains("expected ',' or")
            if noteForeignSpace(near: location, opening) { return }
            if noteQuote(problem, at: location, opening) { return }
            if noteBareStar(problem, from: opening) { return }
            if noteBareEntry(problem, at: location, opening) { return }
            noteSyntax(problem, at: isOpen ? opening ?? location : location)
        case .forbiddenCharacter:
            let location = source.location(where: DocumentReader.isForbidden)
            note("a control character is not allowed", at: location, count: 1)
        case .tooDeep(let location):
            note("the file is nested too deeply", at: location, "at most 64 levels")
        case .outOfMemory:
            note("the file cannot be read as YAML", at: FileLocation(line: 1, column: 1))
        }
    }

    /// The scalars that YAML 1.2 §5.1 forbids, except surrogates, which UTF-8 excludes.
    private static func isForbidden(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x09, 0x0A, 0x0D, 0x85: false
        case 0..<0x20, 0x7F..<0xA0, 0xFFFE, 0xFFFF: true
        default: false
        }
    }

    /// Notes a space that YAML takes for a letter, on one of the lines at which libyaml fails.
    /// - Returns: Whether there is one.
    private mutating func noteForeignSpace(
        near location: FileLocation,
        _ opening: FileLocation?
    ) -> Bool {
        let first = min(opening?.line ?? location.line, location.line)
        for number in Set([first, location.line - 1, location.line]).sorted() {
            guard let line = source.line(number),
                let at = line.firstIndex(where: \.isForeignSpace)
            else { continue }
            let column = line.distance(from: line.startIndex, to: at) + 1
            note(foreignSpace: line[at], at: FileLocation(line: number, column: column))
            return true
        }
        return false
    }

    private mutating func note(foreignSpace scalar: Unicode.Scalar, at location: FileLocation) {
        let digits = String(scalar.value, radix: 16, uppercase: true)
        let code = String(repeating: "0", count: max(0, 4 - digits.count)) + digits
        let name = scalar.properties.name?.lowercased() ?? "character"
        note("U+\(code) (\(name)) is no space in YAML", at: location, count: 1, "write a space")
    }

    /// Notes a quote that is not closed where it opens, and a quoted text behind which more stands.
    /// - Returns: Whether it is the problem.
    private mutating func noteQuote(
        _ problem: String,
        at location: FileLocation,
        _ opening: FileLocation?
    ) -> Bool {
        let isOpen = problem.contains("unexpected end of stream")
        let quote = QuoteScanner(source, upTo: location).found
        let spanning = quote.flatMap { $0.opening.line < $0.closing.line ? $0.opening : nil }
        if let start = spanning ?? (isOpen ? opening : nil) {
            let mark = source.rest(at: start).first.map(String.init) ?? "\""
            note("a quote is not closed", at: start, count: 1, "write \(mark) behind the text")
            return true
        }
        guard let quote, location == quote.closing.shifted(by: 1) else { return false }
        let isSingle = source.rest(at: quote.closing).first == "'"
        note(
            "the quote ends here, and the text goes on",
            at: quote.closing,
            count: 1,
            isSingle ? "write '' for a quote inside" : "write \\\" for a quote inside"
        )
        return true
    }

    /// Notes `*.acme.example` without quotes, which libyaml reads as an alias.
    /// - Returns: Whether it is the problem.
    private mutating func noteBareStar(_ problem: String, from opening: FileLocation?) -> Bool {
        let said = "did not find expected alphabetic or numeric character"
        guard problem.contains(said), let opening else { return false }
        let text = source.rest(at: opening).prefix { !" ,]}".unicodeScalars.contains($0) }
        let hint = "write \"\(String(text))\""
        note("a text that begins with * or & is not quoted", at: opening, count: text.count, hint)
        return true
    }

    /// Notes a line such as `retry safe`, which libyaml reads together with the next one.
    /// - Returns: Whether it is the problem.
    private mutating func noteBareEntry(
        _ problem: String,
        at location: FileLocation,
        _ opening: FileLocation?
    ) -> Bool {
        var number: Int?
        if problem.contains("could not find expected ':'") { number = opening?.line }
        if problem.contains("mapping values are not allowed") { number = location.line - 1 }
        guard let number, let line = source.line(number) else { return false }
        let text = line.drop { $0 == " " || $0 == "-" }
        let words = String(text).split(separator: " ", maxSplits: 1)
        guard words.count == 2,
            words[0].utf8.allSatisfy({ $0 == 0x5F || $0.asciiLowercased &- 0x61 < 26 }),
            !text.contains(where: { ":#\"'{}[],".unicodeScalars.contains($0) })
        else { return false }
        let start = FileLocation(line: number, column: line.count - text.count + 1)
        let hint = "write \(words[0]): \(words[1])"
        note("\"\(String(text))\" has no colon", at: start, count: text.count, hint)
        return true
    }

    private mutating func noteSyntax(_ problem: String, at location: FileLocation) {
        if let tab = tabIndentation(at: location) {
            note("a tab cannot indent", at: tab, count: 1, "write spaces")
            return
        }
        let known: [(part: String, message: String, hint: String?)] = [
            ("another document", "a second document is not supported", "one file, one document"),
            (
                "undefined alias", "the alias has no anchor before it",
                "quote a text that begins with *, or write &name at the first use"
            ),
            (
                "mapping values are not allowed", "a colon is not expected here",
                "quote the text, or check the indentation"
            ),
            (
                "could not find expected ':'", "a colon is missing behind the key",
                "write key: value"
            ),
            ("did not find expected ',' or ']'", "a list is not closed", "write ]"),
            ("did not find expected ',' or '}'", "a map is not closed", "write }"),
            ("did not find expected key", "the indentation does not fit the lines above", nil),
            ("did not find expected '-' indicator", "the indentation does not fit the list", nil),
            ("block sequence entries are not allowed", "a list is not expected here", nil),
            ("cannot start any token", "a value cannot start with this character", "quote it"),
            ("did not find expected node content", "a value is expected here", "quote it"),
            ("undefined tag handle", "tags are not supported", nil),
            (
                "did not find expected <document start>", "the text does not fit the lines above",
                "everything is \"key: value\""
            ),
        ]
        for entry in known where problem.contains(entry.part) {
            note(entry.message, at: location, count: 1, entry.hint)
            return
        }
        note("not YAML: \(problem)", at: location, count: 1)
    }

    /// Finds a tab in the indentation of the line at `location`, or of the previous line.
    private func tabIndentation(at location: FileLocation) -> FileLocation? {
        for number in [location.line, location.line - 1] {
            guard let line = source.line(number) else { continue }
            let blanks = line.prefix { $0 == " " || $0 == "\t" }
            var column = 0
            for scalar in blanks {
                column += 1
                if scalar == "\t" { return FileLocation(line: number, column: column) }
            }
        }
        return nil
    }
}

extension Unicode.Scalar {
    /// Whether it looks like a space, or like nothing, and is none in YAML.
    fileprivate var isForeignSpace: Bool {
        switch value {
        case 0xA0, 0x1680, 0x2000...0x200B, 0x202F, 0x205F, 0x2060, 0x3000, 0xFEFF: true
        default: false
        }
    }
}
