// The head of a request: method, target and fields.

/// The head of a request.
///
/// All ranges refer to `fields.storage`.
public struct RequestHead: Sendable {
    /// The four forms of a request target (RFC 9112 §3.2).
    @usableFromInline package enum TargetForm: UInt8, Sendable {
        case origin, absolute, authority, asterisk
    }

    /// The parsed method; its bytes on the wire are at `methodRange`.
    public package(set) var method: Method = .get
    package var methodRange = ByteRange.empty
    package var form: TargetForm = .origin
    /// The scheme of an absolute-form target; nil in the other forms.
    package var scheme: Scheme?
    /// `host[:port]` as in the target; empty in origin-form and asterisk-form.
    package var authority = ByteRange.empty
    /// Path and query as sent; empty means `/`, or `*` in asterisk-form.
    package var pathAndQuery = ByteRange.empty
    /// The version in which the request was received.
    package var version = ProtocolVersion.http11
    /// The field lines.
    public var fields = FieldSection()

    /// An empty head, for parsers and tests.
    package init() {}

    /// Path and query as text; `/` if the target has none.
    public var pathText: String {
        if form == .asterisk { return "*" }
        return pathAndQuery.isEmpty ? "/" : fields.text(pathAndQuery)
    }
}

/// The scheme of a URL that lupin forwards.
public enum Scheme: UInt8, Hashable, Sendable {
    case http, https

    /// The port of a URL of this scheme without an explicit port.
    public var defaultPort: UInt16 {
        switch self {
        case .http: 80
        case .https: 443
        }
    }

    /// `http` or `https`.
    public var name: String {
        switch self {
        case .http: "http"
        case .https: "https"
        }
    }
}
