// The answer to a WebSocket's key (RFC 6455 §4.2.2), by the tests' own means.
import Foundation
import LupinTLS

enum WebSocketProof {
    static func accept(_ key: String) -> String {
        let proof = key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        return Data(MessageDigest.sha1(Array(proof.utf8).span)).base64EncodedString()
    }
}
