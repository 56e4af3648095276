// How usual servers read a path that they don't take as RFC 3986 does, and whether that matters.

package import LupinCore

/// A way in which servers read paths, for paths that have more than one reading.
///
/// Each is at least as generous as the servers that it stands for: what it takes for a separator, a
/// dot or the end of a path, one of them does.
package enum PathReading: CaseIterable, Sendable {
    /// Repeated slashes are one, and nothing is decoded.
    case merged
    /// Percent-encoding is undone once, `%2F` and `%5C` included.
    case decoded
    /// The same, and a backslash is a slash.
    case backslashes
    /// `;` and what follows it in a segment are no part of the path.
    case withoutParameters
    /// Windows: `%uXXXX` is a character, those that look like ASCII and overlong ones are ASCII,
    /// and a segment ends without dots and blanks, and before a stream such as `::$DATA`.
    case windows
    /// Control characters, what can't be seen, and blanks at both ends of a segment are left out.
    case visible
    /// The path ends at a NUL, a question mark or a number sign, encoded or not.
    case cut
    /// Percent-encoding is undone until there is none, and all the others do at once.
    case again

    /// Who reads so, for users; the page on security names them, too.
    package var servers: String {
        switch self {
        case .merged: "nginx and Apache"
        case .decoded: "nginx, Apache, Node and Python"
        case .backslashes: "IIS and Node's URL"
        case .withoutParameters: "Tomcat, Jetty and Spring"
        case .windows: "IIS, others on Windows and servers that apply NFKC"
        case .visible: "URL parsers of browsers and Java's trim"
        case .cut: "CGI programs"
        case .again: "servers that decode again behind a proxy"
        }
    }

    /// The path as they read it, in normal form; some of them read it in one way, some in another.
    fileprivate func read(_ path: [UInt8]) -> [[UInt8]] {
        guard self == .merged else { return decoded(path).map(\.percentEncodedPath) }
        let merged = path.mergingSlashes
        return [NormalPath(merged.span).rewritten ?? merged]
    }

    /// The same with nothing encoded.
    private func decoded(_ path: [UInt8]) -> [[UInt8]] {
        switch self {
        case .merged: return [path.mergingSlashes]
        case .decoded: return [path.percentDecoded]
        case .backslashes: return [path.percentDecoded.withSlashes.mergingSlashes]
        case .withoutParameters: return [path.withoutParameters.percentDecoded.mergingSlashes]
        case .windows:
            let narrowed = path.percentOrUnicodeDecoded.narrowed
            return [narrowed.withSlashes.withoutStreams.trimmingSegments.mergingSlashes]
        case .visible: return [path.percentDecoded.visible.trimmingBlanks.mergingSlashes]
        case .cut: return [path.percentDecoded.cutAtEnd.mergingSlashes]
        case .again:
            let whole = path.decodedWholly.narrowed
            return [whole, whole.cutAtEnd].map { text in
                text.visible.withSlashes.withoutParameters.withoutStreams.trimmingBlanks
                    .trimmingSegments.mergingSlashes
            }
        }
    }

    /// Whether the path has a byte that some server reads in its own way.
    package static func differ(in path: Span<UInt8>) -> Bool {
        var before: UInt8 = 0
        for i in path.indices {
            let byte = path[i]
            switch byte {
            case 0x25, 0x5C, 0x3B, 0x80...: return true
            // A stream of NTFS.
            case 0x24 where before == 0x3A: return true
            case 0x2F where before == 0x2F || before == 0x2E: return true
            default: before = byte
            }
        }
        return before == 0x2E
    }
}

/// A reading of a path for which other rules hold.
package struct OtherReading: Sendable, Equatable {
    package let servers: String
    /// The path as they read it, percent-encoded again.
    package let path: String
    /// The path as it was sent, which the rules take as RFC 3986 does.
    package let sent: String
    /// A rule that holds for one reading and not for the other.
    package let rule: String
    /// The field in which they read it, with a method before the path; nil for the path itself.
    package var field: String?

    /// For the client that asked.
    package var sentence: String {
        if let field {
            return
                "The request can be read in two ways: as it was sent, \(sent), and as \(path) by "
                + "servers that heed \(field), such as \(servers). The \(rule) may hold for one of "
                + "them alone. Leave the field out, let the rule name both forms, or set "
                + "access.paths: lenient."
        }
        return
            "The path can be read in two ways: as it was sent, \(sent), and as \(path) by "
            + "\(servers). The \(rule) holds for one of them alone. Write the path plainly, let "
            + "the rule name both forms, or set access.paths: lenient."
    }

    /// No mistake in the HTTP of the request: it was understood, and is not allowed.
    package func error(for host: Host) -> LupinError {
        LupinError(.httpRequestDenied, host: host.text, detail: sentence, status: 400)
    }
}

