// How servers are reached: by which address, through which parent proxy, and what forbids it.
import LupinCore
import LupinIO
import LupinTestKit
import LupinUpstream
import Testing

struct OriginConnectorTests {
    private static func address(_ host: UInt8) -> IPAddress {
        SocketAddress.loopback(port: 0, host: host).address
    }

    private static func hop(_ host: String, _ port: UInt16) throws -> NextHop {
        .origin(Origin(scheme: .http, host: try #require(Host(host)), port: port))
    }

    // MARK: Addresses

    @Test func `the rest of a dead address serves`() async throws {
        // Time stands still: the second address is not waited for.
        try await LoopFixture.run(clock: VirtualClock()) { fixture in
            let listener = try PlainListener(at: .loopback(port: 0, host: 3))
            let worker = try PlayedWorker(on: fixture.loop) { _ in
                .success([Self.address(2), Self.address(3)])
            }
            let hop = try Self.hop("a.test", listener.address.port)
            let attempt = PlayedAttempt.start(to: hop, worker, fixture)
            await fixture.settle { attempt.isOver }
            let connection = try #require(attempt.connection)
            #expect(connection.peer == listener.address && connection.hop == hop)
            #expect(!connection.isReused)
            #expect(attempt.notes.peer == listener.address)
            // It isn't there any more once it is made.
            #expect(attempt.notes.channel == nil)
            connection.abort()
        }
    }

    @Test func `of addresses that all refuse it is known that they do`() async throws {
        try await LoopFixture.run { fixture in
            let port = try Self.unusedPort()
            let worker = try PlayedWorker(on: fixture.loop) { _ in
                .success([Self.address(2), Self.address(3)])
            }
            let hop = try Self.hop("a.test", port)
            let attempt = PlayedAttempt.start(to: hop, worker, fixture)
            await fixture.settle { attempt.isOver }
            #expect(attempt.error?.kind == .connectionRefused)
            #expect(attempt.failure?.isEveryAddressRefused == true)
        }
    }

    @Test func `a name without addresses is no server`() async throws {
        try await LoopFixture.run { fixture in
            let worker = try PlayedWorker(on: fixture.loop) { _ in .failure(.notFound) }
            let attempt = PlayedAttempt.start(to: try Self.hop("a.test", 80), worker, fixture)
            await fixture.settle { attempt.isOver }
            #expect(attempt.error?.kind == .dnsError)
            #expect(attempt.error?.retry == .never)
        }
    }

    // MARK: What forbids it

    @Test func `only addresses that the access list allows are connected to`() async throws {
        let metadata = IPAddress.v4(0xA9FE_A9FE)
        try await LoopFixture.run(clock: VirtualClock()) { fixture in
            let listener = try PlainListener()
            let port = listener.address.port
            let worker = try PlayedWorker(on: fixture.loop) { name in
                .success(name == "both.test" ? [metadata, Self.address(1)] : [metadata])
            }
            let allowed = PlayedAttempt.start(to: try Self.hop("both.test", port), worker, fixture)
            await fixture.settle { allowed.isOver }
            #expect(allowed.connection?.peer == listener.address)
            allowed.connection?.abort()
            let denied = PlayedAttempt.start(to: try Self.hop("one.test", port), worker, fixture)
            await fixture.settle { denied.isOver }
            #expect(denied.error?.kind == .destinationIPProhibited)
        }
    }

    @Test func `without a network not even a name is asked for`() async throws {
        let asked = Bell()
        try await LoopFixture.run { fixture in
            let worker = try PlayedWorker(on: fixture.loop) { _ in
                asked.ring()
                return .failure(.notFound)
            }
            worker.isolation = .stopping
            let attempt = PlayedAttempt.start(to: try Self.hop("a.test", 80), worker, fixture)
            await fixture.settle { attempt.isOver }
            #expect(attempt.error == .stopping)
        }
        #expect(!asked.wait(.zero))
    }

    @Test func `a connection that the worker refuses is closed before a byte is sent`() async throws
    {
        try await LoopFixture.run { fixture in
            let listener = try PlainListener()
            let worker = try PlayedWorker(on: fixture.loop)
            worker.refusal = LupinError(.destinationIPProhibited, detail: "It is another lupin.")
            let hop = try Self.hop("127.0.0.1", listener.address.port)
            let attempt = PlayedAttempt.start(to: hop, worker, fixture)
            await fixture.settle { attempt.isOver }
            #expect(attempt.error == worker.refusal)
            #expect(try listener.accept().receiveUntilEOF() == [])
        }
    }

    // MARK: Ways

    /// A port at which nobody listens on 127.0.0.2 and 127.0.0.3.
    private static func unusedPort() throws -> UInt16 {
        let listener = try PlainListener()
        defer { listener.close() }
        return listener.address.port
    }
}
