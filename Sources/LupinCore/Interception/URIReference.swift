// What a reference such as Location's means beside the URL that it came from (RFC 3986 §5).

/// A URI or a relative reference, in its five parts (RFC 3986 §3 and §4).
///
/// The parts are bytes of RFC 3986's alphabet, without the delimiters around them. A part that is
/// nil is not the same as an empty one: `?` alone is a query.
package struct URIReference: Sendable, Equatable {
    /// In lower case.
    package var scheme: String?
    package var authority: [UInt8]?
    package var path: [UInt8] = []
    package var query: [UInt8]?
    package var fragment: [UInt8]?

    /// Why bytes are no reference that lupin reads.
    package enum Problem: Error, Equatable {
        case empty
        case tooLong
        /// A byte below 0x20, or 0x7F.
        case controlByte
        /// `\` before the query: browsers read it as `/`, other clients don't.
        case backslash
        /// What stands before the first colon is no scheme.
        case badScheme
    }

    /// Longer ones are refused; as much as a request line may have.
    package static let bytesMax = 32 << 10

    /// Reads a field value: spaces around it don't count, and what is no URI character is encoded.
    package init(fieldValue value: Span<UInt8>) throws(Problem) {
        let trimmed = value.extracting(value.trimmedRange)
        guard !trimmed.isEmpty else { throw .empty }
        let encoded = try URIReference.encoding(trimmed)
        try self.init(bytes: encoded)
    }

    /// The parts of `text`, which has URI characters only.
    package init(_ text: String) throws(Problem) {
        try self.init(bytes: Array(text.utf8))
    }

    /// A URL in the parts that lupin keeps.
    package init(origin: Origin, pathAndQuery: String) {
        scheme = origin.scheme.name
        authority = Array(origin.authority.utf8)
        let bytes = Array(pathAndQuery.utf8)
        let mark = bytes.firstIndex(of: 0x3F)
        path = Array(bytes[..<(mark ?? bytes.count)])
        query = mark.map { Array(bytes[($0 + 1)...]) }
    }

    /// The grouping of RFC 3986's appendix B, and §3.1 on what a scheme is.
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
    /// What the reference means at `base`, which is a URI (RFC 3986 §5.2.2, strict).
    ///
    /// `http:g` is a URI without an authority whatever the base is: that some clients read it as
    /// `g` is a loophole (§5.4.2), and two readings of one redirect are one too many.
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

    /// The base's path up to its last slash, then this one (RFC 3986 §5.2.3).
    private func merged(with base: URIReference) -> [UInt8] {
        if base.authority != nil, base.path.isEmpty { return [0x2F] + path }
        guard let slash = base.path.lastIndex(of: 0x2F) else { return path }
        return base.path[...slash] + path
    }

    /// RFC 3986 §5.2.4; the steps are named as there.
    static func removingDotSegments(_ path: [UInt8]) -> [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(path.count)
        var input = path[...]
        while !input.isEmpty {
            let segment = input.dropFirst().prefix { $0 != 0x2F }
            let isRooted = input.first == 0x2F
            if !isRooted {
                let first = input.prefix { $0 != 0x2F }
                // A and D: dots at the very beginning, of a path without a root.
                guard isDots(first) else {
                    output += first
                    input = input[first.endIndex...]
                    continue
                }
                input = input[first.endIndex...].dropFirst()
                continue
            }
            guard isDots(segment) else {
                // E: the next segment, with the slash before it.
                output.append(0x2F)
                output += segment
                input = input[segment.endIndex...]
                continue
            }
            // B and C: a parent takes the last segment back; the slash before the dots stays.
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
    /// `value` with all that is no URI character percent-encoded, as browsers do with spaces and
    /// with letters beyond ASCII; escapes that are there stay, and so does a `%` that begins none.
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
    /// Whether RFC 3986 §2 has the byte: unreserved, reserved or `%`.
    fileprivate var isURIByte: Bool {
        if isUnreserved { return true }
        return switch self {
        case 0x21, 0x23...0x2F, 0x3A, 0x3B, 0x3D, 0x3F, 0x40, 0x5B, 0x5D: true
        default: false
        }
    }
}