extension RuleSet {
    /// Another reading of the path, or of path and method by fields, for which other rules would
    /// decide; nil if there is none, which is the rule even for odd paths.
    package func otherReading(of subject: MatchSubject) -> OtherReading? {
        guard judgesTargets, !subject.isConnect else { return nil }
        return readingOfPath(of: subject) ?? readingByFields(of: subject)
    }

    func readingOfPath(of subject: MatchSubject) -> OtherReading? {
        let storage = subject.fields.storage
        let target = storage.span.extracting(subject.pathAndQuery.range)
        let normal = NormalPath(target)
        let query = Array(storage[subject.pathAndQuery.range].dropFirst(normal.pathCount))
        guard PathReading.differ(in: target.extracting(0..<normal.pathCount)) else { return nil }
        let sent = storage[subject.pathAndQuery.range].prefix(normal.pathCount)
        let own = normal.rewritten ?? Array(sent)
        let judges = judging(subject)
        let readings = PathReading.allCases.flatMap { reading in
            reading.read(own).map { (reading, path: $0) }
        }
        for (reading, path) in readings where path != own {
            var other = subject
            let start = other.fields.storage.count
            other.fields.storage += path + query
            other.pathAndQuery = ByteRange(start: start, count: path.count + query.count)
            let others = judging(other)
            if others == judges { continue }
            let rule = Set(others).symmetricDifference(judges).min() ?? 0
            return OtherReading(
                servers: reading.servers,
                path: String(decoding: path, as: UTF8.self),
                sent: String(decoding: sent, as: UTF8.self),
                rule: rules[rule].reference
            )
        }
        return nil
    }

    /// The matching rules that decide about more than convenience.
    func judging(_ subject: MatchSubject) -> [Int] {
        matching(subject).filter { rules[$0].judges }
    }
}

extension Rule {
    /// Whether it attaches or refuses something, so that it matters which requests it matches.
    var judges: Bool {
        if flags.keys.contains(where: { $0.flag?.judges ?? false }) { return true }
        return RuleKey.Special.allCases.contains { key in
            switch key {
            case .request, .response, .cookies, .standIns, .cache:
                RuleKey.allAttachments(of: [self]).contains { $0.gate == .owner }
            case .clientCert: clientCertificate != nil
            case .respond: respond != nil
            case .crossSite: crossSite != nil
            case .trust: trust != nil
            case .validate: validation != nil
            // They decide how a request goes out, and what is kept of it.
            case .name, .match, .retry, .redirect, .throttle, .tls, .intercept, .proxy, .timeouts,
                .log, .capture, .stop:
                false
            }
        }
    }

    /// Whether a match tests the path, or the method.
    var testsTarget: Bool { matches.contains(where: \.testsTarget) }
}

extension Match {
    fileprivate var testsTarget: Bool {
        paths != nil || methods != nil || not.contains(where: \.testsTarget)
    }
}

// MARK: What servers do

extension [UInt8] {
    fileprivate var percentDecoded: [UInt8] { decoded(takesUnicode: false) }

    /// With `%uXXXX`, too, as IIS reads it.
    fileprivate var percentOrUnicodeDecoded: [UInt8] { decoded(takesUnicode: true) }

    private func decoded(takesUnicode: Bool) -> [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(count)
        var i = 0
        while i < count {
            if let byte = NormalPath.escape(at: i, in: span) {
                output.append(byte)
                i += 3
            } else if takesUnicode, let scalar = unicodeEscape(at: i) {
                output += UTF8.encode(scalar) ?? .init()
                i += 6
            } else {
                output.append(self[i])
                i += 1
            }
        }
        return output
    }

    /// The character of `%uXXXX` at a place; nil if there is none.
    private func unicodeEscape(at i: Int) -> Unicode.Scalar? {
        guard count - i >= 6, self[i] == 0x25, self[i + 1] | 0x20 == UInt8(ascii: "u"),
            let high = NumberReader.hexadecimalByte(span, at: i + 2),
            let low = NumberReader.hexadecimalByte(span, at: i + 4)
        else { return nil }
        // Bounded: two bytes.
        return Unicode.Scalar(UInt32(high) << 8 | UInt32(low))
    }

    /// Decoded until nothing changes, four times at most: no server does it more often.
    fileprivate var decodedWholly: [UInt8] {
        var text = self
        for _ in 0..<4 {
            let next = text.percentOrUnicodeDecoded
            if next.count == text.count { break }
            text = next
        }
        return text
    }

    fileprivate var withSlashes: [UInt8] { map { $0 == 0x5C ? 0x2F : $0 } }

