// When the load of a storm begins, counts and ends.
import LupinIO

/// All clients of a storm, and their common count.
final class StormGenerator {
    let plan: StormPlan
    let loop: EventLoop
    /// Where the storm itself waits: `.answered` when there is nothing left to do, `.cut` when
    /// standard input has ended.
    let control: ParkingSlot
    private let tls: [Bool: ClientTLS]
    private var next: Int
    private var counts: [StormPart: [StormOutcome: Int]] = [:]
    private var result = StormResult()
    private var versions: Set<Int> = []
    private var done = 0
    private var bodies = NamedBodies()

    /// TLS for clients of HTTP/1.1, and for those of HTTP/2.
    init(
        _ plan: StormPlan,
        on loop: EventLoop,
        _ tls: (http1: ClientTLS, http2: ClientTLS)
    ) {
        self.plan = plan
        self.loop = loop
        self.tls = [false: tls.http1, true: tls.http2]
        control = ParkingSlot(on: loop)
        next = plan.first
    }

    /// Runs the storm; nil when whoever asked for it is gone.
    func run() async -> StormResult? {
        let start = loop.clock.now()
        for clients in plan.clients {
            for _ in 0..<clients.count {
                let client = StormClient(clients.kind, of: self)
                let local = LoopLocal(client, of: loop.executor)
                Task.immediate(executorPreference: loop.executor) { await local.value.run() }
            }
        }
        if !isOver {
            let end = loop.clock.now() + UInt64(plan.secondsMax * 1e6)
            let woken = await control.park(for: [.answered, .cut], until: end)
            if woken.contains(.cut) { return nil }
            if woken.contains(.timedOut) {
                fail(StormFailure("\(done) of \(plan.requests) requests: too slow"))
            }
        }
        result.seconds = Double(loop.clock.now() - start) / 1e6
        result.rows = counts.map { StormResult.Row(part: $0.key, counts: $0.value) }
        if let first = versions.min(), let last = versions.max() {
            result.versions = first...last
        }
        result.versionCount = versions.count
        return result
    }

    /// Whether every outcome is known, or something is wrong.
    var isOver: Bool { result.failure != nil || done == plan.requests }

    /// The next request; nil when there are no more.
    func nextRequest() -> StormRequest? {
        guard result.failure == nil, next < plan.first + plan.requests else { return nil }
        defer { next += 1 }
        return plan.request(next)
    }

    /// What intercepted clients speak.
    func tls(for kind: StormClients) -> ClientTLS? {
        kind.isIntercepted ? tls[kind.isHTTP2] : nil
    }

    /// The body that a request has.
    func body(of request: StormRequest) -> VariedText? {
        bodies.template(of: request.uploadBytes)
    }

    // MARK: What clients report

    func note(_ outcome: StormOutcome, _ answer: StormAnswer, _ kind: StormClients) {
        guard !isOver else { return }
        counts[answer.request.part, default: [:]][outcome, default: 0] += 1
        result.clients[kind, default: 0] += 1
        if outcome == .failed, let error = answer.error { result.errors[error, default: 0] += 1 }
        if let version = answer.version { versions.insert(version.number) }
        done += 1
        if done * 10 / plan.requests > (done - 1) * 10 / plan.requests {
            StandardOutput.print("\(done) requests")
        }
        if isOver { control.wake(.answered) }
    }

    func fail(_ failure: StormFailure) {
        guard result.failure == nil else { return }
        result.failure = failure.description
        control.wake(.answered)
    }
}
