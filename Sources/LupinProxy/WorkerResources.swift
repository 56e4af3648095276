// What the connections of one worker use together; confined to the worker's loop.
import LupinCore
import LupinIO
import LupinTLS
import LupinWire

/// One worker's pool, resolver, record sink and open connections.
final class WorkerResources {
    let loop: EventLoop
    let shared: Shared
    let pool: UpstreamPool
    let windowGrowth = WindowGrowth()
    let resolver: Resolver
    /// The snapshot that new exchanges begin with: this worker's copy of `shared.snapshot`.
    private(set) var snapshot: Snapshot
    let authorities = AuthorityCache()
    private var plans: (snapshot: Snapshot, cache: PlanCache)?
    /// Who waits for a network.
    let networkWaiters: NetworkWaiters
    let sink: RecordSink
    /// Who is told of exchanges while they run.
    let monitors: StageMonitors
    /// The generation of secrets that the sink hides.
    private var knownSecrets = 0
    /// The exchanges under way.
    let live = LiveExchanges()
    /// What became of those that ended.
    private(set) var tally = Tally()
    private let random = RandomSource()
    private let workerCount: Int
    private var restedSinceTrim = 0
    /// So many connections that came to rest leave 1 MiB behind: worth asking the allocator.
    private static let restsPerTrim = 256
    private let connections = Roster<DownstreamConnection>()
    /// Which of them go when there are too many.
    let crowding = Crowding()
    private var ownWork: [ObjectIdentifier: ParkingSlot] = [:]
    private(set) var isDraining = false
    /// The drain time is over: nobody waits for anything any more.
    private(set) var isCut = false
    private(set) var isClosed = false
    private var flushTimer: ParkingSlot?
    /// Where it is waited for exchanges without a task; nil where there were none lately.
    var attendant: ParkingSlot?
    private var date: (second: Int64, text: String) = (-1, "")
    private var wall: (askedAt: UInt64, offset: Int64)

    init(loop: EventLoop, shared: Shared, workerCount: Int) {
        self.loop = loop
        self.shared = shared
        wall = (loop.now, SystemCall.wallMicroseconds() &- Int64(loop.now))
        self.workerCount = workerCount
        snapshot = shared.snapshot
        let settings = snapshot.settings
        pool = UpstreamPool(
            on: loop,
            tickets: shared.tickets,
            idlePerHostMax: settings.upstream.poolShare(of: workerCount),
            idleLifetime: settings.upstream.poolIdle
        )
        loop.pipes.limit(directionBytes: settings.limits.streamBufferBytes)
        networkWaiters = NetworkWaiters(on: loop)
        resolver = Resolver(on: loop, threads: shared.resolver)
        sink = RecordSink(
            writer: shared.records,
            log: settings.log,
            style: shared.recordStyle(settings.log),
            redactor: snapshot.redactor
        )
        monitors = StageMonitors(LoopLocal(sink, of: loop.executor), and: shared.eventMonitors)
    }

    /// Begins new exchanges by another snapshot from now on.
    func adopt(_ snapshot: Snapshot) {
        self.snapshot = snapshot
        // Those that came up since are added when something is said.
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
    }

    /// Whether what exchanges were is kept in memory.
    var keepsHistory: Bool { shared.history.isOn }

    /// A random number, for decisions that must not be the same everywhere.
    func chance() -> UInt64 { random.next() }

    func nextID() -> ExchangeID { ExchangeID(high: random.next(), low: random.next()) }

    /// Time of day in microseconds since 1970, as of this batch of events.
    ///
    /// The kernel is asked twice a second; in between the loop's monotonic clock goes on counting.
    var wallNow: Int64 {
        let now = loop.now
        if now &- wall.askedAt >= 500_000 {
            wall = (now, SystemCall.wallMicroseconds() &- Int64(now))
        }
        return Int64(now) &+ wall.offset
    }

    /// The same in seconds.
    var wallSecond: Int64 { wallNow / 1_000_000 }

    /// The current date as HTTP writes it, made anew once a second.
    var dateText: String {
        let second = wallSecond
        if second != date.second { date = (second, HTTPDate.text(second)) }
        return date.text
    }

    /// The plans made of a snapshot's rules; those of an older one are made anew each time.
    func plans(of snapshot: Snapshot) -> PlanCache {
        if let plans, plans.snapshot === snapshot { return plans.cache }
        let cache = PlanCache(snapshot.rules)
        if snapshot === self.snapshot { plans = (snapshot, cache) }
        return cache
    }

    // MARK: Records

