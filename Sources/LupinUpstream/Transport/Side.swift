// The two sides of the proxy, and the errors that failures on each side are reported as.
package import LupinCore
package import LupinIO
package import LupinWire

/// The side that a connection leads to; it decides which error a failure becomes.
package enum Side: Sendable {
    case downstream, upstream

    /// The error for a failed read.
    package func readFailure(_ error: SystemError) -> LupinError {
        switch self {
        case .downstream: .clientGone
        case .upstream where error == .unannouncedEnd: .endWithoutCloseNotify
        case .upstream: LupinError(.connectionTerminated, detail: error.message)
        }
    }

    /// The error for a failed write.
    func writeFailure(_ error: SystemError) -> LupinError { readFailure(error) }

    package func problem(_ problem: MessageProblem) -> LupinError {
        switch self {
        case .downstream:
            return problem.reason == .truncatedBody
                ? .clientGone : .request(status: problem.status, detail: problem.sentence)
        case .upstream:
            let kind = ErrorKind(rawValue: problem.proxyStatus) ?? .httpProtocolError
            return LupinError(kind, detail: problem.sentence)
        }
    }
}

extension Side {
    var message: MessageSide {
        switch self {
        case .downstream: .request
        case .upstream: .response
        }
    }
}

extension Side {
    /// The error when the peer breaks HTTP/2 so that the connection ends (RFC 9113 §5.4.1).
    var breach: LupinError {
        switch self {
        case .downstream: .clientGone
        case .upstream: LupinError(.httpProtocolError, detail: "The origin broke HTTP/2.")
        }
    }

    /// The error when the peer closes the connection with streams under way.
    var closed: LupinError {
        switch self {
        case .downstream: .clientGone
        case .upstream:
            LupinError(.connectionTerminated, detail: "The connection closed within a message.")
        }
    }
}

extension LupinError {
    /// An origin or a parent proxy under TLS closed the connection without the alert close_notify.
    fileprivate static let endWithoutCloseNotify = LupinError(
        .connectionTerminated,
        detail: "TLS was ended without close_notify, so what came may be incomplete; "
            + "tls: {close_notify: optional} in a rule takes that as an origin's end."
    )
}
