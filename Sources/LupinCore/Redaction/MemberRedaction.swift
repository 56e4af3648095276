// Finds secrets in bodies by the names that stand before them: members of JSON, fields of forms.

/// Finds values to hide in bodies, by the name of the JSON member or form field that holds them.
///
/// It reads any text: a body may be JSON without saying so.
package final class MemberRedaction: Sendable {
    /// A value to hide.
    struct Finding {
        /// The name begins here; name and value are only found together.
        var anchor: Int
        var value: Range<Int>
        /// The value is no text, so that its replacement needs quotes.
        var isBare = false
        /// Before each quote of a text in a string: as many as it has there.
        var backslashes = 0
        /// The value is a part of a text, so that another one may follow in it.
        var isPart = false
    }

    /// Where a form's fields stand, which says where the last value ends.
    private enum FormContext {
        case body, string
        /// In a string of a JSON text that stands in a string itself.
        case nestedString
    }

    /// What a name says of its value.
    private enum Sense {
        /// All of it is hidden.
        case secret
        /// A list or an object is hidden if it holds a text.
        case list
        /// A text is hidden if it is a code of OAuth.
        case code
    }

    /// What is known of a text while it is searched.
    private struct Search {
        /// No list of secrets that ends before this place holds a text.
        var textlessEnd = 0
        /// Whether it is about a grant of OAuth.
        var isGrant: Bool?
    }

    /// Longer names are on no list.
    private static let nameBytesMax = 256
    /// The number of layers of `%XX` that are undone.
    private static let layersMax = 2

    private let names: NameSet
    private let lists = NameSet(SecretNames.lists, readsParts: true)
    private let codes = NameSet(SecretNames.codes, readsParts: true)
    /// In forms, where names mean the same as in a URL.
    private let parameters: NameSet
    private let fields = SecretNames.set()

    package init(names: [String]) {
        self.names = SecretNames.set(besides: names, readsParts: true)
        parameters = SecretNames.parameters(besides: names)
    }

    /// Whether a text in which these kinds of escapes are `present` may have members of JSON.
    static func mayFind(_ present: UInt8) -> Bool {
        present
            & (Escaping.quote | 1 << Escaping.percent.rawValue
                | 1 << Escaping.backslash.rawValue) != 0
    }

    /// The values to hide in a body, in any order.
    ///
    /// One that reaches the end of `text` may be longer than what is there.
    func findings(in text: Span<UInt8>, isStart: Bool) -> [Finding] {
        var findings: [Finding] = []
        if isStart, let first = formField(in: text, from: 0) { findings.append(first) }
        search(text, from: findings.last?.value.upperBound ?? 0, isLine: false, &findings)
        for part in FormPart.all(in: text) {
            if let found = finding(part, in: text) { findings.append(found) }
        }
        searchEncoded(text, layer: 1, &findings) { $0 }
        return findings
    }

    /// The values to hide in a field's value or a URL, in any order.
    func findings(inLine text: Span<UInt8>) -> [Finding] {
        var findings: [Finding] = []
        search(text, from: 0, isLine: true, &findings)
        searchEncoded(text, layer: 1, &findings) { $0 }
        return findings
    }

    /// Appends the values to hide; in a line, those of JSON only.
    private func search(
        _ text: Span<UInt8>,
        from start: Int,
        isLine: Bool,
        _ findings: inout [Finding]
    ) {
        var search = Search()
        var i = text.nameMark(from: start)
        while i < text.count {
            // What lies between name and value is searched, too.
            if text[i] == 0x22, let value = pairedValue(in: text, from: i, &search) {
                findings.append(value)
            }
            let found =
                switch text[i] {
                case 0x22:
                    member(in: text, from: i, &search)
                        ?? (isLine ? nil : written(in: text, from: i))
                case 0x5C:
                    nestedMember(in: text, from: i, &search)
                        ?? (isLine ? nil : nestedPart(in: text, from: i))
                case 0x26, 0x3F: isLine ? nil : formField(in: text, from: i + 1)
                default: Finding?.none
                }
            if let found {
                // In a line nothing follows later, and what is behind a name alone stays.
                if !isLine || !found.value.isEmpty { findings.append(found) }
                // The byte behind a text is its quote; behind another value, a name may begin.
                let isText = !found.isBare && !found.isPart && text[i] != 0x26 && text[i] != 0x3F
                i = max(i, found.value.upperBound - (isText ? 0 : 1))
            }
            i = text.nameMark(from: i + 1)
        }
    }

    /// Undoes `%XX`, and appends what JSON holds then: it may be a parameter or a form's field.
    private func searchEncoded(
        _ text: Span<UInt8>,
        layer: Int,
        _ findings: inout [Finding],
        _ origin: (Range<Int>) -> Range<Int>
    ) {
        // Many bytes are passed at once where nothing is escaped.
        guard text.offset(of: 0x25) < text.count,
            let inner = Unescaped(text, undoing: .percent)
        else { return }
        var found: [Finding] = []
        search(inner.bytes.span, from: 0, isLine: true, &found)
        for finding in found {
            let anchor = inner.origin(of: finding.anchor..<finding.anchor + 1)
            findings.append(
                Finding(
                    anchor: origin(anchor).lowerBound,
                    value: origin(inner.origin(of: finding.value))
                )
            )
        }
        guard layer < Self.layersMax else { return }
        searchEncoded(inner.bytes.span, layer: layer + 1, &findings) {
            origin(inner.origin(of: $0))
        }
    }

    /// `"name": value`, if the name is on a list and says that the value is hidden.
    private func member(
        in text: Span<UInt8>,
        from quote: Int,
        _ search: inout Search
    ) -> Finding? {
        guard let end = text.jsonStringEnd(from: quote, within: Self.nameBytesMax),
            end < text.count
        else { return nil }
        var i = text.behindSpace(from: end + 1)
        guard i < text.count else { return nil }
        if text[i] == 0x2C { return listedValue(of: quote + 1..<end, in: text, behind: i) }
        guard text[i] == 0x3A, let sense = sense(of: text, quote + 1..<end) else { return nil }
        i = text.behindSpace(from: i + 1)
        return value(in: text, at: i, anchor: quote, sense, &search)
    }

    /// The value of a pair such as `["X-Api-Key", "…"]`.
    ///
    /// Of a list of its own the name must be a field's that stands for nothing else; in a list of
    /// pairs, any.
    private func listedValue(
        of name: Range<Int>,
        in text: Span<UInt8>,
        behind comma: Int
    ) -> Finding? {
        let open = text.beforeSpace(from: name.lowerBound - 2)
        guard open >= 0, text[open] == 0x5B else { return nil }
        let before = text.beforeSpace(from: open - 1)
        let isAmongPairs = before >= 0 && (text[before] == 0x5B || text[before] == 0x2C)
        guard isAmongPairs || isPlainField(text.extracting(name)),
            sense(of: text, name) == .secret
        else { return nil }
        let quote = text.behindSpace(from: comma + 1)
        let anchor = isAmongPairs ? before : open
        guard quote < text.count else { return Finding(anchor: anchor, value: quote..<quote) }
        guard text[quote] == 0x22 else { return nil }
        guard let close = text.jsonStringEnd(from: quote, within: .max) else {
            return Finding(anchor: anchor, value: min(quote + 1, text.count)..<text.count)
        }
        let end = text.behindSpace(from: close + 1)
        guard end == text.count || text[end] == 0x5D else { return nil }
        return Finding(anchor: anchor, value: quote + 1..<close)
    }

    /// The value of a pair such as `{"name": "password", "value": "…"}`, in whatever order.
    private func pairedValue(
        in text: Span<UInt8>,
        from quote: Int,
        _ search: inout Search
    ) -> Finding? {
        guard let pair = NamedPair(in: text, at: quote),
            sense(of: text, pair.name) == .secret
        else { return nil }
        return value(in: text, at: pair.value, anchor: quote, .secret, &search)
    }

    /// The value at `i`, if it is hidden.
    private func value(
        in text: Span<UInt8>,
        at i: Int,
        anchor: Int,
        _ sense: Sense,
        _ search: inout Search
    ) -> Finding? {
        var found = Finding(anchor: anchor, value: i..<i)
        // The value may follow in what has not come yet.
        guard i < text.count else { return found }
        switch text[i] {
        case 0x22:
            let close = text.jsonStringEnd(from: i, within: .max)
            let end = close ?? text.count
            found.value = min(i + 1, end)..<end
            return hides(text, found.value, sense, isWhole: close != nil, &search) ? found : nil
        case 0x5B, 0x7B: return container(in: text, found, sense, quote: nil, &search)
        case 0x30...0x39, 0x2D:
            guard sense == .secret else { return nil }
            var end = i
            while end < text.count, !text[end].endsBareValue { end += 1 }
            found.value = i..<end
            found.isBare = true
            return found
        default: return nil
        }
    }

    /// Whether the text of a member is hidden.
    private func hides(
        _ text: Span<UInt8>,
        _ value: Range<Int>,
        _ sense: Sense,
        isWhole: Bool,
        _ search: inout Search
    ) -> Bool {
        switch sense {
        case .secret: return true
        case .list: return false
        case .code:
            if !isWhole || SecretNames.isRandomCode(text.extracting(value)) { return true }
            if search.isGrant == nil { search.isGrant = text.speaksOfGrant }
            return search.isGrant == true
        }
    }

    /// The list or object at the beginning of `found.value`, if it is hidden.
    private func container(
        in text: Span<UInt8>,
        _ found: Finding,
        _ sense: Sense,
        quote: NestedQuote?,
        _ search: inout Search
    ) -> Finding? {
        let start = found.value.lowerBound
        // Each is read once, however many lie in one another.
        guard sense == .secret || (sense == .list && start >= search.textlessEnd) else {
            return nil
        }
        let container = JSONContainer(in: text, at: start, quotedBy: quote)
        if container.isEmpty { return nil }
        if sense == .list, !container.holdsText {
            search.textlessEnd = container.end
            return nil
        }
        var found = found
        found.value = start..<container.end
        found.isBare = true
        return found
    }

    /// The value of a part of a multipart form, if the name is on the list.
    private func finding(_ part: FormPart, in text: Span<UInt8>) -> Finding? {
        guard let sense = sense(of: part.name.span, 0..<part.name.count) else { return nil }
        // The value may follow in what has not come yet.
        guard let value = part.value else {
            return Finding(anchor: part.start, value: text.count..<text.count)
        }
        var search = Search()
        let isWhole = value.upperBound < text.count
        guard hides(text, value, sense, isWhole: isWhole, &search) else { return nil }
        return Finding(anchor: part.start, value: value)
    }

    /// `\"name\": value` of a JSON text that stands in a string of another one.
    private func nestedMember(
        in text: Span<UInt8>,
        from start: Int,
        _ search: inout Search
    ) -> Finding? {
        guard start == 0 || text[start - 1] != 0x5C, let quote = NestedQuote(in: text, at: start),
            let end = quote.end(in: text, from: start + quote.length, within: Self.nameBytesMax)
        else { return nil }
        var i = text.behindSpace(from: end.upperBound)
        guard i < text.count, text[i] == 0x3A,
            let sense = sense(of: text, start + quote.length..<end.lowerBound)
        else { return nil }
        i = text.behindSpace(from: i + 1)
        var found = Finding(anchor: start, value: i..<i)
        found.backslashes = quote.backslashes
        // The value may follow in what has not come yet.
        guard i < text.count else { return found }
        switch text[i] {
        case 0x5C:
            guard let open = NestedQuote(in: text, at: i) else {
                // Or the rest of its quote may.
                found.value = text.count..<text.count
                return text.count - i < NestedQuote.lengthMax ? found : nil
            }
            let value = i + open.length
            let close = open.end(in: text, from: value, within: .max)
            found.value = value..<(close?.lowerBound ?? text.count)
            return hides(text, found.value, sense, isWhole: close != nil, &search) ? found : nil
        case 0x5B, 0x7B: return container(in: text, found, sense, quote: quote, &search)
        case 0x30...0x39, 0x2D:
            guard sense == .secret else { return nil }
            while i < text.count, !text[i].endsBareValue, text[i] != 0x5C, text[i] != 0x22 {
                i += 1
            }
            found.value = found.value.lowerBound..<i
            found.isBare = true
            return found
        default: return nil
        }
    }

    /// `"name=value` or `"Name: value`: a string that is a form, or a field of a head.
    private func written(in text: Span<UInt8>, from quote: Int) -> Finding? {
        let start = quote + 1
        return formField(in: text, from: start, in: .string)
            ?? headField(in: text, from: start, in: .string)
    }

    /// The same in a string of a JSON text that stands in a string of another one.
    private func nestedPart(in text: Span<UInt8>, from start: Int) -> Finding? {
        guard start == 0 || text[start - 1] != 0x5C, let quote = NestedQuote(in: text, at: start)
        else { return nil }
        let name = start + quote.length
        return formField(in: text, from: name, in: .nestedString)
            ?? headField(in: text, from: name, in: .nestedString)
    }

    /// `Name: value` of a field whose name stands for nothing else.
    private func headField(
        in text: Span<UInt8>,
        from start: Int,
        in context: FormContext
    ) -> Finding? {
        let reached = min(text.count, start + Self.nameBytesMax)
        var i = start
        while i < reached, text[i] != 0x3A {
            guard text[i] > 0x20, text[i] != 0x22, text[i] != 0x5C else { return nil }
            i += 1
        }
        guard i > start, i < reached else { return nil }
        let name = text.extracting(start..<i)
        // Other words stand before a colon in sentences: "password: too short".
        guard isPlainField(name), fields.contains(name) else { return nil }
        var value = i + 1
        while value < text.count, text[value] == 0x20 { value += 1 }
        let end = text.stringEnd(from: value, isNested: context == .nestedString) { text, i in
            // Another field may follow in the next line.
            text[i] < 0x20 || (text[i] == 0x5C && text.hasLineEscape(at: i))
        }
        return Finding(anchor: start - 1, value: value..<end, isPart: true)
    }

    /// Whether a name is a field's, and no word of sentences.
    private func isPlainField(_ name: Span<UInt8>) -> Bool {
        name.offset(of: 0x2D) < name.count || Self.plainFields.contains(name)
    }

    private static let plainFields = NameSet(["authorization", "cookie"])

    /// `name=value`, if the name is on the list.
    private func formField(
        in text: Span<UInt8>,
        from start: Int,
        in context: FormContext = .body
    ) -> Finding? {
        let reached = text.extracting(first: start + Self.nameBytesMax + 1)
        var i = reached.fieldMark(from: start)
        while i < reached.count, text[i] != 0x3D {
            guard text[i] > 0x20, text[i] != 0x26, text[i] != 0x22 else { return nil }
            i = reached.fieldMark(from: i + 1)
        }
        guard i < reached.count, i > start, hidesField(text.extracting(start..<i)) else {
            return nil
        }
        let value = i + 1
        var end = value
        if context == .body {
            while end < text.count, text[end] != 0x26, text[end] > 0x20, text[end] != 0x22 {
                end += 1
            }
        } else {
            end = text.stringEnd(from: value, isNested: context == .nestedString) { text, i in
                text[i] == 0x26 || text[i] <= 0x20
            }
        }
        // With its separator: a field is only found behind one, or at the start.
        return Finding(anchor: max(0, start - 1), value: value..<end, isPart: true)
    }

    private func hidesField(_ name: Span<UInt8>) -> Bool {
        lookUp(name) { parameters.contains($0) ? true : nil } ?? false
    }

    private func sense(of text: Span<UInt8>, _ name: Range<Int>) -> Sense? {
        lookUp(text.extracting(name)) { name in
            if names.contains(name) { return .secret }
            if lists.contains(name) { return name.offset(of: 0x5B) < name.count ? .secret : .list }
            return codes.contains(name) ? .code : nil
        }
    }

    /// Looks up a name as it is, and without its escapes.
    private func lookUp<T>(_ name: Span<UInt8>, _ find: (Span<UInt8>) -> T?) -> T? {
        if name.isEmpty || name.count > Self.nameBytesMax { return nil }
        if let found = find(name) { return found }
        for escaping in [Escaping.backslash, .percent] {
            if let plain = Unescaped(name, undoing: escaping), let found = find(plain.bytes.span) {
                return found
            }
        }
        return nil
    }
}
