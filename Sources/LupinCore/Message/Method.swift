// Request methods, and their properties in RFC 9110: safe, idempotent, or neither.

/// A request method (RFC 9110 §9).
///
/// Methods are case-sensitive; an unknown one keeps its token.
public enum Method: Hashable, Sendable {
    case get, head, post, put, delete, connect, options, trace, patch, query
    /// Any other token, such as `PROPFIND`.
    case other(String)

    /// Makes the method with the token `token`.
    public init(_ token: String) {
        switch token {
        case "GET": self = .get
        case "HEAD": self = .head
        case "POST": self = .post
        case "PUT": self = .put
        case "DELETE": self = .delete
        case "CONNECT": self = .connect
        case "OPTIONS": self = .options
        case "TRACE": self = .trace
        case "PATCH": self = .patch
        case "QUERY": self = .query
        default: self = .other(token)
        }
    }

    /// The method's token on the wire.
    public var token: String {
        switch self {
        case .get: "GET"
        case .head: "HEAD"
        case .post: "POST"
        case .put: "PUT"
        case .delete: "DELETE"
        case .connect: "CONNECT"
        case .options: "OPTIONS"
        case .trace: "TRACE"
        case .patch: "PATCH"
        case .query: "QUERY"
        case .other(let token): token
        }
    }

    /// Whether the response repeats the request: TRACE, TRACK of IIS, and what a lenient server
    /// takes for one of them.
    package var echoesRequest: Bool {
        switch self {
        case .trace: true
        case .other(let token): ["TRACE", "TRACK"].contains(token.uppercased())
        case .get, .head, .post, .put, .delete, .connect, .options, .patch, .query: false
        }
    }

    /// Whether it asks for no change of the resource (RFC 9110 §9.2.1), as far as is known.
    package var isSafe: Bool {
        switch self {
        case .get, .head, .options, .trace, .query: true
        case .post, .put, .delete, .connect, .patch: false
        // Of WebDAV and its extensions.
        case .other(let token): ["PROPFIND", "REPORT", "SEARCH"].contains(token)
        }
    }

    /// Whether two identical requests have the effect of one (RFC 9110 §9.2.2).
    public var isIdempotent: Bool {
        switch self {
        case .get, .head, .put, .delete, .options, .trace, .query: true
        case .post, .connect, .patch, .other: false
        }
    }

    /// Whether its requests usually have content (RFC 9110 §8.6): an empty one is announced.
    package var anticipatesContent: Bool {
        switch self {
        case .post, .put, .patch, .query: true
        case .get, .head, .delete, .connect, .options, .trace, .other: false
        }
    }

    /// The methods that RFC 9110 §9.3, RFC 5789 and RFC 10008 define.
    public static let defined: [Method] = [
        .get, .head, .post, .put, .delete, .connect, .options, .trace, .patch, .query,
    ]
}
