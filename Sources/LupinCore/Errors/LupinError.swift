// The engine's error type: what failed, the side at fault, and whether a retry helps.

/// A failed exchange or attempt.
///
/// Floor 2 throws small errors; the engine wraps each of them once.
public struct LupinError: Error, Sendable, Equatable {
    package var kind: ErrorKind
    package var side: ErrorSide
    package var retry: RetryClass
    /// The status of lupin's response.
    public package(set) var status: UInt16
    /// The requested host, as the user wrote it.
    public package(set) var host: String?
    /// What happened, as text for users; empty when the kind says it all.
    ///
    /// It may hold bytes of a peer: escape it before printing, and redact it before sending.
    package var detail: String
    /// What the record says behind it and no page does; empty for nothing.
    package var ownersDetail = ""

    /// The parent proxy whose failure it is, instead of the host's, or by which the response came
    /// that it is about; nil for none.
    package var parent: FailedParent?

    /// The parent proxy whose failure it is for sure; nil for none.
    package var failedParent: FailedParent? {
        kind.isOfResponse && parent?.status == nil ? nil : parent
    }

    /// Creates an error; omitted values follow from `kind`.
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

    /// The problem of a request that lupin itself refuses, by the response's status.
    ///
    /// 401, 403, 407 and 421 are `http_request_denied`: the request was understood and not
    /// allowed. All others are `http_request_error`; by a 400, it is not valid HTTP.
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

    /// The same failure on a pooled connection: it was closed before the request reached the peer,
    /// so a retry on another connection helps.
    package var onReusedConnection: LupinError {
        guard retry == .reset else { return self }
        var error = self
        error.retry = .staleConnection
        return error
    }

    /// The error type of RFC 9209 §2.3, such as `connection_refused`.
    public var token: String { kind.token }

    /// The same error as one of the parent proxy at `parent`, if it is upstream's.
    ///
    /// `status` is that of its response, if it gave one, and `challenge` what a 407 says besides.
    package func blaming(
        _ parent: String?,
        status: UInt16? = nil,
        challenge: ParentChallenge? = nil
    ) -> LupinError {
        guard let parent, side == .upstream else { return self }
        var error = self
        error.parent = FailedParent(endpoint: parent, status: status, challenge: challenge)
        return error
    }

    /// The same error with the rule that names the parent proxy whose failure it is.
    package func naming(parentRule rule: String?) -> LupinError {
        guard let parent, let rule else { return self }
        var error = self
        error.parent = FailedParent(
            endpoint: parent.endpoint,
            rule: rule,
            status: parent.status,
            challenge: parent.challenge
        )
        return error
    }

    /// The same error with the key that sets the client certificate which a server refused.
    package func naming(certificateRule rule: String?) -> LupinError {
        guard !ownersDetail.isEmpty, kind == .tlsAlertReceived || kind == .tlsProtocolError else {
            return self
        }
        let key = rule.map { "client_cert of the rule \"\($0)\"" } ?? "upstream.tls.client_cert"
        return adding("It is set by \(key).")
    }

    /// The same error with one more sentence in its detail, which ends a text of the system with a
    /// full stop.
    package func adding(_ sentence: String?) -> LupinError {
        guard let sentence else { return self }
        var error = self
        error.detail = Self.joined(detail, sentence)
        return error
    }

    private static func joined(_ text: String, _ sentence: String) -> String {
        guard let last = text.last else { return sentence }
        return text + (".!?".contains(last) ? " " : ". ") + sentence
    }

    /// What the record says of it.
    package var recordedDetail: String {
        ownersDetail.isEmpty ? detail : Self.joined(detail, ownersDetail)
    }

    /// The same error as one at `origin`, if it is upstream's and names no host.
    package func naming(_ origin: Origin?) -> LupinError {
        guard host == nil, side == .upstream, let origin else { return self }
        var error = self
        error.host = origin.hostAndPort
        return error
    }

    /// What failed, at which host, and what to try.
    public var sentence: String {
        kind.sentence(host: host ?? "the server", parent: parent, status: status)
    }
}
