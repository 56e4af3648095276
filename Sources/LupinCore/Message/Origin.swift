// The origin of a request: scheme, host and port in canonical form.

/// An origin (RFC 9110 §4.3.1): rules, DNS, pools and records identify a server by it.
///
/// Its parts are behind one reference: every exchange copies its origin several times.
public struct Origin: Hashable, Sendable {
    private final class Parts: Sendable {
        let scheme: Scheme
        let host: Host
        let port: UInt16
        let authority: String

        init(_ scheme: Scheme, _ host: Host, _ port: UInt16) {
            self.scheme = scheme
            self.host = host
            self.port = port
            authority = port == scheme.defaultPort ? host.uriText : "\(host.uriText):\(port)"
        }
    }

    private let parts: Parts

    /// Makes an origin from its parts; the port is never 0.
    public init(scheme: Scheme, host: Host, port: UInt16) {
        parts = Parts(scheme, host, port)
    }

    /// `http` or `https`.
    public var scheme: Scheme { parts.scheme }

    /// The canonical host.
    public var host: Host { parts.host }

    /// The port, never 0.
    public var port: UInt16 { parts.port }

    /// `host:port`, or `host` alone if the port is the scheme's default; IPv6 in brackets.
    public var authority: String { parts.authority }

    /// Whether scheme, host and port are equal; the text is derived from them.
    public static func == (a: Self, b: Self) -> Bool {
        a.parts === b.parts
            || (a.port == b.port && a.scheme == b.scheme && a.host == b.host)
    }

    /// Hashes scheme, host and port.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(scheme)
        hasher.combine(host)
        hasher.combine(port)
    }

    /// `host:port`, always with the port.
    public var hostAndPort: String { "\(host.uriText):\(port)" }
}
