// That no waiting connection is lost, and that loops which share a socket share the work.
import LupinIO
import LupinTestKit
import Testing

struct ListenerTests {
    @Test(arguments: [2, 4])
    func `loops that pass their turn each take their part of the connections`(
        loops: Int
    ) async throws {
        try await expectRound(of: loops, passing: true) { counts in
            counts.allSatisfy { $0 >= 24 / loops / 3 }
        }
    }

    @Test(arguments: [2, 4])
    func `a loop that keeps its turn takes all that come one after the other`(
        loops: Int
    ) async throws {
        try await expectRound(of: loops, passing: false) { counts in
            counts.contains { $0 >= 20 }
        }
    }

    /// Expects how many of 24 connections, made one after the other, each of the loops accepts.
    private func expectRound(
        of loops: Int,
        passing: Bool,
        _ isRight: ([Int]) -> Bool
    ) async throws {
        // A thread that the machine lets wait misses its turns, so a round may turn out otherwise.
        var counts: [Int] = []
        for _ in 0..<5 {
            counts = try await countsOfOneRound(loops, passing: passing)
            #expect(counts.reduce(0, +) == 24)
            if isRight(counts) { return }
        }
        Issue.record("the 24 connections went \(counts) in the last of 5 rounds")
    }

    private func countsOfOneRound(_ loops: Int, passing: Bool) async throws -> [Int] {
        let socket = try ListeningSocket(.loopback(port: 0))
        let events = EventLog()
        let acceptors = try await Acceptor.start(loops, at: socket, passing, noting: events)
        var clients: [PlainSocket] = []
        for i in 1...24 {
            clients.append(try PlainSocket.connect(to: socket.address))
            #expect(events.wait(for: i).count == i)
        }
        let counts = try await Acceptor.stop(acceptors)
        for client in clients { #expect(try client.receiveUntilEOF() == []) }
        return counts
    }

    @Test func `connections that come all at once are all accepted`() async throws {
        let socket = try ListeningSocket(.loopback(port: 0))
        let events = EventLog()
        let clients = try (0..<24).map { _ in try PlainSocket.connect(to: socket.address) }
        let acceptors = try await Acceptor.start(2, at: socket, noting: events)
        #expect(events.wait(for: 24).count == 24)
        #expect(try await Acceptor.stop(acceptors).reduce(0, +) == 24)
        #expect(clients.count == 24)
    }

    @Test func `an accepted channel knows its peer and carries bytes`() async throws {
        try await LoopFixture.run { fixture in
            let socket = try ListeningSocket(.loopback(port: 0))
            let slot = ParkingSlot(on: fixture.loop)
            let listener = try Listener(socket, on: fixture.loop, slot: slot, isShared: false)
            defer { listener.close() }
            #expect(listener.address == socket.address && listener.address.port != 0)
            let client = try PlainSocket.connect(to: socket.address)
            try client.send("hello")
            _ = await slot.park(for: .ready)
            let channel = try #require(try listener.takeConnection())
            defer { channel.close() }
            #expect(channel.peer == client.address)
            #expect(channel.localAddress == socket.address)
            // What was there first, the loop tells in its next turn.
            #expect(try channel.receive() == .blocked)
            let reader = channel.waits(for: .ready)
            _ = await reader.park(for: .ready)
            #expect(try channel.receive() == .bytes)
            #expect(channel.text == "hello")
            #expect(try listener.takeConnection() == nil)
        }
    }

    @Test func `an accepted socket sends without pauses`() async throws {
        try await LoopFixture.run { fixture in
            let socket = try ListeningSocket(.loopback(port: 0))
            let slot = ParkingSlot(on: fixture.loop)
            let listener = try Listener(socket, on: fixture.loop, slot: slot, isShared: false)
            defer { listener.close() }
            let client = try PlainSocket.connect(to: socket.address)
            _ = await slot.park(for: .ready)
            let channel = try #require(try listener.takeConnection())
            defer { channel.close() }
            let found = OpenSocket.all { $0.remote == client.address?.port }
            #expect(found.map(\.congestionControl) == ["reno"])
        }
    }

    @Test(arguments: [true, false])
    func `a paused listener leaves connections waiting for its return`(
        isShared: Bool
    ) async throws {
        try await LoopFixture.run { fixture in
            let socket = try ListeningSocket(.loopback(port: 0))
            let slot = ParkingSlot(on: fixture.loop)
            let listener = try Listener(
                socket,
                on: fixture.loop,
                slot: slot,
                isShared: isShared
            )
            defer { listener.close() }
            listener.pause()
            listener.pause()
            let clients = try (0..<3).map { _ in try PlainSocket.connect(to: socket.address) }
            await fixture.settle()
            #expect(!slot.has(.ready))
            try listener.resume()
            try listener.resume()
            for client in clients {
                _ = await slot.park(for: .ready)
                let channel = try #require(try listener.takeConnection())
                #expect(channel.peer == client.address)
                channel.close()
            }
        }
    }

    @Test func `accepting while paused does not resume`() async throws {
        try await LoopFixture.run { fixture in
            let socket = try ListeningSocket(.loopback(port: 0))
            let slot = ParkingSlot(on: fixture.loop)
            let listener = try Listener(socket, on: fixture.loop, slot: slot, isShared: true)
            defer { listener.close() }
            let clients = try (0..<2).map { _ in try PlainSocket.connect(to: socket.address) }
            listener.pause()
            try #require(try listener.takeConnection()).close()
            slot.forget(.ready)
            await fixture.settle()
            #expect(!slot.has(.ready))
            #expect(clients.count == 2)
        }
    }

    @Test func `a listener that is closed wakes nobody`() async throws {
        try await LoopFixture.run { fixture in
            let socket = try ListeningSocket(.loopback(port: 0))
            let slot = ParkingSlot(on: fixture.loop)
            let listener = try Listener(socket, on: fixture.loop, slot: slot, isShared: false)
            listener.close()
            let client = try PlainSocket.connect(to: socket.address)
            await fixture.settle()
            #expect(!slot.has(.ready))
            #expect(!client.isClosedByPeer)
        }
    }

    @Test func `an address that is taken is refused`() throws {
        let socket = try ListeningSocket(.loopback(port: 0))
        #expect(throws: SystemError(code: 98)) { _ = try ListeningSocket(socket.address) }
    }

    @Test func `an IPv6 socket takes no IPv4`() throws {
        // The same port of the other family is kept free: another test's listener would answer.
        let other = try PlainListener()
        other.close()
        let socket = try ListeningSocket(.loopback6(port: other.address.port))
        let client = try PlainSocket.connect(to: socket.address)
        #expect(!client.isClosedByPeer)
        #expect(throws: SocketFailure.self) {
            _ = try PlainSocket.connect(to: .loopback(port: socket.address.port))
        }
    }
}

