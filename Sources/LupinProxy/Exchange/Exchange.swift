// One exchange: from a request's head to its record.
import LupinCore
import LupinIO
import LupinPolicy
import LupinUpstream
import LupinWire

/// One client request and the final response the client sees, with the attempts in between.
final class Exchange: IndexedMember {
    var client: Client
    private(set) var downstream: any Downstream
    /// The only slot that the exchange waits in.
    private(set) var slot: ParkingSlot
    let resources: WorkerResources
    let snapshot: Snapshot
    /// The intercepted CONNECT that the request came through; nil for none.
    let interceptedTunnel: InterceptedTunnel?
    /// Set when this is a CONNECT that is intercepted.
    private(set) var interception: Interception?
    /// The client's request: never changed, except for marks on fields that are not forwarded.
    ///
    /// After a followed redirect it is the request that the redirect led to.
    var request: RequestHead
    var framing: BodyFraming
    /// What few exchanges have; nil for none of it.
    var rare: RareState?
    /// The credentials of the plan; nil when it names none.
    var authentication: AuthenticationInterceptor?
    /// A parent proxy's challenge was answered.
    var hasAnsweredParent = false
    /// Whether the request's body may have to be sent again because of a response.
    var mayRepeatBody: Bool {
        resources.shared.hasInterceptor || plan?.mayRepeatBody ?? false
    }
    let expectsContinue: Bool
    let acceptsTrailers: Bool

    /// nil when no rule matches.
    var plan: Plan?
    /// The timeouts that the plan sets; nil for those of the settings.
    private var ownTimeouts: LoopTimeouts?
    var timeouts: LoopTimeouts {
        get { ownTimeouts ?? snapshot.timeouts }
        set { ownTimeouts = newValue }
    }
    /// Whether no timeout can expire before the exchange is certain to have a task.
    var hasLongTimeouts: Bool {
        // Not by `timeouts`, which would count a reference.
        if let ownTimeouts {
            ownTimeouts.hasLongTimeouts
        } else {
            snapshot.timeouts.hasLongTimeouts
        }
    }
    /// When `timeouts.total` expires, in microseconds of the loop's clock.
    var totalDeadline = UInt64.max
    /// When `retry.per_try` expires for the attempt under way.
    var tryDeadline = UInt64.max
    /// When the attempt under way must have its response.
    var attemptDeadline: UInt64 { min(totalDeadline, tryDeadline) }
    var wishes = HopByHop.Wishes()
    var record: ExchangeRecord
    /// The record's attempts so far.
    var attempts: [AttemptRecord] = []

    /// Copies bodies on their way; nil unless the plan says so.
    var capture: ExchangeCapture?
    /// It is to be captured, and can't be.
    var lacksCapture = false
    /// The trace that it belongs to; nil unless it is traced.
    var trace: ExchangeTrace?
    /// The request as sent upstream, when it is remembered and adapters changed it.
    var sent: SentRequest?
    /// The index in the roster of exchanges under way.
    var indexInSet = Exchange.nowhere
    /// The exchange was cancelled; later failures are reported as that.
    private(set) var isCancelled = false
    /// The level of log lines for this exchange.
    var logLevel: LogSettings.Level
    /// Receives the end of the exchange, and starts a task when it needs one; nil when it has one.
    var keeper: (any ExchangeKeeper)?
    /// Where it stands, and who drives it.
    var course = Course()
    /// What it waits for, where its phase does not say that; see `park`.
    var awaited: LiveExchange.Wait?
    /// The client's target, or that of the redirect that is followed; nil before it is known.
    var target: KnownTarget?
    /// The attempt under way, until its response is passed on or decided on.
    var attempt: Attempt?
    /// When the body of the response began, in microseconds of the loop's clock.
    var deliveryBegun: UInt64 = 0
    /// Reports attempts and stages to monitors; nil when there are none.
    var stages: StageReporter?
    /// A monitor receives every stage.
    var isObserved = false

    // Under way; see `channelIsReady`.
    private(set) var upstream: (any Upstream)?
    /// The connection of the last attempt, once the exchange has ended.
    var lastUpstream: (any Upstream)?
    /// What is known of a connection that is being made.
    var connecting: ConnectionNotes?
    var upload: BodyRelay?
    var download: BodyRelay?
    /// The use of the cache; nil when there is none.
    var caching: CacheUse?
    /// The origin's side of a response that is stored while it is delivered.
    var filling: BodyRelay?
    /// The download does not come directly from upstream.
    var isServedFromStore = false
    var race = Race.over
    /// Response payload that was sent together with the head, before a relay was needed.
    var passedAtOnce: UInt64 = 0
    /// How long receiving the body of the origin's response took, in microseconds.
    var received: Int64?
    /// The whole response was sent without a relay.
    var isDelivered = false

    /// Whether there is a request: parsed from the client, or of lupin's own.
    private(set) var hasRequest: Bool
    /// When the request came, in microseconds of the loop's clock.
    let begun: UInt64
    private(set) var bytesBefore: (received: UInt64, sent: UInt64)
    private var upstreamBytesBefore: (received: UInt64, sent: UInt64) = (0, 0)

