// The reason phrases of status codes, for responses without one.

/// Standard reason phrases.
package enum StatusPhrases {
    /// The phrase of `status` as its specification writes it, or an empty string.
    ///
    /// RFC 9110 §15 unless noted. Clients ignore the phrase (RFC 9112 §4); it is for readers.
    package static func phrase(_ status: UInt16) -> String {
        switch status {
        case 100: "Continue"
        case 101: "Switching Protocols"
        case 102: "Processing"  // RFC 2518
        case 103: "Early Hints"  // RFC 8297
        case 200: "OK"
        case 201: "Created"
        case 202: "Accepted"
        case 203: "Non-Authoritative Information"
        case 204: "No Content"
        case 205: "Reset Content"
        case 206: "Partial Content"
        case 207: "Multi-Status"  // RFC 4918
        case 208: "Already Reported"  // RFC 5842
        case 226: "IM Used"  // RFC 3229
        default: status < 400 ? redirection(status) : failure(status)
        }
    }

    private static func redirection(_ status: UInt16) -> String {
        switch status {
        case 300: "Multiple Choices"
        case 301: "Moved Permanently"
        case 302: "Found"
        case 303: "See Other"
        case 304: "Not Modified"
        case 305: "Use Proxy"
        case 307: "Temporary Redirect"
        case 308: "Permanent Redirect"
        default: ""
        }
    }

    private static func failure(_ status: UInt16) -> String {
        switch status {
        case 400: "Bad Request"
        case 401: "Unauthorized"
        case 402: "Payment Required"
        case 403: "Forbidden"
        case 404: "Not Found"
        case 405: "Method Not Allowed"
        case 406: "Not Acceptable"
        case 407: "Proxy Authentication Required"
        case 408: "Request Timeout"
        case 409: "Conflict"
        case 410: "Gone"
        case 411: "Length Required"
        case 412: "Precondition Failed"
        case 413: "Content Too Large"
        case 414: "URI Too Long"
        case 415: "Unsupported Media Type"
        case 416: "Range Not Satisfiable"
        case 417: "Expectation Failed"
        case 421: "Misdirected Request"
        case 422: "Unprocessable Content"
        case 423: "Locked"  // RFC 4918
        case 424: "Failed Dependency"  // RFC 4918
        case 425: "Too Early"  // RFC 8470
        case 426: "Upgrade Required"
        case 428: "Precondition Required"  // RFC 6585
        case 429: "Too Many Requests"  // RFC 6585
        case 431: "Request Header Fields Too Large"  // RFC 6585
        case 451: "Unavailable For Legal Reasons"  // RFC 7725
        case 500: "Internal Server Error"
        case 501: "Not Implemented"
        case 502: "Bad Gateway"
        case 503: "Service Unavailable"
        case 504: "Gateway Timeout"
        case 505: "HTTP Version Not Supported"
        case 506: "Variant Also Negotiates"  // RFC 2295
        case 507: "Insufficient Storage"  // RFC 4918
        case 508: "Loop Detected"  // RFC 5842
        case 511: "Network Authentication Required"  // RFC 6585
        default: ""
        }
    }
}
