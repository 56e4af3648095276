// Which names have which addresses, who asks for them, and for how long an answer holds.
import LupinCore
import LupinIO
import LupinTestKit
import Synchronization
import Testing

struct ResolverTests {
    private static let home = IPAddress.v4(0x7F00_0001)

    // MARK: The machine's resolver

    @Test func `localhost is this machine`() throws {
        let addresses = try Resolver.ask("localhost").get()
        #expect(addresses.contains(Self.home) || addresses.contains(.v6(high: 0, low: 1)))
        #expect(Set(addresses).count == addresses.count)
    }

    @Test func `an address is its own name`() throws {
        #expect(try Resolver.ask("127.0.0.9").get() == [.v4(0x7F00_0009)])
    }

    @Test func `a name that is none has no address`() {
        // Without a network the resolver cannot tell; with one it must not find it.
        switch Resolver.ask("not a name") {
        case .success(let addresses): Issue.record("found \(addresses)")
        case .failure(let failure):
            if case .failed(let reason) = failure {
                #expect(!reason.isEmpty)
            } else {
                #expect(failure == .notFound)
            }
        }
    }

    // MARK: The loop's view

    @Test func `an answer comes back from its thread to the loop`() async throws {
        let threads = try ResolverThreads(count: 1)
        defer { threads.abandon() }
        try await LoopFixture.run { fixture in
            let resolver = Resolver(on: fixture.loop, threads: threads)
            let addresses = try await resolver.resolve("127.0.0.7", fixture)
            #expect(addresses == [.v4(0x7F00_0007)])
        }
    }

    @Test func `look-ups of one name at a time share a call`() async throws {
        let names = ScriptedNames()
        let threads = try ResolverThreads(count: 2, asking: names.answer)
        defer { threads.abandon() }
        try await LoopFixture.run { fixture in
            let resolver = Resolver(on: fixture.loop, threads: threads)
            var tasks: [Task<[IPAddress], any Error>] = []
            for _ in 0..<10 {
                tasks.append(
                    fixture.start { try await resolver.resolve("held", fixture) }
                )
            }
            await fixture.settle()
            names.release()
            for task in tasks {
                let addresses = try await task.value
                #expect(addresses == [Self.home])
            }
            #expect(names.asked == ["held"])
        }
    }

    @Test func `an answer holds for its lifetime and no longer`() async throws {
        let names = ScriptedNames()
        let threads = try ResolverThreads(count: 1, asking: names.answer)
        defer { threads.abandon() }
        let clock = VirtualClock()
        try await LoopFixture.run(clock: clock) { fixture in
            let resolver = Resolver(on: fixture.loop, threads: threads)
            #expect(resolver.cached("a") == nil)
            _ = try await resolver.resolve("a", fixture)
            #expect(try resolver.cached("a")?.get() == [Self.home])
            try clock.advance(by: .milliseconds(29_900))
            await fixture.settle()
            _ = try await resolver.resolve("a", fixture)
            #expect(names.asked == ["a"])
            try clock.advance(by: .milliseconds(200))
            await fixture.settle()
            #expect(resolver.cached("a") == nil)
            _ = try await resolver.resolve("a", fixture)
            #expect(names.asked == ["a", "a"])
        }
    }

