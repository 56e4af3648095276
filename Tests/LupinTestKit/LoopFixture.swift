// A loop for a test: a thread, its executor, and an actor whose code runs there.
package import LupinIO

/// Runs test code on an event loop.
///
/// ```swift
/// try await LoopFixture.run { fixture in
///     let slot = ParkingSlot(on: fixture.loop)
///     …
/// }
/// ```
package actor LoopFixture {
    package nonisolated let executor: LoopExecutor
    /// The time of this loop, when it is a test's.
    package nonisolated let clock: VirtualClock?
    private nonisolated let thread: LoopThread

    package nonisolated var unownedExecutor: UnownedSerialExecutor {
        unsafe executor.asUnownedSerialExecutor()
    }

    /// Starts a loop; with a `clock` time only moves when the test says so.
    ///
    /// Without one it is `time`'s.
    package init(clock: VirtualClock? = nil, time: LoopClock = .system) throws {
        thread = try LoopThread(name: "test-loop", clock: clock?.loopClock ?? time)
        executor = thread.executor
        self.clock = clock
        clock?.add(executor)
    }

    /// Starts a loop, runs `body` on it, stops it.
    package static func run<Value: Sendable>(
        clock: VirtualClock? = nil,
        time: LoopClock = .system,
        _ body: @Sendable @escaping (isolated LoopFixture) async throws -> Value
    ) async throws -> Value {
        let fixture = try LoopFixture(clock: clock, time: time)
        defer { fixture.stop() }
        return try await fixture.run(body)
    }

    /// Runs `body` on the loop.
    package nonisolated func run<Value: Sendable>(
        _ body: @Sendable @escaping (isolated LoopFixture) async throws -> Value
    ) async throws -> Value {
        try await launch(body).value
    }

    /// Runs `body` on the loop while the test goes on.
    ///
    /// A plain `Task` would not do: tests that block in their sockets may hold all threads of the
    /// pool it needs.
    package nonisolated func launch<Value: Sendable>(
        _ body: @Sendable @escaping (isolated LoopFixture) async throws -> Value
    ) -> Task<Value, any Error> {
        Task(executorPreference: executor) { try await body(self) }
    }

    /// The loop, for code that runs on it.
    package var loop: EventLoop { executor.loop }

    /// Starts a second task on the loop; after `settle` it has run up to its first wait.
    @discardableResult
    package func start<Value: Sendable>(
        _ body: @escaping () async throws -> Value
    ) -> Task<Value, any Error> {
        Task.immediate(executorPreference: executor) {
            // Mentioning the actor makes the closure one of its own.
            _ = self
            return try await body()
        }
    }

    /// Lets the loop go round: other tasks run until they wait, and what the kernel and the clock
    /// have to tell by now is told.
    package func settle() async {
        let slot = ParkingSlot(on: loop)
        let local = LoopLocal(slot, of: executor)
        for _ in 0..<2 {
            executor.mailbox.post { local.value.wake(.ready) }
            _ = await slot.park(for: .ready)
        }
    }

    /// A channel on this loop and the test's end of its connection.
    package func connectedPair() throws -> (Channel, PlainSocket) {
        let listener = try PlainListener()
        let near = try PlainSocket.connect(to: listener.address)
        let far = try listener.accept()
        return (try channel(over: near), far)
    }

    /// Two channels of this loop that are connected to each other.
    package func channelPair() throws -> (Channel, Channel) {
        let (near, far) = try connectedPair()
        return (near, try channel(over: far))
    }

    /// Makes a channel of a test's socket.
    package func channel(over socket: PlainSocket) throws -> Channel {
        try Channel(owning: socket.surrender(), on: loop)
    }

    /// Ends the loop; channels must have been closed.
    package nonisolated func stop() {
        clock?.remove(executor)
        thread.stop()
    }
}
