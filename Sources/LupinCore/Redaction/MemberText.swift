// How members of JSON and fields of forms are written, whole or in a string of another text.

extension Span<UInt8> {
    /// Where the rest of a JSON string ends, or where `ends` says so before; escapes stay whole.
    func stringEnd(
        from start: Int,
        isNested: Bool,
        _ ends: (Span<UInt8>, Int) -> Bool
    ) -> Int {
        var i = start
        while i < count, self[i] != 0x22, !ends(self, i) {
            if self[i] == 0x5C {
                if isNested { break }
                i += 1
            }
            i += 1
        }
        return Swift.min(i, count)
    }

    /// Whether `\r` or `\n` stands at `i`.
    func hasLineEscape(at i: Int) -> Bool {
        i + 1 < count && (self[i + 1] == 0x72 || self[i + 1] == 0x6E)
    }

    /// Whether it holds a name or a value that only the exchange of a code for a token has (RFC
    /// 6749 §4.1.3, RFC 7636 §4.5).
    var speaksOfGrant: Bool {
        let (grant, verifier) = (Array("authorization_code".utf8), Array("code_verifier".utf8))
        for i in indices where self[i] == 0x61 || self[i] == 0x63 {
            let rest = extracting(i..<count)
            if grant.span.begins(rest) || verifier.span.begins(rest) { return true }
        }
        return false
    }

    /// The first place from `start` on that may hold one of `"\\&?`, or `count`: before a name.
    func nameMark(from start: Int) -> Int {
        var i = start
        while count &- i >= 8 {
            let word = word(at: i)
            let marks =
                (word | 0x0404_0404_0404_0404).marks(of: 0x26)
                | word.marks(of: 0x5C) | word.marks(of: 0x3F)
            if marks != 0 { return i &+ marks.firstMark }
            i &+= 8
            // In JSON the next quote is near; in what has none, many bytes are passed at once.
            guard i &- start == 16 else { continue }
            i = block(from: i) { byte in
                (byte | 0x04 == 0x26 ? 1 : 0) | (byte == 0x5C ? 1 : 0) | (byte == 0x3F ? 1 : 0)
            }
        }
        return i
    }

    /// The first place from `start` on that may end the name of a form's field, or `count`.
    func fieldMark(from start: Int) -> Int {
        var i = start
        while count &- i >= 8 {
            let word = word(at: i)
            let marks =
                (word | 0x0404_0404_0404_0404).marks(of: 0x26)
                | word.marks(of: 0x3D) | word.marks(below: 0x21)
            if marks != 0 { return i &+ marks.firstMark }
            i &+= 8
        }
        return i
    }
}

extension UInt8 {
    var endsBareValue: Bool {
        self == 0x2C || self == 0x7D || self == 0x5D || isJSONSpace
    }
}
