// An attempt and its exchange, as tests play them for those that decide what follows.
import LupinCore
import LupinIO
import LupinPolicy
import LupinProxy
import LupinUpstream
import LupinWire

/// An attempt that has ended.
final class PlayedAttempt: JudgedAttempt {
    let adapted: AdaptedRequest
    var origin: Origin { adapted.origin }
    var hop: NextHop { adapted.hop }
    var coding: ContentCoding?
    var framing = BodyFraming.none
    var keptBody: [UInt8]?
    var isReplayable = true
    var hasIdempotencyKey: Bool { false }
    var retries = 0
    /// What the record says.
    private(set) var closing: (decision: AttemptRecord.Decision, reason: String)?

    init(_ adapted: AdaptedRequest) { self.adapted = adapted }

    func failure(_ error: LupinError?) -> FailedAttempt {
        var failure = FailedAttempt(method: adapted.head.method, error: error)
        failure.retries = retries
        failure.isReplayable = isReplayable
        return failure
    }

    func close(
        status: UInt16,
        error: LupinError?,
        decision: AttemptRecord.Decision,
        reason: String,
        delay: Duration
    ) {
        closing = (decision, reason)
    }
}

/// The exchange of an attempt.
final class PlayedJudgement: JudgeClient {
    let plan: Plan?
    let request: RequestHead
    let framing = BodyFraming.none
    let origin: Origin?
    var redirectedTo: Origin?
    var authentication: AuthenticationInterceptor? { nil }
    var program: (any RequestInterceptor)? { nil }
    var redirectHandler: (any RedirectHandler)? { nil }
    var hasUser = false
    var isForOneClient = false
    var isUploadDone: Bool { true }

    var attemptsCount = 0
    var retry = RetryProgress()
    var visited: [String] = []
    private(set) var validation: ValidationRecord?
    private(set) var redirects: [RedirectRecord] = []
    /// Why the host gets no further attempt.
    var refusal: String?
    /// No body is longer than can be held.
    var holdsAll = true
    private(set) var held: [Int] = []

    let attempt: PlayedAttempt

    init(_ rule: (inout Rule) -> Void) throws {
        var head = RequestHead()
        head.method = .get
        head.pathAndQuery = head.fields.store("/a")
        guard let host = Host("a.test") else { throw LupinError.stopping }
        let origin = Origin(scheme: .http, host: host, port: 80)
        plan = try .of(rule)
        request = head
        self.origin = origin
        attempt = PlayedAttempt(
            AdaptedRequest(UpstreamRequest(head: head, origin: origin), hop: .origin(origin))
        )
    }

    /// What is decided about a response.
    func verdict(
        on status: UInt16,
        _ fields: [(String, String)] = [],
        _ body: String = ""
    ) async throws(LupinError) -> Verdict {
        var head = ResponseHead(status: status)
        for (name, value) in fields { head.fields.add(name: name, value: value) }
        let bytes = Array(body.utf8)
        let length = UInt64(bytes.count)
        var obtained = ObtainedResponse(
            response: ParsedResponse(head, framing: .length(length), contentLength: length),
            body: BytesBody(bytes)
        )
        return try await AttemptJudge(for: self, attempt).verdict(on: &obtained)
    }

    /// How long to wait after a failure.
    func delay(after error: LupinError) async throws(LupinError) -> Duration {
        try await AttemptJudge(for: self, attempt).delay(after: error)
    }

    func note(_ validation: ValidationRecord) { self.validation = validation }
    func note(_ redirect: RedirectRecord) { redirects.append(redirect) }
    func noteCompressionRefusal(by origin: Origin) {}

    var now: UInt64 { 0 }
    var wallNow: Int64 { 0 }
    var totalDeadline = UInt64.max
    func deadline(in time: Duration) -> UInt64 { UInt64(clamping: time.milliseconds * 1000) }
    func chance() -> UInt64 { 0 }
    var awaited: LiveExchange.Wait?

    func hold(
        _ obtained: ObtainedResponse,
        bytesMax: Int,
        within time: Duration?
    ) async throws(LupinError) -> (ObtainedResponse, whole: [UInt8]?) {
        held.append(bytesMax)
        return (obtained, holdsAll ? (obtained.body as? BytesBody)?.unread : nil)
    }

    func answersParent(_ response: ParsedResponse, by hop: NextHop, isReplayable: Bool) -> Bool {
        false
    }

    func refusal(in response: ParsedResponse, by hop: NextHop, isReplayable: Bool) -> LupinError? {
        nil
    }

    func completeLocation(of response: ParsedResponse, from origin: Origin) {}
    func keepCookies(of response: ResponseHead, to request: UpstreamRequest) {}
    func attachCookies(to request: inout UpstreamRequest) {}
    func refusal(ofRetryAt origin: Origin) -> String? { refusal }
    func waitForNetwork(atMost time: Duration) async throws(LupinError) -> String? { nil }
    func cleaned(_ text: String) -> String { text }
}