    /// Begins with `request`, or with nil when the client's bytes were not a valid request.
    init(
        _ request: ParsedRequest?,
        from client: Client,
        _ downstream: any Downstream,
        _ slot: ParkingSlot,
        _ resources: WorkerResources,
        _ snapshot: Snapshot,
        _ interceptedTunnel: InterceptedTunnel?,
        bytesBefore: UInt64
    ) {
        // What is asked of a parameter comes before the parameter is stored: stored where it is
        // used last, it is moved, and no reference is counted.
        if let request {
            self.request = request.takeHead()
            framing = request.framing
            expectsContinue = request.expectsContinue
            acceptsTrailers = request.acceptsTrailers
            hasRequest = true
        } else {
            self.request = RequestHead()
            framing = .none
            expectsContinue = false
            acceptsTrailers = false
            hasRequest = false
        }
        begun = resources.now
        // Its members are set here: an initializer that took them would return a copy.
        record = ExchangeRecord(id: resources.nextID(), startMicroseconds: resources.wallNow)
        if interceptedTunnel != nil { record.mode = .intercept }
        record.rules.version = snapshot.version
        record.headers = snapshot.headers
        logLevel = snapshot.logLevel
        self.bytesBefore = (bytesBefore, downstream.bytesSent)
        self.client = client
        self.downstream = downstream
        self.slot = slot
        self.resources = resources
        self.snapshot = snapshot
        self.interceptedTunnel = interceptedTunnel
    }

    /// Microseconds of the loop's clock, as of this batch of events.
    @inline(never) var now: UInt64 { resources.now }

    /// lupin's member of Via for a message; nil when the settings turn Via off.
    func via(received version: ProtocolVersion) -> ViaMember? {
        snapshot.addsVia ? resources.via(version) : nil
    }

    /// Registers the exchange as under way.
    func enter() {
        downstream.attach(self)
        resources.add(self)
    }

    /// Answers, tunnels or intercepts a CONNECT.
    func serveConnect(at origin: Origin) async throws(LupinError) -> Ending {
        // While a tape is played, no client gets a tunnel.
        let decision =
            resources.shared.tape == nil
            ? snapshot.decision(on: subject(at: origin), respond: plan?.respond)
            : .intercept(rule: nil, mayTunnel: false)
        switch decision {
        case .answer(let canned): try await send(canned)
        case .tunnel:
            if snapshot.demandsTrustRule { throw .noTrustRule(for: origin) }
            return try await goThrough(to: origin)
        case .intercept(let rule, let mayTunnel):
            guard let begun = try await intercept(for: rule, at: origin, mayTunnel: mayTunnel)
            else {
                // What a rule answers the CONNECT with is given instead of a tunnel.
                guard let canned = plan?.respond else { return try await goThrough(to: origin) }
                try await send(canned)
                return .keep
            }
            if try await isChallengedByParent(before: begun) { return .keep }
            interception = begun
            try beginInterception()
            return .intercept
        }
        return .keep
    }

    /// Tunnels a CONNECT, as long as what is inside may stay unseen.
    private func goThrough(to origin: Origin) async throws(LupinError) -> Ending {
        let passage = snapshot.judgesNames ? try passage(to: origin) : nil
        interception = try await tunnel(to: origin)
        interception?.parentTunnel = passage
        return interception == nil ? .keep : .intercept
    }

    /// Matches the rules against the client's original request, or against that of a redirect, and
    /// adopts everything they set except steps.
    func match(_ target: KnownTarget) {
        let origin = target.origin
        if snapshot.hasRules {
            let plan = resources.plans(of: snapshot).plan(
                for: subject(at: origin),
                at: origin,
                known: &target.rules
            )
            if let plan { adopt(plan) }
        }
        beginTrace()
        noteMatch()
        // All legs share the time limit that the first was given.
        if let total = timeouts.total, totalDeadline == .max {
            totalDeadline = total > .max - begun ? .max : begun + total
        }
    }

    /// The properties that rules are matched against.
    func subject(at origin: Origin) -> MatchSubject {
        MatchSubject(
            request,
            origin: origin,
            client: client.address,
            program: client.program,
            user: client.user
        )
    }

    private func adopt(_ plan: Plan) {
        self.plan = plan
        if record.rules.matched.isEmpty {
            record.rules.matched = plan.names
        } else {
            let before = record.rules.matched
            record.rules.matched = before + plan.names.filter { !before.contains($0) }
        }
        authentication = .of(plan, for: self)
        beginCapture(plan)
        record.isLogOff = plan.log.off ?? false
        // A log level never drops within an exchange, wherever a redirect leads.
        logLevel = max(hasMoved ? logLevel : .exchange, plan.log.level ?? snapshot.logLevel)
        if let headers = plan.log.headers { record.headers = headers }
        if plan.hasTimeouts {
            timeouts = LoopTimeouts(snapshot.settings.timeouts.applying(plan.timeouts))
        }
    }

