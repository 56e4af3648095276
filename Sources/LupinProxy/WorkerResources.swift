// The state that the connections of one worker share; confined to the worker's loop.
import LupinCore
import LupinIO
import LupinPolicy
import LupinRecords
import LupinTLS
import LupinUpstream
import LupinWire

/// One worker's pool, resolver, record sink and open connections.
final class WorkerResources: UpstreamWorker {
    let loop: EventLoop
    let shared: Shared
    // Those of `shared`, stored here: one reference less to count for every exchange.
    let history: ExchangeHistory
    private let vias: ViaMembers
    let pool: UpstreamPool
    let windowGrowth = WindowGrowth()
    let servers: KnownServers
    let resolver: Resolver
    /// The snapshot that new exchanges begin with: this worker's copy of `shared.snapshot`.
    private(set) var snapshot: Snapshot
    private let authorities = AuthorityCache()
    private var plans: (snapshot: Snapshot, cache: PlanCache)?
    /// The exchanges that wait for a network.
    let networkWaiters: NetworkWaiters
    let sink: RecordSink
    /// The monitors that are notified of exchanges while they run.
    let monitors: StageMonitors
    /// What exchanges have for the capture.
    let captured: CaptureBuffer
    /// The way to the cache that several machines share; nil when there is none.
    private(set) var redis: RedisClient?
    /// What exchanges have for the exporter.
    private let traced: TelemetryBuffer
    /// The slots of requests to the collector that run here.
    var exports: [ObjectIdentifier: ParkingSlot] = [:]
    /// The generation of the secrets that the sink redacts.
    private var knownSecrets = 0
    /// The exchanges under way.
    let live = LiveExchanges()
    /// Counts of the exchanges that ended, by outcome.
    private(set) var tally = Tally()
    private let random = RandomSource()
    private let workerCount: Int
    private var restedSinceTrim = 0
    /// After this many connections came to rest or ended, about 1 MiB is free: enough to trim the
    /// heap.
    private static let restsPerTrim = 256
    private let connections = IndexedSet<DownstreamConnection>()
    /// Chooses the connections to close when there are too many.
    let eviction = ConnectionEviction()
    private var ownWork: [ObjectIdentifier: ParkingSlot] = [:]
    private(set) var isDraining = false
    /// The drain time is over: no task may wait any longer.
    private(set) var isCut = false
    private(set) var isClosed = false
    private var flushTimer: ParkingSlot?
    /// The slot of the task that closes idle connections.
    let housekeeping: ParkingSlot
    /// The slot of the task that watches exchanges without a task; nil while there is none.
    var watchdog: ParkingSlot?
    private var date: (second: Int64, text: String) = (-1, "")
    private var wall: (askedAt: UInt64, offset: Int64)

    init(loop: EventLoop, shared: Shared, workerCount: Int) {
        self.loop = loop
        self.shared = shared
        history = shared.history
        servers = shared.servers
        vias = shared.via
        keepsHistory = shared.history.isOn
        wall = (loop.now, SystemCall.wallMicroseconds() &- Int64(loop.now))
        self.workerCount = workerCount
        snapshot = shared.snapshot
        let settings = snapshot.settings
        pool = UpstreamPool(
            on: loop,
            servers: servers,
            idlePerHostMax: settings.upstream.poolShare(of: workerCount),
            idleLifetime: settings.upstream.poolIdle
        )
        loop.pipes.limit(directionBytes: settings.limits.streamBufferBytes)
        networkWaiters = NetworkWaiters(on: loop)
        housekeeping = ParkingSlot(on: loop)
        resolver = Resolver(on: loop, threads: shared.resolver)
        sink = RecordSink(
            writer: shared.records,
            log: settings.log,
            style: shared.recordStyle(settings.log),
            redactor: snapshot.redactor
        )
        captured = CaptureBuffer(shared.captures)
        traced = TelemetryBuffer(shared.telemetry)
        monitors = StageMonitors(LoopLocal(sink, of: loop.executor), and: shared.eventMonitors)
        // Unowned: only exchanges of this worker call it. References to an object that has weak
        // ones are slow to count.
        captured.flushSoon = { [unowned self] in handOverSoon() }
        adoptSharedTier()
        traced.flushSoon = { [unowned self] in handOverSoon() }
    }

