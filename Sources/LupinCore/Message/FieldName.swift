// The field names that lupin handles, recognised once when a head is parsed.

/// A field name that some part of lupin handles; every other name is `.other`.
///
/// Comparing one byte instead of a name makes framing, hop-by-hop removal and lookups cheap.
@usableFromInline package enum FieldName: UInt8, Sendable, CaseIterable {
    case other
    case accept, acceptEncoding, age, altSvc, authorization, cacheControl, connection
    case contentEncoding, contentLength, contentRange, contentType, cookie, date, etag, expect
    case expires, forwarded, host, http2Settings, ifMatch, ifModifiedSince, ifNoneMatch, ifRange
    case ifUnmodifiedSince, keepAlive, lastModified, location, maxForwards, persistentAuth
    case proxyAuthenticate
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
        case .persistentAuth: "Persistent-Auth"
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
    /// A frequent caller keeps a copy, which saves the check that the table is initialised.
    package static let table = FieldNameTable()
}

/// A hash table of all known names.
package struct FieldNameTable: Sendable {
    fileprivate static let slotMask = 255

    /// The slots; an empty one contains the entry of `.other`.
    private var slots = [Entry](repeating: Entry(.other), count: slotMask + 1)

    fileprivate init() {
        for name in FieldName.allCases where name != .other {
            let spelling = Array(name.spelling.lowercased().utf8)
            var slot = FieldNameTable.slot(spelling.span)
            while slots[slot].name != .other { slot = (slot + 1) & FieldNameTable.slotMask }
            slots[slot] = Entry(name)
        }
    }

    /// Hashes the length, first and last byte, which distinguish the known names; a collision only
    /// costs one more probe.
    @inline(__always) fileprivate static func slot(_ bytes: Span<UInt8>) -> Int {
        let first = Int(bytes[0] | 0x20)
        let last = Int(bytes[bytes.count &- 1] | 0x20)
        return (bytes.count &+ first &* 7 &+ last &* 27) & slotMask
    }

    /// A view of the table for one head's lines: a look-up retains nothing.
    package var lookup: Lookup {
        @_lifetime(borrow self) get { Lookup(slots: slots.span) }
    }

    /// A view of the table, for as long as it is borrowed.
    package struct Lookup: ~Escapable {
        fileprivate let slots: Span<Entry>

        /// The known name that `bytes` spell in any case, else `.other`.
        ///
        /// A known name is a token (RFC 9110 §5.6.2), so its bytes need no other check.
        package func name(spelledBy bytes: Span<UInt8>) -> FieldName {
            guard bytes.count >= 2 else { return .other }
            var slot = FieldNameTable.slot(bytes)
            let ends = NameEnds(bytes)
            // The table is never full, so an empty slot ends every search.
            while slots[slot].name != .other {
                if slots[slot].isSpelled(by: bytes, ends) { return slots[slot].name }
                slot = (slot &+ 1) & FieldNameTable.slotMask
            }
            return .other
        }
    }

    /// One known name, prepared for comparison.
    fileprivate struct Entry: Sendable {
        let name: FieldName
        private let count: Int
        private let ends: NameEnds
        /// The bytes between the ends of the longest names.
        private let middle: NameEnds

        init(_ name: FieldName) {
            let spelling = Array(name.spelling.lowercased().utf8)
            precondition(spelling.count <= 32, "a name has two ends of eight bytes and a middle")
            self.name = name
            count = spelling.count
            ends = NameEnds(spelling.span)
            middle = NameEnds(spelling.span.extracting(Entry.middle(spelling.count)))
        }

        /// The range of bytes that the ends don't cover; empty in names of up to 16 bytes.
        @inline(__always) private static func middle(_ count: Int) -> Range<Int> {
            count > 16 ? 8..<(count &- 8) : 0..<0
        }

        @inline(__always) func isSpelled(by bytes: Span<UInt8>, _ found: NameEnds) -> Bool {
            guard bytes.count == count, ends.equalInAnyCase(found) else { return false }
            if count <= 16 { return true }
            return middle.equalInAnyCase(NameEnds(bytes.extracting(Entry.middle(count))))
        }
    }
}

/// The first and the last eight bytes of a name, which may overlap; they cover up to 16 bytes.
private struct NameEnds: Sendable {
    private let head: UInt64
    private let tail: UInt64

    @inline(__always) init(_ bytes: Span<UInt8>) {
        let count = bytes.count
        if count >= 8 {
            head = bytes.word(at: 0)
            tail = bytes.word(at: count &- 8)
            return
        }
        var all: UInt64 = 0
        if count >= 4 {
            all = bytes.halfWord(at: 0) | bytes.halfWord(at: count &- 4) &<< 32
        } else if count > 0 {
            all =
                UInt64(bytes[0]) | UInt64(bytes[count &>> 1]) &<< 8
                | UInt64(bytes[count &- 1]) &<< 16
        }
        head = all
        tail = all
    }

    /// Whether `found`, of a name of equal length, equals this lower-case one, ignoring case.
    @inline(__always) func equalInAnyCase(_ found: NameEnds) -> Bool {
        // Of a name's bytes only lower-case letters have bit 6, so only they may differ in bit 5.
        let inHead = (head ^ found.head) & ~((head & 0x4040_4040_4040_4040) &>> 1)
        let inTail = (tail ^ found.tail) & ~((tail & 0x4040_4040_4040_4040) &>> 1)
        return inHead | inTail == 0
    }
}
