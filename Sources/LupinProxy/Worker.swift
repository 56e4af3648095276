// One worker: a thread, its loop, and everything that lives on it.

import Logging
import LupinCore
import LupinIO
import LupinTLS
import LupinWire

/// Accepts connections and serves them for life. All of its state is confined to its loop.
actor Worker {
    nonisolated let executor: LoopExecutor
    // Exception: the language wants an unsafe reference here; the executor outlives the worker.
    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.unowned }

    private let shared: Shared
    private let workerCount: Int
    private var resources: WorkerResources?
    private var listeners: [(Listener, ParkingSlot)] = []
    private var isDraining = false

    init(executor: LoopExecutor, shared: Shared, workerCount: Int) {
        self.executor = executor
        self.shared = shared
        self.workerCount = workerCount
    }

    /// Watches the listening sockets and begins to serve.
    func start(_ sockets: [ListeningSocket]) throws(SystemError) {
        let loop = executor.loop
        let resources = WorkerResources(loop: loop, shared: shared, workerCount: workerCount)
        self.resources = resources
        resources.resume = { [self, executor] connection in
            let local = LoopLocal(connection, of: executor)
            Task.immediate(executorPreference: executor) { await self.resume(local) }
        }
        for (socket, entrance) in zip(sockets, shared.entrances) {
            let slot = ParkingSlot(on: loop)
            let listener = try Listener(
                socket,
                on: loop,
                slot: slot,
                isShared: workerCount > 1
            )
            listeners.append((listener, slot))
            Task.immediate(executorPreference: executor) {
                await self.accept(from: listener, slot, entrance)
            }
        }
        Task.immediate(executorPreference: executor) { await self.keepHouse(resources) }
    }

    /// Stops accepting.
    func stopAccepting() {
        isDraining = true
        for (listener, slot) in listeners {
            listener.close()
            slot.wake(.ready)
        }
        listeners = []
    }

    /// Lets what runs finish and cuts the rest after `limit`; accepting must have stopped.
    func drain(within limit: Duration) async {
        guard let resources else { return }
        resources.beginDraining()
        let slot = ParkingSlot(on: resources.loop)
        resources.whenEmpty = slot
        let deadline = resources.loop.deadline(in: limit)
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

    private func accept(
        from listener: Listener,
        _ slot: ParkingSlot,
        _ entrance: Entrance
    ) async {
        while !isDraining {
            guard let resources else { return }
            if shared.connections.count >= resources.snapshot.limits.connections {
                await pause(listener, slot)
                continue
            }
            do throws(SystemError) {
                switch try listener.accept() {
                case .connection(let channel): serve(channel, resources, entrance)
                case .blocked: _ = await slot.park(for: .ready)
                case .exhausted:
                    shared.logger.warning("no descriptors left: accepting pauses")
                    await pause(listener, slot)
                }
            } catch {
                guard !isDraining else { return }
                shared.logger.error("accepting failed: \(error.message)")
                await pause(listener, slot)
            }
        }
    }

    /// Leaves connections in the kernel's queue until there is room: nothing is dropped, and the
    /// loop does not spin.
    private func pause(_ listener: Listener, _ slot: ParkingSlot) async {
        listener.pause()
        let loop = executor.loop
        repeat {
            _ = await slot.park(for: .answered, until: loop.deadline(in: .milliseconds(50)))
            if isDraining { return }
        } while (try? listener.resume()) == nil
    }

    private func serve(
        _ channel: Channel,
        _ resources: WorkerResources,
        _ entrance: Entrance
    ) {
        let connection = DownstreamConnection(channel, resources, entrance)
        resources.add(connection)
        Task.immediate(executorPreference: executor) {
            await self.serve(connection, resources)
        }
    }

    private func serve(
        _ connection: DownstreamConnection,
        _ resources: WorkerResources
    ) async {
        await connection.serve()
        if connection.isOver { resources.remove(connection) }
    }

    private func resume(_ connection: LoopLocal<DownstreamConnection>) async {
        guard let resources else { return }
        await serve(connection.value, resources)
    }

    /// Once a second: close connections that have been idle for too long, on either side.
    private func keepHouse(_ resources: WorkerResources) async {
        let slot = ParkingSlot(on: resources.loop)
        while !resources.isClosed {
            let wake = resources.loop.deadline(in: .seconds(1))
            _ = await slot.park(for: .cut, until: wake)
            resources.pool.sweep()
            resources.sweepConnections()
            for entrance in shared.entrances { entrance.authenticator?.lookAfterFile() }
        }
        slot.retire()
    }
}
