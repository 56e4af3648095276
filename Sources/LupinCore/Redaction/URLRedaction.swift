// Finds the parts of URLs that hold secrets: userinfo and the values of some parameters.

/// Finds secrets in URLs by their position.
///
/// It accepts any text with any number of URLs in it, such as `Link`, `Refresh` and error messages.
package struct URLRedaction: Sendable {
    /// A part of a text, and how to redact it.
    package enum Finding: Sendable, Equatable {
        /// Userinfo with its `@`: removed.
        case userinfo(Range<Int>)
        /// The value of a parameter: replaced.
        case value(Range<Int>)

        package var range: Range<Int> {
            switch self {
            case .userinfo(let range), .value(let range): range
            }
        }

        /// Whether it is no accident in a body that is no text: there, two slashes are followed by
        /// an `@` every few megabytes, and what stands between them must not get lost.
        fileprivate func isLikely(in text: Span<UInt8>) -> Bool {
            guard case .userinfo(let range) = self else { return true }
            for i in range where !(0x21..<0x7F).contains(text[i]) { return false }
            let before = range.lowerBound - 3
            // Bounded: two slashes stand before it.
            return before < 0 || [0x3A, 0x22, 0x27, 0x3D, 0x20, 0x28].contains(text[before])
        }
    }

    /// Longer names are on no list of parameters.
    private static let nameBytesMax = 64

    /// How many bytes before a finding show that it is one: a separator and an encoded name.
    static let contextBytes = nameBytesMax * 3 + 8

    /// The escapes below which a text may hold another URL.
    private static let nesting: [Escaping] = [.percent, .backslash]
    /// The number of layers of them that are undone.
    private static let layersMax = 2

    private let parameters: NameSet

    package init(parameters: NameSet) { self.parameters = parameters }

    /// Returns the parts to redact, in order and without overlaps; for most texts none, found in a
    /// single pass.
    ///
    /// In a body, what is no URL for certain is left.
    package func findings(in text: Span<UInt8>, isBody: Bool = false) -> [Finding] {
        findings(in: text, isBody: isBody, Escaping.present(in: text))
    }

    /// The same, where it is known which escapes are `present`.
    func findings(in text: Span<UInt8>, isBody: Bool, _ present: UInt8) -> [Finding] {
        var findings = plainFindings(in: text, isBody: isBody)
        let count = findings.count
        appendNested(in: text, present, isBody: isBody, layer: 1, to: &findings) { $0 }
        return findings.count == count ? findings : URLRedaction.merged(findings)
    }

    /// Undoes escapes, and appends what is found then: a URL may be the parameter of another, or
    /// stand in a JSON string.
    private func appendNested(
        in text: Span<UInt8>,
        _ present: UInt8,
        isBody: Bool,
        layer: Int,
        to findings: inout [Finding],
        _ origin: (Range<Int>) -> Range<Int>
    ) {
        if present == 0 { return }
        for escaping in URLRedaction.nesting where present >> escaping.rawValue & 1 == 1 {
            guard let inner = Unescaped(text, undoing: escaping) else { continue }
            for finding in plainFindings(in: inner.bytes.span, isBody: isBody) {
                findings.append(.value(origin(inner.origin(of: finding.range))))
            }
            guard layer < URLRedaction.layersMax else { continue }
            let span = inner.bytes.span
            let more = Escaping.present(in: span)
            appendNested(in: span, more, isBody: isBody, layer: layer + 1, to: &findings) {
                origin(inner.origin(of: $0))
            }
        }
    }

    /// Sorts findings, and joins those that overlap.
    private static func merged(_ findings: [Finding]) -> [Finding] {
        var result: [Finding] = []
        for finding in findings.sorted(by: { $0.range.lowerBound < $1.range.lowerBound }) {
            guard let last = result.last, finding.range.lowerBound < last.range.upperBound else {
                result.append(finding)
                continue
            }
            let end = max(last.range.upperBound, finding.range.upperBound)
            let range = last.range.lowerBound..<end
            switch (last, finding) {
            case (.value, .value): result[result.count - 1] = .value(range)
            case (.userinfo, _), (_, .userinfo): result[result.count - 1] = .userinfo(range)
            }
        }
        return result
    }

    /// Returns what is found without undoing an escape.
    private func plainFindings(in text: Span<UInt8>, isBody: Bool) -> [Finding] {
        let findings = plainFindings(in: text)
        return isBody ? findings.filter { $0.isLikely(in: text) } : findings
    }

    private func plainFindings(in text: Span<UInt8>) -> [Finding] {
        var findings: [Finding] = []
        var end = 0
        var i = 0
        while text.count &- i >= 8 {
            if i & 31 == 0 {
                i = text.block(from: i) { $0.separatorMark }
                guard text.count &- i >= 8 else { break }
            }
            var marks = text.word(at: i).separators
            while marks != 0 {
                let position = i &+ marks.firstMark
                marks &= marks &- 1
                // Separators inside a finding begin no other.
                if position >= end { note(text, at: position, into: &findings, &end) }
            }
            i &+= 8
        }
        while i < text.count {
            if i >= end { note(text, at: i, into: &findings, &end) }
            i &+= 1
        }
        return findings
    }

    /// Appends what a separator begins; updates `end`, the end of the last finding.
    @inline(__always)
    private func note(
        _ text: Span<UInt8>,
        at i: Int,
        into findings: inout [Finding],
        _ end: inout Int
    ) {
        switch text[i] {
        case 0x2F where i > 0 && text[i - 1] == 0x2F:
            guard let found = userinfoEnd(in: text, from: i + 1) else { return }
            findings.append(.userinfo(i + 1..<found))
            end = found
        case 0x3F, 0x26, 0x23, 0x3B:
            guard let value = secretValue(in: text, after: i) else { return }
            findings.append(.value(value))
            end = value.upperBound
        default: break
        }
    }

    /// Returns the end of `user:password@` at `start`, or nil (RFC 3986 §3.2: the authority ends
    /// with the first slash, question mark or number sign).
    private func userinfoEnd(in text: Span<UInt8>, from start: Int) -> Int? {
        var i = start
        var end: Int?
        while i < text.count {
            switch text[i] {
            case 0x2F, 0x3F, 0x23, 0x5C, 0x3E, 0x22, 0...0x20: return end
            case 0x40: end = i + 1
            default: break
            }
            i += 1
        }
        return end
    }

    /// Returns the range of `value` in `name=value` after the separator, if the name is on the
    /// list; also in `other=name=value`.
    private func secretValue(in text: Span<UInt8>, after separator: Int) -> Range<Int>? {
        var i = separator + 1
        while true {
            while i < text.count, text[i] == 0x20 { i += 1 }
            let name = i
            while i < text.count, text[i] != 0x3D {
                // A percent-encoded byte takes three.
                guard i - name < URLRedaction.nameBytesMax * 3 else { return nil }
                switch text[i] {
                case 0x26, 0x3F, 0x23, 0x3B, 0x3E, 0...0x20: return nil
                default: i += 1
                }
            }
            guard i < text.count else { return nil }
            if lists(text.extracting(name..<i)) { break }
            i += 1
        }
        let start = i + 1
        var end = start
        // Not ended by `;`: a value may hold one, and hiding too much is the lesser harm.
        while end < text.count {
            switch text[end] {
            case 0x22:
                // Those before a quote belong to it, in a string of JSON.
                while end > start, text[end - 1] == 0x5C { end -= 1 }
                return start..<end
            case 0x26, 0x23, 0x3E, 0...0x20: return start..<end
            default: end += 1
            }
        }
        return start == end ? nil : start..<end
    }

    /// Whether the name, which may be percent-encoded, is on the list.
    private func lists(_ name: Span<UInt8>) -> Bool {
        var isEncoded = false
        for i in name.indices { isEncoded = isEncoded || name[i] == 0x25 }
        if !isEncoded {
            return !name.isEmpty && name.count <= URLRedaction.nameBytesMax
                && parameters.contains(name)
        }
        guard let decoded = name.percentDecoded else { return false }
        return decoded.count <= URLRedaction.nameBytesMax && parameters.contains(decoded.span)
    }
}

