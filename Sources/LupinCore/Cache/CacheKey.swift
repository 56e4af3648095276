// Under which name responses lie in the store: the URL and the partition (RFC 9111 §2).

/// The primary key of stored responses.
///
/// Scheme, canonical authority, path in its normal form and query (RFC 3986 §6.2.2), and the
/// partition. The method is no part of it: only responses to GET are stored, and HEAD shares them.
package struct CacheKey: Sendable, Hashable {
    /// The URL without a fragment, a line feed and the partition.
    ///
    /// No URL has a line feed, so two pairs never make one text.
    package let text: String

    /// The key of a request.
    ///
    /// - Parameters:
    ///   - origin: Where the request goes.
    ///   - pathAndQuery: Its target; empty is `/`.
    ///   - partition: Whose responses they are; empty for everybody's. Opaque here.
    ///   - search: Which parts of the query don't tell responses apart; nil for none.
    package init(
        origin: Origin,
        pathAndQuery: Span<UInt8>,
        partition: String,
        search: NoVarySearch? = nil
    ) {
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
        let query = target.extracting(normal.pathCount..<target.count)
        if let search, query.count > 0 {
            bytes += search.normalized(query.extracting(1..<query.count))
        } else {
            bytes.append(copying: query)
        }
        bytes.append(0x0A)
        bytes += partition.utf8
        text = CacheKey.text(bytes)
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
    package init(stored text: String) { self.text = text }

    /// The URL alone, for people and for `key` of Cache-Status: the partition is nobody's business.
    package var url: Substring { text.prefix { $0 != "\n" } }

    /// Before the fragment, which a request has none of, or shouldn't.
    private static func endOfTarget(_ target: Span<UInt8>) -> Int {
        var i = 0
        while i < target.count, target[i] != 0x23, target[i] != 0x0A { i += 1 }
        return i
    }
}
