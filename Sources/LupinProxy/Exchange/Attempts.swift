// Makes attempts until one has a response to deliver.
import LupinCore
import LupinIO
import LupinPolicy
package import LupinUpstream
package import LupinWire

/// The final response of the exchange, and the source of its body.
package struct ObtainedResponse {
    package let response: ParsedResponse
    /// A body that was held back is in memory; any other comes from upstream.
    package let body: any BodySource
    /// How to resume a body that breaks off; nil when it can't be resumed.
    var resumable: Resumable?
    /// The way of a login by which it came, where it is whole in memory: another connection may not
    /// have the login, and then this is the response after all.
    var loggedInWay: NextHop?

    package init(response: ParsedResponse, body: any BodySource) {
        self.response = response
        self.body = body
    }
}

extension ObtainedResponse {
    /// Whether `status`, of the response to a repetition by `way`, only says that its connection
    /// lacks the login.
    fileprivate func outlives(_ status: UInt16, by way: NextHop) -> Bool {
        loggedInWay == way && status == (way.parent == nil ? 401 : 407)
    }
}

extension Exchange {
    /// Sends the request, repeatedly if that helps, until there is a response for the caller.
    ///
    /// `fixed` is a request sent unchanged: a CONNECT to a parent proxy. `base` is the first
    /// attempt's request without credentials: that of the cache look-up.
    /// - Returns: nil when a rule answers after a followed redirect.
    func obtainResponse(
        to target: KnownTarget,
        as fixed: AdaptedRequest? = nil,
        base: AdaptedRequest? = nil
    ) async throws(LupinError) -> ObtainedResponse? {
        let first = NextAttempt(at: now)
        first.fixed = fixed
        first.base = base
        // After a validation the whole response may have to be requested.
        if let caching, caching.conditions != nil || !attempts.isEmpty { first.cause = .revalidate }
        self.target = target
        next = first
        course.beginAttempts()
        try await drive()
        return rare?.obtained.take()
    }

    /// Waits for the response of the attempt under way, and does what is decided about it.
    func concludeAttempt(_ need: Need) async throws(LupinError) {
        guard var attempt = attempt.take(), let target else { throw .stopping }
        var obtained: ObtainedResponse
        let verdict: Verdict
        do throws(LupinError) {
            let response = try await response(to: &attempt, need)
            (obtained, verdict) = try await result(response, of: attempt)
        } catch {
            return try await handle(error, of: attempt)
        }
        let status = obtained.response.status
        if let former = next?.former, former.outlives(status, by: attempt.hop) {
            try await letGo(of: obtained)
            return fallBack(to: former, from: attempt, status: status)
        }
        switch verdict {
        case .deliver(let reason):
            attempt.close(status: status, decision: .deliver, reason: reason)
            if hasMoved { completeLocation(of: obtained.response, from: target.origin) }
            obtained.resumable = resumable(obtained, attempt, to: target)
            take(obtained)
        case .again(let cause, let decision, let reason, let delay):
            attempt.close(status: status, decision: decision, reason: reason, delay: delay)
            let again = NextAttempt(cause, after: attempt, next, insteadOf: obtained)
            try await letGo(of: obtained)
            try await begin(again, after: delay)
        case .follow(let leg, let reason):
            attempt.close(status: status, decision: .follow, reason: reason)
            let following = NextAttempt(.redirect, after: attempt, next, insteadOf: obtained)
            if leg.dropsBody { following.replay = nil }
            try await letGo(of: obtained)
            self.target = try await begin(leg)
            if plan?.respond != nil { return course.decided(.answerByRule) }
            try await begin(following)
        }
    }

    private func response(
        to attempt: inout Attempt,
        _ need: Need
    ) async throws(LupinError) -> ParsedResponse {
        self.attempt = attempt
        defer { self.attempt = nil }
        switch need {
        case .failure: throw failure ?? .stopping
        case .connection where hedge != nil: return try await race(&attempt)
        case .connection: return try await attempt.run()
        default: return try await attempt.goOn()
        }
    }

