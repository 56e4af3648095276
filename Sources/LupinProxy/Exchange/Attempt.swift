// One attempt to get a response from upstream.
import LupinCore
import LupinIO
import LupinPolicy
import LupinRecords
import LupinTLS
import LupinUpstream
import LupinWire

/// One attempt of an exchange; ends with a final response's head, or with an error.
final class Attempt {
    // Members that are not private are also used by the files beside this one.
    let exchange: Exchange
    let sent: Sent
    private let earlier: BodyReplay?
    /// The kept part of the body: by earlier attempts, and while it was sent.
    private(set) var replay: BodyReplay?
    var facts = AttemptRecord()
    var isEveryAddressRefused = false
    private var compressed: CompressedBody?
    private var hasSentBytes = false
    /// The request's body waits for 100 (Continue).
    private var holdsBody = false
    private var interimBytes = 0
    /// A response that has come, and is still to be passed on or decided on.
    private var earlyResponse: ParsedResponse?
    /// The attempt is in the record.
    private(set) var isClosed = false
    /// Its span; nil unless the exchange is traced.
    private let span: SpanID?
    /// In microseconds of the loop's clock.
    let begun: UInt64
    /// When the wait before it began, and the client's exchange.
    private var waitBegun: UInt64
    private let exchangeBegun: UInt64
    private(set) var sentAt: UInt64 = 0

    init(
        _ sent: Sent,
        of exchange: Exchange,
        because cause: AttemptRecord.Cause,
        replay: BodyReplay?,
        since exchangeBegun: UInt64? = nil
    ) {
        span = exchange.trace?.nextSpan()
        if let trace = exchange.trace, let span {
            let carried = trace.carried(sent.adapted(of: exchange), by: span)
            if trace.isSentOn, exchange.remembersHeads {
                exchange.sent = SentRequest(carried.head)
            }
            self.sent = .adapted(carried)
        } else {
            self.sent = sent
        }
        if case .adapted(let adapted) = self.sent, adapted.hop.isThroughParent {
            facts.via = adapted.hop.connectedParent?.text
        }
        facts.cause = cause
        earlier = replay
        // An attempt that ends before its body begins passes on the replay that it was given.
        self.replay = replay
        begun = exchange.now
        waitBegun = begun
        self.exchangeBegun = exchangeBegun ?? exchange.begun
        self.exchange = exchange
        if goesElsewhere { facts.url = target }
    }

    /// The same attempt as one of `exchange`: the one that it ran for.
    init(_ other: Attempt, movedTo exchange: Exchange) {
        self.exchange = exchange
        sent = other.sent
        earlier = other.earlier
        replay = other.replay
        facts = other.facts
        isEveryAddressRefused = other.isEveryAddressRefused
        compressed = other.compressed
        hasSentBytes = other.hasSentBytes
        holdsBody = other.holdsBody
        interimBytes = other.interimBytes
        earlyResponse = other.earlyResponse
        isClosed = other.isClosed
        span = other.span
        begun = other.begun
        waitBegun = other.waitBegun
        exchangeBegun = other.exchangeBegun
        sentAt = other.sentAt
    }

    /// Microseconds since it began.
    var elapsed: UInt64 { exchange.now &- begun }

    /// Connects, sends, and waits for the final response's head.
    func run() async throws(LupinError) -> ParsedResponse {
        if let perTry = exchange.plan?.perTry {
            exchange.tryDeadline = exchange.slot.loop.deadline(in: perTry)
        }
        defer { exchange.tryDeadline = .max }
        let upstream = try await connect()
        do throws(LupinError) {
            try send(over: upstream)
            return try await awaitResponse(from: upstream)
        } catch {
            throw failure(error, on: upstream)
        }
    }

    /// Sends the request over an available connection.
    /// - Throws: An error to be passed to `failure`.
    func send(over upstream: any Upstream) throws(LupinError) {
        exchange.hold(upstream)
        facts.peer = upstream.peer?.address
        facts.peerPort = upstream.peer?.port ?? 0
        facts.isReused = upstream.isReused
        if let secured = upstream.secured {
            facts.tls = secured.filter.session.version
            exchange.record.trust = secured.trust
        }
        try sendHead(over: upstream)
        do throws(LupinError) {
            try startUpload(to: upstream)
        } catch {
            // The origin may have answered before it closed: what was received is read first. An
            // alert of TLS in it says why; on a kept connection a new one shows that better.
            guard let response = try? receive(from: upstream) else {
                throw (upstream.isReused ? nil : upstream.tlsFailure) ?? error
            }
            earlyResponse = response
        }
        exchange.note(.sent(upstream))
    }

    /// Whether the response came before the request could be sent.
    var isAnswered: Bool { earlyResponse != nil }

