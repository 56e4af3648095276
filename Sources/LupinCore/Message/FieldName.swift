// The field names lupin itself acts upon, recognised once when a head is parsed.

/// A field name that some part of lupin decides upon; every other name is `.other`.
///
/// Comparing one byte instead of a name makes framing, hop-by-hop removal and lookups cheap.
package enum FieldName: UInt8, Sendable, CaseIterable {
    case other
    case accept, acceptEncoding, age, altSvc, authorization, cacheControl, connection
    case contentEncoding, contentLength, contentRange, contentType, cookie, date, etag, expect
    case expires, forwarded, host, http2Settings, ifMatch, ifModifiedSince, ifNoneMatch, ifRange
    case ifUnmodifiedSince, keepAlive, lastModified, location, maxForwards, proxyAuthenticate
    case proxyAuthenticationInfo, proxyAuthorization, proxyConnection, proxyStatus, range, referer
    case refresh, link, retryAfter, server, setCookie, te, trailer, transferEncoding, upgrade
    case userAgent, vary, via, wwwAuthenticate

    /// The name as lupin writes it; `.other` has none.
    package var spelling: String {
        switch self {
        case .other: ""
        case .accept: "Accept"
        case .acceptEncoding: "Accept-Encoding"
        case .age: "Age"
        case .altSvc: "Alt-Svc"
        case .authorization: "Authorization"
        case .cacheControl: "Cache-Control"
        case .connection: "Connection"
        case .contentEncoding: "Content-Encoding"
        case .contentLength: "Content-Length"
        case .contentRange: "Content-Range"
        case .contentType: "Content-Type"
        case .cookie: "Cookie"
        case .date: "Date"
        case .etag: "ETag"
        case .expect: "Expect"
        case .expires: "Expires"
        case .forwarded: "Forwarded"
        case .host: "Host"
        case .http2Settings: "HTTP2-Settings"
        case .ifMatch: "If-Match"
        case .ifModifiedSince: "If-Modified-Since"
        case .ifNoneMatch: "If-None-Match"
        case .ifRange: "If-Range"
        case .ifUnmodifiedSince: "If-Unmodified-Since"
        case .keepAlive: "Keep-Alive"
        case .lastModified: "Last-Modified"
        case .location: "Location"
        case .maxForwards: "Max-Forwards"
        case .proxyAuthenticate: "Proxy-Authenticate"
        case .proxyAuthenticationInfo: "Proxy-Authentication-Info"
        case .proxyAuthorization: "Proxy-Authorization"
        case .proxyConnection: "Proxy-Connection"
        case .proxyStatus: "Proxy-Status"
        case .range: "Range"
        case .referer: "Referer"
        case .refresh: "Refresh"
        case .link: "Link"
        case .retryAfter: "Retry-After"
        case .server: "Server"
        case .setCookie: "Set-Cookie"
        case .te: "TE"
        case .trailer: "Trailer"
        case .transferEncoding: "Transfer-Encoding"
        case .upgrade: "Upgrade"
        case .userAgent: "User-Agent"
        case .vary: "Vary"
        case .via: "Via"
        case .wwwAuthenticate: "WWW-Authenticate"
        }
    }

    /// The known name that `bytes` spell in any case, else `.other`.
    package init(_ bytes: Span<UInt8>) {
        self = .other
        guard bytes.count >= 2 else { return }
        let entries = FieldName.entries.span
        var slot = FieldName.slot(bytes)
        // The table is never full, so an empty slot ends every search.
        while entries[slot].count > 0 {
            let entry = entries[slot]
            if Int(entry.count) == bytes.count,
                FieldName.letters.span.extracting(entry.range).equalsLowercased(bytes)
            {
                self = entry.name
                return
            }
            slot = (slot &+ 1) & FieldName.slotMask
        }
    }

    /// A place of the hash table; `count` is 0 where it is empty.
    private struct Entry: Sendable {
        var name = FieldName.other
        var count: UInt8 = 0
        var start: UInt16 = 0

        var range: Range<Int> { Int(start)..<Int(start) + Int(count) }
    }

    private static let slotMask = 255

    /// Length, first and last byte tell the known names apart; a clash would only cost a step.
    private static func slot(_ bytes: Span<UInt8>) -> Int {
        let first = Int(bytes[0] | 0x20)
        let last = Int(bytes[bytes.count &- 1] | 0x20)
        return (bytes.count &+ first &* 7 &+ last &* 27) & slotMask
    }

    private static let spellings: [[UInt8]] = allCases.map { Array($0.spelling.lowercased().utf8) }

    /// All known names in lower case, one behind the other.
    private static let letters: [UInt8] = Array(spellings.joined())

    private static let entries: [Entry] = {
        var entries = [Entry](repeating: Entry(), count: slotMask + 1)
        var start = 0
        for (name, spelling) in zip(allCases, spellings) where name != .other {
            var slot = slot(spelling.span)
            while entries[slot].count > 0 { slot = (slot + 1) & slotMask }
            entries[slot] = Entry(
                name: name,
                count: UInt8(spelling.count),
                start: UInt16(start)
            )
            start += spelling.count
        }
        return entries
    }()
}

extension Span where Element == UInt8 {
    /// Whether `other`, turned to lower case, has these bytes; the counts are equal.
    @inline(__always) fileprivate func equalsLowercased(_ other: Span<UInt8>) -> Bool {
        for i in indices where self[i] != other[i].asciiLowercased { return false }
        return true
    }
}
