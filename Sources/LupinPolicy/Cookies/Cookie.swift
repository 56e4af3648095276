// A stored cookie: the requests it is sent with, and the guarantees of its name.

import LupinCore

/// A cookie of one host in a jar.
package struct Cookie: Sendable, Equatable {
    /// An ``OctetText``, as is the value.
    package var name: String
    package var value: String
    /// Begins with `/`.
    package var path = "/"
    package var isSecure = false
    package var isHTTPOnly = false
    /// Stored but not enforced; the file does not contain it.
    package var sameSite: SetCookie.SameSite?
    /// Seconds since 1970; nil for a session cookie, which lives as long as the process.
    package var expiry: Int64?
    /// The jar's counter when the cookie was first set; seconds would not give a strict order.
    package internal(set) var created: UInt64 = 0
    /// The jar's counter when it was last set or sent.
    package internal(set) var used: UInt64 = 0

    /// Whether it outlives the process.
    package var isPersistent: Bool { expiry != nil }

    /// Whether it was used less recently than `other`; of two sent together, the older one.
    func isLessUsed(than other: Cookie) -> Bool {
        (used, created) < (other.used, other.created)
    }

    package func isExpired(at now: Int64) -> Bool { expiry.map { $0 <= now } ?? false }

    /// Why the cookie violates the guarantee of its name's prefix; nil if it doesn't.
    ///
    /// Prefixes match in any case, since many servers ignore the case of names.
    package static func prefixProblem(
        name: String,
        value: String,
        isSecure: Bool,
        isBoundToHostAndRoot: Bool
    ) -> CookieProblem? {
        if name.isEmpty {
            let isMasked = hasPrefix("__secure-", value) || hasPrefix("__host-", value)
            return isMasked ? .prefixInValue : nil
        }
        if hasPrefix("__secure-", name), !isSecure { return .brokenPrefix }
        if hasPrefix("__host-", name), !isSecure || !isBoundToHostAndRoot { return .brokenPrefix }
        return nil
    }

    private static func hasPrefix(_ prefix: String, _ text: String) -> Bool {
        text.utf8.prefix(prefix.utf8.count).elementsEqual(prefix.utf8) {
            $0.asciiLowercased == $1
        }
    }
}

/// Matches the paths of cookies and requests (RFC 6265 §5.1.4).
package enum CookiePath {
    /// The path of a request without its query.
    package static func path(of target: String) -> Substring {
        target.prefix { $0 != "?" && $0 != "#" }
    }

    /// The default path of a cookie: the request's path up to its last slash.
    package static func `default`(for target: String) -> String {
        let bytes = Array(path(of: target).utf8)
        guard bytes.first == 0x2F, let last = bytes.lastIndex(of: 0x2F), last > 0 else {
            return "/"
        }
        return String(copying: bytes.span.extracting(0..<last))
    }

    /// Whether a cookie with `cookiePath` is sent with a request for `target`.
    package static func matches(_ target: String, _ cookiePath: String) -> Bool {
        let request = path(of: target).utf8
        let cookie = cookiePath.utf8
        guard request.starts(with: cookie) else {
            // An empty path means the root.
            return request.isEmpty && cookiePath == "/"
        }
        if request.count == cookie.count || cookie.last == 0x2F { return true }
        return request.dropFirst(cookie.count).first == 0x2F
    }
}
