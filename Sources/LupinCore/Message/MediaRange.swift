// Media types and ranges such as `text/*`, and whether Accept accepts a type.

/// A media type (RFC 9110 §8.3.1), or with `*` a range of types (§12.5.1).
package struct MediaRange: Sendable, Equatable {
    /// One parameter; name and value in lower case, the value without quotes.
    package struct Parameter: Sendable, Equatable {
        package var name: String
        package var value: String
    }

    /// In lower case; `*` is any type.
    package let type: String
    /// In lower case; `*` is any subtype, and `*+json` any with that suffix (RFC 6838 §4.2.8).
    package let subtype: String
    /// The parameters before `q`; `q` and what follows it are left out.
    package private(set) var parameters: [Parameter] = []
    /// `q=0`: not acceptable.
    package private(set) var isExcluded = false

    /// Parses `text`, such as `application/json`; nil if it is invalid.
    package init?(_ text: String) { self.init(parsing: text.utf8.span) }

    /// Parses a Content-Type, or a member of Accept; nil if it is invalid.
    package init?(parsing bytes: Span<UInt8>) {
        let parts = MediaRange.parts(of: bytes)
        guard let first = parts.first else { return nil }
        let name = bytes.extracting(first)
        let trimmed = name.extracting(name.trimmedRange)
        // Java's first clients send a single star.
        if trimmed.count == 1, trimmed[0] == 0x2A {
            type = "*"
            subtype = "*"
        } else {
            guard let slash = trimmed.firstSlash,
                let type = trimmed.extracting(0..<slash).loweredToken,
                let subtype = trimmed.extracting((slash + 1)..<trimmed.count).loweredToken,
                type != "*" || subtype == "*"
            else { return nil }
            self.type = type
            self.subtype = subtype
        }
        readParameters(bytes, parts.dropFirst())
    }

    /// Whether it includes more than one type.
    package var isRange: Bool { subtype.hasPrefix("*") }

    /// The type without parameters.
    package var text: String { "\(type)/\(subtype)" }

    /// Whether it includes `media`, ignoring parameters.
    package func contains(_ media: MediaRange) -> Bool {
        if type == "*" { return true }
        guard type == media.type else { return false }
        if subtype == "*" || subtype == media.subtype { return true }
        return subtype.hasPrefix("*+") && media.subtype.hasSuffix(subtype.dropFirst())
    }

    // MARK: Parameters

    /// The ranges of the parts between semicolons; semicolons in quotes don't separate.
    private static func parts(of bytes: Span<UInt8>) -> [Range<Int>] {
        var parts: [Range<Int>] = []
        var start = 0
        var isQuoted = false
        var i = 0
        while i < bytes.count {
            switch bytes[i] {
            case 0x22: isQuoted.toggle()
            case 0x5C where isQuoted: i += 1
            case 0x3B where !isQuoted:
                parts.append(start..<i)
                start = i + 1
            default: break
            }
            i += 1
        }
        parts.append(start..<bytes.count)
        return parts
    }

    private mutating func readParameters(_ bytes: Span<UInt8>, _ parts: ArraySlice<Range<Int>>) {
        for part in parts {
            let text = String(copying: bytes.extracting(part))
            guard let mark = text.firstIndex(of: "=") else { continue }
            let name = text[..<mark].trimmed.lowercased()
            let value = MediaRange.unquoted(text[text.index(after: mark)...].trimmed)
            if name == "q" {
                isExcluded = MediaRange.isZero(value)
                return
            }
            parameters.append(Parameter(name: name, value: value.lowercased()))
        }
    }

    /// The contents of a quoted string (RFC 9110 §5.6.4); other texts are returned unchanged.
    private static func unquoted(_ text: Substring) -> String {
        guard text.count >= 2, text.hasPrefix("\""), text.hasSuffix("\"") else {
            return String(text)
        }
        var result = ""
        var isEscaped = false
        for character in text.dropFirst().dropLast() {
            if character == "\\", !isEscaped {
                isEscaped = true
            } else {
                result.append(character)
                isEscaped = false
            }
        }
        return result
    }

    /// `0`, `0.`, `0.0` …; an invalid weight excludes nothing (RFC 9110 §12.4.2).
    private static func isZero(_ weight: String) -> Bool {
        guard weight.hasPrefix("0"), weight.utf8.count <= 5 else { return false }
        let rest = weight.dropFirst()
        return rest.isEmpty || (rest.hasPrefix(".") && rest.dropFirst().allSatisfy { $0 == "0" })
    }
}

// MARK: Accept

extension MediaRange {
    /// Whether the Accept of `fields` accepts `media`; nil means a body of unknown type.
    ///
    /// The most specific matching range decides (RFC 9110 §12.5.1). Parameters of a range exclude
    /// nothing: a client that accepts `application/json; charset=utf-8` also accepts
    /// `application/json`, as in Alamofire. But a range with `q=0` matches only types with its
    /// parameters. Without a valid Accept everything is accepted. A body of unknown type is
    /// accepted only if `*/*` is.
    package static func isAccepted(_ media: MediaRange?, by fields: FieldSection) -> Bool {
        var ranges: [MediaRange] = []
        fields.forEachMember(of: .accept) { member in
            if let range = MediaRange(parsing: member) { ranges.append(range) }
        }
        guard !ranges.isEmpty else { return true }
        guard let media else { return ranges.contains { $0.type == "*" && !$0.isExcluded } }
        var best = (specificity: 0, isAccepted: false)
        for range in ranges where range.contains(media) {
            let hasParameters = range.parameters.allSatisfy(media.parameters.contains)
            if range.isExcluded, !hasParameters { continue }
            let specificity = range.specificity + (hasParameters ? range.parameters.count : 0)
            if specificity > best.specificity {
                best = (specificity, !range.isExcluded)
            } else if specificity == best.specificity, !range.isExcluded {
                best.isAccepted = true
            }
        }
        return best.isAccepted
    }

    private var specificity: Int {
        if type == "*" { return 1 }
        if subtype == "*" { return 2 }
        return isRange ? 3 : 4
    }
}

extension Span where Element == UInt8 {
    fileprivate var firstSlash: Int? {
        for i in indices where self[i] == 0x2F { return i }
        return nil
    }

    /// The bytes in lower case if they are a token (RFC 9110 §5.6.2).
    fileprivate var loweredToken: String? {
        guard !isEmpty else { return nil }
        for i in indices where !self[i].isTokenByte { return nil }
        return String(copying: self).lowercased()
    }
}

extension Substring {
    /// The text without surrounding spaces and tabs.
    fileprivate var trimmed: Substring {
        var text = self
        while let first = text.first, first == " " || first == "\t" { text.removeFirst() }
        while let last = text.last, last == " " || last == "\t" { text.removeLast() }
        return text
    }
}
