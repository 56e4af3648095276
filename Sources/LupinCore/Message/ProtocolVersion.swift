// The versions of HTTP that lupin supports.

/// The version in which a message was received or sent (RFC 9110 §2.5).
package enum ProtocolVersion: UInt8, Hashable, Sendable {
    case http10, http11, http2
}

extension ProtocolVersion {
    /// The value for `network.protocol.version`.
    package var text: String {
        switch self {
        case .http10: "1.0"
        case .http11: "1.1"
        case .http2: "2"
        }
    }
}
