// Which address wins, when the next one is tried, and that losers leave nothing behind.
import Foundation
import LupinCore
import LupinIO
import LupinTestKit
import Testing

struct ConnectorTests {
    private typealias Answer = Result<SocketAddress?, ConnectFailure>

    @Test(arguments: [
        ("", ""), ("a", "a"), ("ab", "ab"), ("aB", "aB"), ("Ba", "Ba"), ("abCD", "aCbD"),
        ("abcD", "aDbc"), ("ABcde", "AcBde"), ("AbBc", "AbBc"), ("aABC", "aABC"),
    ])
    func `families alternate, the first one first`(given: String, tried: String) {
        // Small letters are IPv4 addresses, capitals IPv6.
        let address = { (letter: Character) -> IPAddress in
            let number = letter.asciiValue ?? 0
            return letter.isLowercase ? .v4(UInt32(number)) : .v6(high: 0, low: UInt64(number))
        }
        #expect(Connector.interleave(given.map(address)) == tried.map(address))
    }

    /// The server answers and resets before lupin has looked whether it is connected.
    @Test func `what came before a reset is there to be read`() throws {
        for text in ["413", ""] {
            let listener = try PlainListener()
            let socket = try PlainSocket.connect(to: listener.address)
            let peer = try listener.accept()
            if !text.isEmpty { try peer.send(text) }
            peer.reset()
            if text.isEmpty {
                #expect(throws: SystemError.self) { try Connector.isConnected(socket.descriptor) }
            } else {
                #expect(try Connector.isConnected(socket.descriptor))
            }
        }
    }

    @Test func `a listening address is connected to`() async throws {
        try await LoopFixture.run { fixture in
            let listener = try PlainListener()
            let channel = try await connect([1], listener.address.port, fixture)
            defer { channel.close() }
            let peer = try listener.accept()
            #expect(channel.peer == listener.address)
            let found = OpenSocket.all { $0.remote == listener.address.port }
            #expect(found.map(\.congestionControl) == ["reno"])
            // It is a channel like any other: bytes that were there first are found.
            try peer.send("220 hello")
            let slot = channel.waits(for: .ready)
            while try channel.receive() == .blocked { _ = await slot.park(for: .ready) }
            #expect(channel.text == "220 hello")
        }
    }

    @Test func `IPv6 is connected to`() async throws {
        try await LoopFixture.run { fixture in
            let listener = try PlainListener(at: .loopback6(port: 0))
            var connector = Connector(on: fixture.loop, slot: ParkingSlot(on: fixture.loop))
            let channel = try await connector.connect(
                to: [.v6(high: 0, low: 1)],
                port: listener.address.port,
                until: .max,
                interruptions: []
            )
            #expect(channel.peer == listener.address)
            channel.close()
        }
    }

    @Test func `an address that refuses is named`() async throws {
        try await LoopFixture.run { fixture in
            let failure = try await failure(of: [1, 2], Self.unusedPort(), fixture)
            #expect(failure.errors == [SystemError(code: 111), SystemError(code: 111)])
            #expect(failure.isEveryAddressRefused)
            #expect(!failure.isTimeout && !failure.isUnroutable && !failure.isExhausted)
        }
    }

    @Test func `no address at all is a failure`() async throws {
        try await LoopFixture.run { fixture in
            let failure = try await failure(of: [], 1, fixture)
            #expect(failure.errors.isEmpty && !failure.isTimeout)
        }
    }

    @Test func `after a refusal the second address is tried at once`() async throws {
        // Time stands still, so no delay can have passed.
        let clock = VirtualClock()
        try await LoopFixture.run(clock: clock) { fixture in
            let listener = try PlainListener(at: .loopback(port: 0, host: 3))
            let channel = try await connect([2, 3], listener.address.port, fixture)
            #expect(channel.peer == listener.address)
            channel.close()
        }
    }

    @Test func `beside a silent address the next one is tried after the delay`() async throws {
        let clock = VirtualClock()
        try await LoopFixture.run(clock: clock) { fixture in
            let hole = try BlackHole(host: 2)
            let listener = try PlainListener(at: .loopback(port: hole.port, host: 3))
            let connecting = start([2, 3], hole.port, fixture)
            await fixture.settle()
            #expect(hole.attempts == 1)
            try clock.advance(by: .milliseconds(240))
            await fixture.settle()
            #expect(!listener.hasWaiting)
            try clock.advance(by: .milliseconds(10))
            await fixture.settle()
            #expect(try await connecting.value.get() == listener.address)
            // The kernel's table may be read while it changes.
            var turns = 0
            while hole.attempts > 0, turns < 1000 {
                await fixture.settle()
                turns += 1
            }
            #expect(turns < 1000)
        }
    }

    @Test func `the deadline ends all attempts`() async throws {
        let clock = VirtualClock()
        try await LoopFixture.run(clock: clock) { fixture in
            let hole = try BlackHole(host: 2)
            let connecting = start([2], hole.port, fixture, within: .seconds(15))
            await fixture.settle()
            try clock.advance(by: .milliseconds(14_900))
            await fixture.settle()
            #expect(hole.attempts == 1)
            try clock.advance(by: .milliseconds(100))
            let failure = try #require(await Self.failure(of: connecting))
            #expect(failure.isTimeout && failure.interruption.isEmpty)
            #expect(!failure.isEveryAddressRefused)
            #expect(hole.attempts == 0)
        }
    }

