// What an exchange does in each phase, without a wait.
import LupinCaching
import LupinCore
import LupinIO
import LupinPolicy
import LupinUpstream
import LupinWire

extension Exchange {
    /// Goes through the phases for as long as no wait is needed; called by events and by tasks.
    ///
    /// Whatever is done may bring about events that lead here again: so each phase is left before
    /// bytes are moved, and who comes back looks where the exchange stands.
    /// - Returns: What is needed to go on; nil when nothing is left to do here.
    func advance() throws(LupinError) -> Need? {
        while true {
            let need: Need?
            switch course.phase {
            case .arrived: need = try arrive()
            case .matched: need = try permit()
            case .tunnelling: need = .connect
            case .answering: need = try answerByRule()
            case .lookingUp: need = try lookUp()
            case .asking: need = try hearOthers()
            case .preparing: need = try prepare()
            case .connecting: need = connect()
            case .awaiting: need = try receive()
            case .broken: need = .failure
            case .delivering: need = rare?.obtained?.response.status == 101 ? .upgrade : .bytes
            case .relaying: need = try relay()
            case .finishing: need = finishAtOnce()
            case .failed: throw failure ?? .stopping
            case .obtained, .targetInside, .over: return nil
            }
            if let need { return need }
        }
    }

    // MARK: Until the rules have spoken

    private func arrive() throws(LupinError) -> Need? {
        let need = course.arrived(
            request.method,
            asksForPassword: rare?.authenticator != nil,
            isWebSocket: protocolName != nil,
            expectsContinue: expectsContinue,
            hasInterceptor: resources.shared.hasInterceptor
        )
        if let need { return need }
        if rare?.own != nil { return .ownAnswer }
        try adoptProtocol()
        var own: OwnAnswer?
        guard let known = try admit(&own) else {
            makeRare().own = own
            return .ownAnswer
        }
        record.origin = known.origin
        target = known
        match(known)
        course.admitted()
        return nil
    }

    /// What gives the request its response.
    var handler: RequestHandler {
        .of(
            request.method,
            plan,
            isTaped: resources.shared.tape != nil,
            isWebSocket: protocolName != nil
        )
    }

    /// Checks what the rules leave to be checked.
    private func permit() throws(LupinError) -> Need? {
        guard let origin = target?.origin else { throw .stopping }
        let handler = handler
        let asksForOwner = mustAskForOwner(at: origin)
        let need = course.matched(
            plan,
            handler,
            hasLongTimeouts: hasLongTimeouts,
            asksForOwner: asksForOwner
        )
        if let need { return need }
        try checkPath(at: origin)
        return course.permitted(handler, asksForOwner: asksForOwner)
    }

    private func answerByRule() throws(LupinError) -> Need? {
        guard let canned = plan?.respond else { throw .stopping }
        let isSlow = plan?.answersSlowly == true
        if isSlow || canned.isSentFromFile(answering: request.method) { return .demand }
        course.presented()
        let (source, sink) = try present(response(canned))
        return try begin(from: source, to: sink)
    }

    // MARK: The cache

    /// Serves a response from memory, or asks the store that machines share for one.
    private func lookUp() throws(LupinError) -> Need? {
        guard let planned = plan?.caching, let target else { throw .stopping }
        // What is looked for is known already, and memory does not have it.
        if caching != nil { return .store }
        guard let base = try base(for: target, isPlain: goesAsItCame) else { return lackingNeed }
        // The content of a QUERY is a part of its key, and must be read first.
        guard request.method != .query, let use = useAtOnce(planned, base) else {
            keep(base)
            return .store
        }
        if try serveFromMemory(use) { return nil }
        caching = use
        // A task looks everywhere, and gives credentials to a request that has none yet.
        let isAsked =
            isTaskless && authentication == nil && wishes.upgrade == nil
            && CacheHandler(for: self, use).askOthers()
        return course.missed(areOthersAsked: isAsked)
    }

    /// Serves a stored response that is fresh and in memory.
    /// - Returns: Whether there is one.
    func serveFromMemory(_ use: CacheUse) throws(LupinError) -> Bool {
        let handler = CacheHandler(for: self, use)
        guard let hit = handler.hit else { return false }
        course.presented()
        caching = use
        let (source, sink) = try handler.open(hit)
        _ = try begin(from: source, to: sink)
        return true
    }

