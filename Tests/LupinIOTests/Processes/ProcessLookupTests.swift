// Which line of the kernel's table is the client's socket, who holds it, and what late answers do.
import Glibc
import LupinCore
import LupinIO
import LupinTestKit
import Synchronization
import Testing

/// Two ends of three connections, a listener and a socket that nobody holds, as the kernel prints
/// them on a little-endian machine.
private let table4 = """
      sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
       0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 59 1
       1: 0100007F:C93A 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  1000        0 4711
       2: 0100007F:1F90 0100007F:C93A 01 00000000:00000000 00:00000000 00000000     0        0 4712
       3: 0100007F:C93C 0100007F:1F90 06 00000000:00000000 03:0000165C 00000000     0        0 0 3
       4: 0A01A8C0:C93A 2200A8C0:01BB 01 00000000:00000000 00:00000000 00000000  1001        0 4713

    """

private let (one, mapped, other) = (
    "00000000000000000000000001000000", "0000000000000000FFFF00000100007F",
    "B80D0120000000000000000034120000"
)

private let table6 = """
      sl  local_address                         remote_address                        st
       0: \(one):A001 \(one):1F90 01 0:0 0:0 0 7 0 21
       1: \(mapped):A002 \(mapped):1F90 01 0:0 0:0 0 7 0 22
       2: \(other):A003 \(one):1F90 01 0:0 0:0 0 7 0 23
    """

