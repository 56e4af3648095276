// The framing of a message body (RFC 9112 §6.3), read by parsers and written by serialisers.

/// How the length of a body is determined.
@usableFromInline package enum BodyFraming: Sendable, Hashable {
    /// No body, and no framing field.
    case none
    /// `Content-Length`. A length of 0 keeps the field, so that it is forwarded.
    case length(UInt64)
    /// `Transfer-Encoding: chunked`.
    case chunked
    /// The body ends where the connection does; responses only.
    case untilClose

    /// Written out, because the compiler's own is called through a table across modules.
    @inlinable package static func == (a: Self, b: Self) -> Bool {
        switch (a, b) {
        case (.none, .none), (.chunked, .chunked), (.untilClose, .untilClose): true
        case (.length(let one), .length(let other)): one == other
        case (.none, _), (.length, _), (.chunked, _), (.untilClose, _): false
        }
    }

    /// Whether no body byte can follow the head.
    @inlinable package var isEmpty: Bool {
        switch self {
        case .none, .length(0): true
        case .length, .chunked, .untilClose: false
        }
    }

    /// The number of body bytes if the head declares it.
    package var knownLength: UInt64? {
        switch self {
        case .none: 0
        case .length(let count): count
        case .chunked, .untilClose: nil
        }
    }
}
