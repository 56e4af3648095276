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

/// The decision about a response.
enum Verdict {
    case deliver(reason: String)
    /// Send the same request again.
    case again(AttemptRecord.Cause, AttemptRecord.Decision, reason: String, delay: Duration)
    /// Send another request, which a redirect leads to.
    case follow(Leg, reason: String)
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
        let delay = try await evaluate(error, of: attempt)
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
        noteCompressionVerdict(response.status, of: attempt)
        var obtained = try scrubbed(
            ObtainedResponse(response: response, body: upstream.responseBody)
        )
        // Switching protocols is decided on when the client is told.
        guard response.status != 101,
            plan?.judgesResponses == true || decisionNeed(on: response, to: attempt) != nil
        else { return (obtained, .deliver(reason: "")) }
        let verdict = try await verdict(on: &obtained, of: attempt)
        return (obtained, verdict)
    }

    /// Notes what a response says, whatever is decided about it, and puts stand-ins back.
    func take(_ response: ParsedResponse, of attempt: Attempt) {
        // What is held back later holds no connection that could tell.
        if upstream?.isForOneClient == true { caching?.attachments.add(.connectionLogin) }
        noteOutcome(of: attempt, status: response.status)
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

    /// Decides about a response, after every wait that the decision needs.
    private func verdict(
        on obtained: inout ObtainedResponse,
        of attempt: Attempt
    ) async throws(LupinError) -> Verdict {
        if answersParent(obtained.response, attempt) {
            return .again(.auth, .refresh, reason: "the parent proxy asks for Digest", delay: .zero)
        }
        // No response of the origin: it is neither checked nor repeated; the client answers it.
        if obtained.response.status == 407, asksClient(attempt.hop) {
            if plan?.validation != nil {
                record.validation = ValidationRecord(note: "the parent proxy asks the client")
            }
            return .deliver(reason: "")
        }
        if let refusal = refusal(in: obtained.response, to: attempt) { throw refusal }
        let isByLogin = isByLogin(attempt)
        let verdict = try await judge(&obtained, of: attempt)
        var obstacle: String?
        switch verdict {
        case .deliver: return verdict
        case .follow(let leg, _) where leg.dropsBody: break
        // Meanwhile the client may have sent more of its body than is kept.
        case .again, .follow: if !attempt.isReplayable { obstacle = "the body was not kept" }
        }
        if isByLogin, obstacle == nil {
            let held = try await hold(obtained)
            obtained = held.0
            if held.whole == nil { obstacle = Self.loginIsLost }
            obtained.loggedInWay = attempt.hop
            if case .follow = verdict, let origin = redirectedTo ?? record.origin {
                completeLocation(of: obtained.response, from: origin)
            }
        }
        guard let obstacle else { return verdict }
        return try await judgeDelivered(&obtained, of: attempt, decided: obstacle)
    }

    /// Whether the response came by a login to its connection.
    func isByLogin(_ attempt: Attempt) -> Bool {
        upstream?.isForOneClient == true || attempt.hop.isByLogin
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
            reason: Self.loginIsLost
        )
        dropUpstream()
        take(former)
    }

    /// Whether an attempt failed since its connection lacks the client's login.
    private func lacksLogin(after error: LupinError) -> Bool {
        error.parent?.status == 407 || interceptedTunnel?.parentTunnel?.hasEnded == true
    }

    private static let loginIsLost = "the client's login is for another connection"

    /// Decides on a final response: credentials, redirects, retriers, and validation of what is
    /// left, as Alamofire's `validate()` with a `RetryPolicy` comes to.
    private func judge(
        _ obtained: inout ObtainedResponse,
        of attempt: Attempt
    ) async throws(LupinError) -> Verdict {
        // A CONNECT to a parent proxy must not be repeated.
        if request.method == .connect { return .deliver(reason: "") }
        keepCookies(of: obtained.response.head, to: attempt.adapted.request)
        var decided: String?
        if let verdict = try await repair(&obtained, attempt) {
            guard case .deliver(let reason) = verdict else { return verdict }
            decided = reason
        }
        return try await judgeDelivered(&obtained, of: attempt, decided: decided)
    }

    /// Handles responses that another request may repair: credentials, a coding, a redirect.
    private func repair(
        _ obtained: inout ObtainedResponse,
        _ attempt: Attempt
    ) async throws(LupinError) -> Verdict? {
        if let verdict = try await askForCredentials(&obtained, attempt) { return verdict }
        if let verdict = try await sendPlain(&obtained, attempt) { return verdict }
        return try await redirect(&obtained, attempt)
    }

    /// Decides on a response that the client gets unless `validate` or a retrier objects.
    ///
    /// `decided` is the reason not to repeat the request, if there is one already: then only
    /// `validate` is checked.
    private func judgeDelivered(
        _ obtained: inout ObtainedResponse,
        of attempt: Attempt,
        decided: String?
    ) async throws(LupinError) -> Verdict {
        let mayRetry = decided == nil
        var reason = decided ?? ""
        if mayRetry, let verdict = try await askRetriers(obtained, attempt) {
            guard case .deliver(let refusal) = verdict else { return verdict }
            reason = refusal
        }
        let verdict = try await validate(
            &obtained,
            attempt,
            mayRetry: mayRetry,
            delivered: reason
        )
        if let verdict { return verdict }
        try await holdBack(&obtained, attempt)
        return .deliver(reason: reason)
    }

    /// Holds back a response that refuses the credentials while others are fetched.
    private func askForCredentials(
        _ obtained: inout ObtainedResponse,
        _ attempt: Attempt
    ) async throws(LupinError) -> Verdict? {
        guard let authentication else { return nil }
        authentication.noteAuthenticationInfo(of: obtained.response.head)
        let response = obtained.response
        let sent = attempt.adapted.head
        guard authentication.minds(response.status),
            authentication.conditions.contains(where: { $0.check(response, to: sent) == nil })
        else { return nil }
        let held = try await hold(obtained)
        obtained = held.0
        let body = held.whole.flatMap {
            try? decoded($0, from: response.head.fields.contentCodings)
        }
        let outcome = try await authentication.retry(
            after: response.head,
            isReplayable: attempt.isReplayable,
            content: isUploadDone ? attempt.replay?.wholeInMemory : nil
        ) { condition in
            guard condition.check(response, to: sent) == nil else { return false }
            guard condition.needsBody else { return true }
            return body.map { condition.check(body: $0.span, head: response.head) == nil } ?? false
        }
        guard let outcome else { return nil }
        guard outcome.decision == .refresh else { return .deliver(reason: outcome.reason) }
        return .again(.auth, .refresh, reason: outcome.reason, delay: .zero)
    }
}
