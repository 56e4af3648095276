// The values passed to event monitors: plain, with every text redacted.

/// An exchange, and the time of an event in it.
public struct ExchangeMoment: Sendable, Equatable {
    /// 32 hex digits, as in the record.
    public let id: String
    /// The method of the client's request; empty when its head could not be read.
    public let method: String
    /// The URL of the client's request, for CONNECT host and port; empty when unknown.
    public let url: String
    /// The number of the attempt, counted from 1; 0 before the first.
    public package(set) var attempt = 0
    /// Wall clock, in microseconds since 1970-01-01T00:00:00Z.
    public package(set) var microseconds: Int64
    /// The host of the client's request.
    package let host: String
    /// The matching rules, once they are known.
    package var rules: [String] = []

    /// The beginning of an exchange.
    package init(
        id: ExchangeID,
        microseconds: Int64,
        request: RequestHead?,
        origin: Origin?,
        redactor: Redactor
    ) {
        self.id = id.text
        self.microseconds = microseconds
        method = redactor.cleaned(request?.method.token ?? "")
        host = redactor.cleaned(origin?.host.text ?? "")
        if let request, let origin {
            url = redactor.recordedURL(of: request, at: origin)
        } else {
            url = redactor.cleaned(origin?.hostAndPort ?? "")
        }
    }
}

/// The client of an exchange.
public struct ClientSummary: Sendable, Equatable {
    /// The address as text.
    public let address: String
    /// The client's port.
    public let port: UInt16
    /// The client's program, when a rule or the log requires it; the client can forge it.
    public let program: String?
    /// The authenticated user, when the listener requires a password.
    public let user: String?

    package init(address: String, port: UInt16, program: String? = nil, user: String? = nil) {
        self.address = address
        self.port = port
        self.program = program
        self.user = user
    }
}

/// A failure, in the words of the record.
public struct FailureSummary: Sendable, Equatable {
    /// The error type of RFC 9209 §2.3, such as `connection_refused`.
    public let token: String
    /// What happened, as text for users; empty when the token says it all.
    public let detail: String
    /// `client`, `upstream`, `proxy` or `config`.
    public let side: String

    package init(token: String, detail: String, side: String) {
        self.token = token
        self.detail = detail
        self.side = side
    }
}

extension FailureSummary {
    package init(_ error: LupinError, _ redactor: Redactor) {
        self.init(
            token: error.kind.token,
            detail: redactor.cleaned(error.recordedDetail),
            side: error.side.rawValue
        )
    }
}

/// The connection of an attempt.
public struct ConnectionSummary: Sendable, Equatable {
    /// Address and port of the peer; empty when unknown.
    public let peer: String
    /// The version of HTTP on it: `1.1` or `2`.
    public let version: String
    /// Whether it has carried requests before.
    public let isReused: Bool

    package init(peer: String, version: String, isReused: Bool) {
        self.peer = peer
        self.version = version
        self.isReused = isReused
    }
}

/// The progress of an exchange's bodies, in bytes of payload.
public struct ProgressSummary: Sendable, Equatable {
    /// From the client to upstream, in the current attempt.
    public let sentBytes: UInt64
    /// From upstream to the client.
    public let receivedBytes: UInt64

    package init(sentBytes: UInt64, receivedBytes: UInt64) {
        self.sentBytes = sentBytes
        self.receivedBytes = receivedBytes
    }
}

/// An attempt that has ended.
public struct AttemptSummary: Sendable {
    /// Counted from 1.
    public let number: Int
    /// The reason for the attempt, such as `first`, `retry`, `auth` or `redirect`.
    public let cause: String
    /// The URL of the attempt, when it differs from the client's.
    public let url: String?
    /// Status of the final response; 0 when there was none.
    public let status: UInt16
    /// The reason for which there was none.
    public let failure: FailureSummary?
    /// The decision: `deliver`, `retry`, `refresh`, `follow`, `resume` or `give-up`.
    public let decision: String
    /// The reason for the decision, as a sentence for users; empty when it needs none.
    public let reason: String
    /// The wait before the next attempt.
    public let delay: Duration
    /// Address and port of the peer; empty without a connection.
    public let peer: String
    /// Whether the connection came from the pool.
    public let isReused: Bool
    /// From the last byte of the request to the first byte of the response; nil without one.
    public let wait: Duration?
    /// The full record, not redacted.
    package let record: AttemptRecord

    package init(_ record: AttemptRecord, number: Int, _ redactor: Redactor) {
        self.number = number
        self.record = record
        cause = record.cause.rawValue
        url = record.url.map { redactor.cleaned($0) }
        status = record.status
        failure = record.error.map { FailureSummary($0, redactor) }
        decision = record.decision.rawValue
        reason = redactor.cleaned(record.reason)
        delay = .microseconds(record.delayMicroseconds ?? 0)
        peer = record.peer.map { Self.endpoint($0, record.peerPort) } ?? ""
        isReused = record.isReused
        wait = record.timing.wait.map { .microseconds($0) }
    }

    /// `127.0.0.1:80`, `[::1]:80`.
    private static func endpoint(_ address: IPAddress, _ port: UInt16) -> String {
        switch address {
        case .v4: "\(address.text):\(port)"
        case .v6: "[\(address.text)]:\(port)"
        }
    }
}

/// An exchange that has ended.
public struct ExchangeSummary: Sendable, Equatable {
    /// Status of the response that the client got; 0 when it got none.
    public let status: UInt16
    /// `ok`, `error`, `aborted`, `truncated` or `denied`.
    public let outcome: String
    /// The failure, when the outcome is not `ok`.
    public let failure: FailureSummary?
    /// The number of attempts.
    public let attempts: Int
    /// The number of redirects that were followed.
    public let redirects: Int
    /// The rules that matched, in the order of the file.
    public let rules: [String]
    /// From the first byte of the request to the last of the response.
    public let duration: Duration
    /// From the last byte of the request to the first of the delivered response; nil without one.
    public let wait: Duration?
    /// Payload of the request body; nil without a request.
    public let requestBodyBytes: UInt64?
    /// Payload of the response body; nil without a response.
    public let responseBodyBytes: UInt64?

    package init(_ record: borrowing ExchangeRecord, _ redactor: Redactor) {
        status = record.response?.status ?? 0
        outcome = record.outcome.rawValue
        failure = record.error.map { FailureSummary($0, redactor) }
        attempts = record.attempts.count
        redirects = record.redirects.count
        rules = record.rules.matched.map { redactor.cleaned($0) }
        duration = .microseconds(record.timing.total ?? 0)
        wait = record.timing.wait.map { .microseconds($0) }
        requestBodyBytes = record.requestBodyBytes
        responseBodyBytes = record.responseBodyBytes
    }
}

/// A fetched credential or a failure to fetch one; never contains the credential itself.
public struct TokenSummary: Sendable, Equatable {
    /// Its name under `tokens`.
    public let name: String
    /// The number of the credential, counted from 1 for each name; nil when the fetch failed.
    public let version: Int?
    /// The reason for the failure; empty on success.
    public let detail: String
    /// Wall clock, in microseconds since 1970-01-01T00:00:00Z.
    public let microseconds: Int64

    package init(name: String, version: Int?, detail: String, microseconds: Int64) {
        self.name = name
        self.version = version
        self.detail = detail
        self.microseconds = microseconds
    }
}