    /// Keeps a response for who decides on it.
    func keep(_ response: ParsedResponse) { earlyResponse = response }

    /// Waits for the final response's head of a request that was sent already.
    func goOn() async throws(LupinError) -> ParsedResponse {
        guard let upstream = exchange.upstream else { throw .stopping }
        do throws(LupinError) {
            return try await awaitResponse(from: upstream)
        } catch {
            throw failure(error, on: upstream)
        }
    }

    /// Interprets an error on the connection where it occurred.
    func failure(_ error: LupinError, on upstream: any Upstream) -> LupinError {
        noteWaitInVain()
        hasSentBytes = exchange.hasSentUpstream
        // A reset stream shows that its connection is alive.
        let isStale = upstream.isReused && !upstream.hasAnswered && upstream.reset == nil
        if upstream.reset == .http11Required {
            exchange.resources.pool.streams.remember(hop, wantsHTTP1: true)
        }
        let blamed = hop.isThroughParent ? error.blaming(hop.parent.map { _ in hop.text }) : error
        return isStale ? blamed.onReusedConnection : blamed
    }

    /// Whether every byte of the body that was consumed can be sent again.
    var isReplayable: Bool {
        !hasConsumedBody || (replay?.isComplete ?? (exchange.heldUpload?.whole != nil))
    }

    /// The facts for the decision about another attempt.
    func failure(_ error: LupinError?) -> FailedAttempt {
        facts.isReplayable = isReplayable
        var failure = FailedAttempt(method: exchange.request.method, error: error)
        failure.retries = exchange.retry.retries
        failure.answeredStatuses = exchange.retry.statuses
        // A body that was consumed and not kept counts as sent: it can't be sent again, whether or
        // not a byte of it left this machine.
        failure.hasSentBytes = error == nil || hasSentBytes || !isReplayable
        failure.isReplayable = isReplayable
        failure.isReused = facts.isReused
        failure.isCommitted = exchange.downstream.isCommitted
        failure.isEveryAddressRefused = isEveryAddressRefused
        failure.hasIdempotencyKey = hasIdempotencyKey
        failure.hasEarlyData = adapted.head.fields.value(of: "Early-Data") == "1"
        if let upstream = exchange.upstream {
            failure.isCalmAsked =
                upstream.reset == .enhanceYourCalm || upstream.goAway == .enhanceYourCalm
        }
        return failure
    }

    /// Frees what was kept for another attempt, and keeps no more: there will be none.
    private func letGoOfReplay() {
        replay = nil
        exchange.upload?.replay = nil
        exchange.compressedUpload?.plainReplay = nil
    }

    /// Puts the attempt into the record.
    func close(
        status: UInt16 = 0,
        error: LupinError? = nil,
        decision: AttemptRecord.Decision,
        reason: String,
        delay: Duration = .zero
    ) {
        isClosed = true
        // When bodies are kept, the record shows that one was too long.
        if let replay {
            facts.isReplayable = isReplayable
            facts.unkept = replay.unkept
            if decision == .deliver { letGoOfReplay() }
        }
        if delay > .zero { facts.delayMicroseconds = delay.milliseconds * 1000 }
        facts.status = status
        // Nearly always nil, which need not be copied.
        if let error { facts.error = error }
        facts.decision = decision
        facts.reason = reason
        observeUpstream()
        noteSpan()
        // Moved: a copy would retain all its strings.
        var closed = AttemptRecord()
        swap(&closed, &facts)
        if closed.cause != .first { closed.start = Int64(clamping: waitBegun &- exchangeBegun) }
        exchange.append(consume closed)
        exchange.noteAttemptEnd()
    }

    private func noteSpan() {
        guard let span, let trace = exchange.trace, trace.isSampled else { return }
        let now = exchange.now
        facts.span = AttemptSpan(span, begun: trace.wall(begun), ended: trace.wall(now))
    }

    /// Notes the wait before the attempt began, in microseconds.
    func noteWait(_ microseconds: UInt64) {
        guard microseconds > 0 else { return }
        waitBegun = exchange.now &- microseconds
        changeTiming { $0.blocked = Int64(clamping: microseconds) }
    }

    /// Notes how long it waited for a response that did not come, or not first.
    func noteWaitInVain() {
        guard sentAt > 0 else { return }
        changeTiming { $0.wait = Int64(clamping: exchange.now &- max(sentAt, lastUpload)) }
    }

    /// Changes the times, aside: one change in place, and the run time checks every use of the
    /// facts for exclusive access.
    @inline(__always)
    private func changeTiming(_ change: (inout Timing) -> Void) {
        var timing = facts.timing
        change(&timing)
        facts.timing = timing
    }

