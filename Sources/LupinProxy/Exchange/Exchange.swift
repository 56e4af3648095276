// The story of one exchange: from a request's head to its record.
import LupinCore
import LupinIO
import LupinWire

/// One client request and the final response the client sees, with the attempts in between.
final class Exchange: Rostered {
    var client: Client
    private(set) var downstream: any Downstream
    /// The only place where the exchange waits.
    private(set) var slot: ParkingSlot
    let resources: WorkerResources
    let snapshot: Snapshot
    /// The intercepted CONNECT that the request came through; nil for none.
    let enclosure: Enclosure?
    /// Set when this is a CONNECT that is intercepted.
    private(set) var interception: Interception?
    /// The client's request: never changed, but for the marks on fields that stay behind.
    ///
    /// After a redirect that was followed it is the request that the redirect asked for.
    var request: RequestHead
    var framing: BodyFraming
    /// The client's own request, once a redirect was followed.
    var clientRequest: RequestHead?
    /// The URLs that were asked for so far, where redirects are followed.
    var visited: [String] = []
    /// What is remembered of attempts that failed.
    var retry = RetryProgress()
    /// The credentials of the plan; nil where it names none.
    var authentication: AuthenticationInterceptor?
    /// A parent proxy's challenge was answered.
    var hasAnsweredParent = false
    /// A redirect was followed.
    var hasMoved: Bool { clientRequest != nil }
    /// Whether somebody may want to send the request's body again for the sake of a response.
    var mayRepeatBody: Bool {
        resources.shared.interceptor != nil || plan?.mayRepeatBody ?? false
    }
    let expectsContinue: Bool
    let acceptsTrailers: Bool

    /// nil when no rule matches.
    var plan: Plan?
    var waits: Waits
    /// When `timeouts.total` is over, in microseconds of the loop's clock.
    var totalDeadline = UInt64.max
    /// When `retry.per_try` is over for the attempt under way.
    var tryDeadline = UInt64.max
    /// When the attempt under way has to have its response.
    var attemptDeadline: UInt64 { min(totalDeadline, tryDeadline) }
    var wishes = HopByHop.Wishes()
    /// The protocol that an extended CONNECT asks for (RFC 8441 §4).
    var protocolName: String?
    /// What proves to us that the origin means the WebSocket that we asked for; nil where that is
    /// the client's to see.
    var webSocketKey: String?
    var record: ExchangeRecord
    /// What a refusal says besides the error: a challenge, or when to try again.
    var refusalField: (name: String, value: String)?
    /// The record's attempts so far.
    var attempts: [AttemptRecord] = []

    /// The request as it went upstream, where history is kept and adapters changed it.
    var sentHead: RequestHead?
    /// Where it stands among the exchanges under way.
    var place = Exchange.nowhere
    /// Somebody had it cut; what fails from then on fails for that.
    private(set) var isCancelled = false
    /// What gets a line of its own.
    var logLevel: LogSettings.Level
    /// Who hears of the end, and finds it a task when it needs one; nil where it has one already.
    var keeper: (any ExchangeKeeper)?
    /// The attempt whose response is awaited without a task.
    var underWay: (attempt: Attempt, target: KnownTarget)?
    /// When the body of the response began, in microseconds of the loop's clock.
    var deliveryBegun: UInt64 = 0
    /// Whom attempts and stages are told to; nil where nobody wants to know.
    var stages: StageReporter?
    /// Somebody wants to know every stage.
    var isObserved = false

    // Under way; see `channelIsReady`.
    private(set) var upstream: (any Upstream)?
    /// A connection that is being made: TLS with the origin, a tunnel through a parent proxy.
    var connecting: Channel?
    var upload: BodyRelay?
    var download: BodyRelay?
    var compressedUpload: CompressedBody?
    /// Whose a private response of the cache is.
    var cacheOwner = ClientUser.unknown
    /// What the exchange has to do with the cache; nil for nothing.
    var caching: CacheUse?
    /// The origin's side of a response that is delivered from the store while it comes.
    var filling: BodyRelay?
    /// What is downloaded does not come from upstream.
    var isServedFromStore = false
    var race = Race.over
    var resumed = ResumeProgress()
    var throttledUpload: ThrottledSink?
    var throttledDownload: ThrottledSink?
    /// Response payload that left together with the head, before any relay was needed.
    var passedAtOnce: UInt64 = 0
    /// How long the body of the origin's response took, in microseconds.
    var received: Int64?
    /// The response went out whole without a relay.
    var isDelivered = false

    /// Whether a request could be made of what the client sent, or of what lupin wants itself.
    private(set) var hasRequest: Bool
    /// When the request came, in microseconds of the loop's clock.
    let begun: UInt64
    private(set) var bytesBefore: (received: UInt64, sent: UInt64)
    private var upstreamBytesBefore: (received: UInt64, sent: UInt64) = (0, 0)

