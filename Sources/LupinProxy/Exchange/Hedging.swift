// Runs further attempts beside a slow one, and chooses the winner.
import LupinCore
import LupinIO
import LupinPolicy
import LupinUpstream
import LupinWire

/// Whether attempts run beside the one under way, and which of them wins.
package enum Race: Sendable {
    case over
    /// A good response elsewhere ends the exchange's own attempt.
    case running
    /// Its own attempt has ended; the end of any other one counts.
    case waiting

    /// How far an attempt has come.
    package enum Standing: Sendable {
        /// Its response is still to come.
        case underWay
        /// Its response is one that the policy delivers.
        case good
        /// The policy would prefer another response.
        case bad
        /// It has none: it failed, was given up, or has not begun.
        case none
    }

    /// The first of the hedges, in the order of their start, that wins against an attempt that has
    /// ended; nil when that attempt's own end counts.
    ///
    /// A bad response wins only when no attempt is left that may bring a better one.
    package static func winner(against own: Standing, _ hedges: [Standing]) -> Int? {
        if own == .good { return nil }
        return hedges.firstIndex(of: .good) ?? (own == .bad ? nil : hedges.firstIndex(of: .bad))
    }

    /// Whether the end of a hedge may still change that.
    package static func isOpen(_ own: Standing, _ hedges: [Standing]) -> Bool {
        own != .good && !hedges.contains(.good) && hedges.contains(.underWay)
    }
}

extension Exchange {
    /// The plan's hedging, if this request may be hedged: idempotent, and without a body that could
    /// be sent only once.
    var hedge: RetryPolicy.Hedge? {
        guard let hedge = plan?.hedge, framing.isEmpty, request.method.isIdempotent,
            wishes.upgrade == nil, !downstream.isCommitted
        else { return nil }
        return hedge
    }

    /// Runs an attempt, and others beside it when it is slow; the first response wins.
    ///
    /// A response that the policy would not deliver wins only when no attempt is left that may
    /// bring a better one. `attempt` becomes the winner; the others are in the record.
    func race(_ attempt: inout Attempt) async throws(LupinError) -> ParsedResponse {
        guard let hedge, mayBeSentTwice(attempt.adapted), let delay = delay(of: hedge, for: attempt)
        else { return try await attempt.run() }
        let hedges = (1...hedge.max).map {
            HedgedAttempt(attempt.adapted, beside: self, after: delay * $0)
        }
        slot.forget(.outrun)
        race = .running
        let own: Result<ParsedResponse, LupinError>
        do throws(LupinError) {
            own = .success(try await attempt.run())
        } catch {
            own = .failure(error)
        }
        race = .waiting
        let winner = await winner(among: hedges, own)
        race = .over
        slot.forget(.outrun)
        for hedge in hedges where hedge !== winner { hedge.cancel() }
        guard let winner, case .answered(let moved, let response) = winner.state else {
            note(losers: hedges)
            return try own.get()
        }
        switch own {
        case .failure(let error) where !isOutrun(error):
            attempt.close(error: error, decision: .giveUp, reason: Self.outrun)
        case .success(let response):
            attempt.close(status: response.status, decision: .giveUp, reason: Self.outrun)
        case .failure:
            attempt.noteWaitInVain()
            attempt.close(decision: .giveUp, reason: Self.outrun)
        }
        dropUpstream()
        // The record has them in the order of their start.
        let index = hedges.firstIndex { $0 === winner } ?? 0
        note(losers: hedges[..<index])
        appendLosers()
        note(losers: hedges[(index + 1)...])
        winner.handOver()
        attempt = Attempt(moved, movedTo: self)
        return response
    }

    /// Whether another attempt may send the request beside the first one.
    private func mayBeSentTwice(_ adapted: AdaptedRequest) -> Bool {
        // A login would begin anew on the connection of a hedge, and its 401 might come first.
        if isByLogin(adapted) { return false }
        // A client's own answer to a Digest challenge counts its uses (RFC 7616 §3.4, nc).
        return authentication?.signsDigest == true || !adapted.head.fields.answersDigest
    }

    fileprivate static let outrun = "another attempt answered first"

    /// Whether an attempt was ended because another one was faster, which looks like a client that
    /// has left.
    private func isOutrun(_ error: LupinError) -> Bool {
        error == .clientGone && !downstream.isClientGone
    }

    /// The delay before another attempt begins beside a slow one; nil without a percentile yet.
    private func delay(of hedge: RetryPolicy.Hedge, for attempt: Attempt) -> Duration? {
        switch hedge.after {
        case .fixed(let delay): return delay
        case .percentile95:
            let now = slot.loop.now
            return attempt.health(now: now).use { $0.percentile95(now) }
        }
    }

    /// The hedge that wins; nil when the attempt itself does, or when all of them failed.
    private func winner(
        among hedges: [HedgedAttempt],
        _ own: Result<ParsedResponse, LupinError>
    ) async -> HedgedAttempt? {
        var ended = Race.Standing.none
        switch own {
        case .success(let response): ended = isBad(response) ? .bad : .good
        case .failure(let error):
            if downstream.isClientGone || error == .stopping { return nil }
        }
        while Race.isOpen(ended, hedges.map(standing)) {
            awaited = .responseHead
            let woken = await slot.park(for: interruptions)
            awaited = nil
            if woken.meets(.cut) || downstream.isClientGone { return nil }
        }
        return Race.winner(against: ended, hedges.map(standing)).map { hedges[$0] }
    }

