// Stopping with clients of HTTP/2: GOAWAY at once, what runs is finished, the rest is cut.
import LupinTestKit
import Testing

struct StreamStopTests {
    @Test func `streams under way are finished behind GOAWAY`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.http2Client()
            let head = HTTP2Fields.request(authority: origin.authority)
            let waiting = try client.send(head)
            let first = try origin.accept()
            try first.request()
            let reading = try client.send(head)
            let second = try origin.accept()
            try second.request()
            try second.send("HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nhalf")
            _ = try client.frames.head(on: reading)
            let stopping = try proxy.beginDraining()
            // First that it is time to go, then which streams were the last.
            #expect(try client.frames.expectGoAway(.noError) == 0x7FFF_FFFF)
            #expect(try client.frames.expectGoAway(.noError) == reading)
            // What comes later is nobody's.
            _ = try client.send(head)
            try first.reply(body: "finished")
            #expect(try client.response(on: waiting).bodyText == "finished")
            try second.send("rest")
            #expect(try client.frames.text(of: reading, exactly: 8) == "halfrest")
            _ = try client.frames.waitForEnd()
            await stopping.value
            #expect(!origin.hasWaiting)
            #expect(try proxy.records(2).allSatisfy { $0["outcome"] == "ok" })
        }
    }

    @Test func `an idle connection ends at once`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try proxy.measuredOrigin()
            let fresh = try proxy.http2Client()
            let used = try proxy.http2Client()
            #expect(try used.request(authority: origin.authority, path: "/3").body.count == 3)
            let stopping = proxy.beginStopping()
            for client in [fresh, used] {
                try client.frames.expectGoAway(.noError)
                #expect(try client.frames.waitForEnd() == .finished)
            }
            await stopping.value
        }
    }

    @Test func `after drain the rest is cut`() async throws {
        let clock = VirtualClock()
        try await ProxyFixture.run("timeouts: {drain: 5s}", clock: clock) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.http2Client()
            let head = HTTP2Fields.request(authority: origin.authority)
            let waiting = try client.send(head)
            let first = try origin.accept()
            try first.request()
            let reading = try client.send(head)
            let second = try origin.accept()
            try second.request()
            try second.send("HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nhalf")
            _ = try client.frames.head(on: reading)
            let tunnel = try client.open(.connect(origin.authority))
            let third = try origin.accept()
            _ = try client.frames.head(on: tunnel)
            let stopping = try proxy.beginDraining()
            try client.frames.expectGoAway(.noError)
            try clock.advance(by: .milliseconds(4900))
            #expect(!client.frames.socket.isClosedByPeer)
            clock.push(by: .milliseconds(200))
            #expect(try client.response(on: waiting).status == 503)
            #expect(try client.response(on: reading).reset == .internalError)
            #expect(try client.response(on: tunnel).reset == .connectError)
            _ = try client.frames.waitForEnd()
            for far in [first, second, third] { _ = try far.waitForEnd() }
            await stopping.value
            let outcomes = proxy.recordsSoFar().map { $0["outcome"] ?? "" }.sorted()
            #expect(outcomes == ["error", "truncated", "truncated"])
        }
    }

    @Test func `a client that stays does not hold the stop up`() async throws {
        let clock = VirtualClock()
        try await ProxyFixture.run("timeouts: {drain: 5s}", clock: clock) { proxy in
            let origin = try proxy.measuredOrigin()
            let client = try proxy.http2Client([.initialWindowSize(0)])
            let head = HTTP2Fields.request(authority: origin.authority, path: "/9")
            _ = try client.frames.head(on: try client.send(head))
            let stopping = try proxy.beginDraining()
            let isOver = Bell()
            Task {
                await stopping.value
                isOver.ring()
            }
            clock.push(by: .milliseconds(5100))
            // Its answer waits for a window that never comes.
            #expect(isOver.wait())
        }
    }
}