    /// Lines are handed to the writer at the latest this long after they were made.
    private static let flushDelay = Duration.milliseconds(20)

    /// What hides secrets in everything that this worker says, those included that came up since.
    var redactor: Redactor {
        let generation = shared.secrets.current
        if generation != knownSecrets {
            knownSecrets = generation
            var redactor = snapshot.redactor
            for secret in shared.secrets.all { redactor.add(secret: secret) }
            sink.adopt(redactor: redactor)
        }
        return sink.redactor
    }

    /// Writes the line of an exchange that has ended.
    func record(_ record: borrowing ExchangeRecord) {
        _ = redactor
        count(record)
        sink.record(record)
        flushSoon()
    }

    /// Counts an exchange that has ended.
    func count(_ record: borrowing ExchangeRecord) { tally.note(record) }

    /// Counts an exchange that got a task.
    func count(_ cause: TaskCause) { tally.note(cause) }

    /// Has the lines that wait handed over before long.
    func flushSoon() {
        guard sink.askForFlush() else { return }
        if flushTimer == nil { flushTimer = startFlushing() }
        flushTimer?.wake(.answered)
    }

    private func startFlushing() -> ParkingSlot {
        let slot = ParkingSlot(on: loop)
        let sink = LoopLocal(sink, of: loop.executor)
        let timer = LoopLocal(slot, of: loop.executor)
        Task.immediate(executorPreference: loop.executor) {
            let slot = timer.value
            while await slot.park(for: .answered | .cut) == .answered {
                let due = slot.loop.deadline(in: WorkerResources.flushDelay)
                let woken = await slot.park(for: .cut, until: due)
                sink.value.flush()
                slot.forget(.answered)
                if woken.meets(.cut) { return }
            }
        }
        return slot
    }

    // MARK: Connections

    /// Whom to wake when the last connection has ended.
    var whenEmpty: ParkingSlot?

    /// The client connections that are open here.
    var openConnections: [DownstreamConnection] { connections.all }

    var hasConnections: Bool { !connections.isEmpty || !ownWork.isEmpty }

    func add(_ connection: DownstreamConnection) {
        connections.add(connection)
        shared.connections.opened()
        noteHolder(of: connection)
    }

    func remove(_ connection: DownstreamConnection) {
        guard connections.remove(connection) else { return }
        shared.connections.closed()
        if let holder = connection.holder.take() { shared.connections.release(holder) }
        if !hasConnections { whenEmpty?.wake(.answered) }
    }

    /// What lupin does for its own sake, such as fetching a token: a stop waits for it too.
    func beginOwnWork(_ slot: ParkingSlot) {
        ownWork[ObjectIdentifier(slot)] = slot
        if isCut { slot.wake(.cut) }
    }

    func endOwnWork(_ slot: ParkingSlot) {
        ownWork[ObjectIdentifier(slot)] = nil
        if !hasConnections { whenEmpty?.wake(.answered) }
    }

    /// Gives a connection that rested a new task; the worker sets it.
    var resume: (DownstreamConnection) -> Void = { _ in }

    /// Closes resting connections whose time is up, all of them when lupin stops.
    func sweepConnections() {
        for connection in connections.all {
            connection.endRest(isStopping: isDraining)
        }
        guard restedSinceTrim >= Self.restsPerTrim else { return }
        restedSinceTrim = 0
        SystemCall.trimHeap()
    }

    /// Counts a connection whose task ended and left its memory to the heap.
    func connectionRests() { restedSinceTrim += 1 }

    /// The connections of listeners that are gone: idle ones end now, busy ones after their
    /// exchange.
    func drainClosedGates() {
        for connection in connections.all where connection.isLeaving {
            if !connection.endRest(isStopping: true) { connection.drain() }
        }
    }

    /// Idle connections end now, busy ones after their exchange.
    func beginDraining() {
        isDraining = true
        sweepConnections()
        for connection in connections.all { connection.drain() }
    }

    /// Everything that still runs ends now.
    func cutConnections() {
        isCut = true
        for connection in connections.all { connection.cut() }
        for exchange in live.all { exchange.cut() }
        for slot in Array(ownWork.values) { slot.wake(.cut) }
    }

    func close() {
        isClosed = true
        flushTimer?.wake(.cut)
        attendant?.wake(.cut)
        sink.flush()
        pool.closeAll()
    }
}

extension UpstreamSettings {
    /// How many idle connections to one host each of `workers` may keep.
    fileprivate func poolShare(of workers: Int) -> Int {
        max(1, (poolPerHost + workers - 1) / workers)
    }
}
