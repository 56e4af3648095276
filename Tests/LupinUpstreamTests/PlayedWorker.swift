// A worker as reaching servers sees one: a test's loop with a pool, and no exchange.
import LupinCore
import LupinIO
import LupinPolicy
import LupinTLS
import LupinTestKit
import LupinUpstream
import LupinWire
import Testing

/// What reaching servers needs of a worker, as a test plays it.
final class PlayedWorker: UpstreamWorker {
    let loop: EventLoop
    let pool: UpstreamPool
    let resolver: Resolver
    let windowGrowth = WindowGrowth()
    let servers: KnownServers
    let wallSecond = TestAuthority.now
    var isCut = false
    let isClosed = false
    var isolation: LupinError?
    /// Why no connection may be used that was made.
    var refusal: LupinError?
    private let threads: ResolverThreads

    /// A worker whose resolver answers with `names`.
    init(
        on loop: EventLoop,
        names: @escaping @Sendable (String) -> Resolver.Answer = { _ in .failure(.notFound) }
    ) throws {
        let servers = KnownServers()
        self.loop = loop
        self.servers = servers
        pool = .played(on: loop, servers)
        threads = try ResolverThreads(count: 1, asking: names)
        resolver = Resolver(on: loop, threads: threads)
    }

    deinit { threads.abandon() }

    func via(_ version: ProtocolVersion) -> ViaMember {
        ViaMember(version, pseudonym: "lupin-test")
    }

    func shedIdle() -> Bool { false }

    func denial(
        of channel: Channel,
        to hop: NextHop,
        by access: AccessPolicy,
        in slot: ParkingSlot
    ) async -> LupinError? {
        refusal
    }
}

extension UpstreamPool {
    /// One that keeps two connections to a host, for a minute.
    static func played(on loop: EventLoop, _ servers: KnownServers = KnownServers()) -> UpstreamPool
    {
        UpstreamPool(on: loop, servers: servers, idlePerHostMax: 2, idleLifetime: .seconds(60))
    }
}

extension UpstreamPolicy {
    /// That of the settings without a rules file.
    static var standard: UpstreamPolicy {
        let settings = Settings()
        return UpstreamPolicy(
            settings,
            access: AccessPolicy(settings, listeners: []),
            anchors: SharedAnchors(settings.upstream.tls.roots, [:])
        )
    }
}

extension OriginSecurity {
    /// One that trusts only an authority made for it.
    static func played() throws -> OriginSecurity {
        let authority = try TestAuthority().authority.certificate.der
        return OriginSecurity(
            trust: .system,
            context: try TLSContext.client(ClientTLSConfiguration()),
            anchors: try #require(TrustAnchors.only([authority]))
        )
    }
}

extension LoopFixture {
    /// Lets the loop go round until `isDone`, for as long as a busy machine may take.
    func settle(until isDone: () -> Bool) async {
        let end = ContinuousClock.now + PlainSocket.timeout
        while !isDone(), ContinuousClock.now < end { await settle() }
    }
}

/// An attempt to reach a server for HTTP/1.1, in a task of its own.
final class PlayedAttempt {
    let slot: ParkingSlot
    let notes = ConnectionNotes()
    private(set) var failure: DialFailure?
    private(set) var connection: UpstreamHTTP1?

    var isOver: Bool { failure != nil || connection != nil }
    var error: LupinError? { failure?.error }

    private init(on loop: EventLoop) { slot = ParkingSlot(on: loop) }

    /// Starts it; a client's leaving and a stop interrupt it.
    static func start(
        to hop: NextHop,
        _ worker: PlayedWorker,
        _ fixture: isolated LoopFixture,
        within limit: Duration? = nil
    ) -> PlayedAttempt {
        let attempt = PlayedAttempt(on: worker.loop)
        var connector = OriginConnector(in: attempt.slot, worker, .standard)
        connector.interruptions = { .cut | .downstreamClosed }
        if let limit { connector.deadline = worker.loop.deadline(in: limit) }
        let ready = connector
        fixture.start { await attempt.run(ready, hop) }
        return attempt
    }

    private func run(_ connector: OriginConnector, _ hop: NextHop) async {
        do throws(DialFailure) {
            connection = try await connector.connectHTTP1(
                to: hop,
                isHostFromFile: false,
                noting: notes
            )
        } catch {
            failure = error
        }
    }
}
