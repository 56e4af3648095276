// Selects stored responses by one URL, or by a pattern of URLs.

package import LupinCore
package import LupinPolicy

/// One URL, or the one-string form of `match:`.
package struct CachePattern: Sendable {
    private enum Kind: Sendable {
        /// In the form of `CacheKey.url`.
        case url(String)
        case match(Match)
    }

    private let kind: Kind

    /// Parses `http://a.example/b?c=d`, which is one URL, or a pattern such as `*.a.example/b/**`.
    ///
    /// Text with a query is one URL. Anything else is a pattern of scheme, host, port and path, for
    /// any query, as in a rule.
    /// - Throws: The problem with the text.
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

    /// Whether `url`, in the form of `CacheKey.url`, matches.
    package func matches(_ url: String) -> Bool {
        switch kind {
        case .url(let wanted): return wanted == url
        case .match(let match):
            guard let url = HTTPURL(url) else { return false }
            var facts = SubjectFacts()
            return match.holds(for: MatchSubject(url), &facts)
        }
    }

    /// Whether responses under this key match; one URL matches what a request for it finds.
    package func matches(_ key: CacheKey) -> Bool {
        switch kind {
        case .url(let wanted): key.answers(wanted)
        case .match: matches(String(key.url))
        }
    }

    /// Whether the pattern obviously matches everything.
    package var isEverything: Bool {
        guard case .match(let match) = kind, match.schemes == nil else { return false }
        let isAnyPort = match.ports.map { $0.contains(1...UInt16.max) } ?? true
        let isAnyHost = match.hosts?.contains(where: \.isAnyHost) ?? true
        let isAnyPath = match.paths?.contains(where: \.isAnyPath) ?? true
        return isAnyPort && isAnyHost && isAnyPath
    }
}

extension CacheKey {
    /// The URL of the key that responses of `url` are stored under.
    package static func url(of url: HTTPURL) -> Substring {
        let path = Array(url.path.utf8)
        return CacheKey(origin: url.origin, pathAndQuery: path.span, partition: "").url
    }

    /// A short tag of the partition, which does not reveal whose it is; nil for the partition of
    /// all users.
    package var partitionTag: String? {
        let partition = partition
        return partition.isEmpty ? nil : String(partition.filter { $0 != "." }.prefix(8))
    }
}

extension MatchSubject {
    /// A GET for a URL, without further facts.
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
