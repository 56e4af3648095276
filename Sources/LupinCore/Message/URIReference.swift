// Parses and resolves URI references, such as those in Location (RFC 3986 §5).

/// A URI or a relative reference, in its five parts (RFC 3986 §3 and §4).
///
/// The parts are bytes of RFC 3986's alphabet, without the delimiters around them. nil differs from
/// an empty part: `?` alone is a query.
package struct URIReference: Sendable, Equatable {
    /// In lower case.
    package var scheme: String?
    package var authority: [UInt8]?
    package var path: [UInt8] = []
    package var query: [UInt8]?
    package var fragment: [UInt8]?

    /// The reason for which lupin does not accept a reference.
    package enum Problem: Error, Equatable {
        case empty
        case tooLong
        /// A byte below 0x20, or 0x7F.
        case controlByte
        /// `\` before the query: browsers read it as `/`, other clients don't.
        case backslash
        /// The text before the first colon is not a scheme.
        case badScheme
    }

    /// Longer references are refused; the limit equals that of a request line.
    package static let bytesMax = 32 << 10

    /// Parses a field value: trims spaces, and percent-encodes characters that are invalid in a
    /// URI.
    package init(fieldValue value: Span<UInt8>) throws(Problem) {
        let trimmed = value.extracting(value.trimmedRange)
        guard !trimmed.isEmpty else { throw .empty }
        let encoded = try URIReference.encoding(trimmed)
        try self.init(bytes: encoded)
    }

    /// Parses `text`, which must only have URI characters.
    package init(_ text: String) throws(Problem) {
        try self.init(bytes: Array(text.utf8))
    }

    /// Creates a reference from the parts of a URL.
    package init(origin: Origin, pathAndQuery: String) {
        scheme = origin.scheme.name
        authority = Array(origin.authority.utf8)
        let bytes = Array(pathAndQuery.utf8)
        let mark = bytes.firstIndex(of: 0x3F)
        path = Array(bytes[..<(mark ?? bytes.count)])
        query = mark.map { Array(bytes[($0 + 1)...]) }
    }

    /// Splits as in RFC 3986's appendix B, with the syntax of a scheme from §3.1.
    private init(bytes: [UInt8]) throws(Problem) {
        var rest = bytes[...]
        if let mark = rest.firstIndex(of: 0x23) {
            fragment = Array(rest[(mark + 1)...])
            rest = rest[..<mark]
        }
        if let mark = rest.firstIndex(of: 0x3F) {
            query = Array(rest[(mark + 1)...])
            rest = rest[..<mark]
        }
        let delimiter = rest.firstIndex { $0 == 0x3A || $0 == 0x2F }
        if let delimiter, rest[delimiter] == 0x3A {
            let name = rest[..<delimiter]
            guard URIReference.isScheme(name) else { throw .badScheme }
            scheme = String(decoding: name.map(\.asciiLowercased), as: UTF8.self)
            rest = rest[(delimiter + 1)...]
        }
        if rest.starts(with: [0x2F, 0x2F]) {
            let start = rest.startIndex + 2
            let end = rest[start...].firstIndex(of: 0x2F) ?? rest.endIndex
            authority = Array(rest[start..<end])
            rest = rest[end...]
        }
        path = Array(rest)
    }

    private static func isScheme(_ name: ArraySlice<UInt8>) -> Bool {
        guard let first = name.first, first.asciiLowercased &- 0x61 < 26 else { return false }
        return name.allSatisfy {
            $0.asciiLowercased &- 0x61 < 26 || $0.isASCIIDigit || $0 == 0x2B || $0 == 0x2D
                || $0 == 0x2E
        }
    }

    /// The reference as text (RFC 3986 §5.3).
    package var text: String {
        var bytes: [UInt8] = []
        if let scheme { bytes += Array(scheme.utf8) + [0x3A] }
        if let authority { bytes += [0x2F, 0x2F] + authority }
        bytes += path
        if let query { bytes += [0x3F] + query }
        if let fragment { bytes += [0x23] + fragment }
        return String(decoding: bytes, as: UTF8.self)
    }
}