    /// Cuts the exchange short: the client sees a broken connection or stream.
    func cancel() {
        isCancelled = true
        cut()
    }

    /// Ends the current wait.
    func cut() {
        slot.wake(.cut)
        promote(because: .cut)
    }

    /// The reasons that end a wait for a connection: an HTTP/1.0 client may half-close and stay,
    /// and a response that other exchanges wait for is fetched for them.
    var interruptions: WakeReasons {
        let isAlone = caching?.flight.map { !$0.hasFollowers } ?? true
        let leaving: WakeReasons =
            request.version == .http10 || !isAlone ? .cut : .downstreamClosed | .cut
        return race == .over ? leaving : leaving | .outrun
    }

    /// Whether the client has left, and no other request waits for the response.
    var hasClientLeft: Bool {
        downstream.isClientGone && caching?.flight?.hasFollowers != true
    }

    /// Changes the request's fields, moved out and back, which avoids the exclusivity check.
    func changeFields(_ change: (inout FieldSection) -> Void) {
        var fields = FieldSection()
        swap(&fields, &request.fields)
        change(&fields)
        swap(&fields, &request.fields)
    }

    /// Continues on another connection of the client's side: the inside of a CONNECT stream.
    func move(to inner: any Downstream, _ slot: ParkingSlot) {
        downstream.attach(nil)
        bytesBefore.received =
            inner.bytesReceived &- (downstream.bytesReceived &- bytesBefore.received)
        bytesBefore.sent = inner.bytesSent &- (downstream.bytesSent &- bytesBefore.sent)
        downstream = inner
        self.slot = slot
        inner.attach(self)
    }

    /// Returns the request's fields at the end, so that their memory serves the next request.
    func takeFields() -> FieldSection {
        var fields = FieldSection()
        swap(&fields, &request.fields)
        return fields
    }

    // MARK: The upstream connection

    /// Takes a connection for an attempt.
    func hold(_ upstream: any Upstream) {
        self.upstream = upstream
        upstreamBytesBefore = (upstream.bytesReceived, upstream.bytesSent)
        upstream.attach(slot, self)
    }

    /// Leaves the connection to another owner.
    func giveUpstream() -> (any Upstream)? { upstream.take() }

    /// Takes over the connection of another exchange, as if it had always been this one's.
    func takeUpstream(of other: Exchange) {
        guard let taken = other.giveUpstream() else { return }
        hold(taken)
        upstreamBytesBefore = other.upstreamBytesBefore
    }

    /// Whether bytes of the attempt under way were sent.
    var hasSentUpstream: Bool { (upstream?.bytesSent ?? 0) > upstreamBytesBefore.sent }

    /// Drops the connection early: it can't be used again.
    func dropUpstream() {
        guard let upstream else { return }
        upload?.cancel()
        filling?.cancel()
        // A download from the store continues.
        if !isServedFromStore { download?.cancel() }
        countUpstreamBytes(upstream)
        upstream.abort()
        self.upstream = nil
    }

    /// Releases the exchange's connection at the end.
    func release(_ upstream: any Upstream) {
        let isComplete = (filling ?? download).map { $0.state == .finished } ?? isDelivered
        passOn(upstream, isResponseComplete: isComplete)
    }

    /// Releases the connection: it is kept in the pool if the exchange on it ended cleanly.
    func passUpstreamOn(isResponseComplete: Bool) {
        if let upstream { passOn(upstream, isResponseComplete: isResponseComplete) }
    }

    private func passOn(_ upstream: any Upstream, isResponseComplete: Bool) {
        noteBodyFlaws()
        // A body that was announced but never requested is still due on the connection.
        let isUploadComplete = upload.map { $0.state == .finished } ?? framing.isEmpty
        guard record.outcome == .ok, isUploadComplete, isResponseComplete else {
            return dropUpstream()
        }
        countUpstreamBytes(upstream)
        upstream.release(to: resources.pool, or: downstream)
        self.upstream = nil
    }

    private func countUpstreamBytes(_ upstream: any Upstream) {
        record.bytes.upstreamIn &+= upstream.bytesReceived &- upstreamBytesBefore.received
        record.bytes.upstreamOut &+= upstream.bytesSent &- upstreamBytesBefore.sent
    }
}

extension Exchange {
    /// Copies the request of another exchange, which this one works for.
    func inherit(from outer: Exchange) {
        client = outer.client
        request = outer.request
        clientRequest = outer.clientRequest
        redirectedTo = outer.redirectedTo
        hasRequest = true
        plan = outer.plan
        authentication = plan.flatMap { .of($0, for: self) }
        timeouts = outer.timeouts
        totalDeadline = outer.totalDeadline
        wishes = outer.wishes
        record.origin = outer.record.origin
        record.rules.matched = outer.record.rules.matched
    }

    /// The bytes on the client's connection so far.
    var clientBytes: (clientIn: UInt64, clientOut: UInt64) {
        (downstream.bytesReceived &- bytesBefore.received, downstream.bytesSent &- bytesBefore.sent)
    }
}
