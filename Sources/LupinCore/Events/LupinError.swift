// The one error type of the engine: what failed, whose fault it is, and whether trying again helps.

/// A failed exchange or attempt.
///
/// Floor 2 throws small errors; the engine wraps each of them once.
public struct LupinError: Error, Sendable, Equatable {
    package var kind: ErrorKind
    package var side: ErrorSide
    package var retry: RetryClass
    /// The status of the response that lupin makes of it.
    public package(set) var status: UInt16
    /// The host that was asked for, as the user wrote it.
    public package(set) var host: String?
    /// What happened, in words for people; empty when the kind says it all.
    ///
    /// Bytes of a peer may stand in it: whoever prints it escapes, and whoever sends it redacts.
    package var detail: String

    /// An error; what is not given follows from `kind`.
    package init(
        _ kind: ErrorKind,
        host: String? = nil,
        detail: String = "",
        side: ErrorSide? = nil,
        retry: RetryClass? = nil,
        status: UInt16? = nil
    ) {
        self.kind = kind
        self.side = side ?? kind.defaultSide
        self.retry = retry ?? kind.retryClass
        self.status = status ?? kind.defaultStatus
        self.host = host
        self.detail = detail
    }

    /// What is wrong with a request that lupin itself refuses, by the status it is refused with.
    ///
    /// 401, 403, 407 and 421 are `http_request_denied`: the request was understood and not
    /// allowed. All others are `http_request_error`.
    package static func request(
        status: UInt16,
        host: String? = nil,
        detail: String
    ) -> LupinError {
        let isDenied = status == 401 || status == 403 || status == 407 || status == 421
        return LupinError(
            isDenied ? .httpRequestDenied : .httpRequestError,
            host: host,
            detail: detail,
            status: status
        )
    }

    /// The same failure on a connection that came from the pool: it was closed before the request
    /// reached anybody, which another connection cures.
    package var onReusedConnection: LupinError {
        guard retry == .reset else { return self }
        var error = self
        error.retry = .staleConnection
        return error
    }

    /// The error type of RFC 9209 §2.3, such as `connection_refused`.
    public var token: String { kind.token }

    /// What failed, at which host, and what to try.
    public var sentence: String { kind.sentence(host: host ?? "the server", status: status) }
}