    /// Begins with `request`, or with nil when none could be made of what the client sent.
    init(
        _ request: ParsedRequest?,
        from client: Client,
        _ downstream: any Downstream,
        _ slot: ParkingSlot,
        _ resources: WorkerResources,
        _ snapshot: Snapshot,
        _ enclosure: Enclosure?,
        bytesBefore: UInt64
    ) {
        self.client = client
        self.downstream = downstream
        self.slot = slot
        self.resources = resources
        self.snapshot = snapshot
        self.enclosure = enclosure
        self.request = request?.takeHead() ?? RequestHead()
        framing = request?.framing ?? .none
        expectsContinue = request?.expectsContinue ?? false
        acceptsTrailers = request?.acceptsTrailers ?? false
        waits = snapshot.waits
        logLevel = snapshot.logLevel
        begun = resources.loop.now
        self.bytesBefore = (bytesBefore, downstream.bytesSent)
        record = ExchangeRecord(id: resources.nextID(), startMicroseconds: resources.wallNow)
        record.rules.version = snapshot.version
        record.headers = snapshot.headers
        hasRequest = request != nil
        if enclosure != nil { record.mode = .intercept }
    }

    /// Where a task takes the exchange up.
    enum Entry {
        /// Nothing was done yet; with an authenticator the client must say who it is.
        case request(behind: Authenticator?)
        /// It is known what the request is for.
        case target(Target)
        /// The rules were asked.
        case match(KnownTarget)
        /// An attempt has begun.
        case attempt(BegunAttempt, KnownTarget)
        /// The response's body is on its way.
        case body(BodyRelay)
        case failure(LupinError)
    }

    /// Begins: from now on it is among those under way.
    func enter() {
        downstream.attach(self)
        resources.live.add(self)
    }

    /// Runs the exchange to its end and writes its record.
    func run(from entry: Entry) async -> Ending {
        do throws(LupinError) {
            switch entry {
            case .request(let authenticator):
                if let authenticator { try await authenticate(at: authenticator) }
                try adoptProtocol()
                if try await serve(try admit()) == .enclose { return .enclose }
            case .target(let target):
                if try await serve(target) == .enclose { return .enclose }
            case .match(let known):
                if try await serve(known) == .enclose { return .enclose }
            case .attempt(let begun, let known): try await forward(to: known, goingOnWith: begun)
            case .body(let relay): try await bring(relay)
            case .failure(let error): throw error
            }
        } catch {
            await fail(error)
        }
        return finish()
    }

    private func serve(_ target: Target) async throws(LupinError) -> Ending {
        guard case .elsewhere(let known) = target else {
            try await answerItself(target)
            return .keep
        }
        record.origin = known.origin
        match(known)
        return try await serve(known)
    }

    /// Does what the rules say; `.enclose` where it goes on inside a CONNECT.
    private func serve(_ known: KnownTarget) async throws(LupinError) -> Ending {
        if let policy = purgedCache {
            try await purge(policy, at: known)
            return .keep
        }
        try await checkCredentialUse(at: known.origin)
        let mayEnclose = request.method == .connect && plan?.respond?.isRefusal != true
        if mayEnclose, let interception = try await decideInterception(at: known.origin) {
            self.interception = interception
            try beginInterception()
            return .enclose
        }
        if let canned = plan?.respond {
            try await send(canned)
        } else if request.method == .connect {
            try await tunnel(to: known.origin)
        } else if let policy = plan?.cache {
            try await answerThroughCache(policy, to: known)
        } else {
            try await forward(to: known)
        }
        return .keep
    }

    private func forward(
        to known: KnownTarget,
        goingOnWith begun: BegunAttempt? = nil
    ) async throws(LupinError) {
        let obtained = try await obtainResponse(to: known, goingOnWith: begun)
        if let obtained, obtained.response.status == 101 {
            try await upgrade(obtained.response)
        } else if let obtained {
            try await deliver(obtained)
        } else if let canned = plan?.respond {
            try await send(canned)
        }
    }

    /// Answers what never became a request, or whose client has left already.
    func refuse(_ error: LupinError) async -> Ending {
        enter()
        record.origin = requestedOrigin
        return await run(from: .failure(error))
    }