extension UInt8 {
    /// 1 for one of `/?&#;`, of which two differ in one bit only; 0 for any other byte.
    @inline(__always) fileprivate var separatorMark: UInt8 {
        (self | 0x10 == 0x3F ? 1 : 0) | (self == 0x26 ? 1 : 0) | (self == 0x23 ? 1 : 0)
            | (self == 0x3B ? 1 : 0)
    }
}

extension UInt64 {
    /// Marks the bytes of a word that may be one of `/?&#;`.
    ///
    /// They may also be one of `"'+`: two comparisons find all of these.
    @inline(__always) fileprivate var separators: UInt64 {
        (self | 0x1414_1414_1414_1414).marks(of: 0x3F)
            | (self | 0x0505_0505_0505_0505).marks(of: 0x27)
    }
}

extension Redactor {
    /// Path and query of the client's request, as records show them.
    package func recordedPath(of request: RequestHead) -> [UInt8] {
        if request.form == .asterisk { return [0x2A] }
        if request.pathAndQuery.isEmpty { return [0x2F] }
        let bytes = request.fields.storage.span.extracting(request.pathAndQuery.range)
        return cleaned(bytes) ?? [UInt8](copying: bytes)
    }
}

extension Redactor {
    /// The URL of the client's request, as records show it; host and port for CONNECT.
    package func recordedURL(of request: RequestHead, at origin: Origin) -> String {
        if request.form == .authority { return cleaned(origin.hostAndPort) }
        let start = "\(origin.scheme.name)://\(origin.authority)"
        if request.form == .asterisk { return start }
        return start + String(decoding: recordedPath(of: request), as: UTF8.self)
    }
}
