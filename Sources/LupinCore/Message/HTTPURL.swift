// Parses a URL of the rules file into its origin and path.

/// An `http:` or `https:` URL of a request that lupin makes itself (RFC 3986 §3, RFC 9110 §4.2).
///
/// Userinfo is rejected: a password would appear wherever URLs are shown (RFC 9110 §4.2.4).
package struct HTTPURL: Sendable, Hashable, CustomStringConvertible {
    package var origin: Origin
    /// Path and query as sent, beginning with `/`; a fragment is never sent.
    package var path: String

    /// Parses `text`; returns nil when it is invalid.
    package init?(_ text: String) {
        guard let marker = text.firstRange(of: "://"),
            let scheme = HTTPURL.scheme(text[..<marker.lowerBound])
        else { return nil }
        let rest = Array(text[marker.upperBound...].utf8)
        let end = rest.firstIndex { HTTPURL.authorityEnds.contains($0) } ?? rest.count
        guard let (host, port) = AuthorityText.parse(rest.span.extracting(0..<end)) else {
            return nil
        }
        let target = rest[end...].prefix { $0 != UInt8(ascii: "#") }
        // A request line requires percent-encoding for spaces and bytes outside ASCII.
        guard target.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else { return nil }
        let path = String(decoding: target, as: UTF8.self)
        origin = Origin(scheme: scheme, host: host, port: port ?? scheme.defaultPort)
        self.path = path.hasPrefix("/") ? path : "/" + path
    }

    /// The URL without its query, which may be confidential.
    package var description: String {
        let shown = path.prefix { $0 != "?" }
        return "\(origin.scheme.name)://\(origin.authority)\(shown)"
    }

    private static let authorityEnds = Array("/?#".utf8)

    private static func scheme(_ name: Substring) -> Scheme? {
        switch name.lowercased() {
        case "http": .http
        case "https": .https
        default: nil
        }
    }
}

extension Host {
    /// Whether a connection to the host is guaranteed to stay on this machine (RFC 6761 §6.3).
    package var isLoopback: Bool {
        if let address { return address.isLoopback }
        return loopbackAddresses != nil
    }

    /// The addresses of `localhost` and of every name below it, which are never resolved (RFC 6761
    /// §6.3); nil for anything else.
    package var loopbackAddresses: [IPAddress]? {
        guard address == nil, text == "localhost" || text.hasSuffix(".localhost") else {
            return nil
        }
        return [.v6(high: 0, low: 1), .v4(0x7F00_0001)]
    }
}
