// When load starts, counts and ends: a closed loop, in which each connection waits for its answer.
import LupinIO

/// All connections of a load process, and their common count.
final class LoadGenerator {
    let plan: LoadPlan
    let loop: EventLoop
    /// What connections of HTTP/1.1 and tunnels ask.
    let request: VariedText
    /// What connections speak with the proxy or behind a CONNECT; nil where all is in clear.
    let tls: ClientTLS?
    /// Where the run itself waits: `.answered` when there is nothing left to do, `.cut` when
    /// standard input has ended.
    let control: ParkingSlot
    private(set) var isOver = false

    private var isMeasuring = false
    private var result = LoadResult()
    private var latencies = Histogram()
    private var connections: [LoadConnection] = []
    private var openedCount = 0
    private var nextRequest: UInt64
    private var heldCount = 0

    /// An idle run opens so many at a time: a burst would measure the accept queue.
    private static let openersMax = 50
    private static let openingSecondsMax = 20.0
    private static let holdingSecondsMax = 60.0
    /// Beyond, the run ends early.
    private static let errorsMax = 10_000
    /// So many errors without one good response, and the proxy is taken for broken.
    private static let errorsMaxAtFirst = 200

    init(_ plan: LoadPlan, on loop: EventLoop, _ tls: ClientTLS?) {
        self.plan = plan
        self.loop = loop
        self.tls = tls
        control = ParkingSlot(on: loop)
        request = plan.requestTemplate
        nextRequest = plan.firstRequest
        connections = (0..<plan.connections).map { _ in LoadConnection(of: self) }
    }

    /// Runs the plan; nil when whoever asked for it is gone.
    func run() async -> LoadResult? {
        if plan.isHeldIdle { return await runIdle() }
        isMeasuring = plan.warmUpSeconds == 0
        for connection in connections { start(connection) }
        if !isMeasuring {
            guard await wait(plan.warmUpSeconds) else { return nil }
            isMeasuring = true
        }
        StandardOutput.print(LoadLine.start)
        let start = loop.clock.now()
        guard await wait(plan.seconds) else { return nil }
        isOver = true
        result.seconds = Double(loop.clock.now() - start) / 1e6
        StandardOutput.print(LoadLine.stop)
        result.p50Us = latencies.value(at: 0.5)
        result.p99Us = latencies.value(at: 0.99)
        result.p999Us = latencies.value(at: 0.999)
        return result
    }

    /// What the next request and its answer name.
    func nextIDs() -> ExchangeIDs {
        let number = nextRequest
        nextRequest += 1
        let request = RequestID(number: number)
        guard plan.urls > 0 else { return ExchangeIDs(request: request, url: request) }
        return ExchangeIDs(request: request, url: RequestID(number: number % UInt64(plan.urls)))
    }

    // MARK: What connections report

    func noteResponse(after microseconds: UInt64) {
        guard isMeasuring, !isOver else { return }
        result.requests += 1
        latencies.add(microseconds)
        if plan.requestsMax > 0, result.requests >= plan.requestsMax { stopEarly() }
    }

    @inline(__always)
    func noteBytes(_ count: Int) {
        if isMeasuring, !isOver { result.bytes += count }
    }

    func noteReconnect() {
        if isMeasuring, !isOver { result.reconnects += 1 }
    }

    func note(_ error: LoadError) {
        guard !isOver else { return }
        if result.errors == 0 { result.firstError = error.description }
        result.errors += 1
        let isHopeless = result.requests == 0 && result.errors >= Self.errorsMaxAtFirst
        if isHopeless || result.errors >= Self.errorsMax { stopEarly() }
    }

    // MARK: Private

    private func start(_ connection: LoadConnection) {
        let local = LoopLocal(connection, of: loop.executor)
        Task.immediate(executorPreference: loop.executor) { await local.value.run() }
    }

    private func stopEarly() {
        isOver = true
        control.wake(.answered)
    }

    /// False when standard input ended meanwhile.
    private func wait(_ seconds: Double) async -> Bool {
        guard !isOver else { return true }
        let end = loop.clock.now() + UInt64(seconds * 1e6)
        return await !control.park(for: [.answered, .cut], until: end).contains(.cut)
    }

    /// Opens everything, says so, and counts what is left when standard input ends.
    private func runIdle() async -> LoadResult? {
        isMeasuring = true
        let this = LoopLocal(self, of: loop.executor)
        for _ in 0..<min(Self.openersMax, plan.connections) {
            Task.immediate(executorPreference: loop.executor) { await this.value.openInTurn() }
        }
        let end = loop.clock.now() + UInt64(Self.openingSecondsMax * 1e6)
        while heldCount < plan.connections, !isOver {
            let woken = await control.park(for: [.answered, .cut], until: end)
            if woken.contains(.cut) { return nil }
            if woken.contains(.timedOut) { break }
        }
        StandardOutput.print(LoadLine.held)
        let holdingEnd = loop.clock.now() + UInt64(Self.holdingSecondsMax * 1e6)
        _ = await control.park(for: .cut, until: holdingEnd)
        result.stillOpen = connections.count { $0.isHeld }
        return result
    }

    private func openInTurn() async {
        while !isOver, openedCount < connections.count {
            openedCount += 1
            await connections[openedCount - 1].runOnceAndHold()
            heldCount += 1
            if heldCount == connections.count { control.wake(.answered) }
        }
    }
}
