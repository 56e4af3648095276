// Parses YAML text to a tree with places: restricts YAML to a subset, and translates Yams' errors
// to messages that say what to write instead.

import Yams

/// A value of the file with its place.
struct YAMLNode: Sendable {
    struct Entry: Sendable {
        var key: String
        var keyPlace: Place
        var value: YAMLNode
    }

    enum Content: Sendable {
        /// `isPlain` is false for quoted texts and block scalars.
        case scalar(String, isPlain: Bool)
        case list([YAMLNode])
        case map([Entry])
    }

    var content: Content
    var place: Place

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
protocol DiagnosticPlace {
    var place: Place { get }
    /// The text above the carets.
    var markedText: String? { get }
}

extension YAMLNode: DiagnosticPlace {}

extension YAMLNode.Entry: DiagnosticPlace {
    var place: Place { keyPlace }
    var markedText: String? { key }
}

/// Reads one YAML document.
struct DocumentReader {
    /// The number of values that aliases may add to those in the text.
    static let aliasedValuesMax = 100_000
    /// Deeper nesting than this has no meaning in the format.
    static let depthMax = 64
    /// The maximum number of duplicate keys to report; each costs another parse.
    private static let duplicatesMax = 20

    let source: SourceFile
    private(set) var problems: [Diagnostic] = []
    private var valuesLeft: Int
    /// Keys that replace the second of two equal ones, so that Yams continues.
    private var placeholders: Set<String> = []

    init(source: SourceFile) {
        self.source = source
        valuesLeft = DocumentReader.aliasedValuesMax + source.text.utf8.count
    }

    /// Returns the tree of the file; nil when the text is not supported YAML or has no value.
    mutating func read() -> YAMLNode? {
        if let place = aliasedKey() {
            note("an alias or a collection as a key is not supported", at: place)
            return nil
        }
        guard let root = compose() else { return nil }
        return convert(root, depth: 0)
    }

    // MARK: Composing

    /// Yams stops at the first pair of equal keys; the second is renamed until all are reported.
    private mutating func compose() -> Node? {
        var text = source.text
        while true {
            do {
                return try Yams.compose(yaml: text, .basic, .default, .utf8)
            } catch YamlError.duplicatedKeysInMapping(let names, let context) {
                let first = Place(line: context.mark.line, column: context.mark.column)
                guard placeholders.count < DocumentReader.duplicatesMax,
                    let renamed = renamingDuplicate(in: text, first: first, names: names)
                else {
                    if placeholders.isEmpty { noteDuplicate(names.first ?? "", first, first) }
                    return nil
                }
                text = renamed
            } catch let error as YamlError {
                note(error)
                return nil
            } catch {
                note("the file cannot be read as YAML", at: Place(line: 1, column: 1))
                return nil
            }
        }
    }

    /// Replaces the second of two equal keys by private-use scalars of the same count, so that all
    /// places stay.
    private mutating func renamingDuplicate(
        in text: String,
        first: Place,
        names: [String]
    ) -> String? {
        var finder = DuplicateFinder(SourceFile(name: source.name, text: text))
        guard let found = finder.second(of: first, among: names) else { return nil }
        noteDuplicate(found.name, first, found.place)
        let filler = Unicode.Scalar(0xE000 + UInt32(placeholders.count)) ?? "\u{F8FF}"
        let count = found.name.unicodeScalars.count
        var key = String.UnicodeScalarView()
        for _ in 0..<count { key.append(filler) }
        placeholders.insert(String(key))
        return finder.replacing(at: found.place, count: count, with: key)
    }

    private mutating func noteDuplicate(_ name: String, _ first: Place, _ second: Place) {
        problems.append(
            source.diagnostic(
                .duplicate,
                "\"\(name)\" is written twice",
                at: second,
                value: name,
                hint: "first on line \(first.line)"
            )
        )
    }

    // MARK: Converting

    private mutating func convert(_ node: Node, depth: Int) -> YAMLNode {
        let mark = node.mark.map { Place(line: $0.line, column: $0.column) } ?? .wholeFile
        let place = valuePlace(mark)
        valuesLeft -= 1
        guard valuesLeft > 0, depth < DocumentReader.depthMax else {
            if valuesLeft == 0 {
                note("aliases make the file too large", at: place, "write the values out")
            } else if valuesLeft > 0 {
                note("the file is nested too deeply", at: place, "at most 64 levels")
            }
            return YAMLNode(content: .scalar("", isPlain: true), place: place)
        }
        switch node {
        case .scalar(let scalar):
            let isPlain = scalar.style == .plain || scalar.style == .any
            return YAMLNode(content: .scalar(scalar.string, isPlain: isPlain), place: place)
        case .sequence(let sequence):
            var items: [YAMLNode] = []
            for item in sequence {
                guard valuesLeft > 0 else { break }
                items.append(convert(item, depth: depth + 1))
            }
            return YAMLNode(content: .list(items), place: place)
        case .mapping(let mapping):
            return YAMLNode(content: .map(entries(of: mapping, depth: depth)), place: place)
        case .alias:
            return YAMLNode(content: .scalar("", isPlain: true), place: place)
        }
    }

