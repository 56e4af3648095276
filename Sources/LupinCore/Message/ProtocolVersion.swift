// The versions of HTTP that lupin supports.

/// The version in which a message was received or sent (RFC 9110 §2.5).
package enum ProtocolVersion: UInt8, Hashable, Sendable {
    case http10, http11, http2
}
