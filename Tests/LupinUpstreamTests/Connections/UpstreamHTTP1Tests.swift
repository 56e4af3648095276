// What becomes of a connection whose exchange has ended.
import LupinIO
import LupinTestKit
import LupinUpstream
import Testing

struct UpstreamHTTP1Tests {
    private static let whole = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

    @Test(arguments: [
        (whole, true),
        ("HTTP/1.1 204 No Content\r\n\r\n", true),
        ("HTTP/1.1 103 Early Hints\r\n\r\n" + whole, true),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", true),
        ("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok", false),
        ("HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", false),
        // Bytes behind the end: the end may have been another.
        (whole + "HTTP/1.1 200 OK\r\n", false),
    ])
    func `a connection is kept where both sides allow it`(
        response: String,
        isKept: Bool
    ) async throws {
        try await LoopFixture.run { fixture in
            let pool = UpstreamPool.played(on: fixture.loop)
            let connection = try PlayedConnection(fixture)
            try await connection.exchange(response, fixture)
            connection.link.release(to: pool, or: nil)
            #expect(connection.isOpen == isKept)
            #expect((pool.lease(for: PlayedConnection.hop) != nil) == isKept)
            connection.link.abort()
        }
    }

    @Test func `a login makes a connection its client's own`() async throws {
        try await LoopFixture.run { fixture in
            let pool = UpstreamPool.played(on: fixture.loop)
            let client = Client()
            let connection = try PlayedConnection(fixture)
            try await connection.exchange(Self.whole, login: "NTLM TlRMTVNTUAAB", fixture)
            #expect(connection.link.isForOneClient)
            connection.link.release(to: pool, or: client)
            #expect(pool.lease(for: PlayedConnection.hop) == nil)
            let elsewhere = NextHop.origin(PlayedConnection.origin("b.test"))
            #expect(client.bound.leads(to: PlayedConnection.hop))
            #expect(client.bound.lend(for: elsewhere) == nil)
            let lent = client.bound.lend(for: PlayedConnection.hop)
            #expect(lent === connection.link && connection.link.isReused)
            #expect(client.bound.lend(for: PlayedConnection.hop) == nil)
            // Whose client is gone is nobody's.
            connection.link.release(to: pool, or: nil)
            #expect(!connection.isOpen)
        }
    }

    @Test(arguments: [
        ("X-Corp one", "401 Unauthorized", "WWW-Authenticate: X-Corp two", true),
        ("X-Corp one", "401 Unauthorized", "WWW-Authenticate: X-Corp", false),
        ("Basic dTpw", "401 Unauthorized", "WWW-Authenticate: Basic two", false),
        ("X-Corp one", "200 OK", "Persistent-Auth: true", true),
        ("X-Corp one", "200 OK", "Persistent-Auth: false", false),
        ("X-Corp one", "200 OK", "Accept-Ranges: none", false),
    ])
    func `what the peer says makes it its client's own`(
        login: String,
        status: String,
        field: String,
        isOwn: Bool
    ) async throws {
        try await LoopFixture.run { fixture in
            let pool = UpstreamPool.played(on: fixture.loop)
            let client = Client()
            let connection = try PlayedConnection(fixture)
            let response = "HTTP/1.1 \(status)\r\n\(field)\r\nContent-Length: 0\r\n\r\n"
            try await connection.exchange(response, login: login, fixture)
            #expect(connection.link.isForOneClient == isOwn)
            connection.link.release(to: pool, or: client)
            #expect(client.bound.leads(to: PlayedConnection.hop) == isOwn)
            #expect((pool.lease(for: PlayedConnection.hop) == nil) == isOwn)
            connection.link.abort()
        }
    }

    @Test func `a client's own connection is not lent once its peer has closed it`() async throws {
        try await LoopFixture.run { fixture in
            let connection = try PlayedConnection(fixture)
            let bound = PinnedUpstream()
            bound.keep(connection.link, since: fixture.loop.now)
            connection.peer.close()
            await fixture.settle { !connection.isOpen }
            #expect(!connection.isOpen)
            #expect(bound.lend(for: PlayedConnection.hop) == nil)
        }
    }
}

/// A client that keeps the connection it has logged in to.
private final class Client: ConnectionKeeper {
    let bound = PinnedUpstream()

    func bind(_ connection: UpstreamHTTP1) { bound.keep(connection, since: 0) }
}
