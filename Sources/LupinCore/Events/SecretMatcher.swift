// Where a known secret stands in some text, whatever it was encoded with on the way.

/// Finds secrets and their base64 forms in bytes, in one pass whose cost does not grow with their
/// number.
///
/// Percent-encoding is undone before the search, so that every way to encode is covered.
package struct SecretMatcher: Sendable {
    /// Shorter texts are not secrets: they would turn up in innocent words.
    package static let secretBytesMin = 6

    private struct Pattern: Sendable {
        let bytes: [UInt8]
        /// Index of the secret that the bytes give away.
        let secret: Int
        let isBase64: Bool
    }

    /// What `find` found.
    package struct Hit: Sendable {
        package let range: Range<Int>
        /// Index in the order of `add`.
        package let secret: Int
    }

    package private(set) var count = 0
    private var patterns: [Pattern] = []
    /// Patterns by their first four bytes, longest first.
    private var byPrefix: [UInt32: [Int]] = [:]
    /// One bit per hash of a prefix: says no for nearly every position of a text.
    private var filter: [UInt64] = []

    package init() {}

    package var isEmpty: Bool { count == 0 }

    /// Adds a secret with its base64 forms; false when it is too short.
    package mutating func add(_ secret: [UInt8]) -> Bool {
        guard secret.count >= SecretMatcher.secretBytesMin else { return false }
        if filter.isEmpty { filter = Array(repeating: 0, count: 1024) }
        insert(secret, isBase64: false)
        if secret.contains(0x20) {
            // As HTML forms write a space.
            insert(secret.map { $0 == 0x20 ? 0x2B : $0 }, isBase64: false)
        }
        for offset in 0..<3 {
            let text = Base64.inside(secret, offset: offset)
            insert(text, isBase64: true)
            let url: [UInt8] = text.map { $0 == 0x2B ? 0x2D : $0 == 0x2F ? 0x5F : $0 }
            if url != text { insert(url, isBase64: true) }
        }
        count += 1
        return true
    }

    /// All secrets in `bytes`, in order, not overlapping.
    ///
    /// Usually none, without an allocation.
    package func find(in bytes: Span<UInt8>) -> [Hit] {
        if count == 0 { return [] }
        var hits: [Hit] = []
        if bytes.count >= 4 { search(bytes, &hits) { $0 } }
        if let decoded = PercentDecoded(bytes), decoded.bytes.count >= 4 {
            search(decoded.bytes.span, &hits) { decoded.origins[$0] }
            if let twice = PercentDecoded(decoded.bytes.span), twice.bytes.count >= 4 {
                search(twice.bytes.span, &hits) { decoded.origins[twice.origins[$0]] }
            }
        }
        return SecretMatcher.merged(hits)
    }

    private mutating func insert(_ bytes: [UInt8], isBase64: Bool) {
        guard bytes.count >= 4, !patterns.contains(where: { $0.bytes == bytes }) else { return }
        var word: UInt32 = 0
        for byte in bytes.prefix(4) { word = word << 8 | UInt32(byte) }
        let hash = SecretMatcher.hash(word)
        filter[hash >> 6] |= 1 << UInt64(hash & 63)
        patterns.append(Pattern(bytes: bytes, secret: count, isBase64: isBase64))
        byPrefix[word, default: []].append(patterns.count - 1)
        byPrefix[word]?.sort { patterns[$0].bytes.count > patterns[$1].bytes.count }
    }

    @inline(__always)
    private static func hash(_ word: UInt32) -> Int {
        Int(truncatingIfNeeded: (word &* 0x9E37_79B1) &>> 16)
    }

    private func search(_ bytes: Span<UInt8>, _ hits: inout [Hit], _ origin: (Int) -> Int) {
        var word = UInt32(bytes[0]) << 16 | UInt32(bytes[1]) << 8 | UInt32(bytes[2])
        var i = 3
        while i < bytes.count {
            word = word &<< 8 | UInt32(bytes[i])
            let hash = SecretMatcher.hash(word)
            i &+= 1
            guard filter[hash &>> 6] &>> UInt64(hash & 63) & 1 == 1 else { continue }
            guard let hit = match(bytes, at: i - 4, word) else { continue }
            hits.append(Hit(range: origin(hit.start)..<origin(hit.end), secret: hit.secret))
        }
    }

    private func match(
        _ bytes: Span<UInt8>,
        at start: Int,
        _ word: UInt32
    ) -> (start: Int, end: Int, secret: Int)? {
        for index in byPrefix[word] ?? [] {
            let pattern = patterns[index]
            var end = start + pattern.bytes.count
            guard end <= bytes.count, pattern.bytes.span.isPrefix(of: bytes, at: start) else {
                continue
            }
            // The last character of base64 depends on what follows the secret: it goes too.
            while pattern.isBase64, end < bytes.count, Base64.isByte(bytes[end]) { end += 1 }
            return (start, end, pattern.secret)
        }
        return nil
    }

    /// In order, overlapping hits joined under the name of the first.
    private static func merged(_ hits: [Hit]) -> [Hit] {
        if hits.count < 2 { return hits }
        var result: [Hit] = []
        for hit in hits.sorted(by: { $0.range.lowerBound < $1.range.lowerBound }) {
            if let last = result.last, hit.range.lowerBound < last.range.upperBound {
                let end = max(last.range.upperBound, hit.range.upperBound)
                result[result.count - 1] = Hit(
                    range: last.range.lowerBound..<end,
                    secret: last.secret
                )
            } else {
                result.append(hit)
            }
        }
        return result
    }
}

