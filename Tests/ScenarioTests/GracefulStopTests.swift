// Stopping: what runs is finished, what is idle ends, what takes too long is cut.
import LupinIO
import LupinTestKit
import Testing

struct GracefulStopTests {
    @Test func `an exchange under way is finished and says that it was the last`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            let busy = try proxy.client()
            try busy.send("GET", origin.url())
            let connection = try origin.accept()
            try connection.request()
            try proxy.beginDraining()
            try connection.reply(body: "finished")
            let response = try busy.response()
            #expect(response.bodyText == "finished")
            #expect(response["Connection"] == "close")
            #expect(try busy.waitForEnd() == .finished)
        }
    }

    @Test func `a body under way is finished too`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            let busy = try proxy.client()
            try busy.send("GET", origin.url())
            let connection = try origin.accept()
            try connection.request()
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nhalf")
            _ = try busy.stream.head()
            #expect(try busy.stream.text(4) == "half")
            try proxy.beginDraining()
            try connection.send("rest")
            #expect(try busy.stream.text(4) == "rest")
            #expect(try busy.waitForEnd() == .finished)
        }
    }

    @Test func `idle connections end at once on both sides`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            let (used, pooled) = try proxy.pooledConnection(to: origin)
            let fresh = try proxy.client()
            let stopping = proxy.beginStopping()
            for client in [used, fresh] { #expect(try client.waitForEnd() == .finished) }
            #expect(try pooled.waitForEnd() == .finished)
            await stopping.value
            #expect(throws: SocketFailure.self) { try PlainSocket.connect(to: proxy.address) }
        }
    }

    @Test func `after drain the rest is cut`() async throws {
        let clock = VirtualClock()
        try await ProxyFixture.run("timeouts: {drain: 5s}", clock: clock) { proxy in
            let origin = try PlayedOrigin()
            let waiting = try proxy.client()
            try waiting.send("GET", origin.url())
            let first = try origin.accept()
            try first.request()
            let reading = try proxy.client()
            try reading.send("GET", origin.url())
            let second = try origin.accept()
            try second.request()
            try second.send("HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nhalf")
            _ = try reading.stream.head()
            #expect(try reading.stream.text(4) == "half")
            let tunnelling = try proxy.client()
            #expect(try tunnelling.connect(origin.authority).status == 200)
            let third = try origin.accept()
            let stopping = try proxy.beginDraining()
            try clock.advance(by: .milliseconds(4900))
            #expect(!waiting.stream.socket.hasUnread)
            clock.push(by: .milliseconds(200))
            #expect(try waiting.response().status == 503)
            #expect(try reading.waitForEnd() == .reset)
            #expect(try tunnelling.stream.untilEnd().end == .reset)
            for connection in [first, second, third] { _ = try connection.waitForEnd() }
            await stopping.value
            let outcomes = proxy.recordsSoFar().map { $0["outcome"] ?? "" }.sorted()
            #expect(outcomes == ["error", "truncated", "truncated"])
        }
    }

    @Test func `a client that stays does not hold the stop up`() async throws {
        let clock = VirtualClock()
        try await ProxyFixture.run("timeouts: {drain: 5s}", clock: clock) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            try client.send("GET", origin.url())
            let connection = try origin.accept()
            try connection.request()
            let stopping = try proxy.beginDraining()
            let isOver = Bell()
            Task {
                await stopping.value
                isOver.ring()
            }
            clock.push(by: .milliseconds(5100))
            // The client has its answer and neither reads it nor leaves.
            #expect(isOver.wait())
        }
    }
}

extension ProxyFixture {
    /// Has the proxy stop, and comes back when it takes nothing new any more.
    @discardableResult
    func beginDraining() throws -> Task<Void, Never> {
        let idle = try client()
        try settle()
        let stopping = beginStopping()
        guard try idle.waitForEnd() == .finished else { throw SocketFailure("an idle RST") }
        return stopping
    }
}