    /// Uses another snapshot for new exchanges from now on.
    func adopt(_ snapshot: Snapshot) {
        self.snapshot = snapshot
        // Secrets that came up at run time are added when `redactor` is next read.
        knownSecrets = 0
        let settings = snapshot.settings
        pool.idlePerHostMax = settings.upstream.poolShare(of: workerCount)
        pool.idleLifetime = settings.upstream.poolIdle
        loop.pipes.limit(directionBytes: settings.limits.streamBufferBytes)
        sink.adopt(
            log: settings.log,
            style: shared.recordStyle(settings.log),
            redactor: snapshot.redactor
        )
        adoptSharedTier()
    }

    private func adoptSharedTier() {
        let tier = shared.responses.shared
        guard redis?.tier !== tier else { return }
        redis?.close()
        redis = tier.map { RedisClient($0, self) }
    }

    /// Whether ended exchanges are kept in memory.
    let keepsHistory: Bool

    /// A random number, for decisions that must differ between processes.
    func chance() -> UInt64 { random.next() }

    /// Microseconds of the loop's clock, as of this batch of events.
    ///
    /// Not inlined, like others that only ask a member of this object: an inlined one would retain
    /// the member, many times an exchange.
    @inline(never) var now: UInt64 { loop.now }

    /// The deadline that lies `microseconds` ahead; `.max` is never.
    @inline(never) func deadline(in microseconds: UInt64) -> UInt64 {
        loop.deadline(in: microseconds)
    }

    /// The target that `authority` names; nil when it is not a valid host and port.
    @inline(never) func target(_ scheme: Scheme, _ authority: Span<UInt8>) -> KnownTarget? {
        authorities.target(scheme, authority)
    }

    /// lupin's member of Via for a message that was received in `version`.
    @inline(never) func via(_ version: ProtocolVersion) -> ViaMember { vias.member(version) }

    /// See `EventLoop.inStep`.
    @inline(never) func inStep(_ step: TurnStep, _ work: any TurnWork) { loop.inStep(step, work) }

    @inline(never) func add(_ exchange: Exchange) { live.add(exchange) }

    @inline(never) func remove(_ exchange: Exchange) { live.remove(exchange) }

    /// Keeps an exchange that has ended in memory; see `ExchangeHistory.append`.
    @inline(never) func remember(
        _ record: inout ExchangeRecord,
        _ fields: inout ExchangeRecord.Fields,
        changed: SentRequest?
    ) {
        history.append(&record, &fields, changed: changed)
    }

    /// An idle connection for the direct way to `target`.
    @inline(never) func lease(directlyTo target: KnownTarget) -> UpstreamHTTP1? {
        pool.lease(directlyTo: target)
    }

    @inline(never) func nextID() -> ExchangeID {
        ExchangeID(high: random.next(), low: random.next())
    }

    /// The time of day in microseconds since 1970, as of this batch of events.
    ///
    /// Reads the kernel's clock at most twice a second; the loop's clock counts in between.
    @inline(never) var wallNow: Int64 {
        let now = loop.now
        if now &- wall.askedAt >= 500_000 {
            wall = (now, SystemCall.wallMicroseconds() &- Int64(now))
        }
        return Int64(now) &+ wall.offset
    }

    /// The same time in seconds.
    var wallSecond: Int64 { wallNow / 1_000_000 }

    /// The current date in HTTP's format; formatted at most once a second.
    var dateText: String {
        let second = wallSecond
        if second != date.second { date = (second, HTTPDate.text(second)) }
        return date.text
    }

    /// The plans made from a snapshot's rules; those of an older snapshot are not cached.
    func plans(of snapshot: Snapshot) -> PlanCache {
        if let plans, plans.snapshot === snapshot { return plans.cache }
        let cache = PlanCache(snapshot.rules)
        if snapshot === self.snapshot { plans = (snapshot, cache) }
        return cache
    }

    // MARK: Records

    /// Lines are handed to the writer this long after they were made, at the latest.
    private static let flushDelay = Duration.milliseconds(20)

    /// Redacts secrets in all output of this worker, including secrets that came up at run time.
    var redactor: Redactor {
        adoptSecrets()
        return sink.redactor
    }