    @Test func `an interruption ends all attempts and is named`() async throws {
        try await LoopFixture.run { fixture in
            let hole = try BlackHole(host: 2)
            let slot = ParkingSlot(on: fixture.loop)
            let connecting = start([2], hole.port, fixture, slot: slot)
            await fixture.settle()
            #expect(hole.attempts == 1)
            slot.wake(.downstreamClosed)
            let failure = try #require(await Self.failure(of: connecting))
            #expect(failure.interruption == .downstreamClosed && !failure.isTimeout)
            #expect(hole.attempts == 0)
        }
    }

    @Test func `an interruption beside success is kept for the caller`() async throws {
        try await LoopFixture.run { fixture in
            let hole = try BlackHole(host: 2)
            let slot = ParkingSlot(on: fixture.loop)
            let connecting = start([2], hole.port, fixture, slot: slot)
            await fixture.settle()
            #expect(hole.attempts == 1)
            let filling = try hole.makeRoom()
            defer { filling.close() }
            // The loop stands still until the kernel, which tries again after a second, has
            // connected: in the turn behind that both reasons come together.
            let mailbox = fixture.executor.mailbox
            mailbox.post { [local = LoopLocal(slot, of: fixture.executor)] in
                while hole.attempts > 0 { usleep(1000) }
                mailbox.post { local.value.wake(.downstreamClosed) }
            }
            #expect(try await connecting.value.get() == hole.address)
            #expect(slot.has(.downstreamClosed))
        }
    }

    @Test func `a slot that served a connector can serve the next`() async throws {
        try await LoopFixture.run { fixture in
            let listener = try PlainListener()
            let slot = ParkingSlot(on: fixture.loop)
            for _ in 0..<3 {
                var connector = Connector(on: fixture.loop, slot: slot)
                let channel = try await connector.connect(
                    to: [.v4(0x7F00_0002), .v4(0x7F00_0001)],
                    port: listener.address.port,
                    until: .max,
                    interruptions: []
                )
                #expect(channel.slot == nil)
                channel.close()
            }
        }
    }

    // MARK: Ways

    private func connect(
        _ hosts: [UInt8],
        _ port: UInt16,
        _ fixture: isolated LoopFixture
    ) async throws -> Channel {
        var connector = Connector(on: fixture.loop, slot: ParkingSlot(on: fixture.loop))
        return try await connector.connect(
            to: hosts.map { SocketAddress.loopback(port: port, host: $0).address },
            port: port,
            until: .max,
            interruptions: []
        )
    }

    private func failure(
        of hosts: [UInt8],
        _ port: UInt16,
        _ fixture: isolated LoopFixture
    ) async throws -> ConnectFailure {
        do {
            try await connect(hosts, port, fixture).close()
        } catch let failure as ConnectFailure {
            return failure
        }
        throw SocketUnexpectedlyOpen()
    }

    /// Connects in a second task, closes the winner, and says who it was.
    private func start(
        _ hosts: [UInt8],
        _ port: UInt16,
        _ fixture: isolated LoopFixture,
        within duration: Duration? = nil,
        slot: ParkingSlot? = nil
    ) -> Task<Answer, any Error> {
        let loop = fixture.loop
        let slot = slot ?? ParkingSlot(on: loop)
        let deadline = duration.map { loop.deadline(in: $0) } ?? .max
        return fixture.start {
            var connector = Connector(on: loop, slot: slot)
            do throws(ConnectFailure) {
                let channel = try await connector.connect(
                    to: hosts.map { SocketAddress.loopback(port: port, host: $0).address },
                    port: port,
                    until: deadline,
                    interruptions: .downstreamClosed
                )
                defer { channel.close() }
                return .success(channel.peer)
            } catch {
                return .failure(error)
            }
        }
    }

    private static func failure(of task: Task<Answer, any Error>) async -> ConnectFailure? {
        guard case .success(.failure(let failure)) = await task.result else { return nil }
        return failure
    }

    /// A port at which nobody listens on 127.0.0.1 and 127.0.0.2.
    private static func unusedPort() throws -> UInt16 {
        let listener = try PlainListener()
        defer { listener.close() }
        return listener.address.port
    }
}

private struct SocketUnexpectedlyOpen: Error {}

/// An address that leaves connection attempts unanswered: its queue is full.
private struct BlackHole {
    private let listener: PlainListener
    private let filling: PlainSocket

    init(host: UInt8) throws {
        listener = try PlainListener(at: .loopback(port: 0, host: host), backlog: 0)
        filling = try PlainSocket.connect(to: listener.address)
    }

    var address: SocketAddress { listener.address }
    var port: UInt16 { address.port }

    /// Takes what fills the queue out of it.
    func makeRoom() throws -> PlainSocket { try listener.accept() }

    /// How many sockets of this machine are waiting for its answer.
    ///
    /// The kernel hands the table out page by page while it changes: a line may come twice or,
    /// rarely, not at all.
    var attempts: Int { (0..<3).map { _ in waitingSockets.count }.max() ?? 0 }

    /// The local addresses in state SYN_SENT, which is 02.
    private var waitingSockets: Set<Data> {
        guard let file = FileHandle(forReadingAtPath: "/proc/net/tcp"),
            case .v4(let number) = listener.address.address
        else { return [Data("/proc/net/tcp cannot be read".utf8)] }
        var table = Data()
        while let page = try? file.read(upToCount: 1 << 20), !page.isEmpty { table += page }
        // The table may have thousands of lines, of connections that have ended.
        let sought = String(format: " %08X:%04X 02 ", number.byteSwapped, UInt32(port))
        var found: Set<Data> = []
        var rest = table[...]
        while let place = rest.range(of: Data(sought.utf8)) {
            found.insert(table[..<place.lowerBound].suffix(Self.addressLength))
            rest = table[place.upperBound...]
        }
        return found
    }

    /// Of an IPv4 address with its port in the table.
    private static let addressLength = 13
}