    @Test func `a name that was not found is asked for again after a second`() async throws {
        let names = ScriptedNames()
        let threads = try ResolverThreads(count: 1, asking: names.answer)
        defer { threads.abandon() }
        let clock = VirtualClock()
        try await LoopFixture.run(clock: clock) { fixture in
            let resolver = Resolver(on: fixture.loop, threads: threads)
            for _ in 0..<2 {
                await #expect(throws: ResolveFailure.notFound) {
                    try await resolver.resolve("missing", fixture)
                }
            }
            #expect(names.asked == ["missing"])
            try clock.advance(by: .milliseconds(1100))
            await fixture.settle()
            await #expect(throws: ResolveFailure.notFound) {
                try await resolver.resolve("missing", fixture)
            }
            #expect(names.asked.count == 2)
        }
    }

    @Test func `with a lifetime of nothing each look-up has its own answer`() async throws {
        let names = ScriptedNames()
        let threads = try ResolverThreads(count: 1, asking: names.answer)
        defer { threads.abandon() }
        try await LoopFixture.run { fixture in
            let resolver = Resolver(on: fixture.loop, threads: threads)
            for _ in 0..<3 {
                let addresses = try await resolver.resolve("a", fixture, timeToLive: .zero)
                #expect(addresses == [Self.home])
            }
            #expect(names.asked.count == 3)
        }
    }

    @Test func `an old wake-up is not taken for the answer`() async throws {
        let names = ScriptedNames()
        let threads = try ResolverThreads(count: 1, asking: names.answer)
        defer { threads.abandon() }
        try await LoopFixture.run { fixture in
            let resolver = Resolver(on: fixture.loop, threads: threads)
            _ = try await resolver.resolve("held once", fixture, timeToLive: .zero)
            let slot = ParkingSlot(on: fixture.loop)
            slot.wake(.answered)
            let task = fixture.start {
                try await resolver.resolve("held", fixture, slot: slot)
            }
            await fixture.settle()
            #expect(names.asked.last == "held" || names.asked.count < 2)
            names.release()
            let addresses = try await task.value
            #expect(addresses == [Self.home])
        }
    }

    @Test func `time ends the wait of one and not that of the others`() async throws {
        let names = ScriptedNames()
        let threads = try ResolverThreads(count: 1, asking: names.answer)
        defer { threads.abandon() }
        let clock = VirtualClock()
        try await LoopFixture.run(clock: clock) { fixture in
            let resolver = Resolver(on: fixture.loop, threads: threads)
            let hasty = fixture.start {
                try await resolver.resolve("held", fixture, within: .seconds(5))
            }
            let patient = fixture.start {
                try await resolver.resolve("held", fixture, within: .seconds(50))
            }
            await fixture.settle()
            try clock.advance(by: .seconds(5))
            await #expect(throws: ResolveFailure.timedOut) { try await hasty.value }
            names.release()
            let addresses = try await patient.value
            #expect(addresses == [Self.home])
        }
    }

    @Test func `an interruption ends the wait`() async throws {
        let names = ScriptedNames()
        let threads = try ResolverThreads(count: 1, asking: names.answer)
        defer { threads.abandon() }
        try await LoopFixture.run { fixture in
            let resolver = Resolver(on: fixture.loop, threads: threads)
            let slot = ParkingSlot(on: fixture.loop)
            let task = fixture.start { try await resolver.resolve("held", fixture, slot: slot) }
            await fixture.settle()
            slot.wake(.downstreamClosed)
            await #expect(throws: ResolveFailure.interrupted) { try await task.value }
            names.release()
            // The answer to the call that went on serves the next who asks.
            let addresses = try await resolver.resolve("held", fixture)
            #expect(addresses == [Self.home])
            #expect(!slot.has(.answered))
        }
    }

    @Test func `beyond the queue look-ups are turned away`() async throws {
        let names = ScriptedNames()
        let threads = try ResolverThreads(count: 1, asking: names.answer)
        defer { threads.abandon() }
        try await LoopFixture.run { fixture in
            let resolver = Resolver(on: fixture.loop, threads: threads)
            var tasks: [Task<[IPAddress], any Error>] = []
            for i in 0..<1100 {
                tasks.append(fixture.start { try await resolver.resolve("held \(i)", fixture) })
            }
            await fixture.settle()
            names.release()
            var refused = 0
            for task in tasks {
                guard case .failure(let error) = await task.result else { continue }
                #expect(error as? ResolveFailure == .busy)
                refused += 1
            }
            #expect(refused >= 1100 - 1025 && refused < 1100)
        }
    }
}

extension Resolver {
    fileprivate func resolve(
        _ host: String,
        _ fixture: isolated LoopFixture,
        timeToLive: Duration = .seconds(30),
        within duration: Duration? = nil,
        slot: ParkingSlot? = nil
    ) async throws -> [IPAddress] {
        let loop = fixture.loop
        return try await resolve(
            host,
            timeToLive: timeToLive,
            slot: slot ?? ParkingSlot(on: loop),
            until: duration.map { loop.deadline(in: $0) } ?? .max,
            interruptions: .downstreamClosed
        )
    }
}

/// A name service that knows everybody but "missing", and holds back names that begin with
/// "held " or are "held" until it is released.
private final class ScriptedNames: Sendable {
    private let names = Mutex<[String]>([])
    private let isReleased = Atomic(false)
    private let bell = Bell()

    var asked: [String] { names.withLock { $0 } }

    var answer: @Sendable (String) -> Resolver.Answer {
        { [self] name in
            names.withLock { $0.append(name) }
            if name.hasPrefix("held"), name != "held once",
                !isReleased.load(ordering: .acquiring)
            {
                _ = bell.wait()
            }
            return name == "missing" ? .failure(.notFound) : .success([.v4(0x7F00_0001)])
        }
    }

    func release() {
        isReleased.store(true, ordering: .releasing)
        bell.ring()
    }
}