struct ProcessLookupTests {
    private func address(_ text: String, _ port: UInt16) throws -> SocketAddress {
        SocketAddress(address: try #require(IPAddress(text)), port: port)
    }

    @Test(
        arguments: [
            (table4, "127.0.0.1", 51514, "127.0.0.1", 8080, 4711, 1000),
            (table4, "127.0.0.1", 8080, "127.0.0.1", 51514, 4712, 0),
            (table4, "::ffff:127.0.0.1", 51514, "127.0.0.1", 8080, 4711, 1000),
            (table4, "192.168.1.10", 51514, "192.168.0.34", 443, 4713, 1001),
            (table4, "127.0.0.1", 51516, "127.0.0.1", 8080, nil, nil),
            (table4, "127.0.0.1", 51514, "127.0.0.1", 8081, nil, nil),
            (table4, "127.0.0.2", 51514, "127.0.0.1", 8080, nil, nil),
            (table4, "::1", 51514, "::1", 8080, nil, nil),
            (table6, "::1", 40961, "::1", 8080, 21, 7),
            (table6, "127.0.0.1", 40962, "127.0.0.1", 8080, 22, 7),
            (table6, "2001:db8::1234", 40963, "::1", 8080, 23, 7),
            (table6, "2001:db8::1234:0:0", 40963, "::1", 8080, nil, nil),
            ("", "127.0.0.1", 51514, "127.0.0.1", 8080, nil, nil),
        ] as [(String, String, UInt16, String, UInt16, UInt64?, UInt32?)]
    )
    func `the client's line is found by both addresses`(
        table: String,
        host: String,
        port: UInt16,
        to: String,
        toPort: UInt16,
        inode: UInt64?,
        uid: UInt32?
    ) throws {
        let found = SocketTableEntry.find(
            in: Array(table.utf8),
            local: try address(host, port),
            remote: try address(to, toPort)
        )
        #expect(found?.inode == inode)
        #expect(found?.uid == uid)
    }

    @Test(arguments: [
        "", " ", "0:", "0: 0100007F:1F90", "0: 0100007F:1F90 0100007F:1F90 01 0:0 0:0 0 0 0",
        "0: 0100007F 0100007F:1F90 01 0:0 0:0 0 0 0 5",
        "0: 0100007F: 0100007F:1F90 01 0:0 0:0 0 0 0 5",
        "0: :1F90 0100007F:1F90 01 0:0 0:0 0 0 0 5",
        "0: 0100007:1F90 0100007F:1F90 01 0:0 0:0 0 0 0 5",
        "0: 0100007G:1F90 0100007F:1F90 01 0:0 0:0 0 0 0 5",
        "0: 0100007F:1F900 0100007F:1F90 01 0:0 0:0 0 0 0 5",
        "0: 0100007F:1F90 0100007F:1F90 01 0:0 0:0 0 0 0 99999999999999999999",
        "0: 0100007F:1F90 0100007F:1F90 01 0:0 0:0 0 0 0 5A",
        "0: 0100007F:FFFFFFFFFFFFFFFFFFFF 0100007F:1F90 01 0:0 0:0 0 0 0 5",
    ])
    func `a line that is no socket is passed over`(line: String) {
        #expect(SocketTableEntry(line: Array(line.utf8)[...]) == nil)
        _ = SocketTableEntry(line: Array(line.utf8).dropFirst())
    }

    @Test func `the program of a client on loopback is found`() async throws {
        let lookup = try ProcessLookup()
        defer { lookup.abandon() }
        try await LoopFixture.run { fixture in
            let (channel, socket) = try fixture.connectedPair()
            defer { channel.close() }
            let slot = ParkingSlot(on: fixture.loop)
            let far = try #require(socket.address)
            let near = try #require(channel.localAddress)
            // Both ends belong to this process.
            var owner = await lookup.owner(of: far, to: near, slot: slot)
            // A busy machine may take longer than the look-up does, and a child of another test
            // holds our sockets too until it runs its program.
            for _ in 0..<100 where owner?.pid != getpid() {
                owner = await lookup.owner(of: far, to: near, slot: slot)
            }
            #expect(owner?.pid == getpid())
            #expect(owner?.program.isEmpty == false)
            #expect(owner?.program.contains("\n") == false)
            #expect(await lookup.user(of: far, to: near, slot: slot) == geteuid())
        }
    }

    @Test func `the process that listens at an address is found, here and everywhere`() throws {
        let here = try ListeningSocket(.loopback(port: 0))
        defer { here.close() }
        #expect(ProcessLookup.listener(at: here.address)?.pid == getpid())
        let everywhere = try ListeningSocket(SocketAddress(address: .v4(0), port: 0))
        defer { everywhere.close() }
        let reached = SocketAddress(address: .v4(0x7F00_0001), port: everywhere.address.port)
        #expect(ProcessLookup.listener(at: reached)?.pid == getpid())
    }

    @Test func `an end that does not exist has no owner`() throws {
        let nowhere = SocketAddress.loopback(port: 1)
        let finding = ProcessLookup.find(peer: nowhere, local: nowhere, .program)
        #expect(finding == ProcessLookup.Finding())
    }

    @Test func `a client on another machine is not looked for`() async throws {
        let peer = try address("192.0.2.1", 40000)
        let local = try address("192.0.2.2", 8080)
        #expect(ProcessLookup.find(peer: peer, local: local, .user) == ProcessLookup.Finding())
    }

    @Test func `an answer that comes too late disturbs nobody`() async throws {
        let hold = Bell()
        let asked = Bell()
        let lookup = try ProcessLookup { _, _, _ in
            asked.ring()
            _ = hold.wait()
            return ProcessLookup.Finding(owner: .init(program: "late", pid: 1))
        }
        defer { lookup.abandon() }
        let clock = VirtualClock()
        try await LoopFixture.run(clock: clock) { fixture in
            let slot = ParkingSlot(on: fixture.loop)
            let here = SocketAddress.loopback(port: 1)
            var result: ProcessLookup.Owner?? = .none
            let task = fixture.start {
                result = await lookup.owner(of: here, to: here, slot: slot)
            }
            await fixture.settle()
            #expect(asked.wait())
            try clock.advance(by: ProcessLookup.timeout + .seconds(1))
            try await task.value
            #expect(result == .some(nil))
            hold.ring()
            // A second question is asked after the first answer was posted.
            hold.ring()
            let second = await lookup.owner(of: here, to: here, slot: slot)
            #expect(second?.program == "late")
            #expect(!slot.has(.answered))
        }
    }

    @Test func `another reason to wake is kept and does not end the wait`() async throws {
        let hold = Bell()
        let lookup = try ProcessLookup { _, _, _ in
            _ = hold.wait()
            return ProcessLookup.Finding(owner: .init(program: "curl", pid: 7))
        }
        defer { lookup.abandon() }
        try await LoopFixture.run(clock: VirtualClock()) { fixture in
            let slot = ParkingSlot(on: fixture.loop)
            let here = SocketAddress.loopback(port: 1)
            var result: ProcessLookup.Owner?
            let task = fixture.start {
                result = await lookup.owner(of: here, to: here, slot: slot)
            }
            slot.wake([.answered, .downstreamReadable])
            await Task.yield()
            #expect(result == nil)
            hold.ring()
            try await task.value
            #expect(result == ProcessLookup.Owner(program: "curl", pid: 7))
            #expect(slot.has(.downstreamReadable))
        }
    }

    @Test func `a full queue answers nil at once`() async throws {
        let hold = Bell()
        let asked = Bell()
        let lookup = try ProcessLookup { _, _, _ in
            asked.ring()
            _ = hold.wait()
            return ProcessLookup.Finding(owner: .init(program: "curl", pid: 7))
        }
        defer { lookup.abandon() }
        try await LoopFixture.run(clock: VirtualClock()) { fixture in
            let here = SocketAddress.loopback(port: 1)
            let loop = fixture.loop
            var answers: [ProcessLookup.Owner?] = []
            let ask = {
                answers.append(
                    await lookup.owner(of: here, to: here, slot: ParkingSlot(on: loop))
                )
            }
            var tasks = [fixture.start(ask)]
            await fixture.settle()
            #expect(asked.wait())
            for _ in 0..<ProcessLookup.queueLength { tasks.append(fixture.start(ask)) }
            await fixture.settle()
            #expect(answers == [])
            await ask()
            #expect(answers == [nil])
            for _ in tasks { hold.ring() }
            for task in tasks { try await task.value }
            #expect(answers.compactMap(\.self).count == tasks.count)
        }
    }
}
