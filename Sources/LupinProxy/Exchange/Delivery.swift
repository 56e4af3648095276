// Delivers a response to the client: head, body, and errors on either side.
import LupinCore
import LupinIO
import LupinPolicy
import LupinRecords
import LupinUpstream
import LupinWire

extension Exchange {
    /// Delivers the origin's response.
    ///
    /// From its first byte on, no other response can be sent.
    func deliver(_ obtained: ObtainedResponse) async throws(LupinError) {
        try refuseFalseOpening(obtained.response.status)
        let sink = try present(obtained.response)
        try await relay(obtained, to: sink)
        await finishUpload()
    }

    /// Delivers what is no response of an origin, by a relay that has begun already.
    func bring(_ relay: BodyRelay) async throws(LupinError) {
        try await awaitEnd(of: relay)
        try noteEnd(of: relay)
        await finishUpload()
    }

    /// Sends the rest of the request to an origin that reads it after its response, and cancels an
    /// upload that it doesn't read.
    func finishUpload() async {
        if uploadGoesOn { bringsUpload = true }
        while uploadGoesOn, let upload {
            // The client has its response: whatever ends this is no failure of the exchange.
            guard (try? await awaitMore(of: upload)) != nil else { break }
        }
        if let upload, !upload.isOver { upload.cancel() }
    }

    /// Whether the origin has given its response and reads on: only an error says that it does not
    /// want the rest (RFC 9112 §9.5, RFC 9113 §8.1).
    var uploadGoesOn: Bool {
        guard let upload, !upload.isOver, let status = record.response?.status else { return false }
        return status < 400 && upstream?.isReading == true && !resources.isDraining
    }

    /// Notes what is wrong with a response that goes to the client nevertheless.
    func noteFlaws(of response: ParsedResponse) {
        // Flaws of an earlier attempt's response are none of this one.
        guard !response.flaws.isEmpty || !attempts.isEmpty else { return }
        record.flaws = response.flaws
        // HTTP/2 can't carry this name (RFC 9113 §8.2.1).
        guard response.flaws.contains(.name), request.version == .http2 else { return }
        HopByHop.markOddNames(&response.head.fields)
    }

    /// Notes what was read over in the body of a response.
    func noteBodyFlaws() {
        guard let flaws = upstream?.bodyFlaws, !flaws.isEmpty else { return }
        record.flaws.formUnion(flaws)
    }

    /// Stages the head of the origin's response.
    func present(_ response: ParsedResponse) throws(LupinError) -> any BodySink {
        let (framing, contentLength) = (response.framing, response.contentLength)
        return try present(response.takeHead(), framing, contentLength: contentLength)
    }

    /// Stages a response's head for the client, with the fields that lupin adds.
    func present(
        _ head: consuming ResponseHead,
        _ framing: BodyFraming,
        contentLength: UInt64?
    ) throws(LupinError) -> any BodySink {
        var head = head
        if let capture, !attempts.isEmpty { capture.received = head }
        if head.status == 407 || head.status == 401 {
            noteChallenge(head)
            try refuseLoginByStream()
        }
        HopByHop.mark(
            response: &head.fields,
            keepsProxyAuthenticate: head.status == 407 && isChallenged,
            keepsAltSvc: interceptedTunnel == nil
        )
        // In one expression: changing it afterwards would copy it.
        let body = ResponseBody(
            framing: framing,
            contentLength: contentLength,
            via: via(received: head.version),
            date: head.fields.first(.date) == nil ? resources.dateText : nil,
            // A response may precede the end of the request: the client may never send the rest.
            closes: resources.isDraining || !isUploadDone
                || interceptedTunnel?.parentTunnel?.endsBehindResponse(of: upstream) == true
                // The client takes its login for that of its own connection.
                || (isForOneClient && upstream?.isReading == false),
            isLoginUnderWay: head.status == 407 && isForOneClient
        )
        if let status = caching?.field {
            head.fields.add(name: "Cache-Status", value: status)
        }
        return try stageChanged(consume head, body)
    }

    /// Begins the response for the client as the `response:` steps of rules want it.
    func stageChanged(
        _ head: consuming ResponseHead,
        _ body: ResponseBody
    ) throws(LupinError) -> any BodySink {
        var head = head
        if let steps = plan?.responseSteps, !steps.isEmpty { try change(&head, by: steps) }
        if let sink = editingSink(&head, body) { return sink }
        guard request.method == .head, plan?.responseEdits.isEmpty == false else {
            return stage(consume head, body)
        }
        var body = body
        body.contentLength = nil
        return stage(consume head, body)
    }

    /// Begins the response for the client.
    func stage(_ head: consuming ResponseHead, _ body: ResponseBody) -> any BodySink {
        let sink = throttled(downstream.begin(head, body), .down)
        record.response = consume head
        return captured(sink, .response, record.response?.fields ?? FieldSection())
    }

