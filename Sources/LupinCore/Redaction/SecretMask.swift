// Masks secrets in a text that passes in pieces, without a change of its length.

/// Replaces each byte of a secret by an asterisk, in every form that ``SecretMatcher`` knows.
///
/// As little as possible is held back: a text ends for certain at a byte that stands in no form of
/// any secret. Where none comes, it holds as much back as the longest form has.
package struct SecretMask: Sendable {
    /// How much of one run of base64 is looked at before it is masked to its end.
    private static let runBytesMax = 64 << 10
    /// In the place of every byte.
    private static let mark = UInt8(ascii: "*")

    private let matcher: SecretMatcher
    /// How many bytes the longest form may have.
    private let reach: Int
    /// The bytes that stand in no form of any secret.
    private let isBetween: [Bool]
    /// Whether each line is to pass as soon as it has come.
    private let passesLines: Bool
    private var held: [UInt8] = []
    /// A run of base64 that holds a secret goes on.
    private var isInRun = false

    /// Secrets shorter than ``SecretMatcher/secretBytesMin`` are not masked.
    package init(_ secrets: [String], passesLines: Bool = false) {
        var matcher = SecretMatcher()
        var isBetween = (0...255).map { UInt8($0).isBetweenForms }
        for secret in secrets {
            let bytes = Array(secret.utf8)
            guard matcher.add(bytes) else { continue }
            for byte in bytes { isBetween[Int(byte)] = false }
            // In another character set, it has other bytes.
            if bytes.contains(where: { $0 >= 0x80 }) {
                for byte in 0x80...0xFF { isBetween[byte] = false }
            }
        }
        self.matcher = matcher
        self.isBetween = isBetween
        self.passesLines = passesLines
        reach = matcher.reach
    }

    /// The whole text masked; nil where it holds no secret.
    package func masked(_ text: Span<UInt8>) -> [UInt8]? {
        let hits = matcher.find(in: text)
        if hits.isEmpty { return nil }
        var result = [UInt8](copying: text)
        for hit in hits { result.mask(hit.range) }
        return result
    }

    /// Takes the next bytes, and appends to `output` what is certain now; with `isLast`, the rest.
    package mutating func mask(
        _ bytes: Span<UInt8>,
        isLast: Bool,
        into output: inout [UInt8]
    ) {
        var start = 0
        if isInRun {
            while start < bytes.count, bytes[start].isBase64 { start += 1 }
            output.append(contentsOf: repeatElement(Self.mark, count: start))
            isInRun = start == bytes.count
        }
        held.append(copying: bytes.extracting(start..<bytes.count))
        if held.isEmpty { return }
        let hits = matcher.find(in: held.span) + (isLast ? cutHits : [])
        var cut = isLast ? held.count : certainCount
        if !isLast {
            // The latest first: one that moves the cut may lay another across it.
            for hit in hits.reversed()
            where hit.range.lowerBound < cut
                && (hit.range.upperBound > cut || hit.range.upperBound == held.count)
            {
                cut = hit.range.lowerBound
            }
            if held.count - cut > reach + Self.runBytesMax {
                cut = held.count
                isInRun = true
            }
        }
        if cut == 0 { return }
        var text = Array(held[..<cut])
        for hit in hits where hit.range.upperBound <= cut { text.mask(hit.range) }
        output += text
        held.removeFirst(cut)
    }

    /// Secrets that are nearly whole at the end of the held bytes.
    private var cutHits: [SecretMatcher.Hit] {
        matcher.find(in: held.span, cut: .nearlyWhole).filter { $0.range.upperBound == held.count }
    }

    /// How many of the held bytes no secret can go on behind.
    private var certainCount: Int {
        var count = max(0, held.count - reach)
        if let last = held.indices.last(where: isBetweenForms) { count = max(count, last + 1) }
        if passesLines, let last = held.lastIndex(of: 0x0A) { count = max(count, last + 1) }
        return count
    }

    /// Whether no form goes on across a place; braces stand in `\u{X}` alone.
    private func isBetweenForms(at position: Int) -> Bool {
        guard isBetween[Int(held[position])] else { return false }
        var opening = position
        if held[position] == UInt8(ascii: "}") {
            repeat { opening -= 1 } while opening > 0 && held[opening].hexDigit != nil
        }
        guard opening > 0, held[opening] == UInt8(ascii: "{") else { return true }
        return held[opening - 1] != UInt8(ascii: "u") && held[opening - 1] != UInt8(ascii: "x")
    }
}

extension [UInt8] {
    fileprivate mutating func mask(_ range: Range<Int>) {
        for i in range { self[i] = UInt8(ascii: "*") }
    }
}

extension UInt8 {
    /// Whether it stands in no encoded form of a text that does not contain it.
    ///
    /// Letters and digits stand in all of them. The others: base64 in both alphabets, `%41`,
    /// `\u0041`, `&#x41;`, and folded lines. Braces depend on what is before them.
    fileprivate var isBetweenForms: Bool {
        if isUnreserved || isBase64 { return false }
        return ![0x25, 0x5C, 0x26, 0x23, 0x3B, 0x0A, 0x0D, 0x20, 0x09].contains(self)
    }
}

extension ResponseHead {
    /// Masks secrets in the reason phrase, and in names and values of all lines.
    package mutating func mask(with mask: SecretMask) {
        fields.mask(with: mask)
        guard let masked = mask.masked(fields.storage.span.extracting(reason.range)) else { return }
        reason = ByteRange(start: fields.storage.count, count: masked.count)
        fields.storage += masked
    }
}

extension FieldSection {
    /// Masks secrets in the names and values of all lines.
    package mutating func mask(with mask: SecretMask) {
        for i in lines.indices {
            let value = Array(storage[lines[i].value.range])
            if let masked = mask.masked(value.span) { replaceValue(ofLine: i, by: masked) }
            let name = mask.masked(storage.span.extracting(lines[i].name.range))
            guard let name else { continue }
            let text = String(decoding: name, as: UTF8.self)
            lines[i] = makeLine(name: text, value: self.text(lines[i].value))
        }
    }
}