    private func adoptSecrets() {
        let generation = shared.secrets.current
        guard generation != knownSecrets else { return }
        knownSecrets = generation
        sink.adopt(redactor: shared.secrets.redactor(of: snapshot))
        shared.informCapture()
    }

    /// Writes the log line of an exchange that has ended, and counts it.
    ///
    /// `rule` is the number of its rule in metrics, and `firstByte` when the client got the first
    /// byte of the response.
    ///
    /// - Returns: With `returnsLine`, the line as `RecordSink` returns it.
    func record(
        _ record: borrowing ExchangeRecord,
        rule: Int,
        firstByte: Int64?,
        returnsLine: Bool
    ) -> [UInt8] {
        adoptSecrets()
        tally.note(record, rule: rule, firstByte: firstByte)
        switch record.outcome {
        case .denied: noteRefusal(record)
        case .error where record.error?.kind == .httpRequestError: noteRefusal(record)
        case .ok, .error, .aborted, .truncated: break
        }
        let line = sink.record(record, returnsLine: returnsLine)
        flushSoon()
        return line
    }

    /// Notes what lupin refused to a confined command by a setting, which is told at its end.
    private func noteRefusal(_ record: borrowing ExchangeRecord) {
        guard shared.redirected != nil, let origin = record.origin else { return }
        let asked = asked(
            record.request,
            isRedirected: record.client.isRedirected,
            isAlone: record.standIns?.elsewhere.isEmpty == false
        )
        noteRefusal(of: asked, to: origin, of: record.client.program, reason: record.error?.detail)
    }

    /// Notes what was refused to a confined command, and by which rule or why.
    func noteRefusal(
        of asked: @autoclosure () -> String,
        to origin: Origin,
        of program: String?,
        rule: @autoclosure () -> String = "",
        reason: String? = nil
    ) {
        guard let redirected = shared.redirected else { return }
        let target = "\(origin.host.text):\(origin.port)\(asked())\(rule())"
        redirected.note(.refused, program, target, reason: reason)
    }

    /// The method and the path, where a rule may be about them rather than about the host, or
    /// where something of this request `isAlone` the reason.
    func asked(_ request: RequestHead?, isRedirected: Bool, isAlone: Bool = false) -> String {
        switch request?.method {
        case nil: return ""
        case .get where !isAlone, .head where !isAlone: return ""
        // A client that knows of no proxy sent none.
        case .connect: return isRedirected ? "" : ": CONNECT"
        case let method?:
            let path = request?.pathText.prefix { $0 != "?" }.prefix(200)
            return ": \(method.token) \(redactor.cleaned(path.map(String.init) ?? ""))"
        }
    }

    /// Hands an exchange that has ended to the exporter.
    func export(
        _ record: borrowing ExchangeRecord,
        at context: SpanContext?,
        by telemetry: TelemetryPlan
    ) {
        guard context != nil || (telemetry.export.logs && record.isDue) else { return }
        traced.add(copy record, context)
    }

    /// Counts an exchange that was given a task.
    func count(_ cause: Need) { tally.note(cause) }

    /// Schedules a hand-over of the pending lines within `flushDelay`.
    func flushSoon() {
        guard sink.askForFlush() else { return }
        startFlushTimer()
    }

    /// Schedules a hand-over of what was captured within `flushDelay`.
    func handOverSoon() { startFlushTimer() }

    private func startFlushTimer() {
        if flushTimer == nil { flushTimer = startFlushing() }
        flushTimer?.wake(.answered)
    }

    private func startFlushing() -> ParkingSlot {
        let slot = ParkingSlot(on: loop)
        let sink = LoopLocal(sink, of: loop.executor)
        let captured = LoopLocal(captured, of: loop.executor)
        let traced = LoopLocal(traced, of: loop.executor)
        let timer = LoopLocal(slot, of: loop.executor)
        Task.immediate(executorPreference: loop.executor) {
            let slot = timer.value
            while await slot.park(for: .answered | .cut) == .answered {
                let due = slot.loop.deadline(in: WorkerResources.flushDelay)
                let woken = await slot.park(for: .cut, until: due)
                sink.value.flush()
                captured.value.flush()
                traced.value.flush()
                slot.forget(.answered)
                if woken.meets(.cut) { return }
            }
        }
        return slot
    }

