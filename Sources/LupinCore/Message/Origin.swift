// Where a request goes: scheme, host and port in canonical form.

/// An origin (RFC 9110 §4.3.1): what rules, DNS, pools and records identify a server by.
public struct Origin: Hashable, Sendable {
    /// `http` or `https`.
    public let scheme: Scheme
    /// The canonical host.
    public let host: Host
    /// The port, never 0.
    public let port: UInt16
    /// `host:port`, or `host` alone where the port is the scheme's default; IPv6 in brackets.
    public let authority: String

    /// An origin of its parts.
    public init(scheme: Scheme, host: Host, port: UInt16) {
        self.scheme = scheme
        self.host = host
        self.port = port
        authority = port == scheme.defaultPort ? host.uriText : "\(host.uriText):\(port)"
    }

    /// Whether scheme, host and port are the same; the text follows from them.
    public static func == (a: Self, b: Self) -> Bool {
        a.port == b.port && a.scheme == b.scheme && a.host == b.host
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
