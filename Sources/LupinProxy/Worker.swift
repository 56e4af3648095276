// One worker: a thread, its loop, and everything that lives on it.

import Logging
import LupinCore
import LupinIO
import LupinTLS
import LupinUpstream
import LupinWire

/// Accepts connections and serves them to their end. All of its state is confined to its loop.
actor Worker {
    nonisolated let executor: LoopExecutor
    // Exception: the language wants an unsafe reference here; the executor outlives the worker.
    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.unowned }

    private let shared: Shared
    private let workerCount: Int
    private var resources: WorkerResources?
    private var ownListeners: [WorkerListener] = []
    private var isDraining = false

    init(executor: LoopExecutor, shared: Shared, workerCount: Int) {
        self.executor = executor
        self.shared = shared
        self.workerCount = workerCount
    }

    /// Watches the listening sockets and begins to serve.
    func start(_ listeners: [OpenListener]) throws(SystemError) {
        let loop = executor.loop
        let resources = WorkerResources(loop: loop, shared: shared, workerCount: workerCount)
        self.resources = resources
        resources.resume = { [self, executor] connection in
            let local = LoopLocal(connection, of: executor)
            Task.immediate(executorPreference: executor) { await self.resume(local) }
        }
        for listener in listeners { try watch(listener) }
        Task.immediate(executorPreference: executor) { await self.runMaintenance(resources) }
    }

    private func watch(_ open: OpenListener) throws(SystemError) {
        let slot = ParkingSlot(on: executor.loop)
        let inner = try Listener(
            open.socket,
            on: executor.loop,
            slot: slot,
            isShared: workerCount > 1
        )
        let listener = WorkerListener(open, inner, slot)
        ownListeners.append(listener)
        Task.immediate(executorPreference: executor) { await self.accept(at: listener) }
    }

    /// Uses `snapshot` for new exchanges from now on, and accepts connections at `listeners`.
    ///
    /// Connections of a listener that is gone end after their current exchange.
    func adopt(_ snapshot: Snapshot, _ listeners: [OpenListener]) {
        guard let resources, !isDraining else { return }
        resources.adopt(snapshot)
        var closed: [WorkerListener] = []
        for listener in ownListeners {
            if let open = listeners.first(where: { $0.socket === listener.socket }) {
                listener.adopt(open.policy)
            } else {
                closed.append(listener)
            }
        }
        ownListeners.removeAll { listener in closed.contains { $0 === listener } }
        for listener in closed {
            // The kernel has completed the handshake of clients in its queue, so they are served.
            while case .connection(let channel)? = try? listener.inner.accept() {
                serve(channel, resources, listener)
            }
            listener.close()
        }
        if !closed.isEmpty { resources.drainClosedListeners() }
        for open in listeners where !ownListeners.contains(where: { $0.socket === open.socket }) {
            do throws(SystemError) {
                try watch(open)
            } catch {
                shared.logger.error("cannot watch \(open.socket.address): \(error.message)")
            }
        }
    }

    /// Stops accepting.
    func stopAccepting() {
        isDraining = true
        for listener in ownListeners { listener.close() }
    }

    // MARK: For the service manager, the admin interface and siblings

    /// Shows that the loop does its work.
    func answer() {}

    /// What its exchanges have; nil when it serves no new ones.
    var ownResources: WorkerResources? { isDraining ? nil : resources }

    /// What requests to the collector have, to the end of the thread.
    var exportResources: WorkerResources? { resources }

    /// The counts of this worker's ended exchanges so far.
    func tally() -> Tally { resources?.tally ?? Tally() }

    /// What the exchanges under way here wait for.
    func liveFigures() -> LiveFigures { resources?.liveFigures() ?? LiveFigures() }

    /// How many exchanges are under way here.
    func liveCount() -> Int { resources?.live.count ?? 0 }

    /// The exchanges under way here.
    func liveExchanges() -> [LiveExchange] { resources?.liveExchanges() ?? [] }

    /// Hands over what was captured here so far.
    func handOverCaptured() { resources?.captured.flush() }

    /// The users whose exchanges go over a connection; empty when there are none.
    func users(of query: SiblingQuery) async -> Set<ClientUser> {
        guard let resources else { return [] }
        let slot = ParkingSlot(on: resources.loop)
        defer { slot.retire() }
        var users: Set<ClientUser> = []
        for exchange in resources.live.all where exchange.uses(query) {
            users.insert(await exchange.clientUser(in: slot))
        }
        return users
    }

    /// Cuts an exchange that is under way here; returns false when there is none of that ID.
    func cancel(_ id: ExchangeID) -> Bool {
        guard let exchange = resources?.live.find(id) else { return false }
        exchange.cancel()
        return true
    }

    /// Lets running exchanges finish and cuts the rest after `limit`; accepting must have stopped.
    func drain(within limit: Duration) async {
        guard let resources else { return }
        resources.beginDraining()
        let slot = ParkingSlot(on: resources.loop)
        resources.whenEmpty = slot
        let deadline = resources.loop.deadline(in: limit)
        if shared.hasSuccessor {
            let last = resources.loop.deadline(in: WorkerResources.lastRequestTime)
            while resources.hasConnections, resources.loop.now < min(last, deadline) {
                _ = await slot.park(for: .answered, until: min(last, deadline))
            }
            resources.sweepConnections()
        }
        while resources.hasConnections, resources.loop.now < deadline {
            _ = await slot.park(for: .answered, until: deadline)
        }
        if resources.hasConnections {
            resources.cutConnections()
            while resources.hasConnections { _ = await slot.park(for: .answered) }
        }
        resources.resume = { _ in }
        resources.close()
    }

    // MARK: Accepting

    private static let acceptsPerTurn = 32

    private func accept(at listener: WorkerListener) async {
        var turn = 0
        while !listener.isClosed {
            // A client that connects without end must not starve connections that are being served.
            turn += 1
            if turn.isMultiple(of: Self.acceptsPerTurn) { await listener.slot.giveWay() }
            guard let resources else { return }
            if resources.isFull {
                guard listener.inner.hasWaiting else {
                    _ = await listener.slot.park(for: .ready)
                    continue
                }
                // When all are busy, new ones wait in the kernel's queue: none is dropped.
                guard resources.makeRoom() else {
                    await pause(listener)
                    continue
                }
            }
            do throws(SystemError) {
                switch try listener.inner.accept() {
                case .connection(let channel):
                    serve(channel, resources, listener)
                    if resources.hasWorkEnough { try listener.inner.passTurn() }
                case .blocked: _ = await listener.slot.park(for: .ready)
                case .exhausted:
                    // The kernel says so before it looks whether a client waits.
                    guard listener.inner.hasWaiting else {
                        _ = await listener.slot.park(for: .ready)
                        continue
                    }
                    if !resources.shedIdle() { await pause(listener) }
                }
            } catch {
                guard !listener.isClosed else { return }
                shared.logger.error("accepting failed: \(error.message)")
                await pause(listener)
            }
        }
    }

    /// Leaves connections in the kernel's queue until there is room: none is dropped, and the loop
    /// does not spin.
    private func pause(_ listener: WorkerListener) async {
        listener.inner.pause()
        let loop = executor.loop
        repeat {
            _ = await listener.slot.park(for: .cut, until: loop.deadline(in: .milliseconds(50)))
            if listener.isClosed { return }
        } while (try? listener.inner.resume()) == nil
    }

    private func serve(
        _ channel: Channel,
        _ resources: WorkerResources,
        _ listener: WorkerListener
    ) {
        let connection = DownstreamConnection(channel, resources, listener)
        resources.add(connection)
        connection.start(resources.admit(connection))
    }

    private func resume(_ connection: LoopLocal<DownstreamConnection>) async {
        let connection = connection.value
        await connection.serve()
        if connection.isOver { resources?.remove(connection) }
    }

    /// Closes connections that have been idle for too long, on either side; runs once a second.
    private func runMaintenance(_ resources: WorkerResources) async {
        let slot = resources.housekeeping
        while !resources.isClosed {
            let wake = resources.loop.deadline(in: .seconds(1))
            _ = await slot.park(for: .cut, until: wake)
            resources.pool.sweep()
            for exchange in resources.live.all { exchange.attempt?.leaveDeadLink() }
            resources.sweepConnections()
            for listener in ownListeners { listener.policy.authenticator?.lookAfterFile() }
        }
        slot.retire()
    }
}
