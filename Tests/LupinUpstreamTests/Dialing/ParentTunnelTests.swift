// What a parent proxy says to a CONNECT, and what becomes of the attempt.
import LupinCore
import LupinIO
import LupinPolicy
import LupinTestKit
import LupinUpstream
import Testing

struct ParentTunnelTests {
    @Test func `a refusal is the parent's, and is not asked for again`() async throws {
        try await LoopFixture.run { fixture in
            let parent = try Parent()
            let attempt = try Self.start(through: parent, fixture)
            let (peer, head) = try await parent.accept(fixture)
            #expect(head.hasPrefix("CONNECT a.test:443 HTTP/1.1\r\n"))
            #expect(head.contains("\r\nVia: 1.1 lupin-test\r\n"))
            try peer.send("HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
            await fixture.settle { attempt.isOver }
            let error = try #require(attempt.error)
            #expect(error.kind == .destinationUnavailable && error.status == 502)
            #expect(error.retry == .never)
            #expect(error.parent?.status == 403)
            #expect(error.parent?.endpoint == parent.endpoint)
            try peer.waitUntilClosedByPeer()
        }
    }

    @Test func `a failure of the parent may pass`() async throws {
        try await LoopFixture.run { fixture in
            let parent = try Parent()
            let attempt = try Self.start(through: parent, fixture)
            let (peer, _) = try await parent.accept(fixture)
            try peer.send("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n")
            await fixture.settle { attempt.isOver }
            #expect(attempt.error?.kind == .destinationUnavailable)
            #expect(attempt.error?.retry != .never)
            #expect(attempt.error?.parent?.status == 503)
        }
    }

    @Test func `a parent that hangs up is blamed for it`() async throws {
        try await LoopFixture.run { fixture in
            let parent = try Parent()
            let attempt = try Self.start(through: parent, fixture)
            let (peer, _) = try await parent.accept(fixture)
            peer.close()
            await fixture.settle { attempt.isOver }
            #expect(attempt.error?.kind == .connectionTerminated)
            #expect(attempt.error?.parent?.endpoint == parent.endpoint)
        }
    }

    @Test func `interim responses have an end`() async throws {
        try await LoopFixture.run { fixture in
            let parent = try Parent()
            let attempt = try Self.start(through: parent, fixture)
            let (peer, _) = try await parent.accept(fixture)
            try peer.send(String(repeating: "HTTP/1.1 103 Early Hints\r\n\r\n", count: 20))
            await fixture.settle { attempt.isOver }
            #expect(attempt.error?.kind == .httpProtocolError)
        }
    }

    @Test func `a password that the parent refuses is not sent again`() async throws {
        try await LoopFixture.run { fixture in
            let parent = try Parent(userinfo: "max:geheim")
            let attempt = try Self.start(through: parent, fixture)
            let (peer, head) = try await parent.accept(fixture)
            #expect(head.contains("\r\nProxy-Authorization: Basic bWF4OmdlaGVpbQ==\r\n"))
            try peer.send(Self.challenge("Basic realm=\"p\""))
            await fixture.settle { attempt.isOver }
            #expect(attempt.error?.kind == .proxyConfigurationError)
            #expect(attempt.error?.retry == .never)
            #expect(!parent.listener.hasWaiting)
        }
    }

    @Test func `a Digest challenge is answered once, on a new connection`() async throws {
        try await LoopFixture.run { fixture in
            let parent = try Parent(userinfo: "max:geheim")
            let attempt = try Self.start(through: parent, fixture)
            let challenge = Self.challenge("Digest realm=\"p\", nonce=\"n\", qop=\"auth\"")
            let (first, _) = try await parent.accept(fixture)
            try first.send(challenge)
            let (second, head) = try await parent.accept(fixture)
            #expect(head.contains("\r\nProxy-Authorization: Digest username=\"max\""))
            #expect(!attempt.isOver)
            try second.send(challenge)
            await fixture.settle { attempt.isOver }
            #expect(attempt.error?.kind == .proxyConfigurationError)
            #expect(!parent.listener.hasWaiting)
        }
    }

    // MARK: Whose password it is

    /// What `tunnel` shows to the parent `name` on the way to `host`.
    private static func shown(
        by tunnel: ParentTunnel,
        to name: String,
        userinfo: String? = nil,
        for host: String = "a.test",
        isRedirected: Bool = false
    ) throws -> String? {
        let proxy = ParentProxy(host: try #require(Host(name)), port: 3128, userinfo: userinfo)
        var hop = ParentHop(proxy: proxy, security: nil)
        let origin = Origin(scheme: .http, host: try #require(Host(host)), port: 443)
        tunnel.show(to: &hop, for: origin, isRedirected: isRedirected)
        return hop.login
    }

    private static func target() throws -> Origin {
        Origin(scheme: .https, host: try #require(Host("a.test")), port: 443)
    }

    @Test func `parents that rules name inside get the password of the CONNECT`() throws {
        let tunnel = ParentTunnel(login: "Basic dTpw", to: try Self.target())
        #expect(try Self.shown(by: tunnel, to: "p.test") == "Basic dTpw")
        #expect(try Self.shown(by: tunnel, to: "q.test") == "Basic dTpw")
        // This one has credentials of the rules file.
        #expect(try Self.shown(by: tunnel, to: "r.test", userinfo: "me:secret") == nil)
        #expect(tunnel.lend() == nil && !tunnel.isByLogin)
    }

    @Test func `a redirect brings it to no parent that has not got it`() throws {
        let tunnel = ParentTunnel(login: "Basic dTpw", to: try Self.target())
        #expect(try Self.shown(by: tunnel, to: "p.test", isRedirected: true) == nil)
        #expect(try Self.shown(by: tunnel, to: "p.test", for: "b.test") == nil)
        #expect(try Self.shown(by: tunnel, to: "p.test") == "Basic dTpw")
        #expect(
            try Self.shown(by: tunnel, to: "p.test", for: "b.test", isRedirected: true)
                == "Basic dTpw"
        )
        #expect(try Self.shown(by: tunnel, to: "q.test", isRedirected: true) == nil)
    }

    @Test func `the password that a parent was asked with is for that one alone`() throws {
        let name = try #require(Host("p.test"))
        var asked = ParentHop(proxy: ParentProxy(host: name, port: 3128), security: nil)
        asked.login = "Basic dTpw"
        let tunnel = ParentTunnel(nil, to: try Self.target(), by: asked, since: 0)
        #expect(try Self.shown(by: tunnel, to: "p.test", for: "b.test") == "Basic dTpw")
        #expect(try Self.shown(by: tunnel, to: "q.test") == nil)
    }

    // MARK: Ways

    private static func challenge(_ value: String) -> String {
        "HTTP/1.1 407 Who\r\nProxy-Authenticate: \(value)\r\nContent-Length: 0\r\n\r\n"
    }

    private static func start(
        through parent: Parent,
        _ fixture: isolated LoopFixture
    ) throws -> PlayedAttempt {
        let host = try #require(Host("a.test"))
        let hop = NextHop.secure(
            Origin(scheme: .https, host: host, port: 443),
            try .played(),
            through: ParentHop(proxy: parent.proxy, security: nil)
        )
        return PlayedAttempt.start(to: hop, try PlayedWorker(on: fixture.loop), fixture)
    }
}

/// A parent proxy that the test plays.
private struct Parent {
    let listener: PlainListener
    let proxy: ParentProxy

    init(userinfo: String? = nil) throws {
        listener = try PlainListener()
        proxy = ParentProxy(
            host: Host(listener.address.address),
            port: listener.address.port,
            userinfo: userinfo
        )
    }

    var endpoint: String { "127.0.0.1:\(proxy.port)" }

    /// The next connection, and the head of the CONNECT that came over it.
    func accept(_ fixture: isolated LoopFixture) async throws -> (PlainSocket, String) {
        await fixture.settle { listener.hasWaiting }
        let peer = try listener.accept()
        await fixture.settle { peer.hasInput }
        return (peer, try peer.receive(until: "\r\n\r\n"))
    }
}
