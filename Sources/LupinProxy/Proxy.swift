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
    private let sockets: [ListeningSocket]
    private let isStopping = Atomic(false)

    /// Binds the listeners, starts the workers and serves.
    ///
    /// - Parameters:
    ///   - configuration: Settings and rules, checked.
    ///   - clock: What time it is; tests bring their own.
    ///   - resolve: What the resolver's threads call for a name, and may block in; tests bring
    ///     their own.
    ///   - verify: Whether a password is the one of a hash; it may block. Tests bring their own.
    ///   - logger: lupin's own diagnostics.
    ///   - environment: The process's variables, where `SSL_CERT_FILE` and the user's directories
    ///     are looked up.
    ///   - allowsColour: Whether records on a terminal may be coloured (`NO_COLOR` is unset).
    ///   - logsSecrets: Nothing is redacted; for whoever debugs credentials, and nobody else.
    ///   - hooks: What an embedding program adds.
    /// - Throws: ``StartFailure``, with nothing left running.
    package init(
        _ configuration: Configuration,
        clock: LoopClock = .system,
        resolve: @escaping @Sendable (String) -> Resolver.Answer = { Resolver.ask($0) },
        verify: @escaping @Sendable ([UInt8], String) -> Bool = {
            PasswordHash.verify($0, against: $1)
        },
        logger: Logger,
        environment: [String: String] = [:],
        allowsColour: Bool = true,
        logsSecrets: Bool = false,
        hooks: Hooks = Hooks()
    ) async throws(StartFailure) {
        SystemCall.ignoreBrokenPipes()
        _ = SystemCall.raiseDescriptorLimit()
        sockets = try Proxy.bind(configuration.settings.listeners)
        let snapshot = Snapshot(
            configuration,
            listeners: sockets.map(\.address),
            digest: KeyedDigest(),
            anchors: SharedAnchors(configuration.settings.upstream.tls.roots, environment),
            logsSecrets: logsSecrets
        )
        let entrances = try Proxy.entrances(
            configuration.settings.listeners,
            clock: clock,
            logger: logger,
            verify: verify
        )
        let issuer = LeafIssuer(
            configuration.settings.intercept.authority,
            environment,
            logger: logger
        )
        try Proxy.prepare(issuer, for: configuration)
        let records = try Proxy.openRecords(configuration.settings.log, logger: logger)
        do throws(SystemError) {
            shared = Shared(
                snapshot: snapshot,
                clock: clock,
                logger: logger,
                allowsColour: allowsColour,
                records: records,
                resolver: try ResolverThreads(asking: resolve),
                processes: try ProcessLookup(),
                issuer: issuer,
                entrances: entrances,
                tokenThread: try HelperThread.forTokens(),
                environment: environment,
                hooks: hooks
            )
            let count = configuration.settings.workers ?? min(4, SystemCall.processorCount)
            threads = try Proxy.startThreads(count, clock: clock)
        } catch {
            throw StartFailure(message: error.message, isBindFailure: false)
        }
        workers = threads.map { [shared, threads] in
            Worker(executor: $0.executor, shared: shared, workerCount: threads.count)
        }
        do {
            for worker in workers { try await worker.start(sockets) }
        } catch {
            for thread in threads { thread.stop() }
            throw StartFailure(message: "\(error)", isBindFailure: false)
        }
    }

    /// Where the proxy listens, with the ports that the kernel chose.
    package var addresses: [SocketAddress] { sockets.map(\.address) }

    /// Opens the record file anew, after somebody moved it away.
    public func reopenLog() { shared.records.reopen() }

    /// Stops gracefully: listeners close, what runs may finish within `timeouts.drain`, the rest is
    /// cut; then every record is written.
    ///
    /// A second call does nothing and does not wait for the first.
    public func stop() async {
        guard !isStopping.exchange(true, ordering: .relaxed) else { return }
        let limit = shared.snapshot.settings.timeouts.drain
        for worker in workers { await worker.stopAccepting() }
        for socket in sockets { socket.close() }
        await withTaskGroup(of: Void.self) { group in
            for worker in workers { group.addTask { await worker.drain(within: limit) } }
        }
        for thread in threads { thread.stop() }
        shared.resolver.abandon()
        shared.processes.abandon()
        shared.tokenThread.abandon()
        for entrance in shared.entrances { entrance.authenticator?.abandon() }
        shared.records.close()
    }

    /// Jobs that reached a worker from another thread so far; it stands still in steady state.
    package var foreignEnqueues: Int {
        threads.reduce(0) { $0 + $1.executor.foreignEnqueues }
    }

    /// What the workers run on, for clocks that wake them.
    package var executors: [LoopExecutor] { threads.map(\.executor) }

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

    /// What each listener demands; those that ask for the same passwords share who knows them.
    private static func entrances(
        _ listeners: [ListenerSettings],
        clock: LoopClock,
        logger: Logger,
        verify: @escaping Authenticator.Verify
    ) throws(StartFailure) -> [Entrance] {
        var made: [ClientAuthentication: Authenticator] = [:]
        let ticketKeys = TicketKeys.fresh()
        var result: [Entrance] = []
        for listener in listeners {
            if case .basic(let file, let realm) = listener.authentication,
                made[listener.authentication] == nil
            {
                made[listener.authentication] = try Authenticator(
                    file: file,
                    realm: realm,
                    clock: clock,
                    logger: logger,
                    verify: verify
                )
            }
            var tls: ListenerTLS?
            do throws(LupinError) {
                tls = try listener.tls.map { files throws(LupinError) in
                    try ListenerTLS(files, listener.protocols, ticketKeys: ticketKeys)
                }
            } catch {
                throw StartFailure(message: error.detail, isBindFailure: false)
            }
            result.append(
                Entrance(
                    authenticator: made[listener.authentication],
                    tls: tls,
                    protocols: listener.protocols
                )
            )
        }
        return result
    }

    /// Rules that need clear text need the local authority: better told at the start than to the
    /// first client.
    private static func prepare(
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

    private static func startThreads(
        _ count: Int,
        clock: LoopClock
    ) throws(SystemError) -> [LoopThread] {
        var threads: [LoopThread] = []
        do throws(SystemError) {
            for index in 0..<count {
                threads.append(try LoopThread(name: "lupin-w\(index)", clock: clock))
            }
        } catch {
            for thread in threads { thread.stop() }
            throw error
        }
        return threads
    }

    private static func bind(
        _ listeners: [ListenerSettings]
    ) throws(StartFailure) -> [ListeningSocket] {
        var sockets: [ListeningSocket] = []
        for listener in listeners {
            let address = SocketAddress(address: listener.address, port: listener.port)
            do throws(SystemError) {
                sockets.append(try ListeningSocket(address))
            } catch {
                throw StartFailure(
                    message: "cannot listen on \(address): \(error.message)",
                    isBindFailure: true
                )
            }
        }
        return sockets
    }
}
