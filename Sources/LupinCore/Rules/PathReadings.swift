// How usual servers read a path that they don't take as RFC 3986 does, and whether that matters.

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
    /// Windows: full-width and overlong characters are plain ones, and a segment ends without dots
    /// and blanks.
    case windows
    /// The path ends at a NUL, a question mark or a number sign, encoded or not.
    case cut
    /// Percent-encoding is undone until there is none, and all the others do at once.
    case again

    /// Who reads so, for users.
    package var servers: String {
        switch self {
        case .merged: "nginx, Apache and others that merge slashes"
        case .decoded: "nginx, Apache, Node and Python"
        case .backslashes: "IIS and Node's URL"
        case .withoutParameters: "Tomcat, Jetty and Spring"
        case .windows: "IIS and others on Windows"
        case .cut: "a CGI program"
        case .again: "a server that decodes again behind a proxy"
        }
    }

    /// The path as they read it, in normal form.
    fileprivate func read(_ path: [UInt8]) -> [UInt8] {
        let merged = path.mergingSlashes
        if self == .merged { return NormalPath(merged.span).rewritten ?? merged }
        return decoded(path).percentEncodedPath
    }

    /// The same with nothing encoded.
    private func decoded(_ path: [UInt8]) -> [UInt8] {
        switch self {
        case .merged: path.mergingSlashes
        case .decoded: path.percentDecoded
        case .backslashes: path.percentDecoded.withSlashes.mergingSlashes
        case .withoutParameters: path.withoutParameters.percentDecoded.mergingSlashes
        case .windows: path.percentDecoded.narrowed.withSlashes.trimmingSegments.mergingSlashes
        case .cut: path.percentDecoded.cutAtEnd.mergingSlashes
        case .again:
            path.decodedWholly.narrowed.withSlashes.withoutParameters.trimmingSegments
                .mergingSlashes
        }
    }

    /// Whether the path has a byte that some server reads in its own way.
    package static func differ(in path: Span<UInt8>) -> Bool {
        var before: UInt8 = 0
        for i in path.indices {
            let byte = path[i]
            switch byte {
            case 0x25, 0x5C, 0x3B, 0x80...: return true
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
    /// A rule that holds for one reading and not for the other.
    package let rule: String

    /// For the client that asked.
    package var sentence: String {
        "The path can be read in two ways: for \(servers) it is \(path), and the \(rule) holds for "
            + "one of them alone. Write the path plainly, let the rule name both forms, or set "
            + "access.paths: lenient."
    }
}

extension RuleSet {
    /// Another reading of the path for which other rules would decide; nil if there is none, which
    /// is the rule even for odd paths.
    package func otherReading(of subject: MatchSubject) -> OtherReading? {
        guard judgesPaths, !subject.isConnect else { return nil }
        let storage = subject.fields.storage
        let target = storage.span.extracting(subject.pathAndQuery.range)
        let normal = NormalPath(target)
        let query = Array(storage[subject.pathAndQuery.range].dropFirst(normal.pathCount))
        guard PathReading.differ(in: target.extracting(0..<normal.pathCount)) else { return nil }
        let path = storage[subject.pathAndQuery.range].prefix(normal.pathCount)
        let own = normal.rewritten ?? Array(path)
        let judges = judging(subject)
        for reading in PathReading.allCases {
            let path = reading.read(own)
            if path == own { continue }
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
                rule: rules[rule].reference
            )
        }
        return nil
    }

    /// The matching rules that decide about more than convenience.
    private func judging(_ subject: MatchSubject) -> [Int] {
        matching(subject).filter { rules[$0].judges }
    }
}

extension Rule {
    /// Whether it attaches or refuses something, so that it matters which requests it matches.
    var judges: Bool {
        RuleKey.allCases.contains { key in
            switch key {
            case .request, .response, .cookies, .standIns, .cache:
                RuleKey.allAttachments(of: [self]).contains { $0.gate == .owner }
            case .clientCert: clientCertificate != nil
            case .respond: respond != nil
            case .crossSite: crossSite != nil
            case .scrub: scrub != nil
            case .trust: trust != nil
            case .validate: validation != nil
            // They decide how a request goes out, and what is kept of it.
            case .name, .match, .retry, .redirect, .resume, .throttle, .tls, .intercept, .proxy,
                .timeouts, .log, .capture, .trace, .stop:
                false
            }
        }
    }

    /// Whether a match tests the path.
    var testsPath: Bool { matches.contains(where: \.testsPath) }
}

extension Match {
    fileprivate var testsPath: Bool { paths != nil || not.contains(where: \.testsPath) }
}

// MARK: What servers do

extension [UInt8] {
    fileprivate var percentDecoded: [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(count)
        var i = 0
        while i < count {
            if let byte = NormalPath.escape(at: i, in: span) {
                output.append(byte)
                i += 3
            } else {
                output.append(self[i])
                i += 1
            }
        }
        return output
    }

    /// Decoded until nothing changes, four times at most: no server does it more often.
    fileprivate var decodedWholly: [UInt8] {
        var text = self
        for _ in 0..<4 {
            let next = text.percentDecoded
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
        let segments = split(separator: 0x2F, omittingEmptySubsequences: false)
        return Array(
            segments.map { segment -> ArraySlice<UInt8> in
                var segment = segment
                while segment.last == 0x20 { segment.removeLast() }
                if segment.elementsEqual([0x2E]) || segment.elementsEqual([0x2E, 0x2E]) {
                    return segment
                }
                while let last = segment.last, last == 0x2E || last == 0x20 { segment.removeLast() }
                return segment
            }.joined(separator: [0x2F])
        )
    }

    fileprivate var cutAtEnd: [UInt8] {
        Array(prefix { $0 != 0x00 && $0 != 0x3F && $0 != 0x23 })
    }

    /// Full-width forms (U+FF01 to U+FF5E), the other slashes of Unicode, and overlong UTF-8 of two
    /// and three bytes as the ASCII characters that they look like.
    fileprivate var narrowed: [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(count)
        var i = 0
        while i < count {
            let (byte, length) = narrow(at: i)
            output.append(byte)
            i += length
        }
        return output
    }

    private func narrow(at i: Int) -> (byte: UInt8, length: Int) {
        func next(_ offset: Int) -> UInt8? {
            guard i + offset < count, self[i + offset] & 0xC0 == 0x80 else { return nil }
            return self[i + offset] & 0x3F
        }
        switch self[i] {
        case 0xC0, 0xC1:
            if let low = next(1) { return ((self[i] & 1) << 6 | low, 2) }
        case 0xE0:
            if let high = next(1), let low = next(2), high < 2 { return (high << 6 | low, 3) }
        case 0xEF:
            // U+FF01 is an exclamation mark.
            if let high = next(1), let low = next(2), high >= 0x3C {
                let code = Int(high & 3) << 6 | Int(low)
                if (0x01...0x5E).contains(code) {
                    return (UInt8(truncatingIfNeeded: code + 0x20), 3)
                }
            }
        case 0xE2:
            // U+2044, U+2215 and U+2216.
            if let high = next(1), let low = next(2) {
                if high == 0x01, low == 0x04 { return (0x2F, 3) }
                if high == 0x08, low == 0x15 { return (0x2F, 3) }
                if high == 0x08, low == 0x16 { return (0x5C, 3) }
            }
        default: break
        }
        return (self[i], 1)
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
