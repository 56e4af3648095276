// The key of stored responses: the URL and the partition (RFC 9111 §2).

package import LupinCore

/// The primary key of stored responses.
///
/// It consists of scheme, canonical authority, normalized path and query (RFC 3986 §6.2.2), and the
/// partition. The method is not included: only responses to GET are stored, and HEAD uses them.
package struct CacheKey: Sendable {
    /// The URL without a fragment, a line feed and the partition; a general key also has another
    /// line feed and its variance.
    ///
    /// No part has a line feed, so two keys never have the same text.
    package let text: String
    /// Whether it is a general key; also follows from the text, but every hit needs it.
    package let isGeneral: Bool
    /// Of the text, which is long and whose key is looked for again and again.
    private let hash: Int

    /// The key of a request.
    ///
    /// - Parameters:
    ///   - origin: The origin of the request.
    ///   - pathAndQuery: The target of the request; empty means `/`.
    ///   - partition: The partition, opaque here; empty for that of all users.
    package init(origin: Origin, pathAndQuery: Span<UInt8>, partition: String) {
        let target = pathAndQuery.extracting(0..<CacheKey.endOfTarget(pathAndQuery))
        let normal = NormalPath(target)
        let (scheme, authority) = (origin.scheme.name, origin.authority)
        let path = normal.rewritten
        let pieces = scheme.utf8.count + authority.utf8.count + partition.utf8.count
        var bytes: [UInt8] = []
        bytes.append(addingCapacity: pieces + (path?.count ?? 0) + target.count + 4) { output in
            output.append(copying: scheme.utf8Span.span)
            output.append(copying: "://".utf8Span.span)
            output.append(copying: authority.utf8Span.span)
            if let path { output.append(copying: path.span) }
            output.append(copying: target.extracting((path == nil ? 0 : normal.pathCount)...))
            output.append(0x0A)
            output.append(copying: partition.utf8Span.span)
        }
        text = CacheKey.text(bytes.span)
        hash = text.hashValue
        isGeneral = false
    }

    /// Decodes the bytes and escapes those beyond ASCII: otherwise invalid UTF-8 looks all alike.
    private static func text(_ bytes: Span<UInt8>) -> String {
        if let text = try? UTF8Span(validating: bytes), text.isKnownASCII {
            return String(copying: text)
        }
        var escaped: [UInt8] = []
        for i in bytes.indices {
            let byte = bytes[i]
            if byte < 0x80 { escaped.append(byte) } else { escaped.append(escaping: byte) }
        }
        return String(decoding: escaped, as: UTF8.self)
    }

    /// The key of a request as it is sent.
    package init(_ request: RequestHead, to origin: Origin, partition: String) {
        let target = request.fields.storage.span.extracting(request.pathAndQuery.range)
        self.init(origin: origin, pathAndQuery: target, partition: partition)
    }

    /// A key as read from a store.
    package init(stored text: String) {
        self.text = text
        hash = text.hashValue
        var lineFeeds = 0
        for byte in text.utf8 where byte == 0x0A { lineFeeds += 1 }
        isGeneral = lineFeeds > 1
    }

    /// The URL alone, for people and for `key` of Cache-Status: the partition stays private.
    ///
    /// For a general key it is the common part of its URLs.
    package var url: Substring { CacheKey.start(of: text[...], before: 0x0A) }

    /// The URL without its query, and the partition: the common part of keys that a variance may
    /// merge.
    package var path: String { "\(CacheKey.path(of: url))\n\(partition)" }

    /// Whether it is a request's key for responses of all users: its partition is empty.
    package var isForAll: Bool { !isGeneral && text.utf8.last == 0x0A }

    /// Opaque; empty for responses of all users.
    package var partition: Substring { parts.count > 1 ? parts[1] : "" }

    private var parts: [Substring] {
        text.utf8.split(separator: 0x0A, maxSplits: 2, omittingEmptySubsequences: false)
            .map(Substring.init)
    }

    private static func path(of url: Substring) -> Substring { start(of: url, before: 0x3F) }

    private static func start(of text: Substring, before end: UInt8) -> Substring {
        let place = text.utf8Span.span.offset(of: end)
        return text[..<text.utf8.index(text.startIndex, offsetBy: place)]
    }

    /// The position of the fragment, which a request should not have.
    private static func endOfTarget(_ target: Span<UInt8>) -> Int {
        min(target.offset(of: 0x23), target.offset(of: 0x0A))
    }
}

extension CacheKey: Hashable {
    package static func == (one: CacheKey, other: CacheKey) -> Bool {
        one.hash == other.hash && one.text == other.text
    }
    package func hash(into hasher: inout Hasher) { hasher.combine(hash) }
}

// MARK: General keys

/// A general key belongs to responses that several URLs share: their No-Vary-Search declares those
/// equivalent. It is never the key of a request, so only an explicit look-up finds them.
extension CacheKey {
    /// The No-Vary-Search of the responses; nil when every byte of the URL counts.
    package var variance: NoVarySearch? { isGeneral ? NoVarySearch(parts[2]) : nil }

    /// The key of responses for a request with this key, and for requests with equivalent URLs.
    package func generalized(by variance: NoVarySearch) -> CacheKey {
        var bytes = Array(CacheKey.path(of: url).utf8)
        let query = Array(url.utf8.dropFirst(bytes.count + 1))
        bytes += variance.normalized(query.span)
        let url = String(decoding: bytes, as: UTF8.self)
        return CacheKey(stored: "\(url)\n\(partition)\n\(variance.text)")
    }

    /// Whether a request for `url`, in the form of `CacheKey.url`, may have its responses.
    package func answers(_ url: some StringProtocol) -> Bool {
        !CacheKey.answering(url, among: CollectionOfOne(self)).isEmpty
    }

    /// Those of `keys` that answer `url`; many keys with few variances are cheap.
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

    /// What keys of all partitions are listed by: the URL, or for general keys the path.
    package var listing: String { isGeneral ? CacheKey.generalListing(of: url) : String(url) }

    /// The listing of general keys that may answer `url`; it equals no URL.
    package static func generalListing(of url: some StringProtocol) -> String {
        "\(path(of: Substring(url)))\n"
    }
}