extension Listener {
    /// A connection if one waits.
    fileprivate func takeConnection() throws -> Channel? {
        guard case .connection(let channel) = try accept() else { return nil }
        return channel
    }
}

/// A loop that accepts from a shared socket until it is stopped.
private struct Acceptor {
    private let fixture: LoopFixture
    private let slot: LoopLocal<ParkingSlot>
    private let accepting: Task<Int, any Error>

    static func start(
        _ count: Int,
        at socket: ListeningSocket,
        _ isPassing: Bool = true,
        noting events: EventLog
    ) async throws -> [Acceptor] {
        var acceptors: [Acceptor] = []
        for _ in 0..<count {
            let fixture = try LoopFixture()
            let slot = try await fixture.run { fixture in
                LoopLocal(ParkingSlot(on: fixture.loop), of: fixture.executor)
            }
            let accepting = fixture.launch { fixture in
                try await acceptAll(at: socket, slot.value, isPassing, events, on: fixture.loop)
            }
            acceptors.append(Acceptor(fixture: fixture, slot: slot, accepting: accepting))
        }
        // The watch is set before the first wait: two rounds of the loop later it is there.
        for acceptor in acceptors { try await acceptor.fixture.run { await $0.settle() } }
        return acceptors
    }

    /// How many each of them accepted.
    static func stop(_ acceptors: [Acceptor]) async throws -> [Int] {
        var counts: [Int] = []
        for acceptor in acceptors {
            try await acceptor.fixture.run { _ in acceptor.slot.value.wake(.cut) }
            counts.append(try await acceptor.accepting.value)
            acceptor.fixture.stop()
        }
        return counts
    }

    private static func acceptAll(
        at socket: ListeningSocket,
        _ slot: ParkingSlot,
        _ isPassing: Bool,
        _ events: EventLog,
        on loop: EventLoop
    ) async throws -> Int {
        let listener = try Listener(socket, on: loop, slot: slot, isShared: true)
        var channels: [Channel] = []
        while await slot.park(for: [.ready, .cut]).isDisjoint(with: .cut) {
            guard let channel = try listener.takeConnection() else { continue }
            channels.append(channel)
            if isPassing { try listener.passTurn() }
            events.note("accepted")
        }
        listener.close()
        for channel in channels { channel.close() }
        return channels.count
    }
}
