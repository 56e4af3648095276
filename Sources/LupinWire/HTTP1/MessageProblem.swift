// Why a message is invalid, with the resulting status and Proxy-Status token.

/// The direction of a message, which decides whether client or upstream is to blame.
package enum MessageSide: UInt8, Sendable, Hashable {
    /// A client's request: the client gets a 4xx or 5xx.
    case request
    /// An upstream's response: the client gets a 502.
    case response
}

/// A message that can't be parsed.
///
/// Its connection can't be used any longer.
package struct MessageProblem: Error, Hashable, Sendable {
    package let side: MessageSide
    package let reason: Reason

    package init(_ side: MessageSide, _ reason: Reason) {
        self.side = side
        self.reason = reason
    }

    /// The exact problem.
    package enum Reason: UInt8, Sendable, Hashable, CaseIterable {
        // Start line
        case tlsInsteadOfHTTP, malformedRequestLine, invalidMethod
        case targetDoesNotFitMethod, invalidConnectTarget, unsupportedScheme, userinfoInTarget
        case fragmentInTarget, invalidTargetAuthority, malformedVersion, unsupportedVersion
        case http2Preface, startLineTooLong, tooManyEmptyLines, malformedStatusLine
        case statusOutOfRange
        // Lines
        case bareLineFeed, bareCarriageReturn, controlByte, obsoleteFold
        case whitespaceBeforeFirstField, whitespaceBeforeColon, missingColon, invalidFieldName
        case uppercaseFieldName
        case headerTooLarge, tooManyFields, trailersTooLarge
        // Meaning of the fields
        case missingHost, severalHosts, invalidHost, unsupportedExpectation
        case lengthAndCoding, invalidLength, severalLengths, connectWithBody
        case connectionField, invalidPseudoField, missingStatus, malformedMessage
        case codingInHTTP10, severalCodings, invalidCoding, unknownCoding, chunkedNotLast
        // Body
        case invalidChunkSize, chunkTooLarge, chunkExtensionTooLong, missingChunkEnd
        case truncatedBody, lengthMismatch
    }
}

// MARK: The answer to the client

extension MessageProblem {
    /// The status of the answer (RFC 9110 §15); always 502 if the upstream is to blame.
    package var status: UInt16 {
        guard side == .request else { return 502 }
        switch reason {
        case .startLineTooLong: return 414
        case .unsupportedExpectation: return 417
        case .headerTooLarge, .tooManyFields, .trailersTooLarge: return 431
        case .unknownCoding: return 501
        case .unsupportedVersion, .http2Preface: return 505
        default: return 400
        }
    }

    /// The error type in `Proxy-Status` and in the record (RFC 9209 §2.3).
    package var proxyStatus: String {
        guard side == .response else { return "http_request_error" }
        switch reason {
        case .startLineTooLong, .headerTooLarge, .tooManyFields:
            return "http_response_header_section_size"
        case .trailersTooLarge: return "http_response_trailer_section_size"
        case .codingInHTTP10, .severalCodings, .invalidCoding, .unknownCoding, .chunkedNotLast:
            return "http_response_transfer_coding"
        case .truncatedBody: return "http_response_incomplete"
        default: return "http_protocol_error"
        }
    }

    /// The problem as a sentence; contains no bytes from the peer.
    package var sentence: String {
        let subject = side == .request ? "request" : "response"
        if side == .response, reason == .tlsInsteadOfHTTP {
            return "The server answered by an alert of TLS: this port speaks TLS, so use https."
        }
        return reason.text.replacing(subject: subject)
    }
}

extension String {
    /// The sentence with its placeholder `%` replaced by the kind of message.
    fileprivate func replacing(subject: String) -> String {
        split(separator: "%", omittingEmptySubsequences: false).joined(separator: subject)
    }
}

extension MessageProblem.Reason {
    fileprivate var text: String {
        switch self {
        case .tlsInsteadOfHTTP:
            "The bytes look like TLS, but plain HTTP is spoken here: write http:// for the proxy."
        case .malformedRequestLine: "The first line is not “method target HTTP/1.1”."
        case .invalidMethod: "The method is not a token."
        case .targetDoesNotFitMethod: "The request target has a form that its method can't have."
        case .invalidConnectTarget: "A CONNECT target must be host:port, the port 1 to 65535."
        case .unsupportedScheme: "The request target is neither an http: nor an https: URL."
        case .userinfoInTarget: "The request target holds a user name or password."
        case .fragmentInTarget: "The request target holds a fragment (#)."
        case .invalidTargetAuthority: "The request target has an invalid host or port."
        case .malformedVersion: "The % does not name its HTTP version as “HTTP/1.1”."
        case .unsupportedVersion: "The % has an HTTP version other than 1.0 and 1.1."
        case .http2Preface: "HTTP/2 was begun without agreeing on it by ALPN."
        case .startLineTooLong: "The first line of the % is longer than allowed."
        case .tooManyEmptyLines: "Too many empty lines stand before the %."
        case .malformedStatusLine: "The first line is not “HTTP/1.1 status reason”."
        case .statusOutOfRange: "The status code is below 100."
        case .bareLineFeed: "A line of the % ends with LF instead of CRLF."
        case .bareCarriageReturn: "The % has a CR that no LF follows."
        case .controlByte: "The % has a control byte where none may be."
        case .obsoleteFold: "The % has a field value folded over several lines."
        case .whitespaceBeforeFirstField: "Whitespace stands before the first field of the %."
        case .whitespaceBeforeColon: "Whitespace stands between a field name and its colon."
        case .missingColon: "The % has a field line without a colon."
        case .invalidFieldName: "The % has a field name that is not a token."
        case .uppercaseFieldName:
            "The % has a field name with a capital letter, which HTTP/2 forbids."
        case .headerTooLarge: "The header section of the % is larger than allowed."
        case .tooManyFields: "The % has more field lines than allowed."
        case .trailersTooLarge: "The trailer section of the % is larger than allowed."
        case .missingHost: "The % has no Host field."
        case .severalHosts: "The % has more than one Host field."
        case .invalidHost: "The Host field is not a host with an optional port."
        case .unsupportedExpectation: "The only expectation that can be met is 100-continue."
        case .lengthAndCoding: "The % has both Content-Length and Transfer-Encoding."
        case .invalidLength: "The Content-Length is not a number below 2^63."
        case .severalLengths: "The % has more than one Content-Length."
        case .connectWithBody: "A CONNECT request can't have a body."
        case .connectionField:
            "The % has a field of HTTP/1.1 connections, such as Transfer-Encoding, in HTTP/2."
        case .invalidPseudoField:
            "The % has a pseudo-header field that is unknown, invalid, repeated or late."
        case .missingStatus: "The % has no :status field."
        case .malformedMessage: "The % breaks a rule of HTTP/2 for the order of its parts."
        case .codingInHTTP10: "The % has a Transfer-Encoding in HTTP/1.0."
        case .severalCodings: "The % has more than one Transfer-Encoding, or chunked twice."
        case .invalidCoding: "The Transfer-Encoding can't be read."
        case .unknownCoding: "The % has a transfer coding other than chunked."
        case .chunkedNotLast: "The last transfer coding of the % is not chunked."
        case .invalidChunkSize: "A chunk size is not a hexadecimal number."
        case .chunkTooLarge: "A chunk size is 2^63 or more."
        case .chunkExtensionTooLong: "The chunk extensions are longer than allowed."
        case .missingChunkEnd: "A chunk does not end with CRLF."
        case .truncatedBody: "The connection closed before the body of the % was complete."
        case .lengthMismatch: "The body of the % is longer or shorter than its Content-Length."
        }
    }
}
