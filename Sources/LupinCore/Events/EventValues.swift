// What event monitors are told: plain values, every text in them redacted.

/// Which exchange something happens to, and when.
public struct ExchangeMoment: Sendable, Equatable {
    /// 32 hex digits, as in the record.
    public let id: String
    /// The method of the client's request; empty when its head could not be read.
    public let method: String
    /// The URL that the client asked for, of a CONNECT host and port; empty when unknown.
    public let url: String
    /// Which attempt it concerns, counted from 1; 0 before the first.
    public package(set) var attempt = 0
    /// Wall clock, in microseconds since 1970-01-01T00:00:00Z.
    public package(set) var microseconds: Int64
    /// The host that the client asked for.
    package let host: String
    /// The rules that match, as far as that is known.
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

/// Who asks.
public struct ClientSummary: Sendable, Equatable {
    /// The address as text.
    public let address: String
    /// The port of the client's side.
    public let port: UInt16
    /// The client's program, where a rule or the log wants it known; the client can forge it.
    public let program: String?
    /// Whose password was right, where the listener asks for one.
    public let user: String?

    package init(address: String, port: UInt16, program: String? = nil, user: String? = nil) {
        self.address = address
        self.port = port
        self.program = program
        self.user = user
    }
}

/// What failed, in the words of the record.
public struct FailureSummary: Sendable, Equatable {
    /// The error type of RFC 9209 §2.3, such as `connection_refused`.
    public let token: String
    /// What happened, in words for people; empty when the token says it all.
    public let detail: String
    /// `client`, `upstream`, `proxy` or `config`.
    public let side: String
}

extension FailureSummary {
    package init(_ error: LupinError, _ redactor: Redactor) {
        self.init(
            token: error.kind.token,
            detail: redactor.cleaned(error.detail),
            side: error.side.rawValue
        )
    }
}

/// The connection that an attempt goes by.
public struct ConnectionSummary: Sendable, Equatable {
    /// Address and port that it leads to; empty when unknown.
    public let peer: String
    /// The version of HTTP spoken on it: `1.1` or `2`.
    public let version: String
    /// It has carried requests before.
    public let isReused: Bool

    package init(peer: String, version: String, isReused: Bool) {
        self.peer = peer
        self.version = version
        self.isReused = isReused
    }
}

/// How far the bodies of an exchange have come, in bytes of payload.
public struct ProgressSummary: Sendable, Equatable {
    /// From the client to upstream, in the attempt under way.
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
    /// Why it was made, such as `first`, `retry`, `auth` or `redirect`.
    public let cause: String
    /// Where it went, when that is not the client's URL.
    public let url: String?
    /// Status of the final response; 0 when there was none.
    public let status: UInt16
    /// Why there was none.
    public let failure: FailureSummary?
    /// What was decided: `deliver`, `retry`, `refresh`, `follow`, `resume` or `give-up`.
    public let decision: String
    /// Why, as a sentence for people; empty when the decision needs none.
    public let reason: String
    /// The wait before the next attempt.
    public let delay: Duration
    /// Address and port that it went to; empty when there was no connection.
    public let peer: String
    /// The connection came from the pool.
    public let isReused: Bool
    /// From the last byte of the request to the first byte of the response; nil without one.
    public let wait: Duration?
    /// All that is known, not redacted.
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
        peer = record.peer.map { StageRecord.place($0, record.peerPort) } ?? ""
        isReused = record.isReused
        wait = record.timing.wait.map { .microseconds($0) }
    }
}

/// An exchange that has ended.
public struct ExchangeSummary: Sendable, Equatable {
    /// Status of the response that the client got; 0 when it got none.
    public let status: UInt16
    /// `ok`, `error`, `aborted`, `truncated` or `denied`.
    public let outcome: String
    /// Why, where the outcome is not `ok`.
    public let failure: FailureSummary?
    /// How many attempts there were.
    public let attempts: Int
    /// Redirects that were followed.
    public let redirects: Int
    /// The rules that matched, in the order of the file.
    public let rules: [String]
    /// From the first byte of the request to the last of the response.
    public let duration: Duration
    /// From the last byte of the request to the first of the delivered response; nil without one.
    public let wait: Duration?
    /// Payload of the bodies; nil where there was no message.
    public let requestBodyBytes: UInt64?
    /// As ``requestBodyBytes``.
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

/// A credential that was fetched, or could not be; never the credential itself.
public struct TokenSummary: Sendable, Equatable {
    /// Its name under `tokens`.
    public let name: String
    /// Which credential of that name it is, counted from 1; nil where it could not be fetched.
    public let version: Int?
    /// Why it could not be fetched; empty where it was.
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
