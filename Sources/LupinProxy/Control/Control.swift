// The work for the whole proxy rather than one worker: reloads, the admin server, and siblings.
import Logging
import LupinCore
import LupinIO
import LupinPolicy
import LupinTLS
import LupinUpstream

/// The work of the control thread; confined to its loop.
final class Control {
    /// What the program that starts a proxy provides.
    struct Surroundings: Sendable {
        let source: RulesSource?
        let about: ProxyDescription
        /// The environment variables of the process.
        let environment: [String: String]
        let logsSecrets: Bool
        let digest: KeyedDigest
        let maker: ListenerMaker
        /// The service manager; nil without one.
        let manager: ServiceManager?
    }

    let loop: EventLoop
    let shared: Shared
    let workers: [Worker]
    let surroundings: Surroundings
    private var admin: AdminServer?
    private var siblings: SiblingServer?
    private(set) var exporter: TelemetryExporter?
    /// By path: the rules file, and the files that it names.
    private var watches: [String: FileWatch] = [:]
    /// The rules file in force; nil without one.
    private var rulesFile: String?
    /// The errors for which the last reload was refused; empty when it was taken.
    private var refusedBecause: [String] = []
    /// What the file says, without the hosts that are captured besides.
    private var written: Configuration
    /// Where the inspector's page is served.
    private(set) var inspectorAddress: SocketAddress?
    /// The slot in which the sweeping of captures waits.
    private let sweeping: ParkingSlot
    /// What open inspectors want captured, and the slot in which the end of a hold is awaited.
    private var holds = CaptureHolds()
    /// The hosts of holds by which exchanges are captured now.
    private var adoptedHolds: [String] = []
    private let holding: ParkingSlot
    /// The slot in which the watchdog's task waits.
    private let beating: ParkingSlot
    private var isReloading = false
    /// The slots of callers that wait for the reload under way.
    private var waiting: [ParkingSlot] = []
    private var isStopping = false
    /// All exchanges have ended, too.
    private var hasEnded = false

    init(_ loop: EventLoop, _ shared: Shared, _ workers: [Worker], _ surroundings: Surroundings) {
        self.loop = loop
        self.shared = shared
        self.workers = workers
        self.surroundings = surroundings
        sweeping = ParkingSlot(on: loop)
        holding = ParkingSlot(on: loop)
        beating = ParkingSlot(on: loop)
        rulesFile = surroundings.source?.file
        written = shared.snapshot.configuration
    }

    /// Starts to answer other lupin processes about the client of each of this one's connections.
    ///
    /// Call it before the first connection is made: its client would be this user for the others.
    func beginSiblings() {
        let siblings = SiblingServer(shared, workers, on: loop) { [weak self] in
            guard let self, let source = surroundings.source else { return nil }
            return (source.file.map { [$0] } ?? source.candidates) + watches.keys
        }
        for crash in siblings.open() { tell(crash) }
        self.siblings = siblings
    }

    /// Starts the admin server and watches the rules; a proxy works without either.
    func start() {
        let routes = AdminRoutes(
            shared: shared,
            workers: workers,
            about: surroundings.about,
            rulesFile: { [weak self] in self?.rulesFile },
            refusedBecause: { [weak self] in self?.refusedBecause ?? [] },
            begun: loop.clock.now(),
            reload: { [weak self] in
                await self?.reload(.asked) ?? .rejected(errors: [Control.isOver])
            },
            source: surroundings.source,
            openInspector: { [weak self] () async throws(ReloadFailure) in
                guard let self else { throw ReloadFailure([Control.isOver]) }
                return try await self.openInspector()
            },
            capture: { [weak self] hosts async throws(ReloadFailure) in
                try await self?.adoptCaptured(hosts)
            },
            holds: { [weak self] in self?.holds.all ?? [] },
            hold: { [weak self] name, hosts async throws(ReloadFailure) in
                try await self?.hold(name, hosts)
            }
        )
        let admin = AdminServer(routes, on: loop)
        let settings = shared.snapshot.settings
        admin.open(
            settings.admin,
            environment: surroundings.environment,
            passed: surroundings.maker.passed
        )
        if let endpoint = settings.telemetry.prometheus { admin.openMetrics(endpoint) }
        self.admin = admin
        watch(shared.snapshot.configuration.files)
        beginTelemetry()
        let local = LoopLocal(self, of: loop.executor)
        Task.immediate(executorPreference: loop.executor) { await local.value.sweepCaptures() }
        Task.immediate(executorPreference: loop.executor) { await local.value.endHolds() }
        tellReady()
        if let time = surroundings.manager?.watchdogMicroseconds {
            Task.immediate(executorPreference: loop.executor) {
                await local.value.beat(every: max(1, time / 2))
            }
        }
    }