    /// Notes how the connection was made.
    func note(_ connection: ConnectionNotes) {
        var changed = facts
        changed.take(connection)
        facts = changed
    }

    /// Notes the state of the connection before it is released.
    func observeUpstream() {
        if let upstream = exchange.upstream { observe(upstream) }
    }

    /// Notes the state of the connection, which a held-back response outlives.
    private func observe(_ upstream: any Upstream) {
        facts.version = upstream.version
        facts.stream = upstream.streamID
        facts.reset = upstream.reset
        facts.goAway = upstream.goAway
    }

    // MARK: Sending

    private var hasConsumedBody: Bool {
        (compressed?.plainBytes ?? exchange.upload?.bytes ?? 0) > 0 || earlier != nil
    }

    /// Sends head and body; holds back a body that waits for 100 (Continue).
    private func startUpload(to upstream: any Upstream) throws(LupinError) {
        sentAt = exchange.now
        // There is no body, or a tunnel follows: only the head is sent.
        if exchange.framing.isEmpty, try upstream.requestBody.flush() { return }
        // A client that sends its body at once does not wait, even with Expect.
        if exchange.expectsContinue, !exchange.framing.isEmpty, earlier == nil,
            exchange.heldUpload == nil, !exchange.downstream.hasBodyWaiting
        {
            _ = try upstream.requestBody.flush()
            return
        }
        try beginUpload(to: upstream)
    }

    private func beginUpload(to upstream: any Upstream) throws(LupinError) {
        var source = exchange.requestBody
        if let earlier { source = ReplayedBody(earlier, then: source) }
        let held = exchange.heldBody(under: coding)
        if let held {
            source = BytesBody(held)
        } else if let coding, !exchange.framing.isEmpty {
            // Weak: the relay of the exchange holds the body, and the body this closure.
            let body = try CompressedBody(source, coding) { [weak exchange] in
                exchange?.slot.loop.later { exchange?.pumpBodies() }
            }
            compressed = body
            source = body
        }
        // Every attempt sends it from the beginning. What was edited is kept as the client sent it.
        let sink = exchange.captured(
            exchange.throttled(upstream.requestBody, .up),
            exchange.heldUpload?.isChanged == true ? .sent : .request,
            sentFields
        )
        let relay = BodyRelay(
            from: source,
            to: sink,
            slot: exchange.slot,
            isFinishing: exchange.framing.isEmpty
        )
        // What is held as a whole can be sent again in any case.
        let mustKeep = exchange.heldUpload?.whole == nil && !exchange.framing.isEmpty
        if mustKeep, earlier != nil || mayComeBack(upstream) {
            // The beginning is in an earlier replay already, and is not kept twice.
            replay =
                earlier
                ?? BodyReplay(
                    compressed == nil
                        ? exchange.retryPolicy : exchange.retryPolicy.keepingForCompression,
                    expecting: exchange.framing.knownLength,
                    in: exchange.resources.shared.replayRoom,
                    of: { [weak exchange] in exchange?.userAtOnce ?? .unknown }
                )
            // A repetition may have to be sent uncompressed.
            if let compressed { compressed.plainReplay = replay } else { relay.replay = replay }
        }
        let bytesMax = exchange.snapshot.limits.bodyBytes.map(UInt64.init)
        if let compressed { compressed.plainBytesMax = bytesMax } else { relay.bytesMax = bytesMax }
        exchange.compressedUpload = compressed
        if exchange.heldUpload != nil { exchange.heldUpload?.isSentCompressed = held != nil }
        exchange.upload = relay
        exchange.pumpBodies()
    }

    // MARK: Waiting

    private func awaitResponse(
        from upstream: any Upstream
    ) async throws(LupinError) -> ParsedResponse {
        holdsBody = exchange.upload == nil && !exchange.framing.isEmpty
        let expectDeadline = exchange.slot.loop.deadline(in: exchange.timeouts.expect)
        var rate = UploadRate(
            exchange.timeouts.minRateBytesPerSecond,
            now: exchange.now
        )
        while true {
            if let response = try receive(from: upstream) { return response }
            var deadline = min(waitDeadline(), exchange.attemptDeadline)
            if holdsBody { deadline = min(deadline, expectDeadline) }
            deadline = min(deadline, rate.deadline(exchange.upload))
            var reasons: WakeReasons = .upstreamReadable | .relayEnded | .downstreamClosed | .cut
            if holdsBody { reasons = reasons | .downstreamReadable }
            if exchange.race != .over { reasons = reasons | .outrun }
            deadline = min(deadline, exchange.throttleDeadline)
            let woken = await exchange.slot.park(for: reasons, until: deadline)
            exchange.pumpThrottled()
            try checkClient(woken)
            let now = exchange.now
            if holdsBody, now >= expectDeadline || exchange.downstream.hasBodyWaiting {
                // RFC 9110 §10.1.1: a client need not wait for ever, and neither do we.
                holdsBody = false
                if now >= expectDeadline {
                    try exchange.downstream.sendInterim(ResponseHead(status: 100))
                }
                try beginUpload(to: upstream)
            } else if now >= min(waitDeadline(), exchange.attemptDeadline) {
                throw timeout()
            }
            try rate.check(exchange.upload, now: now)
        }
    }