    fileprivate var mergingSlashes: [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(count)
        for byte in self where byte != 0x2F || output.last != 0x2F { output.append(byte) }
        return output
    }

    fileprivate var withoutParameters: [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(count)
        var isParameter = false
        for byte in self {
            if byte == 0x2F { isParameter = false }
            if byte == 0x3B { isParameter = true }
            if !isParameter { output.append(byte) }
        }
        return output
    }

    /// Without the blanks at the end of segments, and the dots of those that are not dots alone.
    fileprivate var trimmingSegments: [UInt8] {
        mapSegments { segment in
            var segment = segment
            while let last = segment.last, last <= 0x20 { segment.removeLast() }
            if segment.elementsEqual([0x2E]) || segment.elementsEqual([0x2E, 0x2E]) {
                return segment
            }
            while let last = segment.last, last == 0x2E || last <= 0x20 { segment.removeLast() }
            return segment
        }
    }

    /// Without the streams of NTFS in segments: `name::$DATA`, `name:$I30:$INDEX_ALLOCATION`.
    fileprivate var withoutStreams: [UInt8] {
        if firstRange(of: [0x3A, 0x24]) == nil { return self }
        return mapSegments { segment in
            let isStream = zip(segment, segment.dropFirst()).contains { $0 == 0x3A && $1 == 0x24 }
            return isStream ? segment.prefix { $0 != 0x3A } : segment
        }
    }

    /// Without the blanks at both ends of segments.
    fileprivate var trimmingBlanks: [UInt8] {
        mapSegments { segment in
            var segment = segment.drop { $0 == 0x20 }
            while segment.last == 0x20 { segment.removeLast() }
            return segment
        }
    }

    private func mapSegments(_ transform: (ArraySlice<UInt8>) -> ArraySlice<UInt8>) -> [UInt8] {
        let segments = split(separator: 0x2F, omittingEmptySubsequences: false)
        return Array(segments.map(transform).joined(separator: [0x2F]))
    }

    fileprivate var cutAtEnd: [UInt8] {
        Array(prefix { $0 != 0x00 && $0 != 0x3F && $0 != 0x23 })
    }

    /// Characters that look like ASCII ones, and overlong UTF-8, as ASCII.
    fileprivate var narrowed: [UInt8] {
        rewritten { code, output in
            if code < 0x80 {
                output.append(UInt8(truncatingIfNeeded: code))
            } else if let text = Lookalikes.ascii(of: code) {
                output += text.utf8
            } else {
                return false
            }
            return true
        }
    }

    /// Without controls and what can't be seen; every blank is a space.
    fileprivate var visible: [UInt8] {
        rewritten { code, output in
            if code < 0x20 || 0x7F...0x9F ~= code { return true }
            let properties = Unicode.Scalar(code)?.properties
            if properties?.isDefaultIgnorableCodePoint == true { return true }
            guard properties?.isWhitespace == true else { return false }
            output.append(0x20)
            return true
        }
    }

    /// With what `replace` appends for a character; those for which it returns false stay.
    private func rewritten(_ replace: (UInt32, inout [UInt8]) -> Bool) -> [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(count)
        var i = 0
        while i < count {
            let (code, length) = character(at: i)
            if !replace(code, &output) { output += self[i..<i + length] }
            i += length
        }
        return output
    }

    /// The character at a place as lenient readers of UTF-8 take it: overlong forms and lengths up
    /// to six count, and a byte that begins no character is one of Latin-1.
    private func character(at i: Int) -> (code: UInt32, length: Int) {
        let first = self[i]
        let length =
            switch first {
            case 0xC0...0xDF: 2
            case 0xE0...0xEF: 3
            case 0xF0...0xF7: 4
            case 0xF8...0xFB: 5
            case 0xFC...0xFD: 6
            default: 1
            }
        guard length > 1, count - i >= length else { return (UInt32(first), 1) }
        var code = UInt32(first) & (0x7F >> UInt32(length))
        for byte in self[i + 1..<i + length] {
            guard byte & 0xC0 == 0x80 else { return (UInt32(first), 1) }
            code = code << 6 | UInt32(byte & 0x3F)
        }
        return (code, length)
    }

    /// In normal form: dot segments are resolved, and what a path can't hold is encoded.
    fileprivate var percentEncodedPath: [UInt8] {
        var encoded: [UInt8] = []
        encoded.reserveCapacity(count)
        for byte in self {
            // RFC 3986 §3.3: unreserved characters, sub-delims, a colon and an at sign.
            let isPlain = byte.isUnreserved || "/!$&'()*+,;=:@".utf8.contains(byte)
            if isPlain { encoded.append(byte) } else { encoded.append(escaping: byte) }
        }
        return NormalPath(encoded.span).rewritten ?? encoded
    }
}
