// Splits list fields into members at their commas (RFC 9110 §5.6.1). Directives, entity tags and
// ranges have readers of their own, for a grammar of their own.

extension FieldSection {
    /// Whether a line of a known field contains the list member `member`; case is ignored.
    package func lists(_ member: String, in known: FieldName) -> Bool {
        guard names.contains(known) else { return false }
        var found = false
        forEachMember(of: known) { bytes in
            let utf8 = member.utf8
            found = found || bytes.equalsIgnoringCase(utf8.span)
        }
        return found
    }

    /// Calls `body` with each non-empty member of a list field.
    package func forEachMember(of known: FieldName, _ body: (Span<UInt8>) -> Void) {
        guard names.contains(known) else { return }
        for line in lines where line.known == known {
            let value = storage.span.extracting(line.value.range)
            value.forEachMember(mayQuote: known.mayQuote) { if !$0.isEmpty { body($0) } }
        }
    }
}

extension FieldSection {
    /// Replaces the value of one line, which keeps its place.
    package mutating func replaceValue(ofLine index: Int, by value: [UInt8]) {
        let old = lines[index]
        let start = storage.count
        storage += storage[old.name.range] + [0x3A, 0x20]
        let valueStart = storage.count
        storage += value + [0x0D, 0x0A]
        let name = ByteRange(start: start, count: old.name.range.count)
        let range = ByteRange(start: valueStart, count: value.count)
        lines[index] = Line(name: name, value: range, known: old.known, isContiguous: true)
    }

    /// Removes members from a list of items (RFC 9651 §3.1) by their names in lower case, whatever
    /// their parameters are, and a line without any other member as a whole.
    mutating func removeMembers(ofLine index: Int, where isCalled: (String) -> Bool) {
        var kept: [[UInt8]] = []
        var isChanged = false
        let value = [UInt8](storage[lines[index].value.range])
        value.span.forEachMember(mayQuote: true) { member in
            let text = String(copying: member)
            let item = text.prefix { $0 != ";" }.filter { $0 != "\"" && $0 != " " && $0 != "\t" }
            let isOut = isCalled(item.lowercased())
            isChanged = isChanged || isOut
            if !isOut { kept.append([UInt8](copying: member)) }
        }
        guard isChanged else { return }
        if kept.isEmpty {
            lines.remove(at: index)
        } else {
            replaceValue(ofLine: index, by: [UInt8](kept.joined(separator: [0x2C, 0x20])))
        }
    }
}

extension FieldName {
    /// Whether the members of this list may have quoted strings, whose commas are not separators.
    ///
    /// The members of all others that are read as lists are tokens: there a quote has no meaning,
    /// and a reader that gave it one would miss members that other readers see. Nor do the comments
    /// in Via hide a comma, so that none hides a proxy that the message has passed.
    fileprivate var mayQuote: Bool {
        switch self {
        case .accept, .cacheControl: true
        default: false
        }
    }
}

extension Span where Element == UInt8 {
    /// Calls `body` with each member of a list of tokens, without the blanks around it; an empty
    /// member is one, too.
    package func forEachMember(_ body: (Span<UInt8>) -> Void) {
        forEachMember(mayQuote: false, body)
    }

    fileprivate func forEachMember(mayQuote: Bool, _ body: (Span<UInt8>) -> Void) {
        var start = 0
        var i = 0
        var isQuoted = false
        while i <= count {
            if i == count || (self[i] == 0x2C && !isQuoted) {
                let member = extracting(start..<i)
                body(member.extracting(member.trimmedRange))
                start = i + 1
            } else if self[i] == 0x22, mayQuote {
                isQuoted.toggle()
            } else if self[i] == 0x5C, isQuoted, i + 1 < count {
                i += 1
            }
            i += 1
        }
    }
}
