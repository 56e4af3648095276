// The facade: a proxy that can be started, queried for its addresses, and stopped.

package import Logging
import LupinCore
package import LupinIO
package import LupinPolicy
import LupinTLS
import LupinUpstream
import Synchronization

/// A forward proxy with its threads.
public final class Proxy: Sendable {
    /// Why a proxy could not be started.
    public struct StartFailure: Error, Sendable {
        /// What failed, as a sentence.
        public let message: String
        /// Whether an address could not be bound (exit code 69).
        public let isBindFailure: Bool
    }

    private let shared: Shared
    private let threads: [LoopThread]
    private let workers: [Worker]
    private let controlThread: LoopThread
    private let control: LoopLocal<Control>
    private let isStopping = Atomic(false)

    /// Binds the listeners, starts the workers and serves.
    ///
    /// - Parameters:
    ///   - configuration: Settings and rules, checked.
    ///   - clock: The clock; tests bring their own.
    ///   - resolve: Resolves a name on the resolver's threads, and may block; tests bring their
    ///     own.
    ///   - verify: Whether a password matches a hash; may block. Tests bring their own.
    ///   - identify: Finds the program and user of a connection's client; may block. Without it the
    ///     kernel is asked; tests bring their own.
    ///   - logger: The logger for lupin's own diagnostics.
    ///   - environment: The environment variables of the process; `SSL_CERT_FILE` and the user's
    ///     directories are looked up there.
    ///   - allowsColour: Whether records on a terminal may be coloured (`NO_COLOR` is unset).
    ///   - logsSecrets: Nothing is redacted; only for debugging credentials.
    ///   - siblingFolders: The folders in which this user's lupin processes find each other; nil
    ///     for one that meets no other, in tests.
    ///   - hooks: The code that an embedding program adds.
    ///   - source: How the rules are read again at run time.
    ///   - about: What the admin interface reports about the program.
    ///   - passed: The listening sockets that the service manager opened.
    ///   - manager: The service manager that is told of readiness, reloads and the end.
    /// - Throws: ``StartFailure``, with nothing left running.
    package init(
        _ configuration: Configuration,
        clock: LoopClock = .system,
        resolve: @escaping @Sendable (String) -> Resolver.Answer = { Resolver.ask($0) },
        verify: @escaping @Sendable ([UInt8], String) -> Bool = {
            PasswordHash.verify($0, against: $1)
        },
        identify: ProcessLookup.Ask? = nil,
        logger: Logger,
        environment: [String: String] = [:],
        allowsColour: Bool = true,
        logsSecrets: Bool = false,
        siblingFolders: [String]? = SiblingFolder.ofThisUser,
        hooks: Hooks = Hooks(),
        source: RulesSource? = nil,
        about: ProxyDescription = ProxyDescription(),
        passed: PassedListeners = .none,
        manager: ServiceManager? = nil
    ) async throws(StartFailure) {
        Proxy.prepareProcess()
        let mask = DiagnosticsMask(), logger = logger.masked(by: mask)
        let maker = ListenerMaker(clock: clock, logger: logger, verify: verify, passed: passed)
        let settings = configuration.settings
        let listeners = try maker.firstListeners(settings, environment)
        let issuer = try Proxy.issuer(for: configuration, environment, logger)
        let digest = KeyedDigest()
        let snapshot = Snapshot(
            configuration.hiding(hooks.standIns),
            listeners: listeners.map(\.socket.address),
            issuer: issuer,
            digest: digest,
            anchors: SharedAnchors(settings.upstream.tls.roots, environment),
            environment: environment,
            logsSecrets: logsSecrets
        )
        let records = try Proxy.openRecords(settings.log, logger: logger)
        do throws(SystemError) {
            shared = Shared(
                snapshot: snapshot,
                listeners: listeners,
                clock: clock,
                logger: logger,
                allowsColour: allowsColour,
                records: records,
                resolver: try ResolverThreads(asking: resolve),
                processes: try ProcessLookup(asking: identify),
                threads: try HelperThreads(),
                environment: environment,
                siblingFolders: siblingFolders,
                hasSuccessor: passed.serves(settings.listeners),
                hooks: hooks
            )
            (controlThread, threads) = try Proxy.startThreads(settings.workers, clock: clock)
        } catch {
            throw StartFailure(message: error.message, isBindFailure: false)
        }
        mask.ask { [weak shared, redactor = snapshot.redactor] in shared?.redactor ?? redactor }
        workers = Proxy.makeWorkers(threads, shared)
        let surroundings = Control.Surroundings(
            source: source,
            about: about,
            environment: environment,
            logsSecrets: logsSecrets,
            digest: digest,
            maker: maker,
            manager: manager
        )
        control = await Proxy.makeControl(controlThread.executor, shared, workers, surroundings)
        try await begin(listeners)
    }

    private static func makeWorkers(_ threads: [LoopThread], _ shared: Shared) -> [Worker] {
        threads.map { Worker(executor: $0.executor, shared: shared, workerCount: threads.count) }
    }

    /// Starts all workers; when one fails, stops everything.
    private func begin(_ listeners: [OpenListener]) async throws(StartFailure) {
        await onControl { $0.beginSiblings() }
        do {
            for worker in workers { try await worker.start(listeners) }
        } catch {
            await onControl { await $0.end() }
            for thread in threads + [controlThread] { thread.stop() }
            throw StartFailure(message: "\(error)", isBindFailure: false)
        }
        await onControl { $0.start() }
    }

