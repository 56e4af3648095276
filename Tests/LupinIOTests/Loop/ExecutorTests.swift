// Where jobs run, and that a loop at work needs no help from other threads.
import LupinIO
import LupinTestKit
import Testing

struct ExecutorTests {
    @Test func `a thousand exchanges between two tasks bring no job from another thread`()
        async throws
    {
        try await LoopFixture.run { fixture in
            let (near, far) = try fixture.channelPair()
            defer {
                near.close()
                far.close()
            }
            try await exchange(10, near, far, fixture)
            let before = fixture.executor.foreignEnqueues
            try await exchange(1000, near, far, fixture)
            #expect(fixture.executor.foreignEnqueues == before)
        }
    }

    /// Sends a byte to and fro between two tasks of the loop.
    private func exchange(
        _ rounds: Int,
        _ near: Channel,
        _ far: Channel,
        _ fixture: isolated LoopFixture
    ) async throws {
        let echo = fixture.start {
            for _ in 0..<rounds {
                try await receiveByte(far)
                _ = try far.send(bytes: [7])
            }
        }
        for _ in 0..<rounds {
            _ = try near.send(bytes: [7])
            try await receiveByte(near)
        }
        try await echo.value
    }

    private func receiveByte(_ channel: Channel) async throws {
        let slot = ParkingSlot(on: channel.loop)
        channel.slot = slot
        channel.readableReason = .ready
        while try channel.receive() == .blocked { _ = await slot.park(for: .ready) }
        channel.input.discard(1)
    }

    @Test func `a job from another thread is counted and runs at home`() async throws {
        let fixture = try LoopFixture()
        defer { fixture.stop() }
        let before = fixture.executor.foreignEnqueues
        let isHome = await Task(executorPreference: fixture.executor) {
            fixture.executor.isHome
        }.value
        #expect(isHome)
        #expect(!fixture.executor.isHome)
        #expect(fixture.executor.foreignEnqueues > before)
    }

    @Test func `more jobs than the queue first holds all run in order`() async throws {
        try await LoopFixture.run { fixture in
            let slot = ParkingSlot(on: fixture.loop)
            var order: [Int] = []
            var tasks: [Task<Void, any Error>] = []
            let slots = (0..<3000).map { _ in ParkingSlot(on: slot.loop) }
            for i in slots.indices {
                tasks.append(
                    fixture.start {
                        _ = await slots[i].park(for: .ready)
                        order.append(i)
                    }
                )
            }
            for slot in slots { slot.wake(.ready) }
            for task in tasks { try await task.value }
            #expect(order == Array(slots.indices))
        }
    }

    @Test func `a loop-confined value is opened at home`() async throws {
        let fixture = try LoopFixture()
        defer { fixture.stop() }
        let local = try await fixture.run { fixture in
            LoopLocal(ParkingSlot(on: fixture.loop), of: fixture.executor)
        }
        let hasReason = try await fixture.run { _ in
            local.value.wake(.ready)
            return local.value.has(.ready)
        }
        #expect(hasReason)
    }
}
