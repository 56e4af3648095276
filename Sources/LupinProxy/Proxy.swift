// The facade: a proxy that can be started, asked where it listens, and stopped.

package import Logging
package import LupinCore
package import LupinIO
import LupinTLS
import Synchronization

/// A forward proxy with its threads.
public final class Proxy: Sendable {
    /// Why a proxy could not be started.
    public struct StartFailure: Error, Sendable {
        /// What failed, in words.
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
    ///   - clock: What time it is; tests bring their own.
    ///   - resolve: What the resolver's threads call for a name, and may block in; tests bring
    ///     their own.
    ///   - verify: Whether a password is the one of a hash; it may block. Tests bring their own.
    ///   - identify: Who the client at the other end of a connection is; it may block. Without it
    ///     the kernel is asked; tests bring their own.
    ///   - logger: lupin's own diagnostics.
    ///   - environment: The process's variables, where `SSL_CERT_FILE` and the user's directories
    ///     are looked up.
    ///   - allowsColour: Whether records on a terminal may be coloured (`NO_COLOR` is unset).
    ///   - logsSecrets: Nothing is redacted; for whoever debugs credentials, and nobody else.
    ///   - siblingFolders: Where the lupins of this user find each other; tests bring their own.
    ///   - hooks: What an embedding program adds.
    ///   - source: How the rules are read anew while it runs.
    ///   - about: What the admin interface says about it.
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
        siblingFolders: [String] = SiblingFolder.ofThisUser,
        hooks: Hooks = Hooks(),
        source: RulesSource? = nil,
        about: ProxyDescription = ProxyDescription()
    ) async throws(StartFailure) {
        Proxy.prepareProcess()
        let maker = ListenerMaker(clock: clock, logger: logger, verify: verify)
        let listeners = try maker.listeners(for: configuration.settings.listeners).all
        let issuer = LeafIssuer(
            configuration.settings.intercept.authority,
            environment,
            logger: logger
        )
        try Proxy.prepare(issuer, for: configuration)
        let digest = KeyedDigest()
        let snapshot = Snapshot(
            configuration,
            listeners: listeners.map(\.socket.address),
            issuer: issuer,
            digest: digest,
            anchors: SharedAnchors(configuration.settings.upstream.tls.roots, environment),
            logsSecrets: logsSecrets
        )
        let records = try Proxy.openRecords(configuration.settings.log, logger: logger)
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
                tokenThread: try HelperThread.forTokens(),
                bodyThread: try HelperThread.forBodies(),
                environment: environment,
                siblingFolders: siblingFolders,
                hooks: hooks
            )
            let count = configuration.settings.workers ?? min(4, SystemCall.processorCount)
            (controlThread, threads) = try Proxy.startThreads(count, clock: clock)
        } catch {
            throw StartFailure(message: error.message, isBindFailure: false)
        }
        workers = threads.map { [shared, threads] in
            Worker(executor: $0.executor, shared: shared, workerCount: threads.count)
        }
        let surroundings = Control.Surroundings(
            source: source,
            about: about,
            environment: environment,
            logsSecrets: logsSecrets,
            digest: digest,
            maker: maker
        )
        control = await Proxy.makeControl(controlThread.executor, shared, workers, surroundings)
        try await begin(listeners)
    }

    /// Has everybody begin, or nobody.
    private func begin(_ listeners: [OpenListener]) async throws(StartFailure) {
        await onControl { $0.beginSiblings() }
        do {
            for worker in workers { try await worker.start(listeners) }
        } catch {
            await onControl { await $0.endSiblings() }
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

    /// Where the proxy listens, with the ports that the kernel chose.
    package var addresses: [SocketAddress] { shared.snapshot.listeners }

    /// The version of the rules that new exchanges begin with.
    package var rulesVersion: String { shared.snapshot.version }

    /// Reads the rules anew, from where the proxy was told at its start, and takes them.
    ///
    /// Exchanges under way keep the rules that they began with.
    @discardableResult
    package func reload() async -> ReloadResult {
        // Its thread may be gone.
        guard !isStopping.load(ordering: .relaxed) else {
            return .rejected(errors: [Control.isOver])
        }
        return await onControl { await $0.reload(.asked) }
    }

    /// Opens the record file anew, after somebody moved it away.
    public func reopenLog() { shared.records.reopen() }

    /// Stops gracefully: listeners close, what runs may finish within `timeouts.drain`, the rest is
    /// cut; then every record is written.
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
        // Others ask for as long as there are connections.
        await onControl { await $0.endSiblings() }
        for thread in threads + [controlThread] { thread.stop() }
        shared.resolver.abandon()
        shared.processes.abandon()
        shared.tokenThread.abandon()
        shared.bodyThread.abandon()
        shared.responses.close()
        shared.cookieJars.flush(now: SystemCall.wallMicroseconds() / 1_000_000)
        for listener in listeners { listener.entrance.authenticator?.abandon() }
        shared.records.close()
    }

    /// Jobs that reached a worker from another thread so far; it stands still in steady state.
    package var foreignEnqueues: Int {
        threads.reduce(0) { $0 + $1.executor.foreignEnqueues }
    }

    /// What workers and control run on, for clocks that wake them.
    package var executors: [LoopExecutor] { (threads + [controlThread]).map(\.executor) }

    private static func openRecords(
        _ settings: LogSettings,
        logger: Logger
    ) throws(StartFailure) -> RecordWriter {
        do throws(SystemError) {
            return try RecordWriter(settings, logger: logger)
        } catch {
            var name = "the log"
            if case .file(let path) = settings.to { name = path }
            throw StartFailure(
                message: "cannot write records to \(name): \(error.message)",
                isBindFailure: false
            )
        }
    }

    /// A peer that goes must not end the process, and there are many of them.
    private static func prepareProcess() {
        SystemCall.ignoreBrokenPipes()
        _ = SystemCall.raiseDescriptorLimit()
    }

    /// Rules that need clear text need the local authority: better told at the start than to the
    /// first client.
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

    /// Starts the thread of the whole proxy and those of `count` workers.
    private static func startThreads(
        _ count: Int,
        clock: LoopClock
    ) throws(SystemError) -> (control: LoopThread, workers: [LoopThread]) {
        var threads: [LoopThread] = []
        do throws(SystemError) {
            let control = try LoopThread(name: "lupin-control", clock: clock)
            threads.append(control)
            for index in 0..<count {
                threads.append(try LoopThread(name: "lupin-w\(index)", clock: clock))
            }
            return (control, Array(threads[1...]))
        } catch {
            for thread in threads { thread.stop() }
            throw error
        }
    }
}
