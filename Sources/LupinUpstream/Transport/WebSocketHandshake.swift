// The WebSocket handshake (RFC 6455 §4), for bridging HTTP versions.
import LupinCore
import LupinIO
import LupinTLS

/// The fields that HTTP/1.1 needs for a WebSocket and extended CONNECT omits (RFC 8441 §5).
package enum WebSocketHandshake {
    package static let name = "websocket"
    package static let keyField = "Sec-WebSocket-Key"
    package static let acceptField = "Sec-WebSocket-Accept"
    package static let versionField = "Sec-WebSocket-Version"

    /// A fresh key: 16 random bytes in Base64.
    package static func newKey() -> String { Base64Text.encode(RandomSource.bytes(count: 16)) }

    /// The value that answers `key` (RFC 6455 §4.2.2).
    package static func accept(_ key: String) -> String {
        let proof = key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        return Base64Text.encode(MessageDigest.sha1(proof.utf8Span.span))
    }
}