    private static func makeControl(
        _ executor: LoopExecutor,
        _ shared: Shared,
        _ workers: [Worker],
        _ surroundings: Control.Surroundings
    ) async -> LoopLocal<Control> {
        await Task(executorPreference: executor) {
            LoopLocal(Control(executor.loop, shared, workers, surroundings), of: executor)
        }.value
    }

    /// Runs `body` on the control thread.
    private func onControl<Value: Sendable>(
        _ body: @Sendable @escaping (Control) async -> Value
    ) async -> Value {
        let control = control
        return await Task(executorPreference: controlThread.executor) {
            await body(control.value)
        }.value
    }

    /// The listeners as they are set up, with the ports that the kernel chose.
    var openListeners: [ListenerSettings] { shared.snapshot.openListeners }

    /// The addresses that the proxy listens on, with the ports that the kernel chose.
    package var addresses: [SocketAddress] { shared.snapshot.listeners }

    /// The version of the rules that new exchanges begin with.
    package var rulesVersion: String { shared.snapshot.version }

    /// Reads the rules again, from the source given at the start, and adopts them.
    ///
    /// Exchanges under way keep the rules that they began with.
    @discardableResult
    package func reload() async -> ReloadResult {
        // The control thread may be gone.
        guard !isStopping.load(ordering: .relaxed) else {
            return .rejected(errors: [Control.isOver])
        }
        return await onControl { await $0.reload(.asked) }
    }

    /// Opens the record file again, after it was moved away.
    public func reopenLog() { shared.records.reopen() }

    /// Stops gracefully: closes the listeners, lets exchanges finish within `timeouts.drain`, cuts
    /// the rest, and then writes every record.
    ///
    /// A second call does nothing and does not wait for the first.
    public func stop() async {
        guard !isStopping.exchange(true, ordering: .relaxed) else { return }
        await onControl { await $0.stop() }
        let limit = shared.snapshot.settings.timeouts.drain
        let listeners = shared.listeners
        for worker in workers { await worker.stopAccepting() }
        for listener in listeners { listener.socket.close() }
        await withTaskGroup(of: Void.self) { group in
            for worker in workers { group.addTask { await worker.drain(within: limit) } }
        }
        await onControl { await $0.endTelemetry() }
        // Siblings ask about connections for as long as there are any.
        await onControl { await $0.end() }
        for thread in threads + [controlThread] { thread.stop() }
        shared.resolver.abandon()
        shared.processes.abandon()
        shared.tokenThread.abandon()
        shared.bodyThread.abandon()
        shared.responses.close()
        shared.captures.close()
        shared.cookieJars.flush(now: SystemCall.wallMicroseconds() / 1_000_000)
        for listener in listeners { listener.policy.authenticator?.abandon() }
        shared.records.close()
    }

    /// Takes its files for other lupins of this user away, before the process ends without `stop`:
    /// the next one would take it for killed.
    package func leave() {
        // A file server that is gone must not keep the process.
        guard shared.isSiblingFolderNear else { return }
        SiblingFolder.removeFiles(of: shared.siblingName, in: shared.siblingFolders)
    }

    /// Jobs that reached a worker from another thread so far; constant in steady state.
    package var foreignEnqueues: Int {
        threads.reduce(0) { $0 + $1.executor.foreignEnqueues }
    }

    /// The executors of workers and control, for test clocks that wake them.
    package var executors: [LoopExecutor] { (threads + [controlThread]).map(\.executor) }

    private static func openRecords(
        _ settings: LogSettings,
        logger: Logger
    ) throws(StartFailure) -> RecordWriter {
        do throws(SystemError) {
            return try RecordWriter(settings, logger: logger)
        } catch {
            var (name, reason) = ("the log", error.message)
            if case .file(let path) = settings.to {
                (name, reason) = (path, AppendFile.reason(error, of: path))
            }
            throw StartFailure(
                message: "cannot write records to \(name): \(reason)",
                isBindFailure: false
            )
        }
    }

    /// Ignores SIGPIPE, so that no closing peer ends the process; raises the descriptor limit.
    private static func prepareProcess() {
        SystemCall.ignoreBrokenPipes()
        _ = SystemCall.raiseDescriptorLimit()
    }

    private static func issuer(
        for configuration: Configuration,
        _ environment: [String: String],
        _ logger: Logger
    ) throws(StartFailure) -> LeafIssuer {
        let authority = configuration.settings.intercept.authority
        let issuer = LeafIssuer(authority, environment, logger: logger)
        try prepare(issuer, for: configuration)
        return issuer
    }

    /// Prepares the CA when rules need clear text, so that a failure shows at the start and not at
    /// the first client.
    static func prepare(
        _ issuer: LeafIssuer,
        for configuration: Configuration
    ) throws(StartFailure) {
        guard configuration.needsAuthority else { return }
        do throws(LupinError) {
            try issuer.prepare(wallSeconds: SystemCall.wallMicroseconds() / 1_000_000)
        } catch {
            throw StartFailure(message: error.detail, isBindFailure: false)
        }
    }

    /// Starts the control thread and the threads of so many workers; nil for one a processor, up to
    /// four.
    private static func startThreads(
        _ count: Int?,
        clock: LoopClock
    ) throws(SystemError) -> (control: LoopThread, workers: [LoopThread]) {
        var threads: [LoopThread] = []
        do throws(SystemError) {
            let control = try LoopThread(name: "lupin-control", clock: clock)
            threads.append(control)
            for index in 0..<(count ?? min(4, SystemCall.processorCount)) {
                threads.append(try LoopThread(name: "lupin-w\(index)", clock: clock))
            }
            return (control, Array(threads[1...]))
        } catch {
            for thread in threads { thread.stop() }
            throw error
        }
    }
}