    private func beginTelemetry() {
        let exporter = TelemetryExporter(
            shared,
            workers,
            on: loop,
            version: surroundings.about.version,
            environment: surroundings.environment
        )
        exporter.adopt(shared.snapshot)
        exporter.start()
        self.exporter = exporter
    }

    /// Exports what the last exchanges left; they must have ended.
    func endTelemetry() async {
        await exporter?.finish()
        exporter = nil
    }

    /// How often captured exchanges that are too old are dropped; `capture.keep` is no shorter.
    private static let sweepTime = Duration.seconds(60)

    private func sweepCaptures() async {
        while !isStopping {
            shared.captures.sweep()
            let wake = loop.deadline(in: Self.sweepTime)
            _ = await sweeping.park(for: .cut, until: wake)
        }
        sweeping.retire()
    }

    // MARK: The service manager

    /// Tells the service manager that requests are served, and by which rules.
    private func tellReady() {
        guard let manager = surroundings.manager, !isStopping else { return }
        let names = shared.snapshot.listeners.map(\.description).joined(separator: " and ")
        var status = "listening on \(names), "
        status += rulesFile.map { "rules \(shared.snapshot.version) of \($0)" } ?? "no rules file"
        if !refusedBecause.isEmpty { status += "; its last change has errors: see the log" }
        manager.tell(.ready, status: status)
    }

    /// Tells the service manager at this interval that this thread and all workers do their work.
    private func beat(every microseconds: UInt64) async {
        while !hasEnded {
            for worker in workers { await worker.answer() }
            surroundings.manager?.tell(.alive)
            _ = await beating.park(for: .cut, until: loop.deadline(in: microseconds))
        }
        beating.retire()
    }

    // MARK: Stopping

    /// Stops the admin server and accepts no more rules; a reload under way finishes.
    func stop() async {
        isStopping = true
        surroundings.manager?.tell(.stopping, status: "finishing what is under way")
        sweeping.wake(.cut)
        holding.wake(.cut)
        for watch in watches.values { watch.close() }
        watches = [:]
        await admin?.close()
        admin = nil
        await awaitTurn()
    }

    /// Stops answering other lupin processes, and telling the service manager that all is well.
    func end() async {
        hasEnded = true
        beating.wake(.cut)
        await siblings?.close()
        siblings = nil
    }

    // MARK: The rules

    /// Why the rules are read.
    enum Occasion {
        /// On request: the named files are read again even if the file itself is unchanged.
        case asked
        /// The file has changed.
        case changed
    }

    static let isOver = "lupin is stopping"

    /// Reads the rules again and adopts them; concurrent calls run one after the other.
    func reload(_ occasion: Occasion) async -> ReloadResult {
        guard let source = surroundings.source else {
            return .rejected(errors: ["this proxy was started without a rules file to load again"])
        }
        await awaitTurn()
        guard !isStopping else { return .rejected(errors: [Self.isOver]) }
        isReloading = true
        defer { endTurn() }
        surroundings.manager?.tell(.reloading)
        defer { tellReady() }
        let reading = source.read()
        watch(reading.files)
        guard let configuration = reading.configuration else {
            return tell(.rejected(errors: reading.errors))
        }
        if occasion == .changed, configuration.version == shared.snapshot.version {
            refusedBecause = []
            return .unchanged(version: configuration.version)
        }
        do throws(ReloadFailure) {
            let held = holds.hosts
            try await adopt(configuration.capturing(shared.captures.hosts + held))
            adoptedHolds = held
        } catch {
            return tell(.rejected(errors: error.errors))
        }
        written = configuration
        rulesFile = reading.file ?? source.file
        return tell(.loaded(version: configuration.version, warnings: reading.warnings))
    }

    /// Opens the inspector's listener, which no proxied request may reach, and returns the address
    /// of the page for one browser.
    private func openInspector() async throws(ReloadFailure) -> String {
        await awaitTurn()
        guard !isStopping, let admin else { throw ReloadFailure([Self.isOver]) }
        isReloading = true
        defer { endTurn() }
        do throws(SystemError) {
            let address = try admin.inspectorAddress()
            if inspectorAddress == nil {
                inspectorAddress = address
                try? await adopt(shared.snapshot.configuration)
                shared.logger.notice("inspector at http://\(address)")
            }
            return admin.newInspectorURL(at: address)
        } catch {
            throw ReloadFailure(["no listener for the inspector: \(error.message)"])
        }
    }

    // MARK: Captured hosts

