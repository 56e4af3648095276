// What a request says before its body: method, target and fields.

/// The head of a request.
///
/// All ranges point into `fields.storage`.
public struct RequestHead: Sendable {
    /// The four forms of a request target (RFC 9112 §3.2).
    @usableFromInline package enum TargetForm: UInt8, Sendable {
        case origin, absolute, authority, asterisk
    }

    /// The method, recognised; its bytes on the wire are at `methodRange`.
    public package(set) var method: Method = .get
    package var methodRange = ByteRange.empty
    package var form: TargetForm = .origin
    /// The scheme of an absolute-form target; nil in the other forms.
    package var scheme: Scheme?
    /// `host[:port]` as the target spells it; empty in origin-form and asterisk-form.
    package var authority = ByteRange.empty
    /// Path and query as they are sent; empty means `/`, or `*` in asterisk-form.
    package var pathAndQuery = ByteRange.empty
    /// The version in which the request came.
    package var version = ProtocolVersion.http11
    /// The field lines.
    public var fields = FieldSection()

    /// An empty head, for parsers and tests.
    package init() {}

    /// Path and query as text; `/` when the target had none.
    public var pathText: String {
        if form == .asterisk { return "*" }
        return pathAndQuery.isEmpty ? "/" : fields.text(pathAndQuery)
    }
}

/// The scheme of a URL that lupin forwards.
public enum Scheme: UInt8, Hashable, Sendable {
    case http, https

    /// The port that a URL of this scheme means when it names none.
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