    /// Matches the rules against the client's original request, or against the one that a redirect
    /// asks for, and takes what they say besides steps.
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
        noteMatch()
        // All legs together have the time that the first was given.
        if let total = waits.total, totalDeadline == .max {
            totalDeadline = total > .max - begun ? .max : begun + total
        }
    }

    /// What rules are asked about.
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
        authentication = AuthenticationInterceptor(plan, for: self)
        record.isLogOff = plan.log.off ?? false
        // What was begun is told to its end, wherever a redirect leads.
        logLevel = max(hasMoved ? logLevel : .exchange, plan.log.level ?? snapshot.logLevel)
        if let headers = plan.log.headers { record.headers = headers }
        if plan.timeouts != TimeoutOverrides() {
            waits = Waits(snapshot.settings.timeouts.applying(plan.timeouts))
        }
    }

    /// Cuts the exchange short: the client sees a broken connection or stream.
    func cancel() {
        isCancelled = true
        cut()
    }

    /// Ends whatever it waits for.
    func cut() {
        slot.wake(.cut)
        callTask(because: .cut)
    }

    /// What ends a wait for a connection: an HTTP/1.0 client may close its side and stay, and where
    /// others wait for the same answer it is fetched for them.
    var interruptions: WakeReasons {
        let isAlone = caching?.flight.map { !$0.hasFollowers } ?? true
        let leaving: WakeReasons =
            request.version == .http10 || !isAlone ? .cut : .downstreamClosed | .cut
        return race == .over ? leaving : leaving | .outrun
    }

    /// Changes the request's fields.
    ///
    /// Moved out and back, which spares run-time checks of exclusivity.
    func changeFields(_ change: (inout FieldSection) -> Void) {
        var fields = FieldSection()
        swap(&fields, &request.fields)
        change(&fields)
        swap(&fields, &request.fields)
    }

    /// Goes on with another connection for the client's side: the inside of a CONNECT stream.
    func move(to inner: any Downstream, _ slot: ParkingSlot) {
        downstream.attach(nil)
        bytesBefore.received =
            inner.bytesReceived &- (downstream.bytesReceived &- bytesBefore.received)
        bytesBefore.sent = inner.bytesSent &- (downstream.bytesSent &- bytesBefore.sent)
        downstream = inner
        self.slot = slot
        inner.attach(self)
    }

    /// Gives the request's fields away, when all is over: their memory serves the next request.
    func takeFields() -> FieldSection {
        var fields = FieldSection()
        swap(&fields, &request.fields)
        return fields
    }

    // MARK: The upstream connection

    /// Holds a connection for an attempt.
    func hold(_ upstream: any Upstream) {
        self.upstream = upstream
        upstreamBytesBefore = (upstream.bytesReceived, upstream.bytesSent)
        upstream.attach(slot, self)
    }

    /// Goes on with the connection of another exchange, as if it had always been this one's.
    func takeUpstream(of other: Exchange) {
        guard let taken = other.upstream else { return }
        other.upstream = nil
        hold(taken)
        upstreamBytesBefore = other.upstreamBytesBefore
    }

    /// Whether bytes of the attempt under way have left.
    var hasSentUpstream: Bool { (upstream?.bytesSent ?? 0) > upstreamBytesBefore.sent }

    /// Lets go of the connection in the middle of things: it is of no more use.
    func dropUpstream() {
        guard let upstream else { return }
        upload?.cancel()
        filling?.cancel()
        // Who is served from the store goes on.
        if !isServedFromStore { download?.cancel() }
        countUpstreamBytes(upstream)
        upstream.abort()
        self.upstream = nil
    }

    /// Lets go of the connection at the end.
    func releaseUpstream() {
        let isDownloadComplete =
            (filling ?? download).map { $0.state == .finished } ?? isDelivered
        passUpstreamOn(isResponseComplete: isDownloadComplete)
    }

    /// Lets go of the connection: it is kept for others if what it carried came to a clean end.
    func passUpstreamOn(isResponseComplete: Bool) {
        guard let upstream else { return }
        // A body that was announced and never asked for is still due on the connection.
        let isUploadComplete = upload.map { $0.state == .finished } ?? framing.isEmpty
        guard record.outcome == .ok, isUploadComplete, isResponseComplete else {
            return dropUpstream()
        }
        countUpstreamBytes(upstream)
        upstream.release(to: resources.pool)
        self.upstream = nil
    }

    private func countUpstreamBytes(_ upstream: any Upstream) {
        record.bytes.upstreamIn &+= upstream.bytesReceived &- upstreamBytesBefore.received
        record.bytes.upstreamOut &+= upstream.bytesSent &- upstreamBytesBefore.sent
    }
}

extension Exchange: ChannelPump {
    /// Moves bodies while the task is parked, and the whole exchange where there is none.
    func channelIsReady(_ channel: Channel) {
        pumpBodies()
        if isUnattended { goOn() }
    }

    /// Moves what can be moved now, and the rest after others had their turn.
    func pumpBodies() {
        let isUploadResting = upload?.pump() ?? true
        let isFillingResting = filling?.pump() ?? true
        let isDownloadResting = download?.pump() ?? true
        wakeForThrottle()
        noteProgress()
        if isUploadResting && isFillingResting && isDownloadResting { return }
        // No event will tell of bytes that are there already. Relays that have ended rest.
        slot.loop.later { [self] in
            pumpBodies()
            if isUnattended { goOn() }
        }
    }
}

extension Exchange {
    /// Attaches the request of another exchange, for which this one works.
    func standIn(for outer: Exchange) {
        client = outer.client
        request = outer.request
        clientRequest = outer.clientRequest
        hasRequest = true
        plan = outer.plan
        authentication = plan.flatMap { AuthenticationInterceptor($0, for: self) }
        waits = outer.waits
        totalDeadline = outer.totalDeadline
        wishes = outer.wishes
        record.origin = outer.record.origin
        record.rules.matched = outer.record.rules.matched
    }

    /// What moved on the client's connection so far.
    var clientBytes: (clientIn: UInt64, clientOut: UInt64) {
        (
            downstream.bytesReceived &- bytesBefore.received,
            downstream.bytesSent &- bytesBefore.sent
        )
    }
}
