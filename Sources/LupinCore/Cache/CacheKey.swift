// Under which name responses lie in the store: the URL and the partition (RFC 9111 §2).

/// The primary key of stored responses.
///
/// Scheme, canonical authority, path in its normal form and query (RFC 3986 §6.2.2), and the
/// partition. The method is no part of it: only responses to GET are stored, and HEAD shares them.
package struct CacheKey: Sendable {
    /// The URL without a fragment, a line feed and the partition; a general key also
    /// has another line feed and its variance.
    ///
    /// No part has a line feed, so two keys never make one text.
    package let text: String
    /// Whether it is a general key, which the text says, too; every hit asks.
    package let isGeneral: Bool

    /// The key of a request.
    ///
    /// - Parameters:
    ///   - origin: Where the request goes.
    ///   - pathAndQuery: Its target; empty is `/`.
    ///   - partition: Whose responses they are; empty for everybody's. Opaque here.
    package init(origin: Origin, pathAndQuery: Span<UInt8>, partition: String) {
        let target = pathAndQuery.extracting(0..<CacheKey.endOfTarget(pathAndQuery))
        let normal = NormalPath(target)
        var bytes: [UInt8] = []
        let authority = origin.authority
        bytes.reserveCapacity(target.count + authority.utf8.count + partition.utf8.count + 16)
        bytes += origin.scheme.name.utf8
        bytes += [0x3A, 0x2F, 0x2F]
        bytes += authority.utf8
        if let path = normal.rewritten {
            bytes += path
        } else {
            bytes.append(copying: target.extracting(0..<normal.pathCount))
        }
        bytes.append(copying: target.extracting(normal.pathCount..<target.count))
        bytes.append(0x0A)
        bytes += partition.utf8
        text = CacheKey.text(bytes)
        isGeneral = false
    }

    /// As text, with bytes beyond ASCII escaped: what isn't UTF-8 would all look alike otherwise.
    private static func text(_ bytes: [UInt8]) -> String {
        if bytes.allSatisfy({ $0 < 0x80 }) { return String(decoding: bytes, as: UTF8.self) }
        var escaped: [UInt8] = []
        for byte in bytes {
            if byte < 0x80 { escaped.append(byte) } else { escaped.append(escaping: byte) }
        }
        return String(decoding: escaped, as: UTF8.self)
    }

    /// The key of a request as it is sent.
    package init(_ request: RequestHead, to origin: Origin, partition: String) {
        let target = request.fields.storage.span.extracting(request.pathAndQuery.range)
        self.init(origin: origin, pathAndQuery: target, partition: partition)
    }

    /// A key as it lay in a store.
    package init(stored text: String) {
        self.text = text
        var lineFeeds = 0
        for byte in text.utf8 where byte == 0x0A { lineFeeds += 1 }
        isGeneral = lineFeeds > 1
    }

    /// The URL alone, for people and for `key` of Cache-Status: the partition is nobody's business.
    ///
    /// Of a general key it is what its URLs have in common.
    package var url: Substring { text.prefix { $0 != "\n" } }

    /// The URL without its query, and the partition: what keys have in common that one variance
    /// may make one.
    package var path: String { "\(CacheKey.path(of: url))\n\(partition)" }

    /// Opaque; empty for everybody's responses.
    package var partition: Substring { parts.count > 1 ? parts[1] : "" }

    private var parts: [Substring] {
        text.split(separator: "\n", maxSplits: 2, omittingEmptySubsequences: false)
    }

    private static func path(of url: Substring) -> Substring { url.prefix { $0 != "?" } }

    /// Before the fragment, which a request has none of, or shouldn't.
    private static func endOfTarget(_ target: Span<UInt8>) -> Int {
        var i = 0
        while i < target.count, target[i] != 0x23, target[i] != 0x0A { i += 1 }
        return i
    }
}

extension CacheKey: Hashable {
    package static func == (one: CacheKey, other: CacheKey) -> Bool { one.text == other.text }
    package func hash(into hasher: inout Hasher) { hasher.combine(text) }
}

// MARK: General keys

/// A general key is that of responses which several URLs have: their No-Vary-Search calls those
/// equivalent. It is never the key of a request, so who doesn't ask for it never finds them.
extension CacheKey {
    /// What No-Vary-Search of the responses says; nil where every byte of the URL counts.
    package var variance: NoVarySearch? { isGeneral ? NoVarySearch(parts[2]) : nil }

    /// The key of responses that a request with this key, and those with equivalent URLs, may have.
    package func generalized(by variance: NoVarySearch) -> CacheKey {
        var bytes = Array(CacheKey.path(of: url).utf8)
        let query = Array(url.utf8.dropFirst(bytes.count + 1))
        bytes += variance.normalized(query.span)
        let url = String(decoding: bytes, as: UTF8.self)
        return CacheKey(stored: "\(url)\n\(partition)\n\(variance.text)")
    }

    /// Whether a request for `url`, which is one of `CacheKey.url`, may have what lies under it.
    package func answers(_ url: some StringProtocol) -> Bool {
        !CacheKey.answering(url, among: CollectionOfOne(self)).isEmpty
    }

    /// Those of `keys` that answer `url`; many keys with few variances cost little.
    package static func answering(
        _ url: some StringProtocol,
        among keys: some Sequence<CacheKey>
    ) -> [CacheKey] {
        let path = path(of: Substring(url))
        var general: [Substring: Substring] = [:]
        return keys.filter { key in
            let parts = key.parts
            guard parts.count > 2 else { return parts[0] == url }
            guard CacheKey.path(of: parts[0]) == path else { return false }
            if let known = general[parts[2]] { return known == parts[0] }
            let own = key.variance.map { CacheKey(stored: "\(url)\n").generalized(by: $0).url }
            general[parts[2]] = own ?? ""
            return own == parts[0]
        }
    }

    /// By what keys of all partitions are listed: the URL, or for general ones the path.
    package var listing: String { isGeneral ? CacheKey.generalListing(of: url) : String(url) }

    /// The listing of general keys that may answer `url`; it is like no URL.
    package static func generalListing(of url: some StringProtocol) -> String {
        "\(path(of: Substring(url)))\n"
    }
}