    /// Applies the `response:` steps of the plan.
    private func change(
        _ head: inout ResponseHead,
        by steps: [PlannedStep]
    ) throws(LupinError) {
        do throws(StepProblem) {
            let result = try ResponseSteps.apply(
                steps,
                summaries: plan?.responseSummaries,
                to: &head.fields,
                original: request,
                id: record.id
            )
            record.rules.responseSteps = result.notes
        } catch {
            throw LupinError(
                .proxyInternalError,
                host: record.origin?.host.text,
                detail: error.sentence,
                side: .config,
                status: 502
            )
        }
    }

    /// Relays the body of a response to the client, and resumes it when it breaks off.
    private func relay(
        _ obtained: ObtainedResponse,
        to sink: any BodySink
    ) async throws(LupinError) {
        var source = obtained.body
        while true {
            let failure: LupinError
            do throws(LupinError) {
                return try await relay(from: source, to: sink)
            } catch {
                failure = error
            }
            guard let resumable = obtained.resumable else { throw failure }
            let received = passedAtOnce &+ (download?.bytes ?? 0)
            source = try await resume(resumable, received: received, after: failure)
            passedAtOnce = received
            download = nil
        }
    }

    /// Relays a body to the client until it ends.
    func relay(from source: any BodySource, to sink: any BodySink) async throws(LupinError) {
        guard let relay = try beginRelay(from: source, to: sink) else { return }
        try await awaitEnd(of: relay)
        try noteEnd(of: relay)
    }

    /// Sends as much of a body as has come; returns nil when that was all of it.
    func beginRelay(
        from source: any BodySource,
        to sink: any BodySink
    ) throws(LupinError) -> BodyRelay? {
        deliveryBegun = now
        let progress = try passAtOnce(from: source, to: sink)
        isDelivered = progress == .sent
        if isDelivered {
            noteReceived()
            return nil
        }
        let relay = BodyRelay(
            from: source,
            to: sink,
            slot: slot,
            isFinishing: progress == .staged
        )
        download = relay
        pumpBodies()
        return relay
    }

    /// Notes the end of a body.
    /// - Throws: Why it broke off.
    func noteEnd(of relay: BodyRelay) throws(LupinError) {
        noteReceived()
        switch relay.state {
        case .running, .finishing, .finished: break
        case .sourceFailed(let error): throw behindHead(error)
        case .sinkFailed(let error): throw error
        }
    }

    /// Looks for more of the body of a response.
    func pull(_ source: any BodySource) throws(LupinError) -> BodyProgress {
        do throws(LupinError) { return try source.pull() } catch { throw behindHead(error) }
    }

    /// The error of a body that broke off: the origin had answered, and TLS may say why it ended.
    func behindHead(_ error: LupinError) -> LupinError {
        guard error.kind == .connectionTerminated, error.side == .upstream else { return error }
        if let failure = upstream?.tlsFailure { return failure }
        var error = error
        error.kind = .httpResponseIncomplete
        return error
    }

    /// How much of a body was sent without a relay.
    private enum Progress {
        /// All of it was sent.
        case sent
        /// The sink has all of it, including its end, and has not sent everything.
        case staged
        /// There is more to come.
        case begun
    }

    /// Notes how long receiving the body took.
    private func noteReceived() {
        if upstream != nil { received = Int64(now &- deliveryBegun) }
    }

    /// Sends a body that has come already together with its head.
    private func passAtOnce(
        from source: any BodySource,
        to sink: any BodySink
    ) throws(LupinError) -> Progress {
        switch try pull(source) {
        case .blocked: return .begun
        case .end:
            var trailers = source.trailers
            if !trailers.isEmpty { HopByHop.removeForged(&trailers) }
            return try sink.finish(trailers: trailers) ? .sent : .staged
        case .payload:
            let offer = try source.offer(to: sink, keeping: nil)
            passedAtOnce &+= UInt64(offer.taken)
            guard offer.isEnd else { return .begun }
            return try sink.flush() ? .sent : .staged
        }
    }

    private func awaitEnd(of relay: BodyRelay) async throws(LupinError) {
        while !relay.isOver { try await awaitMore(of: relay) }
    }

    /// Waits until bodies have moved or ended.
    func awaitMore(of relay: BodyRelay) async throws(LupinError) {
        // A response that the client does not read must not delay the stop.
        if resources.isCut { throw .stopping }
        let deadline = min(lastActivity(of: relay) &+ timeouts.idle, totalDeadline)
        let woken = await slot.park(
            for: .relayEnded | .downstreamClosed | .cut,
            until: min(deadline, throttleDeadline)
        )
        pumpThrottled()
        if relay.isOver { return }
        if woken.meets(.cut) { throw .stopping }
        if downstream.isClientGone { throw .clientGone }
        if let failure = uploadFailure { throw failure }
        let now = self.now
        let isIdle = now &- lastActivity(of: relay) >= timeouts.idle
        if isIdle || now >= totalDeadline {
            throw LupinError(
                .connectionReadTimeout,
                host: record.origin?.host.text,
                detail: isIdle
                    ? "No byte moved for timeouts.idle." : "timeouts.total is over.",
                // Another attempt would not help a client that reads nothing.
                retry: relay.waitsForSource ? nil : .never
            )
        }
    }

