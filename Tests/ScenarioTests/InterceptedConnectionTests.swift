// The life of a connection inside an intercepted CONNECT: rests, stops, leaves, slow sides.
import LupinIO
import LupinTestKit
import Testing

struct InterceptedConnectionTests {
    /// More than the buffers on the way hold, of which the kernel lets one grow up to 32 MiB; less
    /// than what is sent.
    private static let buffersMax = 48 << 20

    @Test func `a connection rests, goes on and ends when it was idle for too long`() async throws {
        let clock = VirtualClock()
        try await Inside.run(clock: clock) { inside in
            try inside.send("GET", "/1")
            let far = try inside.accept()
            for path in ["/1", "/2", "/3"] {
                #expect(try far.request().target == path)
                try far.reply(body: path)
                #expect(try inside.client.response().bodyText == path)
                // The proxy's task has ended when the next request comes.
                try clock.advance(by: .milliseconds(50))
                if path != "/3" { try inside.send("GET", path == "/1" ? "/2" : "/3") }
            }
            try clock.advance(by: .seconds(74))
            #expect(!inside.client.stream.socket.isClosedByPeer)
            try clock.advance(by: .seconds(3))
            #expect(try inside.client.waitForEnd() == .finished)
        }
    }

    @Test func `close_notify of the client between requests ends well`() async throws {
        try await Inside.run { inside in
            try inside.send()
            let far = try inside.accept()
            try far.request()
            try far.reply(204)
            #expect(try inside.client.response().status == 204)
            inside.client.shutdownWrite()
            #expect(try inside.client.waitForEnd() == .finished)
            #expect(inside.proxy.recordsSoFar().count <= 1)
        }
    }

    @Test func `Connection close is kept, with close_notify`() async throws {
        try await Inside.run { inside in
            try inside.send("GET", "/", "Connection: close")
            let far = try inside.accept()
            try far.request()
            try far.reply(body: "the last one")
            let response = try inside.client.response()
            #expect(response["Connection"] == "close")
            #expect(response.bodyText == "the last one")
            #expect(try inside.client.waitForEnd() == .finished)
        }
    }

    @Test func `a stop lets the exchange end and closes with close_notify`() async throws {
        try await Inside.run { inside in
            let idle = try inside.proxy.client().connectSecurely(inside.authority)
            try inside.send()
            let far = try inside.accept()
            try far.request()
            inside.proxy.beginStopping()
            #expect(try idle.waitForEnd() == .finished)
            try far.reply(body: "still")
            let response = try inside.client.response()
            #expect(response.bodyText == "still")
            #expect(response["Connection"] == "close")
            #expect(try inside.client.waitForEnd() == .finished)
        }
    }

    @Test func `an early answer reaches a client that is still sending`() async throws {
        try await Inside.run { inside in
            try inside.send("POST", "/", "Content-Length: 1000000000")
            let far = try inside.accept()
            _ = try far.requestHead()
            try inside.proxy.fill(inside.client.stream.socket)
            try far.reply(413, body: "too much")
            far.shutdownWrite()
            let response = try inside.client.response()
            #expect(response.status == 413)
            #expect(response.bodyText == "too much")
            #expect(response["Connection"] == "close")
            #expect(try inside.proxy.record()["outcome"] == "ok")
        }
    }

    @Test func `a client that leaves in the middle of a body ends the origin's sending`()
        async throws
    {
        try await Inside.run { inside in
            try inside.send()
            let far = try inside.accept()
            try far.request()
            try far.send(head("HTTP/1.1 200 OK", "Content-Length: 1000000000"))
            try far.stream.socket.send(pattern: 1, count: 100_000)
            _ = try inside.client.stream.bytes(50_000)
            inside.client.reset()
            #expect(try far.waitForEnd() == .reset)
            #expect(try inside.proxy.record()["outcome"] == "aborted")
        }
    }

    @Test func `a client that reads nothing holds the origin back`() async throws {
        try await Inside.run { inside in
            try inside.send()
            let far = try inside.accept()
            try far.request()
            try far.send(head("HTTP/1.1 200 OK", "Content-Length: 1000000000"))
            let taken = try inside.proxy.fill(far.stream.socket)
            #expect(taken < Self.buffersMax)
        }
    }

    @Test func `an origin that reads nothing holds the client back`() async throws {
        try await Inside.run { inside in
            try inside.send("POST", "/", "Content-Length: 1000000000")
            let far = try inside.accept()
            _ = try far.requestHead()
            let taken = try inside.proxy.fill(inside.client.stream.socket)
            #expect(taken < Self.buffersMax)
        }
    }

    @Test func `what the client says to the proxy inside stays with the proxy`() async throws {
        try await Inside.run { inside in
            try inside.send(
                "GET",
                "/",
                "Proxy-Authorization: Basic c2VjcmV0",
                "Proxy-Connection: keep-alive"
            )
            let far = try inside.accept()
            let request = try far.request()
            #expect(request["Proxy-Authorization"] == nil)
            #expect(request["Proxy-Connection"] == nil)
            try far.reply(407, "Proxy-Authenticate: Basic realm=\"trap\"")
            #expect(try inside.client.response()["Proxy-Authenticate"] == nil)
        }
    }

    @Test func `an origin that closes an idle connection costs nobody a request`() async throws {
        try await Inside.run { inside in
            for truncates in [false, true, false] {
                try inside.send("POST", "/", "Content-Length: 2", body: "ab")
                let far = try inside.accept()
                try far.request()
                try far.reply(204)
                #expect(try inside.client.response().status == 204)
                if truncates { far.security?.truncate() } else { far.shutdownWrite() }
                _ = try far.waitForEnd()
            }
        }
    }
}
