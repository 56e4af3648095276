// What a kept cookie is: to which requests it goes back, and what its name promises.

/// A cookie that a jar holds, of one host.
package struct Cookie: Sendable, Equatable {
    package var name: String
    package var value: String
    /// Begins with `/`.
    package var path = "/"
    package var isSecure = false
    package var isHTTPOnly = false
    /// Kept and not enforced; the file doesn't keep it.
    package var sameSite: SetCookie.SameSite?
    /// Seconds since 1970; nil for a session cookie, which lives as long as the process.
    package var expiry: Int64?
    /// The jar's count when the cookie was first set: seconds would leave an order unsaid.
    package internal(set) var created: UInt64 = 0
    /// The jar's count when it was last set or sent.
    package internal(set) var used: UInt64 = 0

    /// Whether it outlives the process.
    package var isPersistent: Bool { expiry != nil }

    /// Whether it has lain unused for longer than `other`; of two sent together the older one.
    func isLessUsed(than other: Cookie) -> Bool {
        (used, created) < (other.used, other.created)
    }

    package func isExpired(at now: Int64) -> Bool { expiry.map { $0 <= now } ?? false }

    /// What the prefix of its name promises and it isn't; nil if all is well.
    ///
    /// Prefixes count in any case, since many servers read names so.
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

/// How the path of a request decides (RFC 6265 §5.1.4).
package enum CookiePath {
    /// The path of a request without its query.
    package static func path(of target: String) -> Substring {
        target.prefix { $0 != "?" && $0 != "#" }
    }

    /// The path of a cookie that names none: the request's up to its last slash.
    package static func `default`(for target: String) -> String {
        let bytes = Array(path(of: target).utf8)
        guard bytes.first == 0x2F, let last = bytes.lastIndex(of: 0x2F), last > 0 else {
            return "/"
        }
        return String(copying: bytes.span.extracting(0..<last))
    }

    /// Whether a cookie of `cookiePath` goes with a request for `target`.
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

extension Origin {
    /// Whether Secure cookies may travel to and from it: https, or a connection that never leaves
    /// the machine.
    var isSecureForCookies: Bool {
        if scheme == .https { return true }
        if let address = host.address { return address.isLoopback }
        // RFC 6761 §6.3: names under localhost mean the loopback interface.
        return host.text == "localhost" || host.text.hasSuffix(".localhost")
    }
}
