// Where a stand-in stands in a request, and the request with the credential in its place.

extension StandIn {
    /// A place in a text; `isEncoded` where a byte is written as `%XX` (RFC 3986 §2.1).
    struct Place: Equatable {
        let range: Range<Int>
        let isEncoded: Bool
    }

    /// Its places in `text`, in order.
    func places(in text: Span<UInt8>) -> [Place] {
        let wanted = Array(self.text.utf8)
        if wanted.isEmpty || text.count < wanted.count { return [] }
        var places: [Place] = []
        var i = 0
        while i < text.count {
            if let place = Self.place(of: wanted, in: text, at: i) {
                places.append(place)
                i = place.range.upperBound
            } else {
                i += 1
            }
        }
        return places
    }

    private static func place(of wanted: [UInt8], in text: Span<UInt8>, at start: Int) -> Place? {
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
        return Place(range: start..<i, isEncoded: isEncoded)
    }

    /// The value of a field with `secret` in its place; nil where it does not stand there.
    ///
    /// In `Basic …` it is looked for in what the base64 says (RFC 7617 §2): as user or password.
    func exchanged(inValue value: Span<UInt8>, for secret: String) -> [UInt8]? {
        if let exchanged = exchanged(in: value, for: secret, isURL: false) { return exchanged }
        guard let (start, pair) = Self.basicPair(in: value),
            let exchanged = exchanged(in: pair.span, for: secret, isURL: false)
        else { return nil }
        var result = [UInt8](copying: value.extracting(0..<start))
        result += Base64Text.encode(exchanged).utf8
        return result
    }

    /// The query with `secret` in its place, percent-encoded; nil where it does not stand there.
    func exchanged(inQuery query: Span<UInt8>, for secret: String) -> [UInt8]? {
        exchanged(in: query, for: secret, isURL: true)
    }

    private func exchanged(
        in text: Span<UInt8>,
        for secret: String,
        isURL: Bool
    ) -> [UInt8]? {
        let places = places(in: text)
        if places.isEmpty { return nil }
        let encoded = secret.percentEncoded { $0.isUnreserved }
        var result: [UInt8] = []
        var copied = 0
        for place in places {
            result.append(copying: text.extracting(copied..<place.range.lowerBound))
            result += (isURL || place.isEncoded ? encoded : secret).utf8
            copied = place.range.upperBound
        }
        result.append(copying: text.extracting(copied..<text.count))
        return result
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

    /// Whether it stands in a field that is sent to the origin, or in the query.
    package func isExchangeable(in head: RequestHead) -> Bool {
        let query = head.queryRange
        let storage = head.fields.storage
        if let query, !places(in: storage.span.extracting(query)).isEmpty { return true }
        return head.fields.lines.contains { line in
            line.mayHoldStandIn && stands(inValue: storage.span.extracting(line.value.range))
        }
    }

    /// Whether it stands anywhere in what is sent to the origin, the path included.
    package func stands(in head: RequestHead) -> Bool {
        let target = head.fields.storage.span.extracting(head.pathAndQuery.range)
        return !places(in: target).isEmpty || isExchangeable(in: head)
    }

    /// Whether it stands in the only line of the field called `name`.
    package func standsAlone(in name: String, of head: RequestHead) -> Bool {
        let wanted = Array(name.utf8)
        let lines = head.fields.lines.filter { head.fields.nameEquals($0, wanted.span) }
        guard lines.count == 1, lines[0].mayHoldStandIn else { return false }
        return stands(inValue: head.fields.storage.span.extracting(lines[0].value.range))
    }

    private func stands(inValue value: Span<UInt8>) -> Bool {
        if !places(in: value).isEmpty { return true }
        return Self.basicPair(in: value).map { !places(in: $0.pair.span).isEmpty } ?? false
    }
}

extension RequestHead {
    /// Puts `secret` where the stand-in stands: in field values, and in the query.
    ///
    /// Not in the path and not in the body, where it would name something else.
    /// - Returns: The names of the changed fields, and whether the query is changed.
    package mutating func exchange(
        _ standIn: StandIn,
        for secret: String
    ) -> (fields: [String], query: Bool) {
        var names: [String] = []
        for i in fields.lines.indices where fields.lines[i].mayHoldStandIn {
            let value = Array(fields.storage[fields.lines[i].value.range])
            guard let changed = standIn.exchanged(inValue: value.span, for: secret) else {
                continue
            }
            names.append(fields.text(fields.lines[i].name))
            fields.replaceValue(ofLine: i, by: changed)
        }
        guard let query = queryRange,
            let changed = standIn.exchanged(
                inQuery: fields.storage.span.extracting(query),
                for: secret
            )
        else { return (names, false) }
        let path = fields.storage[pathAndQuery.range.lowerBound..<query.lowerBound]
        let start = fields.storage.count
        fields.storage.append(contentsOf: path)
        fields.storage.append(contentsOf: changed)
        pathAndQuery = ByteRange(start: start, count: fields.storage.count - start)
        return (names, true)
    }

    /// The query in the storage, without its question mark; nil where there is none.
    fileprivate var queryRange: Range<Int>? {
        let range = pathAndQuery.range
        guard let mark = fields.storage[range].firstIndex(of: 0x3F) else { return nil }
        // Bounded: the mark lies in the range.
        return mark + 1..<range.upperBound
    }
}

extension FieldSection {
    /// Replaces the value of one line, which keeps its place.
    fileprivate mutating func replaceValue(ofLine index: Int, by value: [UInt8]) {
        let old = lines[index]
        let start = storage.count
        storage += storage[old.name.range] + [0x3A, 0x20]
        let valueStart = storage.count
        storage += value + [0x0D, 0x0A]
        let name = ByteRange(start: start, count: old.name.range.count)
        let range = ByteRange(start: valueStart, count: value.count)
        lines[index] = Line(name: name, value: range, known: old.known, isContiguous: true)
    }

    /// Masks secrets in the values of all lines.
    package mutating func mask(with mask: SecretMask) {
        for i in lines.indices {
            let value = Array(storage[lines[i].value.range])
            if let masked = mask.masked(value.span) { replaceValue(ofLine: i, by: masked) }
        }
    }

    /// Puts the stand-in back where `secret` stands in Location, as it is or percent-encoded: who
    /// follows the redirect asks with the stand-in, as before.
    package mutating func restore(_ standIn: StandIn, inLocationFor secret: String) {
        guard names.contains(.location) else { return }
        // What finds a stand-in finds any text.
        let needle = StandIn(token: standIn.token, text: secret)
        for i in lines.indices where lines[i].known == .location {
            let value = Array(storage[lines[i].value.range])
            let changed = needle.exchanged(inQuery: value.span, for: standIn.text)
            if let changed { replaceValue(ofLine: i, by: changed) }
        }
    }
}

extension FieldSection.Line {
    /// Whether it is for the origin: not for the connection, not for a parent proxy, and not what
    /// says who the origin is.
    fileprivate var mayHoldStandIn: Bool {
        !isHopByHop && known != .proxyAuthorization && known != .host
    }
}