    /// The final response's head, if it has come; forwards interim responses before it.
    /// - Throws: Also when the rest of the request's body will never come.
    func receive(from upstream: any Upstream) throws(LupinError) -> ParsedResponse? {
        if let response = earlyResponse.take() { return response }
        while let response = try upstream.nextHead() {
            if !response.isInterim { return try received(response, from: upstream) }
            try count(interim: response.head)
            try forward(interim: response.head)
            if response.head.status == 100, holdsBody {
                holdsBody = false
                try beginUpload(to: upstream)
            }
        }
        try checkUpload()
        return nil
    }

    private func received(
        _ response: ParsedResponse,
        from upstream: any Upstream
    ) throws(LupinError) -> ParsedResponse {
        // The coding would be dropped with Transfer-Encoding and the client would not know.
        guard !response.hasForeignCoding else {
            throw LupinError(
                .httpResponseTransferCoding,
                host: hop.text,
                detail: "The response has a transfer coding other than chunked."
            )
        }
        // The body may break off while it is inspected.
        hasSentBytes = true
        let (now, end) = (exchange.now, max(sentAt, lastUpload))
        changeTiming { timing in
            timing.wait = Int64(now &- end)
            timing.send = Int64(end &- sentAt)
        }
        observe(upstream)
        exchange.note(.response(response.head.status))
        return response
    }

    private var lastUpload: UInt64 {
        guard let upload = exchange.upload, upload.bytes > 0 else { return sentAt }
        return upload.lastActivity
    }

    /// Limits interim responses: together they may be no longer than one head, since a client that
    /// doesn't read them costs memory, and an origin could send them without end.
    private func count(interim head: ResponseHead) throws(LupinError) {
        // A response without fields costs work too.
        interimBytes += max(Self.interimBytesMin, head.fields.storage.count)
        guard interimBytes > exchange.snapshot.limits.headerBytes else { return }
        throw LupinError(
            .httpProtocolError,
            host: hop.text,
            detail: "The interim responses are longer than limits.header_bytes allows a head to be."
        )
    }

    private static let interimBytesMin = 64

    private func forward(interim head: ResponseHead) throws(LupinError) {
        // The final response was sent: this attempt fetches the rest of its body.
        if exchange.downstream.isCommitted { return }
        var head = head
        HopByHop.mark(response: &head.fields, keepsAltSvc: exchange.interceptedTunnel == nil)
        exchange.scrub(interim: &head)
        try exchange.downstream.sendInterim(head)
    }

    /// An upload that the origin no longer reads is no failure yet: its response may be on the way.
    private func checkUpload() throws(LupinError) {
        guard case .sourceFailed(let error)? = exchange.upload?.state else { return }
        throw error
    }

    private func checkClient(_ woken: WakeReasons) throws(LupinError) {
        if woken.meets(.cut) { throw .stopping }
        if woken.meets(.outrun) { throw .clientGone }
        if exchange.hasClientLeft { throw .clientGone }
    }

    private func waitDeadline() -> UInt64 {
        if let upload = exchange.upload, !upload.isOver {
            return upload.lastActivity &+ exchange.timeouts.idle
        }
        return max(sentAt, lastUpload) &+ exchange.timeouts.responseHeader
    }

    private func timeout() -> LupinError {
        let host = hop.text
        let now = exchange.now
        if let upload = exchange.upload, !upload.isOver, now < exchange.attemptDeadline {
            if upload.waitsForSource {
                let detail = "The request body stood still for timeouts.idle."
                return .request(status: 408, detail: detail)
            }
            return LupinError(
                .connectionWriteTimeout,
                host: host,
                detail: "The origin took no more of the request body for timeouts.idle."
            )
        }
        return LupinError(
            .httpResponseTimeout,
            host: host,
            detail: now >= exchange.totalDeadline
                ? "No response within `timeouts.total`. If it may take long, raise that."
                : now >= exchange.tryDeadline
                    ? "No response within `retry.per_try`. If it may take long, raise that."
                    : "No response within `timeouts.response_header`. "
                        + "If it may take long, raise that."
        )
    }
}