    private func standing(_ hedge: HedgedAttempt) -> Race.Standing {
        if hedge.isUnderWay { return .underWay }
        return hedge.answer.map { isBad($0) ? .bad : .good } ?? .none
    }

    /// Whether the policy prefers another response.
    fileprivate func isBad(_ response: ParsedResponse) -> Bool {
        retryPolicy.status.contains(response.status)
    }

    /// Notes the attempts that lost, if they began, for the record.
    private func note(losers hedges: some Sequence<HedgedAttempt>) {
        for hedge in hedges {
            guard let facts = hedge.facts else { continue }
            retry.losers.append(facts)
            record.bytes.upstreamIn &+= hedge.bytes.received
            record.bytes.upstreamOut &+= hedge.bytes.sent
        }
    }

    /// Adds the attempts that lost to the record, behind the one beside which they ran.
    func appendLosers() {
        for facts in retry.losers {
            append(facts)
            noteAttemptEnd()
        }
        retry.losers = []
    }
}

/// An attempt beside another one: the same request, on its own connection and in its own task.
final class HedgedAttempt {
    enum State {
        /// Its delay is not over.
        case waiting
        case running(Attempt)
        case answered(Attempt, ParsedResponse)
        case failed
        case cancelled
    }

    private(set) var state = State.waiting
    private let outer: Exchange
    /// The exchange that it runs in, which has no client.
    private let inner: Exchange
    private let adapted: AdaptedRequest
    /// How its own copy of the request is authenticated.
    private var uses: [AuthenticationInterceptor.Use] = []

    init(_ adapted: AdaptedRequest, beside outer: Exchange, after delay: Duration) {
        self.outer = outer
        self.adapted = adapted
        let slot = ParkingSlot(on: outer.slot.loop)
        inner = Exchange(ofOurOwn: slot, outer.resources, outer.snapshot)
        inner.inherit(from: outer)
        inner.trace = outer.trace
        let local = LoopLocal(self, of: slot.loop.executor)
        let (waitBegun, begin) = (slot.loop.now, slot.loop.deadline(in: delay))
        Task.immediate(executorPreference: slot.loop.executor) {
            await local.value.run(at: begin, waitingSince: waitBegun)
        }
    }

    /// Its response, until that is taken over.
    var answer: ParsedResponse? {
        if case .answered(_, let response) = state { return response }
        return nil
    }

    /// Whether a response may still come.
    var isUnderWay: Bool {
        if case .running = state { return true }
        return false
    }

    /// Its record, if it began and lost.
    var facts: AttemptRecord? { inner.attempts.last }

    /// Bytes that were moved in vain.
    var bytes: (received: UInt64, sent: UInt64) {
        (inner.record.bytes.upstreamIn, inner.record.bytes.upstreamOut)
    }

    /// Ends it in any state.
    func cancel() {
        switch state {
        case .waiting, .running:
            if case .running(let attempt) = state {
                attempt.noteWaitInVain()
                attempt.close(decision: .giveUp, reason: Exchange.outrun)
            }
            state = .cancelled
            // At once, so that its bytes are in the record.
            inner.dropUpstream()
            inner.slot.wake(.cut)
        case .answered(let attempt, let response):
            attempt.close(
                status: response.status,
                decision: .giveUp,
                reason: Exchange.outrun
            )
            inner.dropUpstream()
            state = .cancelled
        case .failed, .cancelled: break
        }
    }

    /// Moves its connection to the exchange that it ran for.
    func handOver() {
        state = .cancelled
        outer.takeUpstream(of: inner)
        outer.record.trust = inner.record.trust
        outer.authentication?.uses = uses
    }

    private func run(at begin: UInt64, waitingSince waitBegun: UInt64) async {
        let slot = inner.slot
        defer { slot.retire() }
        while slot.loop.now < begin {
            if await slot.park(for: .cut, until: begin).meets(.cut) { return }
        }
        guard case .waiting = state, outer.refusal(ofRetryAt: adapted.origin) == nil,
            let own = signed()
        else { return }
        guard let attempt = try? inner.attempt(.adapted(own), because: .hedge, since: outer.begun)
        else { return }
        state = .running(attempt)
        attempt.noteWait(slot.loop.now &- waitBegun)
        do throws(LupinError) {
            let response = try await attempt.run()
            guard isUnderWay else { return inner.dropUpstream() }
            state = .answered(attempt, response)
            outer.hedgeEnded(isGood: !outer.isBad(response))
        } catch {
            guard isUnderWay else { return inner.dropUpstream() }
            attempt.close(error: error, decision: .giveUp, reason: "")
            inner.dropUpstream()
            state = .failed
            outer.hedgeEnded(isGood: false)
        }
    }

    /// The request with credentials that are good for one more use; nil where there are none.
    private func signed() -> AdaptedRequest? {
        guard let authentication = outer.authentication else { return adapted }
        guard let (own, uses) = authentication.signedAgain(adapted) else { return nil }
        self.uses = uses
        return own
    }
}

extension Exchange {
    /// Wakes the exchange's task if the end of the hedge matters to it.
    fileprivate func hedgeEnded(isGood: Bool) {
        if isGood || race == .waiting { slot.wake(.outrun) }
    }
}