    /// Captures the hosts of an inspector until it is gone; with nil, its hold ends now.
    private func hold(_ name: String, _ hosts: [String]?) async throws(ReloadFailure) {
        let before = holds.hosts
        if let hosts {
            let end = loop.deadline(in: CaptureHolds.time)
            guard holds.renew(CaptureHolds.Hold(name: name, hosts: hosts, end: end)) else {
                throw ReloadFailure([
                    "\(CaptureHolds.countMax) inspectors hold hosts; end one of them"
                ])
            }
        } else {
            holds.end(name)
        }
        holding.wake(.answered)
        // Also where an earlier adoption failed, so that a hold that is told works.
        if holds.hosts != before || adoptedHolds != holds.hosts { try await adoptCaptured() }
    }

    /// Ends the holds of inspectors that are gone.
    private func endHolds() async {
        while !isStopping {
            var next = holds.nextEnd ?? .max
            if adoptedHolds != holds.hosts { next = min(next, loop.deadline(in: Self.retryTime)) }
            let woken = await holding.park(for: .answered | .cut, until: next)
            let hasExpired = holds.expire(now: loop.now)
            // A hold takes effect when it is begun or renewed; a failure is tried again later.
            let isDue = woken == .timedOut && adoptedHolds != holds.hosts
            if hasExpired || isDue { try? await adoptCaptured() }
        }
        holding.retire()
    }

    /// Captures these hosts, or those asked for last, besides those of the rules and those that are
    /// held.
    private func adoptCaptured(_ hosts: [String]? = nil) async throws(ReloadFailure) {
        await awaitTurn()
        guard !isStopping else { throw ReloadFailure([Self.isOver]) }
        isReloading = true
        defer { endTurn() }
        let held = holds.hosts
        let asked = hosts ?? shared.captures.hosts
        try await adopt(written.capturing(asked + held))
        // Within the turn: what is told is what was adopted last.
        shared.captures.set(hosts: asked)
        adoptedHolds = held
    }

    /// How long after a failure the hosts of holds are tried again.
    private static let retryTime = Duration.seconds(5)

    private func awaitTurn() async {
        while isReloading {
            let slot = ParkingSlot(on: loop)
            waiting.append(slot)
            _ = await slot.park(for: .answered)
        }
    }

    private func endTurn() {
        isReloading = false
        for slot in waiting { slot.wake(.answered) }
        waiting = []
    }

    /// Watches the rules file and the files that it names now.
    private func watch(_ files: [String]) {
        guard let source = surroundings.source, !isStopping else { return }
        let names = source.file.map { [$0] } ?? source.candidates
        if names.isEmpty { return }
        let wanted = Set(files).union(names)
        for (path, watch) in watches where !wanted.contains(path) {
            watch.close()
            watches[path] = nil
        }
        for path in wanted where watches[path] == nil { startWatching(path) }
    }

    private func startWatching(_ path: String) {
        do throws(SystemError) {
            let watch = try FileWatch(path: path, on: loop)
            watches[path] = watch
            let local = LoopLocal((self, watch), of: loop.executor)
            Task.immediate(executorPreference: loop.executor) {
                let (control, watch) = local.value
                while await watch.next() { _ = await control.reload(.changed) }
            }
        } catch {
            shared.logger.warning("cannot watch \(path): \(error.message)")
        }
    }

    // MARK: Reporting

    /// Logs that a lupin process of this installation ended without stopping.
    private func tell(_ crash: CrashEvent) {
        shared.logger.warning("\(crash.sentence)")
        let settings = shared.snapshot.settings.log
        let line = crash.line(shared.recordStyle(settings), now: SystemCall.wallMicroseconds())
        shared.records.submit(RecordWriter.Chunk(bytes: line, lines: 1, announced: 0))
    }

    /// Reports a reload's result to the logs and to the counters.
    private func tell(_ result: ReloadResult) -> ReloadResult {
        let snapshot = shared.snapshot
        let logger = shared.logger
        switch result {
        case .loaded(let version, let warnings):
            refusedBecause = []
            shared.reloads.noteLoaded()
            logger.notice("rules \(version) loaded")
            for warning in warnings.prefix(Self.linesMax) {
                logger.warning("\(ConfigurationEvent.sentence(warning))")
            }
        case .rejected(let errors):
            refusedBecause = errors
            shared.reloads.noteRejected()
            logger.error("the new rules are not taken; those of \(snapshot.version) stay")
            for error in errors.prefix(Self.linesMax) {
                logger.error("\(ConfigurationEvent.sentence(error))")
            }
        case .unchanged: break
        }
        let settings = snapshot.settings.log
        let event = ConfigurationEvent(
            microseconds: SystemCall.wallMicroseconds(),
            version: snapshot.version,
            result: result
        )
        let line = event.line(
            shared.recordStyle(settings),
            isOff: settings.to == .off,
            shared.redactor
        )
        if !line.isEmpty {
            shared.records.submit(RecordWriter.Chunk(bytes: line, lines: 1, announced: 0))
        }
        return result
    }

    private static let linesMax = 20
}
