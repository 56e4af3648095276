// Whose a socket is, as the kernel tells it at once.
import Glibc
import LupinCore
import LupinIO
import LupinTestKit
import Testing

struct SocketDiagnosisTests {
    @Test func `the user of each end of a connection is told`() async throws {
        let diagnosis = try #require(SocketDiagnosis())
        let lookup = try ProcessLookup()
        defer { lookup.abandon() }
        try await LoopFixture.run { fixture in
            let (channel, socket) = try fixture.connectedPair()
            let far = try #require(socket.address)
            let near = try #require(channel.localAddress)
            for (one, other) in [(far, near), (near, far)] {
                let answer = diagnosis.user(of: one, connectedTo: other)
                guard case .user(let user, _) = answer else {
                    Issue.record("\(answer)")
                    continue
                }
                #expect(user == geteuid())
                let slot = ParkingSlot(on: fixture.loop)
                let holders = await lookup.holders(
                    of: one,
                    to: other,
                    among: [getpid(), .max],
                    slot: slot
                )
                #expect(holders == [getpid()])
                slot.retire()
            }
            channel.close()
        }
    }

    @Test func `a socket that its process has closed is nobody's, and not root's`() async throws {
        let diagnosis = try #require(SocketDiagnosis())
        try await LoopFixture.run { fixture in
            let (channel, socket) = try fixture.connectedPair()
            let far = try #require(socket.address)
            let near = try #require(channel.localAddress)
            // It goes on existing in FIN_WAIT2, as the other end is open.
            socket.close()
            #expect(diagnosis.user(of: far, connectedTo: near) == .nobody)
            channel.close()
        }
    }

    @Test func `who listens at a client's port is not the client, when that has gone`() throws {
        let diagnosis = try #require(SocketDiagnosis())
        let server = try PlainListener()
        let client = try PlainSocket.connect(to: server.address, sharingPort: true)
        let accepted = try server.accept()
        let far = try #require(client.address)
        let everywhere = SocketAddress(address: .v4(0), port: far.port)
        let listener = try PlainListener(at: everywhere)
        guard case .user(geteuid(), _) = diagnosis.user(of: far, connectedTo: server.address) else {
            Issue.record("not found")
            return
        }
        client.reset()
        #expect(diagnosis.user(of: far, connectedTo: server.address) == .nobody)
        accepted.close()
        listener.close()
    }

    @Test func `an end that does not exist is nobody's`() throws {
        let diagnosis = try #require(SocketDiagnosis())
        let nowhere = SocketAddress.loopback(port: 1)
        #expect(diagnosis.user(of: nowhere, connectedTo: nowhere) == .nobody)
        let other = SocketAddress(address: .v6(high: 0, low: 1), port: 1)
        #expect(diagnosis.user(of: nowhere, connectedTo: other) == .nobody)
    }

    @Test func `an IPv4 address in an IPv6 address is the IPv4 address`() async throws {
        let diagnosis = try #require(SocketDiagnosis())
        try await LoopFixture.run { fixture in
            let (channel, socket) = try fixture.connectedPair()
            let near = try #require(channel.localAddress)
            let port = try #require(socket.address).port
            let mapped = SocketAddress(address: .v6(high: 0, low: 0xFFFF_7F00_0001), port: port)
            guard case .user(geteuid(), _) = diagnosis.user(of: mapped, connectedTo: near) else {
                Issue.record("not found")
                return
            }
            channel.close()
        }
    }
}
