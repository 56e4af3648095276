// Patterns of hosts, and the canonical form in which hosts are compared.

package import LupinCore

/// An exact host, an address, a glob over labels, `/regex/`, or a list of these.
///
/// Names are compared as lower-case A-labels without a trailing dot. `*.x.dev` is exactly one label
/// below `x.dev`; `**.x.dev` is `x.dev` and everything below.
package struct HostPattern: Sendable {
    /// The pattern in canonical form.
    package let source: String
    /// What the file should contain instead, if it is not in canonical form (E-HOST).
    package private(set) var canonicalNote: String?
    private let kind: Kind

    private enum Kind: Sendable {
        case exact(Host)
        case glob(SegmentGlob)
        case expression(RegularExpression)
        case list(HostList)
    }

    /// All hosts of a list; `source` describes it to users.
    package init(_ list: HostList, source: String) {
        self.source = source
        kind = .list(list)
    }

    /// - Throws: What is wrong, and what to write instead.
    package init(_ text: String) throws(PatternProblem) {
        guard !text.isEmpty else { throw PatternProblem("a host name is missing", at: 0) }
        // A fast path: lists are long, and nearly all their entries are names in canonical form.
        if text.utf8.allSatisfy(\.isHostNameByte), let host = Host(text), host.text == text {
            source = text
            kind = .exact(host)
            return
        }
        if text.hasPrefix("/") {
            guard let expression = try RegularExpression(literal: text) else {
                throw PatternProblem(
                    "a host has no path; a regular expression ends with `/`",
                    at: 0
                )
            }
            source = text
            kind = .expression(expression)
            return
        }
        if let problem = Self.problem(withMoreThanHost: text) { throw problem }
        if text.contains("*") {
            let labels = try Self.labels(of: text)
            source = labels.map(\.text).joined(separator: ".")
            kind = .glob(SegmentGlob(labels.map(\.segment), separator: 0x2E))
        } else {
            guard let host = Host(text) else { throw Self.problem(withName: text) }
            source = host.text
            kind = .exact(host)
        }
        let plain = text.hasPrefix("[") ? String(text.dropFirst().dropLast()) : text
        if case .exact(let host) = kind, case .v6 = host.address, plain == text {
            canonicalNote = "written `[\(source)]` in URLs; compared as `\(source)`"
        } else if source != plain.lowercased() {
            canonicalNote = "compared as `\(source)`"
        }
    }

    /// Whether the pattern matches `host`.
    package func matches(_ host: Host) -> Bool {
        switch kind {
        case .exact(let exact): exact == host
        case .glob(let glob): glob.matches(host.text.utf8.span)
        case .expression(let expression): expression.matches(host.text.utf8.span)
        case .list(let list): list.contains(host)
        }
    }

    /// The key by which an index finds the pattern.
    enum Key: Equatable {
        /// Every match is this host or, with `**`, ends in it after a dot.
        case suffix([UInt8])
        /// Every match is in this list.
        case list(HostList)
        case none
    }

    var key: Key {
        switch kind {
        case .exact(let host): return .suffix(Array(host.text.utf8))
        case .glob(let glob):
            let suffix = glob.fixedSuffix
            return suffix.isEmpty ? .none : .suffix(suffix)
        case .expression: return .none
        // A pattern without a fixed last label prevents indexing by the list.
        case .list(let list): return list.others.allSatisfy(\.isExplicit) ? .list(list) : .none
        }
    }

    /// The only host that it matches; nil for a pattern.
    package var exactHost: Host? {
        if case .exact(let host) = kind { host } else { nil }
    }

    /// A host that stands for all that it matches, where they are one machine: names below
    /// `localhost` are this one (RFC 6761 §6.3).
    var representative: Host? {
        guard case .glob(let glob) = kind else { return exactHost }
        return glob.segments.last == .literal(Array("localhost".utf8)) ? Host("localhost") : nil
    }

    /// Returns the first pattern for which `holds` is true: this one, or one of its list.
    func first(where holds: (HostPattern) -> Bool) -> HostPattern? {
        guard case .list(let list) = kind else { return holds(self) ? self : nil }
        return list.first(where: holds)
    }

    /// The star and the name of `*.name` and `**.name`.
    var starredName: (star: SegmentGlob.Segment, name: [UInt8])? {
        guard case .glob(let glob) = kind, let star = glob.segments.first,
            star == .one || star == .any
        else { return nil }
        var name: [UInt8] = []
        for segment in glob.segments.dropFirst() {
            guard case .literal(let label) = segment else { return nil }
            if !name.isEmpty { name.append(0x2E) }
            name += label
        }
        return name.isEmpty || name.count > 253 ? nil : (star, name)
    }

    /// Whether it names `host` itself, rather than matching it by a pattern.
    func isExactly(_ host: Host) -> Bool {
        switch kind {
        case .exact(let exact): exact == host
        case .list(let list): list.lists(host)
        case .glob, .expression: false
        }
    }

    /// Whether it limits hosts by text, at least by the last label.
    package var isExplicit: Bool { key != .none }

    /// Whether this pattern provably matches everything that `other` matches.
    func provablyContains(_ other: HostPattern) -> Bool {
        if self == other { return true }
        switch (kind, other.kind) {
        case (.glob(let glob), .glob(let inner)): return glob.provablyContains(inner)
        case (_, .exact(let host)): return matches(host)
        case (.glob(let glob), .expression): return glob.segments == [.any]
        default: return false
        }
    }

    /// Whether some host may match both; a regular expression is assumed to match any host except
    /// an exact one that it doesn't match.
    func mayMeet(_ other: HostPattern) -> Bool {
        switch (kind, other.kind) {
        case (.exact(let host), _): other.matches(host)
        case (_, .exact(let host)): matches(host)
        case (.glob(let glob), .glob(let inner)): glob.meets(inner)
        default: true
        }
    }
}

