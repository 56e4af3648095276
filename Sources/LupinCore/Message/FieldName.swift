// The field names lupin itself acts upon, recognised once when a head is parsed.

/// A field name that some part of lupin decides upon; every other name is `.other`.
///
/// Comparing one byte instead of a name makes framing, hop-by-hop removal and lookups cheap.
@usableFromInline package enum FieldName: UInt8, Sendable, CaseIterable {
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
    package init(_ bytes: Span<UInt8>) { self = FieldName.table.lookup.name(spelledBy: bytes) }

    /// All known names.
    ///
    /// Who asks often keeps a copy, which spares the check that the table is built.
    package static let table = FieldNameTable()
}

/// All known names, so that the one that some bytes spell is found in a step.
package struct FieldNameTable: Sendable {
    fileprivate static let slotMask = 255
    /// No known name is longer.
    fileprivate static let countMax = 32

    /// A hash table; `.other` where it is empty.
    private var slots = [FieldName](repeating: .other, count: slotMask + 1)
    /// How many letters each name has, by its raw value.
    private var counts: [UInt8] = []
    /// The names in lower case, `countMax` places for each.
    private var letters: [UInt8] = []

    fileprivate init() {
        for name in FieldName.allCases {
            let spelling = Array(name.spelling.lowercased().utf8)
            counts.append(UInt8(spelling.count))
            letters += spelling
            letters += Array(repeating: 0, count: FieldNameTable.countMax - spelling.count)
            guard name != .other else { continue }
            var slot = FieldNameTable.slot(spelling.span)
            while slots[slot] != .other { slot = (slot + 1) & FieldNameTable.slotMask }
            slots[slot] = name
        }
    }

    /// Length, first and last byte tell the known names apart; a clash would only cost a step.
    @inline(__always) fileprivate static func slot(_ bytes: Span<UInt8>) -> Int {
        let first = Int(bytes[0] | 0x20)
        let last = Int(bytes[bytes.count &- 1] | 0x20)
        return (bytes.count &+ first &* 7 &+ last &* 27) & slotMask
    }

    /// The table as one head's lines ask it: no reference is counted for a line.
    package var lookup: Lookup {
        @_lifetime(borrow self) get {
            Lookup(slots: slots.span, counts: counts.span, letters: letters.span)
        }
    }

    /// A look into the table, for as long as it is borrowed.
    package struct Lookup: ~Escapable {
        fileprivate let slots: Span<FieldName>
        fileprivate let counts: Span<UInt8>
        fileprivate let letters: Span<UInt8>

        /// The known name that `bytes` spell in any case, else `.other`.
        ///
        /// A known name is a token (RFC 9110 §5.6.2), so its bytes need no other check.
        package func name(spelledBy bytes: Span<UInt8>) -> FieldName {
            guard bytes.count >= 2 else { return .other }
            var slot = FieldNameTable.slot(bytes)
            // The table is never full, so an empty slot ends every search.
            while slots[slot] != .other {
                let name = slots[slot]
                let index = Int(name.rawValue)
                if Int(counts[index]) == bytes.count {
                    let start = index &* FieldNameTable.countMax
                    let spelling = letters.extracting(start..<start &+ bytes.count)
                    if bytes.equalsInAnyCase(spelling) { return name }
                }
                slot = (slot &+ 1) & FieldNameTable.slotMask
            }
            return .other
        }
    }
}

extension Span where Element == UInt8 {
    /// Whether the bytes are `spelling`, a name in lower case of the same length, in any case.
    ///
    /// Eight bytes at a time; the last eight may overlap those before.
    @inline(__always) fileprivate func equalsInAnyCase(_ spelling: Span<UInt8>) -> Bool {
        var i = 0
        guard count >= 8 else {
            while i < count {
                let difference = self[i] ^ spelling[i]
                // Of the bytes of a name only lower-case letters have bit 6, so only they may
                // differ in bit 5.
                if difference & ~((spelling[i] & 0x40) &>> 1) != 0 { return false }
                i &+= 1
            }
            return true
        }
        while true {
            let expected = spelling.word(at: i)
            let difference = word(at: i) ^ expected
            if difference & ~((expected & 0x4040_4040_4040_4040) &>> 1) != 0 { return false }
            if count &- i <= 8 { return true }
            i = Swift.min(i &+ 8, count &- 8)
        }
    }
}
