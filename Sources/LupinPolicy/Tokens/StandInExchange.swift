// Where a stand-in stands in a request, and the request with the credential in its place.

package import LupinCore

extension StandIn {
    /// A place in a text; `isEncoded` where a byte is written as `%XX` (RFC 3986 §2.1).
    struct Occurrence: Equatable {
        let range: Range<Int>
        let isEncoded: Bool
    }

    /// Its places in `text`, in order; with `asPart`, those where it is a whole part of the text.
    func occurrences(in text: Span<UInt8>, asPart: Bool = false) -> [Occurrence] {
        let wanted = Array(self.text.utf8)
        if wanted.isEmpty || text.count < wanted.count { return [] }
        var occurrences: [Occurrence] = []
        var i = 0
        while i < text.count {
            if let occurrence = Self.occurrence(of: wanted, in: text, at: i) {
                if !asPart || Self.isPart(occurrence.range, of: text) {
                    occurrences.append(occurrence)
                }
                i = occurrence.range.upperBound
            } else {
                i += 1
            }
        }
        return occurrences
    }

    private static func occurrence(of wanted: [UInt8], in text: Span<UInt8>, at start: Int)
        -> Occurrence?
    {
        var i = start
        var isEncoded = false
        for byte in wanted {
            guard i < text.count else { return nil }
            if text[i] == byte {
                i += 1
            } else if text[i] == 0x25, NumberReader.hexadecimalByte(text, at: i + 1) == byte {
                isEncoded = true
                i += 3
            } else {
                return nil
            }
        }
        return Occurrence(range: start..<i, isEncoded: isEncoded)
    }

    /// Whether nothing but a delimiter stands next to a range: `Bearer X`, `key="X"`, `a=1; t=X`.
    ///
    /// Who could write something else before it would choose where a server cuts it off that
    /// repeats a value in part, and would see the credential but for its last bytes.
    private static func isPart(_ range: Range<Int>, of text: Span<UInt8>) -> Bool {
        let (start, end) = (range.lowerBound, range.upperBound)
        return (start == 0 || leads.contains(text[start - 1]))
            && (end == text.count || ends.contains(text[end]))
    }

    private static let leads = Set(" \t=:;,?&\"'".utf8)
    private static let ends = Set(" \t:;,?&\"'".utf8)

    /// The value of a field with `secret` in its place; nil where it does not stand there.
    ///
    /// In `Basic …` it is looked for in what the base64 says (RFC 7617 §2): as user or password.
    func exchanged(inValue value: Span<UInt8>, for secret: String) -> [UInt8]? {
        let encoded = secret.percentEncoded { $0.isUnreserved }
        if let exchanged = exchanged(occurrences(in: value, asPart: true), value, secret, encoded) {
            return exchanged
        }
        guard let (start, pair) = Self.basicPair(in: value) else { return nil }
        let occurrences = occurrences(in: pair.span, asPart: true)
        guard let exchanged = exchanged(occurrences, pair.span, secret, encoded) else { return nil }
        var result = [UInt8](copying: value.extracting(0..<start))
        result += Base64Text.encode(exchanged).utf8
        return result
    }

    /// The query with `secret` in its place, percent-encoded; nil where it does not stand there.
    func exchanged(inQuery query: Span<UInt8>, for secret: String) -> [UInt8]? {
        let encoded = secret.percentEncoded { $0.isUnreserved }
        return exchanged(occurrences(in: query, asPart: true), query, encoded, encoded)
    }

    /// The same for a path, where a colon and an at sign need no encoding (RFC 3986 §3.3).
    func exchanged(inPath path: Span<UInt8>, for secret: String) -> [UInt8]? {
        let encoded = secret.percentEncoded { $0.isUnreserved || $0 == 0x3A || $0 == 0x40 }
        return exchanged(occurrences(in: path), path, encoded, encoded)
    }

