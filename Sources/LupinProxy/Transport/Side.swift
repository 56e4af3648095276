// Which way a connection leads, and what is said of failures there.
import LupinCore
import LupinIO
import LupinWire

/// Which peer a connection leads to; it decides what a failure is called.
enum Side: Sendable {
    case downstream, upstream

    /// A read that failed.
    func readFailure(_ error: SystemError) -> LupinError {
        switch self {
        case .downstream: .clientGone
        case .upstream where error == .unannouncedEnd: .endWithoutCloseNotify
        case .upstream: LupinError(.connectionTerminated, detail: error.message)
        }
    }

    /// A write that failed.
    func writeFailure(_ error: SystemError) -> LupinError { readFailure(error) }

    func problem(_ problem: MessageProblem) -> LupinError {
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
    /// The peer did what ends an HTTP/2 connection (RFC 9113 §5.4.1).
    var breach: LupinError {
        switch self {
        case .downstream: .clientGone
        case .upstream: LupinError(.httpProtocolError, detail: "The origin broke HTTP/2.")
        }
    }

    /// The peer closed the connection with streams still under way.
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
