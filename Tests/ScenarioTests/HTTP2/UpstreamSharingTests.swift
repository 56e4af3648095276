// Which requests share an HTTP/2 connection to an origin, and when there is a second one.
import LupinTestKit
import Testing

struct UpstreamSharingTests {
    /// Takes `count` requests off a connection; they come in any order.
    private static func take(
        _ count: Int,
        from origin: HTTP2OriginConnection
    ) throws -> [HTTP2Message] {
        try (0..<count).map { _ in try origin.request() }
    }

    @Test func `fifty clients at the first contact share one connection`() async throws {
        try await UpstreamStory.run { story in
            let clients = try (0..<50).map { _ in try story.client() }
            for (i, client) in clients.enumerated() { try client.send("GET", story.url("/\(i)")) }
            let origin = try story.accept()
            let requests = try Self.take(50, from: origin)
            #expect(Set(requests.map(\.path)) == Set((0..<50).map { "/\($0)" }))
            for request in requests.reversed() {
                try origin.reply(to: request.stream, body: request.path)
            }
            for (i, client) in clients.enumerated() {
                #expect(try client.response().bodyText == "/\(i)")
            }
            #expect(!story.origin.hasWaiting)
            let records = try story.proxy.records(50)
            #expect(records.filter { $0["attempts.0.reused"] == nil }.count == 1)
        }
    }

    @Test func `clients of all kinds share the connection`() async throws {
        try await UpstreamStory.run(Inside.rule) { story in
            let (plain, streams) = (try story.client(), try story.streams())
            let origin = try story.served(by: plain)
            var tls = SecureSocket.Client("origin.test")
            tls.protocols = ["h2"]
            let inside = try HTTP2Client(
                inside: try story.client().connectSecurely(story.authority, tls)
            )
            try plain.send("GET", story.url("/plain"))
            let stream = try streams.send(story.head("GET", "/streams"))
            let innerStream = try inside.send(story.head("GET", "/inside"))
            for request in try Self.take(3, from: origin) {
                try origin.reply(to: request.stream, body: request.path)
            }
            #expect(try plain.response().bodyText == "/plain")
            #expect(try streams.response(on: stream).bodyText == "/streams")
            #expect(try inside.response(on: innerStream).bodyText == "/inside")
            #expect(!story.origin.hasWaiting)
        }
    }

    @Test func `what the origin allows at a time is kept, and more takes a second connection`()
        async throws
    {
        try await UpstreamStory.run { story in
            let clients = try (0..<3).map { _ in try story.client() }
            try clients[0].send("GET", story.url("/0"))
            let one = try story.accept(settings: [.maxConcurrentStreams(2)])
            let first = try one.request()
            try one.frames.expectSettingsAcknowledged()
            try clients[1].send("GET", story.url("/1"))
            let second = try one.request()
            try clients[2].send("GET", story.url("/2"))
            let two = try story.accept(settings: [.maxConcurrentStreams(2)])
            let third = try two.request()
            #expect([first, second, third].map(\.path) == ["/0", "/1", "/2"])
            try one.reply(to: first.stream, body: "0")
            #expect(try clients[0].response().bodyText == "0")
            // There is room again on the first one.
            try clients[0].send("GET", story.url("/3"))
            #expect(try one.request().path == "/3")
            #expect(!story.origin.hasWaiting)
        }
    }

    @Test func `upstream pool streams holds where the origin allows more`() async throws {
        try await UpstreamStory.run("upstream: {pool: {streams: 2}}") { story in
            let clients = try (0..<3).map { _ in try story.client() }
            for (i, client) in clients.enumerated() { try client.send("GET", story.url("/\(i)")) }
            let one = try story.accept()
            let requests = try Self.take(2, from: one)
            let two = try story.accept()
            let third = try two.request()
            #expect(Set((requests + [third]).map(\.path)) == ["/0", "/1", "/2"])
            try one.expectNoRequest()
        }
    }

    @Test func `no more than one stream is opened before the origin has named its limit`()
        async throws
    {
        try await UpstreamStory.run { story in
            let clients = try (0..<3).map { _ in try story.client() }
            for (i, client) in clients.enumerated() { try client.send("GET", story.url("/\(i)")) }
            let one = try story.accept(settings: [.maxConcurrentStreams(1)])
            try one.frames.expectSettingsAcknowledged()
            let requests = try Self.take(1, from: one)
            let two = try story.accept(settings: [.maxConcurrentStreams(2)])
            for request in try Self.take(2, from: two) {
                try two.reply(to: request.stream, body: request.path)
            }
            try one.reply(to: requests[0].stream, body: requests[0].path)
            for (i, client) in clients.enumerated() {
                #expect(try client.response().bodyText == "/\(i)")
            }
        }
    }

    @Test func `an origin that allows no stream now is asked on another connection`()
        async throws
    {
        try await UpstreamStory.run { story in
            let client = try story.client()
            let old = try story.served(by: client)
            try old.frames.send(.settings(.maxConcurrentStreams(0)))
            try old.frames.expectAlive()
            try client.send("GET", story.url("/two"))
            let new = try story.accept()
            try new.reply(to: try new.request().stream, body: "two")
            #expect(try client.response().bodyText == "two")
            try old.expectNoRequest()
        }
    }

    @Test func `an origin of HTTP 1_1 gets as many connections as requests`() async throws {
        try await UpstreamStory.run { story in
            let clients = try (0..<5).map { _ in try story.client() }
            for (i, client) in clients.enumerated() { try client.send("GET", story.url("/\(i)")) }
            // None is answered before all have come.
            let connections = try clients.map { _ in
                let connection = try story.acceptHTTP1(knows: ["http/1.1"])
                return (connection, try connection.request().target)
            }
            #expect(Set(connections.map(\.1)) == Set((0..<5).map { "/\($0)" }))
            for (connection, target) in connections { try connection.reply(body: target) }
            for (i, client) in clients.enumerated() {
                #expect(try client.response().bodyText == "/\(i)")
            }
        }
    }

    @Test func `who waits for a connection makes one when its maker leaves`() async throws {
        try await UpstreamStory.run { story in
            let (one, two) = (try story.client(), try story.client())
            try one.send("GET", story.url("/one"))
            let first = try story.origin.accept()
            try two.send("GET", story.url("/two"))
            try story.proxy.settle()
            one.close()
            _ = try first.stream.untilEnd()
            let origin = try story.accept()
            let request = try origin.request()
            #expect(request.path == "/two")
            try origin.reply(to: request.stream, body: "two")
            #expect(try two.response().bodyText == "two")
        }
    }

    @Test func `a connection that comes to nothing fails its maker, and others try`()
        async throws
    {
        try await UpstreamStory.run { story in
            let (one, two) = (try story.client(), try story.client())
            try one.send("POST", story.url("/one"), body: "x")
            let first = try story.origin.accept()
            try two.send("POST", story.url("/two"), body: "x")
            try story.proxy.settle()
            try first.send("this is no TLS at all, and never will be")
            first.close()
            #expect(try one.response(to: "POST").status == 502)
            let origin = try story.accept()
            let request = try origin.request()
            #expect(request.path == "/two")
            try origin.reply(to: request.stream, body: "two")
            #expect(try two.response(to: "POST").bodyText == "two")
        }
    }
}
