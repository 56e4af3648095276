// That every error code has the number and the name of RFC 9113 §7.

import LupinCore
import Testing

struct HTTP2ErrorCodeTests {
    @Test(
        arguments: [
            (.noError, 0x0, "NO_ERROR"), (.protocolError, 0x1, "PROTOCOL_ERROR"),
            (.internalError, 0x2, "INTERNAL_ERROR"),
            (.flowControlError, 0x3, "FLOW_CONTROL_ERROR"),
            (.settingsTimeout, 0x4, "SETTINGS_TIMEOUT"), (.streamClosed, 0x5, "STREAM_CLOSED"),
            (.frameSizeError, 0x6, "FRAME_SIZE_ERROR"), (.refusedStream, 0x7, "REFUSED_STREAM"),
            (.cancel, 0x8, "CANCEL"), (.compressionError, 0x9, "COMPRESSION_ERROR"),
            (.connectError, 0xA, "CONNECT_ERROR"), (.enhanceYourCalm, 0xB, "ENHANCE_YOUR_CALM"),
            (.inadequateSecurity, 0xC, "INADEQUATE_SECURITY"),
            (.http11Required, 0xD, "HTTP_1_1_REQUIRED"),
            (HTTP2ErrorCode(rawValue: 0xE), 0xE, "0xe"),
            (HTTP2ErrorCode(rawValue: 0x1F), 0x1F, "0x1f"),
            (HTTP2ErrorCode(rawValue: .max), .max, "0xffffffff"),
        ] as [(HTTP2ErrorCode, UInt32, String)]
    )
    func `a code has its number and its name`(code: HTTP2ErrorCode, number: UInt32, name: String) {
        #expect(code.rawValue == number)
        #expect(code.name == name)
    }
}
