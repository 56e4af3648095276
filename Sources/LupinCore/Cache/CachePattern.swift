// Which stored responses somebody means: those of one URL, or of every URL that a pattern matches.

/// One URL, or the one-string form of `match:`.
package struct CachePattern: Sendable {
    private enum Kind: Sendable {
        /// In the form of `CacheKey.url`.
        case url(String)
        case match(Match)
    }

    private let kind: Kind

    /// Reads `http://a.example/b?c=d`, which is one URL, or a pattern such as `*.a.example/b/**`.
    ///
    /// What has a query is one URL. All else is about scheme, host, port and path, whatever the
    /// query is, as it is in a rule.
    /// - Throws: What is wrong with it.
    package init(_ text: String) throws(PatternProblem) {
        guard text.contains("?") else {
            kind = .match(try Match(string: text))
            return
        }
        guard let url = HTTPURL(text) else {
            let isWhole = text.contains("://")
            throw PatternProblem(
                isWhole
                    ? "not an http or https URL"
                    : "what has a query is one URL, which begins with http:// or https://",
                at: 0
            )
        }
        kind = .url(String(CacheKey.url(of: url)))
    }

    /// Whether responses of `url` are meant, which is one of `CacheKey.url`.
    package func matches(_ url: String) -> Bool {
        switch kind {
        case .url(let wanted): return wanted == url
        case .match(let match):
            guard let url = HTTPURL(url) else { return false }
            var facts = SubjectFacts()
            return match.holds(for: MatchSubject(url), &facts)
        }
    }

    /// Whether responses under this key are meant: one URL means what a request for it finds.
    package func matches(_ key: CacheKey) -> Bool {
        switch kind {
        case .url(let wanted): key.answers(wanted)
        case .match: matches(String(key.url))
        }
    }

    /// Whether it is seen at a glance that it leaves nothing out.
    package var isEverything: Bool {
        guard case .match(let match) = kind, match.schemes == nil else { return false }
        let isAnyPort = match.ports.map { $0.contains(1...UInt16.max) } ?? true
        let isAnyHost = match.hosts?.contains(where: \.isAnyHost) ?? true
        let isAnyPath = match.paths?.contains(where: \.isAnyPath) ?? true
        return isAnyPort && isAnyHost && isAnyPath
    }
}

extension CacheKey {
    /// The URL of the key that responses of `url` lie under.
    package static func url(of url: HTTPURL) -> Substring {
        let path = Array(url.path.utf8)
        return CacheKey(origin: url.origin, pathAndQuery: path.span, partition: "").url
    }

    /// A short name for whose responses they are, from which nobody learns who that is; nil for
    /// everybody's.
    package var partitionTag: String? {
        let partition = partition
        return partition.isEmpty ? nil : String(partition.filter { $0 != "." }.prefix(8))
    }
}

extension MatchSubject {
    /// A GET for a URL, of which nothing else is known.
    fileprivate init(_ url: HTTPURL) {
        var fields = FieldSection()
        let path = fields.store(url.path)
        self.init(
            method: .get,
            scheme: url.origin.scheme,
            host: url.origin.host,
            port: url.origin.port,
            pathAndQuery: path,
            fields: fields,
            client: .v4(0x7F00_0001),
            program: nil,
            isConnect: false
        )
    }
}

extension HostPattern {
    /// No host has an empty label, so `*.**` is any host as well as `**` is.
    fileprivate var isAnyHost: Bool {
        let labels = source.split(separator: ".")
        return labels.contains("**") && labels.count { $0 == "*" } <= 1
            && labels.allSatisfy { $0 == "*" || $0 == "**" }
    }
}

extension PathPattern {
    fileprivate var isAnyPath: Bool {
        guard let all = try? PathPattern(glob: "/**") else { return false }
        return self == all
    }
}

extension PortSet {
    fileprivate func contains(_ other: ClosedRange<UInt16>) -> Bool {
        ranges.contains { $0.lowerBound <= other.lowerBound && $0.upperBound >= other.upperBound }
    }
}
