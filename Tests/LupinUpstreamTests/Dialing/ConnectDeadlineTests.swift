// That each step to a server has a limit of time, and all of them together have one.
import LupinCore
import LupinIO
import LupinPolicy
import LupinTestKit
import LupinUpstream
import Testing

struct ConnectDeadlineTests {
    /// Where a server falls silent.
    enum Step: CaseIterable, Sendable {
        case name, socket, tunnel, tls

        /// The limit of the settings without a rules file.
        var limit: Duration { self == .name ? .seconds(5) : .seconds(15) }
        var error: ErrorKind {
            switch self {
            case .name: .dnsTimeout
            case .socket, .tls: .connectionTimeout
            case .tunnel: .httpResponseTimeout
            }
        }
        var setting: String {
            switch self {
            case .name: "timeouts.dns"
            case .socket, .tunnel: "timeouts.connect"
            case .tls: "timeouts.tls"
            }
        }
    }

    @Test(arguments: Step.allCases, [nil, Duration.seconds(2)])
    func `a silent step ends at its limit, or at that of all steps`(
        step: Step,
        limit: Duration?
    ) async throws {
        let clock = VirtualClock()
        try await LoopFixture.run(clock: clock) { fixture in
            let silence = try Silence(from: step)
            defer { silence.end() }
            let worker = try PlayedWorker(on: fixture.loop, names: silence.names)
            let attempt = PlayedAttempt.start(to: try silence.hop, worker, fixture, within: limit)
            try await silence.reach(fixture)
            try clock.advance(by: (limit ?? step.limit) - .milliseconds(100))
            await fixture.settle()
            #expect(!attempt.isOver)
            try clock.advance(by: .milliseconds(100))
            await fixture.settle { attempt.isOver }
            let error = try #require(attempt.error)
            #expect(error.kind == step.error)
            #expect(error.detail.contains(step.setting))
            #expect(attempt.connection == nil)
        }
    }

    @Test(arguments: Step.allCases)
    func `who waits may leave at each step`(step: Step) async throws {
        for isStop in [true, false] {
            try await LoopFixture.run(clock: VirtualClock()) { fixture in
                let silence = try Silence(from: step)
                defer { silence.end() }
                let worker = try PlayedWorker(on: fixture.loop, names: silence.names)
                worker.isCut = isStop
                let attempt = PlayedAttempt.start(to: try silence.hop, worker, fixture)
                try await silence.reach(fixture)
                #expect(!attempt.isOver)
                attempt.slot.wake(isStop ? .cut : .downstreamClosed)
                await fixture.settle { attempt.isOver }
                #expect(attempt.error == (isStop ? .stopping : .clientGone))
            }
        }
    }
}

/// A server that says nothing from one step on.
private final class Silence {
    private let step: ConnectDeadlineTests.Step
    private let listener: PlainListener
    private let bell = Bell()
    /// What the server has accepted.
    private var accepted: PlainSocket?

    init(from step: ConnectDeadlineTests.Step) throws {
        self.step = step
        listener = try PlainListener(backlog: step == .socket ? 0 : 128)
        // No further connection is answered then.
        if step == .socket { accepted = try PlainSocket.connect(to: listener.address) }
    }

    /// The way to it.
    var hop: NextHop {
        get throws {
            let address = Host(listener.address.address)
            let port = listener.address.port
            switch step {
            case .name:
                let host = try #require(Host("silent.test"))
                return .origin(Origin(scheme: .http, host: host, port: port))
            case .socket: return .origin(Origin(scheme: .http, host: address, port: port))
            case .tunnel:
                let proxy = ParentProxy(host: address, port: port)
                let host = try #require(Host("a.test"))
                return .secure(
                    Origin(scheme: .https, host: host, port: 443),
                    try .played(),
                    through: ParentHop(proxy: proxy, security: nil)
                )
            case .tls:
                let origin = Origin(scheme: .https, host: address, port: port)
                return .secure(origin, try .played(), through: nil)
            }
        }
    }

    /// What the resolver says: nothing before the end.
    var names: @Sendable (String) -> Resolver.Answer {
        { [bell] _ in
            _ = bell.wait()
            return .failure(.notFound)
        }
    }

    /// Returns when the attempt waits for the silent step.
    func reach(_ fixture: isolated LoopFixture) async throws {
        await fixture.settle()
        guard step == .tunnel || step == .tls else { return }
        await fixture.settle { listener.hasWaiting }
        let peer = try listener.accept()
        accepted = peer
        await fixture.settle { peer.hasInput }
        #expect(peer.hasInput)
    }

    func end() { bell.ring() }
}