    /// The text with `plain` or `encoded` in those places; nil for none.
    fileprivate func exchanged(
        _ occurrences: [Occurrence],
        _ text: Span<UInt8>,
        _ plain: String,
        _ encoded: String
    ) -> [UInt8]? {
        if occurrences.isEmpty { return nil }
        var result: [UInt8] = []
        var copied = 0
        for occurrence in occurrences {
            result.append(copying: text.extracting(copied..<occurrence.range.lowerBound))
            result += (occurrence.isEncoded ? encoded : plain).utf8
            copied = occurrence.range.upperBound
        }
        result.append(copying: text.extracting(copied..<text.count))
        return result
    }

    /// The base64 of `Basic …`; nil for another value.
    fileprivate static func basicText(in value: Span<UInt8>) -> String? {
        guard let (start, _) = basicPair(in: value) else { return nil }
        return String(copying: value.extracting(start..<value.count))
    }

    /// What the base64 of `Basic …` says, and where it begins.
    private static func basicPair(in value: Span<UInt8>) -> (start: Int, pair: [UInt8])? {
        let scheme = "basic".utf8
        guard value.count > scheme.count + 1,
            value.extracting(0..<scheme.count).equalsIgnoringCase(scheme.span),
            value[scheme.count] == 0x20
        else { return nil }
        var start = scheme.count
        while start < value.count, value[start] == 0x20 { start += 1 }
        let text = [UInt8](copying: value.extracting(start..<value.count))
        // Some clients leave the padding out.
        let digits = text.prefix { $0 != 0x3D }
        return Base64Text.decode(digits: digits).map { (start, $0) }
    }

    /// Whether it stands in one of the `allowed` places.
    package func isExchangeable(in head: RequestHead, at allowed: StandInLocations) -> Bool {
        let storage = head.fields.storage
        for (kind, range) in head.targetRanges where allowed.contains(kind) {
            if isExchangeable(in: storage.span.extracting(range), at: kind) { return true }
        }
        guard allowed.contains(.fields) else { return false }
        return head.fields.lines.contains { isExchangeable(in: $0, of: head.fields) }
    }

    /// The first place where it stands in what is sent to the origin, but for the `allowed` ones.
    package func place(
        in head: RequestHead,
        outside allowed: StandInLocations = []
    ) -> StandInPlace? {
        let storage = head.fields.storage
        for (kind, range) in head.targetRanges {
            let text = storage.span.extracting(range)
            if occurrences(in: text).isEmpty { continue }
            let isFit = isExchangeable(in: text, at: kind)
            if allowed.contains(kind) && isFit { continue }
            let word = kind == .path ? "the path" : "the query"
            return StandInPlace(text: word, remedy: isFit ? kind : nil)
        }
        for line in head.fields.lines where line.isForOrigin {
            guard stands(inValue: storage.span.extracting(line.value.range)) else { continue }
            let isFit = isExchangeable(in: line, of: head.fields)
            if allowed.contains(.fields) && isFit { continue }
            return StandInPlace(
                text: "the field \(head.fields.text(line.name).prefix(100))",
                remedy: isFit ? .fields : nil
            )
        }
        return nil
    }

    /// Whether it is a credential in the only line of the token's field.
    package func standsAlone(in head: RequestHead) -> Bool {
        let lines = head.fields.lines.filter { isOwnField($0, of: head.fields) }
        return lines.count == 1 && isExchangeable(in: lines[0], of: head.fields)
    }

    private func isExchangeable(in text: Span<UInt8>, at kind: StandInLocations) -> Bool {
        !occurrences(in: text, asPart: kind == .query).isEmpty
    }

    /// Whether it is a credential in this line: in the token's field, or in one that by its name
    /// carries credentials.
    ///
    /// Elsewhere, as in `X-Request-Id`, it is a text that servers repeat and cut off.
    fileprivate func isExchangeable(
        in line: FieldSection.Line,
        of fields: FieldSection
    ) -> Bool {
        let (storage, value) = (fields.storage.span, line.value.range)
        // The rarer answer first: few requests have a stand-in.
        guard line.isForOrigin, stands(inValue: storage.extracting(value), asPart: true) else {
            return false
        }
        return isOwnField(line, of: fields)
            || Self.credentialFields.contains(storage.extracting(line.name.range))
    }