    private mutating func entries(of mapping: Node.Mapping, depth: Int) -> [YAMLNode.Entry] {
        var result: [YAMLNode.Entry] = []
        for (key, value) in mapping {
            guard valuesLeft > 0 else { break }
            let keyNode = convert(key, depth: depth + 1)
            guard case .scalar(let name, let isPlain) = keyNode.content else {
                note("a list or a map as a key is not supported", at: keyNode.place)
                continue
            }
            if placeholders.contains(name) { continue }
            if name == "<<", isPlain {
                note(
                    "merge keys are not supported",
                    at: keyNode.place,
                    count: 2,
                    "write the keys out, or use a named policy"
                )
                continue
            }
            let entry = YAMLNode.Entry(
                key: name,
                keyPlace: keyNode.place,
                value: convert(value, depth: depth + 1)
            )
            result.append(entry)
        }
        return result
    }

    /// Returns the place of the value itself, after an anchor; reports tags.
    private mutating func valuePlace(_ mark: Place) -> Place {
        var place = mark
        var rest = source.rest(at: mark)
        while let first = rest.first, first == "&" || first == "!" {
            let word = rest.prefix { $0 != " " && $0 != "\t" }
            if first == "!" {
                let tag = String(String.UnicodeScalarView(word))
                note(
                    "tags such as \(tag) are not supported",
                    at: place,
                    count: word.count,
                    "leave it out: the key decides the type"
                )
            }
            let blank = rest.dropFirst(word.count).prefix { $0 == " " || $0 == "\t" }
            place = place.shifted(by: word.count + blank.count)
            rest = source.rest(at: place)
        }
        return rest.isEmpty || rest.first == "#" ? mark : place
    }

    // MARK: Problems

    private mutating func note(
        _ message: String,
        at place: Place,
        count: Int? = nil,
        _ hint: String? = nil
    ) {
        let problem = source.diagnostic(.syntax, message, at: place, count: count, hint: hint)
        if problems.last != problem { problems.append(problem) }
    }

    /// Finds a key that looks like a collection or an alias, in a file with many aliases.
    ///
    /// Yams compares such a key with its neighbours value by value, which practically never ends
    /// with nested aliases; so the file must be refused before it is parsed.
    private func aliasedKey() -> Place? {
        var aliases = 0
        var suspect: Place?
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
                    suspect = Place(line: number, column: i + 1)
                }
            }
        }
        return aliases >= 16 ? suspect : nil
    }
}

// MARK: Yams' errors

extension DocumentReader {
    private mutating func note(_ error: YamlError) {
        switch error {
        case .scanner(let context, let problem, let mark, _),
            .parser(let context, let problem, let mark, _),
            .composer(let context, let problem, let mark, _):
            // For an unclosed list, its beginning is more helpful than the place of detection.
            let isOpen = problem.contains("expected ',' or")
            let place = isOpen ? context?.mark ?? mark : mark
            noteSyntax(problem, at: Place(line: place.line, column: place.column))
        case .reader:
            let place = source.place(where: DocumentReader.isForbidden)
            note("a control character is not allowed", at: place, count: 1)
        default:
            note("the file cannot be read as YAML", at: Place(line: 1, column: 1))
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

    private mutating func noteSyntax(_ problem: String, at place: Place) {
        if let tab = tabIndentation(at: place) {
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
                "did not find expected alphabetic or numeric character",
                "a text that begins with * or & is not quoted", "write \"*.example\""
            ),
            (
                "mapping values are not allowed", "a colon is not expected here",
                "quote the text, or check the indentation"
            ),
            ("unexpected end of stream", "a quote is not closed", nil),
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
            note(entry.message, at: place, count: 1, entry.hint)
            return
        }
        note("not YAML: \(problem)", at: place, count: 1)
    }

    /// Finds a tab in the indentation of the line at `place`, or of the previous line.
    private func tabIndentation(at place: Place) -> Place? {
        for number in [place.line, place.line - 1] {
            guard let line = source.line(number) else { continue }
            let blanks = line.prefix { $0 == " " || $0 == "\t" }
            var column = 0
            for scalar in blanks {
                column += 1
                if scalar == "\t" { return Place(line: number, column: column) }
            }
        }
        return nil
    }
}