    // MARK: Connections

    /// The slot to wake when the last connection has ended.
    var whenEmpty: ParkingSlot?

    /// The client connections that are open here.
    var openConnections: [DownstreamConnection] { connections.all }

    var hasConnections: Bool { !connections.isEmpty || !ownWork.isEmpty }

    /// The connections on which no request has come yet.
    var freshConnections = 0

    /// Whether other workers should have the next clients.
    ///
    /// One client after the other goes to the same worker, which has a connection to the origin
    /// for the next of them; clients at the same time are spread, and so are many idle ones, which
    /// may have work later.
    var hasWorkEnough: Bool {
        if live.count + freshConnections >= Self.clientsAtATime { return true }
        let share = shared.connections.count / workerCount
        return connections.count > Self.idleClients + 2 * share
    }

    private static let clientsAtATime = 2
    private static let idleClients = 8

    func add(_ connection: DownstreamConnection) {
        connections.add(connection)
        freshConnections += 1
        shared.connections.opened()
        noteHolder(of: connection)
    }

    func remove(_ connection: DownstreamConnection) {
        guard connections.remove(connection) else { return }
        if connection.isFresh { freshConnections -= 1 }
        shared.connections.closed()
        // With its streams, a connection of HTTP/2 may have held much.
        restedSinceTrim += connection.http2 == nil ? 1 : Self.restsPerTrim / 4
        if let holder = connection.holder.take() { shared.connections.release(holder) }
        if !hasConnections { whenEmpty?.wake(.answered) }
    }

    /// Registers lupin's own work, such as fetching a token: a stop waits for it too.
    func beginOwnWork(_ slot: ParkingSlot) {
        ownWork[ObjectIdentifier(slot)] = slot
        if isCut { slot.wake(.cut) }
    }

    func endOwnWork(_ slot: ParkingSlot) {
        ownWork[ObjectIdentifier(slot)] = nil
        if !hasConnections { whenEmpty?.wake(.answered) }
    }

    /// Starts a new task for a connection that rested; the worker sets this closure.
    var resume: (DownstreamConnection) -> Void = { _ in }

    /// Closes resting connections that have timed out; closes all of them when lupin stops.
    func sweepConnections() {
        for connection in connections.all {
            connection.endRest(isStopping: isDraining)
        }
        guard restedSinceTrim >= Self.restsPerTrim else { return }
        restedSinceTrim = 0
        SystemCall.trimHeap()
    }

    /// Counts a connection whose task ended and returned its memory to the heap.
    func connectionRests() { restedSinceTrim += 1 }

    /// Drains the connections of closed listeners: idle ones end now, busy ones after their
    /// exchange.
    func drainClosedListeners() {
        for connection in connections.all where connection.isLeaving {
            if !connection.endRest(isStopping: true) { connection.drain() }
        }
    }

    /// Microseconds that a client has for a last request when lupin stops and another process takes
    /// over the listeners.
    ///
    /// A client that finds a connection ended repeats its request on another one.
    static let lastRequestTime: UInt64 = 500_000
    /// The same for the first request of a connection, of which a client expects that it succeeds.
    static let firstRequestTime: UInt64 = 2_000_000

    /// Drains all connections: idle ones end now, busy ones after their exchange.
    func beginDraining() {
        isDraining = true
        sweepConnections()
        for connection in connections.all { connection.drain() }
    }

    /// Ends everything that still runs now.
    func cutConnections() {
        isCut = true
        for connection in connections.all { connection.cut() }
        for exchange in live.all { exchange.cut() }
        for slot in Array(ownWork.values) { slot.wake(.cut) }
    }

    func close() {
        isClosed = true
        flushTimer?.wake(.cut)
        housekeeping.wake(.cut)
        watchdog?.wake(.cut)
        sink.flush()
        captured.flush()
        traced.flush()
        pool.closeAll()
        redis?.close()
        redis = nil
        eviction.forget()
    }
}

extension UpstreamSettings {
    /// How many idle connections to one host each of `workers` workers may keep.
    fileprivate func poolShare(of workers: Int) -> Int {
        max(1, (poolPerHost + workers - 1) / workers)
    }
}