    private static let credentialFields = SecretNames.set()

    private func isOwnField(_ line: FieldSection.Line, of fields: FieldSection) -> Bool {
        fields.nameEquals(line, field.utf8Span.span)
    }

    private func stands(inValue value: Span<UInt8>, asPart: Bool = false) -> Bool {
        if !occurrences(in: value, asPart: asPart).isEmpty { return true }
        guard let (_, pair) = Self.basicPair(in: value) else { return false }
        return !occurrences(in: pair.span, asPart: asPart).isEmpty
    }
}

extension RequestHead {
    /// Puts `secret` where the stand-in stands, in the `allowed` places.
    ///
    /// - Returns: The names of the changed fields, what reveals the secret in them in a form that
    ///   its definition doesn't know (`Basic` with the client's own user), and whether the path or
    ///   the query is changed.
    package mutating func exchange(
        _ standIn: StandIn,
        for secret: String,
        at allowed: StandInLocations
    ) -> (fields: [String], secrets: [String], target: Bool) {
        var (names, secrets): ([String], [String]) = ([], [])
        for i in fields.lines.indices
        where allowed.contains(.fields) && standIn.isExchangeable(in: fields.lines[i], of: fields) {
            let value = Array(fields.storage[fields.lines[i].value.range])
            guard let changed = standIn.exchanged(inValue: value.span, for: secret) else {
                continue
            }
            names.append(fields.text(fields.lines[i].name))
            if let text = StandIn.basicText(in: changed.span) { secrets.append(text) }
            fields.replaceValue(ofLine: i, by: changed)
        }
        var target: [UInt8] = []
        var isChanged = false
        for (kind, range) in targetRanges {
            let part = Array(fields.storage[range])
            var changed: [UInt8]?
            if allowed.contains(kind) {
                changed =
                    kind == .path
                    ? standIn.exchanged(inPath: part.span, for: secret)
                    : standIn.exchanged(inQuery: part.span, for: secret)
            }
            target.append(contentsOf: changed ?? part)
            isChanged = isChanged || changed != nil
        }
        guard isChanged else { return (names, secrets, false) }
        let start = fields.storage.count
        fields.storage += target
        pathAndQuery = ByteRange(start: start, count: target.count)
        return (names, secrets, true)
    }

    /// The path and the query in the storage, the latter with its question mark.
    fileprivate var targetRanges: [(kind: StandInLocations, range: Range<Int>)] {
        let range = pathAndQuery.range
        let mark = fields.storage[range].firstIndex(of: 0x3F) ?? range.upperBound
        return [(.path, range.lowerBound..<mark), (.query, mark..<range.upperBound)]
    }
}

extension FieldSection {
    /// Puts the stand-in back where `secret` stands in Location, as it is or percent-encoded.
    ///
    /// Who follows the redirect asks with the stand-in, as before. In other forms it is masked.
    package mutating func restore(_ standIn: StandIn, inLocationFor secret: String) {
        guard names.contains(.location) else { return }
        // What finds a stand-in finds any text.
        let needle = StandIn(token: standIn.token, text: secret)
        let mask = SecretMask([secret])
        for i in lines.indices where lines[i].known == .location {
            let value = Array(storage[lines[i].value.range])
            let text = standIn.text
            let changed = needle.exchanged(
                needle.occurrences(in: value.span),
                value.span,
                text,
                text
            )
            if let changed { replaceValue(ofLine: i, by: changed) }
            let restored = Array(storage[lines[i].value.range])
            if let masked = mask.masked(restored.span) { replaceValue(ofLine: i, by: masked) }
        }
    }
}

extension FieldSection.Line {
    /// Whether the field is for the origin: not for the connection or a parent proxy, and not one
    /// that names the origin.
    fileprivate var isForOrigin: Bool {
        !isHopByHop && known != .proxyAuthorization && known != .host
    }
}