    // MARK: Attempts

    /// Makes the request of the next attempt, with all that adapters, rules and the cache want.
    private func prepare() throws(LupinError) -> Need? {
        guard let target else { throw .stopping }
        let next = next
        let isPlain = goesAsItCame
        let sent: Attempt.Sent
        if next == nil, isPlain, isDirect(to: target) {
            markHopByHop(for: target.directHop)
            sent = .asItCame(target)
        } else {
            guard let adapted = try adapted(for: target, isPlain: isPlain) else {
                return lackingNeed
            }
            if next?.isReady != true, mustWait {
                keep(adapted: adapted)
                return .demand
            }
            sent = .adapted(completed(adapted))
        }
        let attempt = try attempt(sent, because: next?.cause ?? .first, replay: next?.replay)
        note(.adapted(attempt.adapted))
        if let next { attempt.noteWait(now &- next.begun) }
        self.attempt = attempt
        course.prepared()
        return nil
    }

    /// Sends the request over a connection that is there.
    private func connect() -> Need? {
        if let need = course.connects(isUpgrade: wishes.upgrade != nil) { return need }
        guard let attempt, let upstream = attempt.atHand() else { return .connection }
        course.sending()
        resources.watch()
        do throws(LupinError) {
            try attempt.send(over: upstream)
        } catch {
            failure = attempt.failure(error, on: upstream)
            return isTaskless ? course.broke() : .bytes
        }
        // The client may have left with its request, and the response may have come before it.
        if downstream.isClientGone { return .clientLeft }
        return attempt.isAnswered ? nil : .bytes
    }

    /// Passes on a response that has come, unless it has to be decided on.
    private func receive() throws(LupinError) -> Need? {
        guard isTaskless else { return .bytes }
        guard let attempt, let upstream else { return .failure }
        let response: ParsedResponse
        do throws(LupinError) {
            guard let received = try attempt.receive(from: upstream) else {
                // A client that waits for the response must still be there.
                return downstream.isClientGone ? .clientLeft : .bytes
            }
            response = received
        } catch {
            failure = attempt.failure(error, on: upstream)
            return course.broke()
        }
        if let need = decisionNeed(on: response, to: attempt) {
            attempt.keep(response)
            return need
        }
        self.attempt = nil
        course.presented()
        take(response, of: attempt)
        attempt.close(status: response.status, decision: .deliver, reason: "")
        return try begin(from: upstream.responseBody, to: present(response))
    }

    /// Why a response has to be decided on; nil when it goes to the client unchanged.
    func decisionNeed(on response: ParsedResponse, to attempt: Attempt) -> Need? {
        let need = Course.need(
            ofStatus: response.status,
            plan,
            hasInterceptor: resources.shared.hasInterceptor
        )
        if let need { return need }
        if let authentication {
            if authentication.minds(response.status) { return .verdict }
            authentication.noteAuthenticationInfo(of: response.head)
        }
        return passesValidation(response, of: attempt) ? nil : .verdict
    }

    // MARK: The response

    /// Sends as much of a body as has come, behind a head that was presented.
    private func begin(
        from source: any BodySource,
        to sink: any BodySink
    ) throws(LupinError) -> Need? {
        if try beginRelay(from: source, to: sink) == nil {
            course.delivered()
        } else if isTaskless {
            // A client that reads nothing must time out.
            resources.watch()
        }
        return nil
    }

    /// Goes on with a body that is on its way.
    private func relay() throws(LupinError) -> Need? {
        // What moved before there is a relay leads here, too.
        guard let download else { return .bytes }
        guard download.isOver else {
            return course.relays(
                isClientGone: downstream.isClientGone,
                hasUploadFailed: uploadFailure != nil
            )
        }
        try noteEnd(of: download)
        course.delivered()
        return nil
    }

    private func finishAtOnce() -> Need? {
        let need = course.finished(uploadGoesOn: uploadGoesOn)
        if need == nil, let upload, !upload.isOver { upload.cancel() }
        return need
    }
}