    private func lastActivity(of relay: BodyRelay) -> UInt64 {
        max(relay.lastActivity, upload?.lastActivity ?? 0, filling?.lastActivity ?? 0)
    }

    /// Why the rest of the request body will never come: an origin that responds as it reads would
    /// wait for it, and the client for the response.
    var uploadFailure: LupinError? {
        guard upstream != nil, case .sourceFailed(let error)? = upload?.state else { return nil }
        return error
    }

    /// Whether the whole request was sent.
    var isUploadDone: Bool {
        // A redirect may have dropped the body while the client is still sending it.
        if framing.isEmpty { return !hasMoved || downstream.isRequestComplete }
        guard let upload else { return heldUpload?.whole != nil }
        return upload.state == .finished
    }

    /// Notes that a parent proxy has refused the request, which the origin has not seen; or that
    /// it, or an origin, goes on with the client's login.
    private func noteChallenge(_ head: borrowing ResponseHead) {
        let isOrigins = head.status == 401
        let hop = upstream?.hop
        guard isOrigins || hop?.parent != nil else { return }
        let credentials = request.fields.value(
            of: isOrigins ? .authorization : .proxyAuthorization
        )
        let challenges = AuthenticationChallenge.challenges(
            in: head.fields,
            isOrigins ? .wwwAuthenticate : .proxyAuthenticate
        )
        if let interceptedTunnel, interceptedTunnel.tls != nil,
            challenges.contains(where: \.asksForLogin)
        {
            resources.shared.connectionLogins.note(interceptedTunnel.target.origin, now: now)
        }
        record.loginStep = LoginStep.scheme(after: credentials, by: challenges)
        guard !isOrigins, record.loginStep == nil, let hop else { return }
        let challenge = ParentChallenge(to: credentials, in: head.fields)
        // The sentence of the error says what that means.
        let asked = challenge?.refusedText.map { " to the client's credentials\($0)" } ?? ""
        record.error = LupinError(
            .httpRequestDenied,
            detail: "The parent proxy \(hop.text) answered 407\(asked).",
            side: .upstream,
            retry: .never,
            status: 407
        ).blaming(hop.text, status: 407, challenge: challenge)
            .naming(parentRule: plan?.proxyRule)
    }

    /// Has a client whose login needs a connection ask again by HTTP/1.1: streams share one, so its
    /// next message would begin anew.
    private func refuseLoginByStream() throws(LupinError) {
        guard request.version == .http2, let scheme = record.loginStep,
            LoginStep.isByConnection(scheme)
        else { return }
        downstream.demandHTTP1()
        throw .request(
            status: 505,
            host: record.origin?.host.text,
            detail: "A login by \(scheme) needs a connection of its own, which streams of HTTP/2 "
                + "share: the client was told to use HTTP/1.1."
        )
    }

    /// Whether the client gets the parent's challenge.
    private var isChallenged: Bool {
        upstream.map { $0.hop.asksClient(isOurs: hasUser) } ?? false
    }

    // MARK: Failure

    /// The same error as one of the parent proxy whose response it broke off.
    private func blamed(_ error: LupinError) -> LupinError {
        guard error.parent == nil, record.tunnel == nil,
            let hop = upstream?.hop, hop.parent != nil
        else { return error }
        return error.blaming(hop.text)
    }

    /// Ends a failed exchange: with an error response if there is still time, else so that the
    /// client can't take the incomplete response for complete.
    func fail(_ error: LupinError) async {
        if isCancelled { return endUnanswered(.cancelled) }
        let error = blamed(error).naming(parentRule: plan?.proxyRule)
            .naming(redirectedTo ?? record.origin).naming(certificateRule: plan?.certificateRule)
        record.error = error
        upload?.cancel()
        download?.cancel()
        if error == .clientGone || downstream.isClientGone {
            record.outcome = .aborted
            downstream.abort()
            return
        }
        guard !downstream.isCommitted else {
            record.outcome = .truncated
            downstream.cutShort(atOnce: error == .stopping)
            return
        }
        dropUpstream()
        record.outcome = error.isDenial ? .denied : .error
        if downstream.demandsHTTP1 { return }
        // A stream of HTTP/2 is no connection.
        if request.version != .http2, interceptedTunnel?.parentTunnel?.endsBeforeResponse == true {
            return
        }
        do throws(LupinError) {
            try await answer(error)
        } catch {
            record.outcome = .aborted
            downstream.abort()
        }
    }
}
