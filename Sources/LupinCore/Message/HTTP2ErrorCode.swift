// The error codes of HTTP/2, and their names in records.

/// An error code of RST_STREAM or GOAWAY (RFC 9113 §7).
///
/// A peer may send any number; unknown codes count as INTERNAL_ERROR and keep their own number
/// here, so that the record can show it.
package struct HTTP2ErrorCode: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt32

    package init(rawValue: UInt32) { self.rawValue = rawValue }

    /// Not an error: a graceful shutdown, or a body that is not needed.
    package static let noError = HTTP2ErrorCode(rawValue: 0x0)
    package static let protocolError = HTTP2ErrorCode(rawValue: 0x1)
    package static let internalError = HTTP2ErrorCode(rawValue: 0x2)
    package static let flowControlError = HTTP2ErrorCode(rawValue: 0x3)
    package static let settingsTimeout = HTTP2ErrorCode(rawValue: 0x4)
    package static let streamClosed = HTTP2ErrorCode(rawValue: 0x5)
    package static let frameSizeError = HTTP2ErrorCode(rawValue: 0x6)
    /// The request was not processed at all: it may be retried (RFC 9113 §8.7).
    package static let refusedStream = HTTP2ErrorCode(rawValue: 0x7)
    package static let cancel = HTTP2ErrorCode(rawValue: 0x8)
    package static let compressionError = HTTP2ErrorCode(rawValue: 0x9)
    package static let connectError = HTTP2ErrorCode(rawValue: 0xA)
    package static let enhanceYourCalm = HTTP2ErrorCode(rawValue: 0xB)
    package static let inadequateSecurity = HTTP2ErrorCode(rawValue: 0xC)
    package static let http11Required = HTTP2ErrorCode(rawValue: 0xD)

    /// The RFC's name, such as `REFUSED_STREAM`; `0x1f` for an unknown code.
    package var name: String {
        switch self {
        case .noError: "NO_ERROR"
        case .protocolError: "PROTOCOL_ERROR"
        case .internalError: "INTERNAL_ERROR"
        case .flowControlError: "FLOW_CONTROL_ERROR"
        case .settingsTimeout: "SETTINGS_TIMEOUT"
        case .streamClosed: "STREAM_CLOSED"
        case .frameSizeError: "FRAME_SIZE_ERROR"
        case .refusedStream: "REFUSED_STREAM"
        case .cancel: "CANCEL"
        case .compressionError: "COMPRESSION_ERROR"
        case .connectError: "CONNECT_ERROR"
        case .enhanceYourCalm: "ENHANCE_YOUR_CALM"
        case .inadequateSecurity: "INADEQUATE_SECURITY"
        case .http11Required: "HTTP_1_1_REQUIRED"
        default: "0x" + String(rawValue, radix: 16)
        }
    }
}