extension Span where Element == UInt8 {
    fileprivate func isPrefix(of other: Span<UInt8>, at start: Int) -> Bool {
        var i = 0
        while i < count {
            if self[i] != other[start + i] { return false }
            i += 1
        }
        return true
    }
}

/// Bytes with `%XX` undone, and where each of them came from.
private struct PercentDecoded {
    var bytes: [UInt8] = []
    /// Offset in the original of each decoded byte; one more entry for the end.
    var origins: [Int] = []

    /// nil when there is nothing to undo.
    init?(_ source: Span<UInt8>) {
        var first = 0
        while first < source.count, source[first] != 0x25 { first += 1 }
        guard first + 2 < source.count else { return nil }
        bytes.reserveCapacity(source.count)
        origins.reserveCapacity(source.count + 1)
        var hasDecoded = false
        var i = 0
        while i < source.count {
            origins.append(i)
            if source[i] == 0x25, i + 2 < source.count,
                let high = source[i + 1].hexValue, let low = source[i + 2].hexValue
            {
                bytes.append(high << 4 | low)
                hasDecoded = true
                i += 3
            } else {
                bytes.append(source[i])
                i += 1
            }
        }
        origins.append(source.count)
        if !hasDecoded { return nil }
    }
}

extension UInt8 {
    /// The value of a hex digit of either case.
    package var hexValue: UInt8? {
        switch self {
        case 0x30...0x39: self - 0x30
        case 0x41...0x46: self - 0x37
        case 0x61...0x66: self - 0x57
        default: nil
        }
    }
}

/// Base64 (RFC 4648 §4), as far as recognising it asks for.
private enum Base64 {
    static let alphabet = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8
    )

    /// The characters that `bytes` certainly become in the base64 of any text in which `offset`
    /// bytes modulo 3 stand before them, whatever stands around.
    static func inside(_ bytes: [UInt8], offset: Int) -> [UInt8] {
        var text: [UInt8] = []
        var buffer: UInt32 = 0
        var bits = 0
        for byte in Array(repeating: 0, count: offset) + bytes {
            buffer = (buffer << 8 | UInt32(byte)) & 0xFFFF
            bits += 8
            while bits >= 6 {
                bits -= 6
                text.append(alphabet[Int(buffer >> UInt32(bits) & 63)])
            }
        }
        // One byte before takes the first character and a part of the second, two take three.
        return Array(text.dropFirst(offset == 0 ? 0 : offset + 1))
    }

    static func isByte(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2B, 0x2F, 0x2D, 0x5F, 0x3D: true
        default: false
        }
    }
}
