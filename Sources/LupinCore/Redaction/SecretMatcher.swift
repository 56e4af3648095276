// Finds known secrets in a text, in plain and in encoded form.

/// Finds secrets and their encoded forms in bytes, in one pass; up to some hundred secrets its cost
/// does not depend on their number.
///
/// Hexadecimal and base64 are matched as patterns. Escapes are undone before a further search, for
/// two layers of them, so that every way to escape a byte is covered.
package struct SecretMatcher: Sendable {
    /// Shorter texts are not treated as secrets: they would occur in ordinary words.
    package static let secretBytesMin = 6

    /// The number of layers of escapes that are undone.
    private static let layersMax = 2

    private struct Entry: Sendable {
        let pattern: SecretPattern
        /// Index in `texts` of the text that the pattern encodes.
        let text: Int
        /// Index of the secret that the text reveals.
        let secret: Int
    }

    /// How much of a secret counts as it where a text ends within it.
    package enum Cut: Sendable {
        /// Nothing less than all of it.
        case none
        /// A part of a secret counts if it lacks 8 bytes at most, and has 16 or more. Fewer could
        /// be guessed bit by bit by writing texts and looking which are masked.
        case nearlyWhole
        /// From four characters on.
        case any

        /// How many bytes of a text may be missing.
        func missingMax(of count: Int) -> Int {
            switch self {
            case .none: 0
            case .nearlyWhole: max(0, min(8, count - 16))
            case .any: count
            }
        }
    }

    /// A match of `find`.
    package struct Hit: Sendable {
        package let range: Range<Int>
        /// Index in the order of `add`.
        package let secret: Int
    }

    package private(set) var count = 0
    /// The length of the longest form of a secret, without padding.
    package private(set) var reach = 0
    private var known: Set<[UInt8]> = []
    /// The secrets, and their forms before further encoding.
    private var texts: [[UInt8]] = []
    /// Patterns by their first four bytes, longest first.
    private var byBeginning: [UInt32: [Entry]] = [:]
    /// Holds the words that patterns begin with.
    private var beginnings = WordFilter()
    /// Holds the words that patterns begin with, and those that begin up to `stride - 1` bytes
    /// behind: of so many places in a row, a look at the last one rejects nearly all.
    private var words = WordFilter()
    /// As the shortest pattern allows.
    private var stride = Self.strideMax

    /// More would fill the filter, and save little.
    private static let strideMax = 8

    package init() {}

    package var isEmpty: Bool { count == 0 }

    /// Adds a secret with its patterns; returns false when it is too short or was added before.
    package mutating func add(_ secret: [UInt8]) -> Bool {
        guard secret.count >= SecretMatcher.secretBytesMin, known.insert(secret).inserted else {
            return false
        }
        reach = max(reach, secret.reduce(0) { $0 + SecretMatcher.formBytesMax(of: $1) })
        insert(secret, SecretPattern.all)
        if secret.contains(0x20) {
            // HTML forms encode a space as a plus sign.
            insert(secret.map { $0 == 0x20 ? 0x2B : $0 }, [.plain])
        }
        // Hexadecimal has no case, nor have types of media and names of fields.
        let cases = [secret.map(\.asciiLowercased), secret.map(\.asciiUppercased)]
        for form in cases where form != secret { insert(form, [.plain]) }
        for form in SecretMatcher.otherCharsets(secret) { insert(form, SecretPattern.all) }
        // Escapes inside base64 can't be undone before the search.
        let form = Array(FormText.encode(String(decoding: secret, as: UTF8.self)).utf8)
        if form != secret { insert(form, SecretPattern.base64) }
        let strings = Set([[0x2F], [0x5C, 0x2F]].map { Self.jsonString(secret, slash: $0) })
        for string in strings where string != secret { insert(string, SecretPattern.base64) }
        count += 1
        return true
    }

    /// Returns all secrets in `bytes`, in order, without overlaps.
    ///
    /// Usually there is none, which takes no allocation. `cut` says how much of one must be there
    /// where the end lies within it.
    package func find(in bytes: Span<UInt8>, cut: Cut = .none) -> [Hit] {
        if count == 0 { return [] }
        var hits: [Hit] = []
        search(bytes, cut, &hits) { $0 }
        searchUnescaped(bytes, cut, layer: 1, &hits) { $0 }
        return SecretMatcher.merged(hits)
    }

    /// How many bytes a byte may take: `\U0000005cU00000041`, `\U00000026#x41\U0000003b` or
    /// `\U00000026lowbar\U0000003b`.
    private static func formBytesMax(of byte: UInt8) -> Int {
        let name = ReferenceNames.longestName(of: byte)
        return max(24, name + 20)
    }

    private mutating func insert(_ text: [UInt8], _ patterns: [SecretPattern]) {
        texts.append(text)
        for pattern in patterns {
            guard let words = pattern.beginnings(of: text.span) else { continue }
            let entry = Entry(pattern: pattern, text: texts.count - 1, secret: count)
            insert(entry, words.0)
            if words.1 != words.0 { insert(entry, words.1) }
            insertInner(entry, text.span)
        }
    }

    /// Adds the words that begin at the first places of a pattern, and sees to it that no stride
    /// leads past all of those.
    private mutating func insertInner(_ entry: Entry, _ text: Span<UInt8>) {
        let length = length(of: entry)
        stride = max(1, min(stride, length - 3))
        let count = min(length, Self.strideMax + 3)
        let characters = (0..<count).map { entry.pattern.variants(at: $0, of: text) }
        for start in 0..<min(Self.strideMax, count - 3) {
            // Each of the four characters may be written in two ways.
            for choice in 0..<16 {
                var word: UInt32 = 0
                for i in 0..<4 {
                    let (usual, other) = characters[start + i]
                    word |= UInt32(choice >> i & 1 == 0 ? usual : other) << UInt32(8 * i)
                }
                words.insert(word)
            }
        }
    }

    private mutating func insert(_ entry: Entry, _ word: UInt32) {
        beginnings.insert(word)
        let length = length(of: entry)
        // From the end, since tokens of one server begin alike and are equally long.
        let before = byBeginning[word]?.lastIndex { self.length(of: $0) >= length }
        byBeginning[word, default: []].insert(entry, at: before.map { $0 + 1 } ?? 0)
    }

    private func length(of entry: Entry) -> Int {
        entry.pattern.length(count: texts[entry.text].count)
    }

    /// The secret in other character sets: what of UTF-8 a program makes that reads ISO-8859-1, and
    /// ISO-8859-1 itself.
    private static func otherCharsets(_ bytes: [UInt8]) -> [[UInt8]] {
        guard bytes.contains(where: { $0 >= 0x80 }) else { return [] }
        let misread = String(String.UnicodeScalarView(bytes.map { UnicodeScalar($0) }))
        let scalars = String(decoding: bytes, as: UTF8.self).unicodeScalars
        let latin = scalars.compactMap { UInt8(exactly: $0.value) }
        return [Array(misread.utf8)] + (latin.count == scalars.count ? [latin] : [])
    }

    /// Returns the inside of the JSON string; some programs escape slashes in it.
    private static func jsonString(_ bytes: [UInt8], slash: [UInt8]) -> [UInt8] {
        bytes.flatMap { byte -> [UInt8] in
            switch byte {
            case 0x2F: slash
            case 0x22, 0x5C: [0x5C, byte]
            case 0x0A: Array("\\n".utf8)
            case 0x0D: Array("\\r".utf8)
            case 0x09: Array("\\t".utf8)
            default: [byte]
            }
        }
    }

    /// Undoes the escapes of each kind and searches the result, up to two layers deep.
    private func searchUnescaped(
        _ bytes: Span<UInt8>,
        _ cut: Cut,
        layer: Int,
        _ hits: inout [Hit],
        _ origin: (Range<Int>) -> Range<Int>
    ) {
        let present = Escaping.present(in: bytes)
        if present == 0 { return }
        for escaping in Escaping.allCases where present >> escaping.rawValue & 1 == 1 {
            guard let text = Unescaped(bytes, undoing: escaping) else { continue }
            search(text.bytes.span, cut, &hits) { origin(text.origin(of: $0)) }
            guard layer < SecretMatcher.layersMax else { continue }
            searchUnescaped(text.bytes.span, cut, layer: layer + 1, &hits) {
                origin(text.origin(of: $0))
            }
        }
    }

    private func search(
        _ bytes: Span<UInt8>,
        _ cut: Cut,
        _ hits: inout [Hit],
        _ origin: (Range<Int>) -> Range<Int>
    ) {
        // The end of the last run of base64 that was scanned.
        var runEnd = 0
        var i = 0
        // A pattern that begins at one of `stride` places holds the word at the last of them.
        while bytes.count &- i >= stride &+ 3 {
            let next = i &+ stride
            defer { i = next }
            guard words.mayHold(bytes.word32(at: next &- 1)) else { continue }
            for position in i..<next { look(at: position, of: bytes, cut, &runEnd, &hits, origin) }
        }
        while bytes.count &- i >= 4 {
            look(at: i, of: bytes, cut, &runEnd, &hits, origin)
            i &+= 1
        }
    }

    /// Appends the hit at a place, if there is one.
    @inline(__always)
    private func look(
        at position: Int,
        of bytes: Span<UInt8>,
        _ cut: Cut,
        _ runEnd: inout Int,
        _ hits: inout [Hit],
        _ origin: (Range<Int>) -> Range<Int>
    ) {
        let word = bytes.word32(at: position)
        guard beginnings.mayHold(word),
            let hit = match(bytes, cut, at: position, word, &runEnd, origin)
        else { return }
        hits.append(Hit(range: origin(hit.range), secret: hit.secret))
    }

    private func match(
        _ bytes: Span<UInt8>,
        _ cut: Cut,
        at position: Int,
        _ word: UInt32,
        _ runEnd: inout Int,
        _ origin: (Range<Int>) -> Range<Int>
    ) -> Hit? {
        for entry in byBeginning[word] ?? [] {
            let text = texts[entry.text]
            let missing = cut.missingMax(of: text.count)
            guard entry.pattern.matches(text.span, in: bytes, at: position, missing: missing) else {
                continue
            }
            var start = position
            var end = min(bytes.count, position + entry.pattern.length(count: text.count))
            guard entry.pattern.isBase64 else {
                return Hit(range: start..<end, secret: entry.secret)
            }
            // The characters next to the certain ones hold a part of the secret, too.
            for _ in 0..<entry.pattern.lead where start > 0 && bytes[start - 1].isBase64 {
                start -= 1
            }
            // So do those behind them, on the next line of a folded text, too.
            let tail = entry.pattern.tail(count: text.count)
            for _ in 0..<tail where end < bytes.count && bytes[end].isBase64 { end += 1 }
            // The rest of the base64 run is redacted, too, up to the end of its line: what is on
            // the next one need not belong to it. The run is scanned once, however many secrets
            // are in it.
            end = max(end, runEnd)
            while end < bytes.count, bytes[end].isBase64, !Self.isLineEnd(before: end, origin) {
                end += 1
            }
            runEnd = end
            return Hit(range: start..<end, secret: entry.secret)
        }
        return nil
    }

    /// Whether a line break was undone between the byte at `position` and the one before it: no
    /// other escape means nothing.
    private static func isLineEnd(
        before position: Int,
        _ origin: (Range<Int>) -> Range<Int>
    ) -> Bool {
        origin(position - 1..<position).upperBound < origin(position..<position + 1).lowerBound
    }

    /// Sorts the hits, and joins overlapping ones under the secret of the first.
    private static func merged(_ hits: [Hit]) -> [Hit] {
        if hits.count < 2 { return hits }
        var result: [Hit] = []
        for hit in hits.sorted(by: SecretMatcher.precedes) {
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

    private static func precedes(_ first: Hit, _ second: Hit) -> Bool {
        if first.range.lowerBound != second.range.lowerBound {
            return first.range.lowerBound < second.range.lowerBound
        }
        return first.range.upperBound > second.range.upperBound
    }
}

/// A set of words that may take others for its own, though seldom: one bit for each hash.
private struct WordFilter: Sendable {
    private var bits: [UInt64] = []

    mutating func insert(_ word: UInt32) {
        if bits.isEmpty { bits = Array(repeating: 0, count: 1024) }
        let hash = Self.hash(word)
        bits[hash >> 6] |= 1 << UInt64(hash & 63)
    }

    /// Only asked once a word is in it.
    @inline(__always) func mayHold(_ word: UInt32) -> Bool {
        let hash = Self.hash(word)
        return bits[hash &>> 6] &>> UInt64(hash & 63) & 1 == 1
    }

    @inline(__always) private static func hash(_ word: UInt32) -> Int {
        Int(truncatingIfNeeded: (word &* 0x9E37_79B1) &>> 16)
    }
}

extension Span<UInt8> {
    /// The four bytes from `start` on, the first lowest.
    @inline(__always) fileprivate func word32(at start: Int) -> UInt32 {
        UInt32(truncatingIfNeeded: halfWord(at: start))
    }
}
