// The form in which paths are compared: escapes normalised, dot segments removed.

/// The normal form of a path (RFC 3986 §6.2.2): unreserved characters decoded, hexadecimal digits
/// in upper case, dot segments removed.
///
/// `%2F` is kept, and the query is not included.
package struct NormalPath: Sendable, Equatable {
    /// The number of bytes of the path in the given text; the query follows.
    package let pathCount: Int
    /// The normal form; nil if the path is already normal, which is the usual case.
    package let rewritten: [UInt8]?
    /// Whether there were dot segments: then the normal form must be sent, too, so that rules and
    /// the origin see the same path.
    package let differsInDotSegments: Bool

    /// Normalizes the path of `pathAndQuery`; allocates only if something must change.
    package init(_ pathAndQuery: Span<UInt8>) {
        let count = pathAndQuery.offset(of: 0x3F)
        let path = pathAndQuery.extracting(first: count)
        var isNormal = true
        if Self.mayHaveDotSegments(path) {
            for i in path.indices where path[i] == 0x25 || path[i] == 0x2F {
                isNormal = isNormal && Self.isNormal(at: i, in: path)
            }
        }
        pathCount = count
        if count == 0 {
            // An empty path of http and https is `/` (RFC 9110 §4.2.3).
            rewritten = [0x2F]
            differsInDotSegments = false
        } else if isNormal {
            rewritten = nil
            differsInDotSegments = false
        } else {
            let decoded = Self.normalizingEscapes(path)
            let clean = Self.removingDotSegments(decoded)
            rewritten = clean ?? decoded
            differsInDotSegments = clean != nil
        }
    }

    /// Whether the path may have dot segments; it has none without a dot and without an escape.
    ///
    /// Looks at eight bytes at a time, and at the query, too.
    package static func mayHaveDotSegments(_ pathAndQuery: Span<UInt8>) -> Bool {
        var i = 0
        while pathAndQuery.count &- i >= 8 {
            let word = pathAndQuery.word(at: i)
            if word.marks(of: 0x2E) | word.marks(of: 0x25) != 0 { return true }
            i &+= 8
        }
        while i < pathAndQuery.count {
            if pathAndQuery[i] == 0x2E || pathAndQuery[i] == 0x25 { return true }
            i &+= 1
        }
        return false
    }

    /// Whether nothing must change at the `%` or `/` at `i`.
    private static func isNormal(at i: Int, in text: Span<UInt8>) -> Bool {
        if text[i] == 0x25 {
            guard let value = escape(at: i, in: text) else { return true }
            return !value.isUnreserved && text[i + 1] < 0x61 && text[i + 2] < 0x61
        }
        var end = i + 1
        while end < text.count, end < i + 4, text[end] == 0x2E { end += 1 }
        let dots = end - i - 1
        let isWhole = end == text.count || text[end] == 0x2F || text[end] == 0x3F
        return !(isWhole && (dots == 1 || dots == 2))
    }

    /// Decodes `%HH` at `i`; returns nil if it is no escape.
    package static func escape(at i: Int, in text: Span<UInt8>) -> UInt8? {
        guard i < text.count, text[i] == 0x25 else { return nil }
        return NumberReader.hexadecimalByte(text, at: i + 1)
    }

    /// Decodes unreserved characters of `text`, and converts other escapes to upper case.
    package static func normalizingEscapes(_ text: Span<UInt8>) -> [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(text.count)
        var i = 0
        while i < text.count {
            guard let value = escape(at: i, in: text) else {
                output.append(text[i])
                i += 1
                continue
            }
            if value.isUnreserved { output.append(value) } else { output.append(escaping: value) }
            i += 3
        }
        return output
    }

    /// Applies RFC 3986 §5.2.4 to a path that begins with `/`; returns nil without dot segments.
    private static func removingDotSegments(_ path: [UInt8]) -> [UInt8]? {
        guard path.first == 0x2F else { return nil }
        var output: [UInt8] = []
        var hasDots = false
        var start = 1
        while start <= path.count {
            var end = start
            while end < path.count, path[end] != 0x2F { end += 1 }
            let segment = path[start..<end]
            let isParent = segment.elementsEqual([0x2E, 0x2E])
            if isParent || segment.elementsEqual([0x2E]) {
                hasDots = true
                if isParent {
                    while let last = output.popLast(), last != 0x2F {}
                }
                if end == path.count { output.append(0x2F) }
            } else {
                output.append(0x2F)
                output += segment
            }
            start = end + 1
        }
        return hasDots ? output : nil
    }
}

extension UInt8 {
    /// Whether RFC 3986 §2.3 lists the byte as unreserved.
    package var isUnreserved: Bool {
        asciiLowercased &- 0x61 < 26 || isASCIIDigit
            || self == 0x2D || self == 0x2E || self == 0x5F || self == 0x7E
    }
}

extension Array where Element == UInt8 {
    /// Appends `%HH`.
    package mutating func append(escaping byte: UInt8) {
        append(0x25)
        append(byte >> 4 < 10 ? 0x30 + byte >> 4 : 0x37 + byte >> 4)
        append(byte & 15 < 10 ? 0x30 + byte & 15 : 0x37 + byte & 15)
    }
}
