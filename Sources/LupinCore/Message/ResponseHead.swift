// The head of a response: status and fields.

/// The head of a response, interim or final.
///
/// Ranges refer to `fields.storage`.
public struct ResponseHead: Sendable {
    /// The status code, 100 to 999.
    public package(set) var status: UInt16 = 0
    /// The reason phrase as received; empty if there is none.
    package var reason = ByteRange.empty
    /// The version in which the response was received.
    package var version = ProtocolVersion.http11
    /// The field lines.
    public var fields = FieldSection()

    /// An empty head, for parsers and tests.
    package init() {}

    /// A head that lupin makes itself.
    package init(status: UInt16) { self.status = status }

    /// Whether more responses to the same request follow (RFC 9110 §15.2).
    package var isInterim: Bool { status < 200 && status != 101 }
}