extension HostPattern: Equatable {
    /// Whether both have the same canonical form.
    package static func == (a: Self, b: Self) -> Bool {
        if case (.list(let list), .list(let other)) = (a.kind, b.kind) { return list == other }
        return a.source == b.source
    }
}

// MARK: Reading

extension HostPattern {
    /// Finds a scheme, a path, a port or userinfo beside the host.
    private static func problem(withMoreThanHost text: String) -> PatternProblem? {
        func offset(of index: String.Index) -> Int {
            text.distance(from: text.startIndex, to: index)
        }
        if let slashes = text.firstRange(of: "://") {
            return PatternProblem(
                "a host has no scheme; write `scheme: \(text[..<slashes.lowerBound])` beside it",
                at: 0
            )
        }
        if let (scheme, rest) = PatternProblem.schemeWithoutColon(text) {
            let host = rest.prefix { $0 != "/" }
            return PatternProblem(
                "a host has no scheme; write `\(host)`, and `scheme: \(scheme)` beside it",
                at: 0
            )
        }
        if let at = text.firstIndex(of: "@") {
            return PatternProblem("a host has no user name", at: offset(of: at))
        }
        if let slash = text.firstIndex(of: "/") {
            if CIDR(text) != nil {
                return PatternProblem(
                    "a network is not a host; write an address or a glob",
                    at: offset(of: slash)
                )
            }
            return PatternProblem(
                "a host has no path; write `path: \(text[slash...])` beside it",
                at: offset(of: slash)
            )
        }
        // With several colons only `[…]:` has a port; without brackets it is an address.
        guard let colon = text.lastIndex(of: ":"), IPAddress(text) == nil,
            !text.hasPrefix("[") || text[..<colon].hasSuffix("]")
        else { return nil }
        let port = text[text.index(after: colon)...]
        let isPort = port == "*" || (!port.isEmpty && port.utf8.allSatisfy(\.isASCIIDigit))
        return PatternProblem(
            isPort
                ? "a host has no port; write `port: \(port)` beside it"
                : "`:` does not belong in a host name",
            at: offset(of: colon)
        )
    }

    private static func problem(withName text: String) -> PatternProblem {
        if text.hasPrefix("[") {
            return PatternProblem("not an IPv6 address in brackets", at: 0)
        }
        for (offset, character) in text.enumerated() where !mayStandInName(character) {
            return PatternProblem("`\(character)` does not belong in a host name", at: offset)
        }
        return PatternProblem("not a host name: a label is empty, too long or not valid", at: 0)
    }

    private static func mayStandInName(_ character: Character) -> Bool {
        guard let byte = character.asciiValue else { return !character.isWhitespace }
        return byte.asciiLowercased.isHostNameByte
    }

    private struct Label {
        var text: String
        var segment: SegmentGlob.Segment
    }

    private static func labels(of text: String) throws(PatternProblem) -> [Label] {
        var parts = text.split(separator: ".", omittingEmptySubsequences: false)
        if parts.count > 1, parts.last == "" { parts.removeLast() }
        var labels: [Label] = []
        for part in parts {
            let offset = text.distance(from: text.startIndex, to: part.startIndex)
            labels.append(try label(part, at: offset))
        }
        return labels
    }

    private static func label(_ part: Substring, at offset: Int) throws(PatternProblem) -> Label {
        guard !part.isEmpty else { throw PatternProblem("a label is empty", at: offset) }
        if part == "*" { return Label(text: "*", segment: .one) }
        if part == "**" { return Label(text: "**", segment: .any) }
        for (index, character) in part.enumerated()
        where character != "*" && !mayStandInName(character) {
            throw PatternProblem(
                "`\(character)` does not belong in a host name",
                at: offset + index
            )
        }
        guard part.utf8.count <= 63 else { throw PatternProblem("a label is too long", at: offset) }
        let pieces = part.split(separator: "*", omittingEmptySubsequences: false)
        guard pieces.count <= 2 else {
            throw PatternProblem(
                "`*` stands twice in one label; `**` is a label of its own, and for more write"
                    + " a regular expression `/…/`",
                at: offset
            )
        }
        guard part.utf8.allSatisfy({ $0 < 0x80 }) else {
            guard pieces.count == 1, let host = Host(String(part)) else {
                throw PatternProblem(
                    "`*` cannot stand beside letters beyond ASCII; write the A-label, `xn--…`",
                    at: offset
                )
            }
            return Label(text: host.text, segment: .literal(Array(host.text.utf8)))
        }
        let bytes = pieces.map { $0.utf8.map(\.asciiLowercased) }
        return Label(
            text: part.lowercased(),
            segment: bytes.count == 1
                ? .literal(bytes[0]) : .partial(prefix: bytes[0], suffix: bytes[1])
        )
    }
}