    /// Decides whether an attempt that has failed is made again.
    /// - Throws: The error that ends the exchange.
    private func handle(_ error: LupinError, of attempt: Attempt) async throws(LupinError) {
        // A decision that was made already is in the record.
        if attempt.isClosed { throw error }
        if let former = next?.former, lacksLogin(after: error) {
            return fallBack(to: former, from: attempt, error: error)
        }
        attempt.noteOutcome(failure: error)
        let delay = try await AttemptJudge(for: self, attempt).delay(after: error)
        let again = NextAttempt(.retry, after: attempt, next)
        dropUpstream()
        upload = nil
        try await begin(again, after: delay)
    }

    /// Begins another attempt, after a delay.
    private func begin(
        _ another: NextAttempt,
        after delay: Duration = .zero
    ) async throws(LupinError) {
        appendLosers()
        next = another
        if delay > .zero {
            try await pause(delay, retry.isAskedFor ? .retryAfter : .nextAttempt)
        }
        course.decided(.again)
    }

    /// Takes the response that is delivered.
    private func take(_ obtained: ObtainedResponse) {
        makeRare().obtained = obtained
        next = nil
        course.decided(.deliver)
    }

    /// What is decided about the response of an attempt.
    private func result(
        _ response: ParsedResponse,
        of attempt: Attempt
    ) async throws(LupinError) -> (obtained: ObtainedResponse, verdict: Verdict) {
        guard let upstream else { throw .stopping }
        take(response, of: attempt)
        let judge = AttemptJudge(for: self, attempt)
        judge.noteCompressionVerdict(response.status)
        var obtained = try scrubbed(
            ObtainedResponse(response: response, body: upstream.responseBody)
        )
        // Switching protocols is decided on when the client is told.
        guard response.status != 101,
            plan?.judgesResponses == true || decisionNeed(on: response, to: attempt) != nil
        else { return (obtained, .deliver(reason: "")) }
        let verdict = try await judge.verdict(on: &obtained)
        return (obtained, verdict)
    }

    /// Notes what a response says, whatever is decided about it, and puts stand-ins back.
    func take(_ response: ParsedResponse, of attempt: Attempt) {
        // What is held back later holds no connection that could tell.
        if isForOneClient { caching?.attachments.add(.connectionLogin) }
        attempt.noteOutcome(status: response.status)
        restoreStandIns(in: response)
        noteFlaws(of: response)
    }

    /// Creates an attempt to send a request.
    /// - Throws: Why it may not be sent.
    func attempt(
        _ sent: Attempt.Sent,
        because cause: AttemptRecord.Cause,
        replay: BodyReplay? = nil,
        since exchangeBegun: UInt64? = nil
    ) throws(LupinError) -> Attempt {
        try checkStandIns(in: sent)
        if case .adapted(let adapted) = sent {
            try snapshot.access.check(
                adapted.origin,
                behind: adapted.hop,
                client: client.address,
                isHostFromFile: adapted.isHostFromFile
            )
        }
        return Attempt(sent, of: self, because: cause, replay: replay, since: exchangeBegun)
    }

    /// Whether the response came by a login to its connection.
    func isByLogin(_ attempt: Attempt) -> Bool {
        isForOneClient || attempt.hop.isByLogin
    }

    /// Gives up an attempt that could not have the login of the response before it.
    private func fallBack(
        to former: ObtainedResponse,
        from attempt: Attempt,
        status: UInt16 = 0,
        error: LupinError? = nil
    ) {
        // The client gets the redirect after all.
        if attempt.facts.cause == .redirect {
            record.redirects = Array(record.redirects.dropLast())
        }
        attempt.close(
            status: status,
            error: error,
            decision: .giveUp,
            reason: Verdict.loginIsLost
        )
        dropUpstream()
        take(former)
    }

    /// Whether an attempt failed since its connection lacks the client's login.
    private func lacksLogin(after error: LupinError) -> Bool {
        error.parent?.status == 407 || interceptedTunnel?.parentTunnel?.hasEnded == true
    }
}