// MARK: Resolving

extension URIReference {
    /// Resolves the reference against `base`, which is a URI (RFC 3986 §5.2.2, strict).
    ///
    /// `http:g` is a URI without an authority, whatever the base is: to read it as `g`, as some
    /// clients do, is a loophole (§5.4.2), and a redirect must not have two meanings.
    package func resolved(against base: URIReference) -> URIReference {
        var target = self
        if scheme != nil {
            target.path = URIReference.removingDotSegments(path)
            return target
        }
        target.scheme = base.scheme
        if authority != nil {
            target.path = URIReference.removingDotSegments(path)
            return target
        }
        target.authority = base.authority
        if path.isEmpty {
            target.path = base.path
            target.query = query ?? base.query
        } else if path.first == 0x2F {
            target.path = URIReference.removingDotSegments(path)
        } else {
            target.path = URIReference.removingDotSegments(merged(with: base))
        }
        return target
    }

    /// Appends the path to the base's path up to its last slash (RFC 3986 §5.2.3).
    private func merged(with base: URIReference) -> [UInt8] {
        if base.authority != nil, base.path.isEmpty { return [0x2F] + path }
        guard let slash = base.path.lastIndex(of: 0x2F) else { return path }
        return base.path[...slash] + path
    }

    /// Implements RFC 3986 §5.2.4; comments name its steps.
    static func removingDotSegments(_ path: [UInt8]) -> [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(path.count)
        var input = path[...]
        while !input.isEmpty {
            let segment = input.dropFirst().prefix { $0 != 0x2F }
            let isRooted = input.first == 0x2F
            if !isRooted {
                let first = input.prefix { $0 != 0x2F }
                // A and D: dots at the beginning of a path without a root.
                guard isDots(first) else {
                    output += first
                    input = input[first.endIndex...]
                    continue
                }
                input = input[first.endIndex...].dropFirst()
                continue
            }
            guard isDots(segment) else {
                // E: the next segment with its leading slash.
                output.append(0x2F)
                output += segment
                input = input[segment.endIndex...]
                continue
            }
            // B and C: `..` removes the last segment; the slash before the dots stays.
            if segment.count == 2 {
                while let last = output.popLast(), last != 0x2F {}
            }
            input = input[segment.endIndex...]
            if input.isEmpty { output.append(0x2F) }
        }
        return output
    }

    private static func isDots(_ segment: ArraySlice<UInt8>) -> Bool {
        (1...2).contains(segment.count) && segment.allSatisfy { $0 == 0x2E }
    }
}

// MARK: Characters

extension URIReference {
    /// Percent-encodes all but URI characters, as browsers do with spaces and with letters beyond
    /// ASCII; existing escapes stay, and so does a `%` that begins none.
    private static func encoding(_ value: Span<UInt8>) throws(Problem) -> [UInt8] {
        guard value.count <= bytesMax else { throw .tooLong }
        var output: [UInt8] = []
        output.reserveCapacity(value.count)
        var isBeforeQuery = true
        for i in value.indices {
            let byte = value[i]
            guard byte >= 0x20, byte != 0x7F else { throw .controlByte }
            if byte == 0x3F || byte == 0x23 { isBeforeQuery = false }
            if byte == 0x5C, isBeforeQuery { throw .backslash }
            if byte.isURIByte { output.append(byte) } else { output.append(escaping: byte) }
        }
        guard output.count <= bytesMax else { throw .tooLong }
        return output
    }
}

extension UInt8 {
    /// Whether RFC 3986 §2 allows the byte: unreserved, reserved or `%`.
    fileprivate var isURIByte: Bool {
        if isUnreserved { return true }
        return switch self {
        case 0x21, 0x23...0x2F, 0x3A, 0x3B, 0x3D, 0x3F, 0x40, 0x5B, 0x5D: true
        default: false
        }
    }
}
