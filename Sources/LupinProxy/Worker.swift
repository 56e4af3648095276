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
    private var gates: [Gate] = []
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
        Task.immediate(executorPreference: executor) { await self.keepHouse(resources) }
    }

    private func watch(_ open: OpenListener) throws(SystemError) {
        let slot = ParkingSlot(on: executor.loop)
        let listener = try Listener(
            open.socket,
            on: executor.loop,
            slot: slot,
            isShared: workerCount > 1
        )
        let gate = Gate(open, listener, slot)
        gates.append(gate)
        Task.immediate(executorPreference: executor) { await self.accept(at: gate) }
    }

    /// Uses `snapshot` for new exchanges from now on, and accepts connections at `listeners`.
    ///
    /// Connections of a listener that is gone end after their current exchange.
    func adopt(_ snapshot: Snapshot, _ listeners: [OpenListener]) {
        guard let resources, !isDraining else { return }
        resources.adopt(snapshot)
        var closed: [Gate] = []
        for gate in gates {
            if let open = listeners.first(where: { $0.socket === gate.socket }) {
                gate.adopt(open.entrance)
            } else {
                closed.append(gate)
            }
        }
        gates.removeAll { gate in closed.contains { $0 === gate } }
        for gate in closed {
            // The kernel has completed the handshake of clients in its queue, so they are served.
            while case .connection(let channel)? = try? gate.listener.accept() {
                serve(channel, resources, gate)
            }
            gate.close()
        }
        if !closed.isEmpty { resources.drainClosedGates() }
        for open in listeners where !gates.contains(where: { $0.socket === open.socket }) {
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
        for gate in gates { gate.close() }
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

    /// How many exchanges are under way here.
    func liveCount() -> Int { resources?.live.count ?? 0 }

    /// The exchanges under way here.
    func liveExchanges() -> [LiveExchange] { resources?.liveExchanges() ?? [] }

    /// The users whose exchanges go over a connection; empty when there are none.
    func users(of question: SiblingQuestion) async -> Set<ClientUser> {
        guard let resources else { return [] }
        let slot = ParkingSlot(on: resources.loop)
        defer { slot.retire() }
        var users: Set<ClientUser> = []
        for exchange in resources.live.all where exchange.uses(question) {
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

    private func accept(at gate: Gate) async {
        var turn = 0
        while !gate.isClosed {
            // A client that connects without end must not starve connections that are being served.
            turn += 1
            if turn.isMultiple(of: Self.acceptsPerTurn) { await gate.slot.giveWay() }
            guard let resources else { return }
            if resources.isFull {
                guard gate.listener.hasWaiting else {
                    _ = await gate.slot.park(for: .ready)
                    continue
                }
                // When all are busy, new ones wait in the kernel's queue: none is dropped.
                guard resources.makeRoom() else {
                    await pause(gate)
                    continue
                }
            }
            do throws(SystemError) {
                switch try gate.listener.accept() {
                case .connection(let channel): serve(channel, resources, gate)
                case .blocked: _ = await gate.slot.park(for: .ready)
                case .exhausted:
                    // The kernel says so before it looks whether a client waits.
                    guard gate.listener.hasWaiting else {
                        _ = await gate.slot.park(for: .ready)
                        continue
                    }
                    if !resources.shedIdle() { await pause(gate) }
                }
            } catch {
                guard !gate.isClosed else { return }
                shared.logger.error("accepting failed: \(error.message)")
                await pause(gate)
            }
        }
    }

    /// Leaves connections in the kernel's queue until there is room: none is dropped, and the loop
    /// does not spin.
    private func pause(_ gate: Gate) async {
        gate.listener.pause()
        let loop = executor.loop
        repeat {
            _ = await gate.slot.park(for: .cut, until: loop.deadline(in: .milliseconds(50)))
            if gate.isClosed { return }
        } while (try? gate.listener.resume()) == nil
    }

    private func serve(
        _ channel: Channel,
        _ resources: WorkerResources,
        _ gate: Gate
    ) {
        let connection = DownstreamConnection(channel, resources, gate)
        resources.add(connection)
        connection.start(resources.admit(connection))
    }

    private func resume(_ connection: LoopLocal<DownstreamConnection>) async {
        let connection = connection.value
        await connection.serve()
        if connection.isOver { resources?.remove(connection) }
    }

    /// Closes connections that have been idle for too long, on either side; runs once a second.
    private func keepHouse(_ resources: WorkerResources) async {
        let slot = resources.housekeeping
        while !resources.isClosed {
            let wake = resources.loop.deadline(in: .seconds(1))
            _ = await slot.park(for: .cut, until: wake)
            resources.pool.sweep()
            resources.sweepConnections()
            for gate in gates { gate.entrance.authenticator?.lookAfterFile() }
        }
        slot.retire()
    }
}
