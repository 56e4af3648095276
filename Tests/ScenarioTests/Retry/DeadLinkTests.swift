// Kept connections whose link swallows what is sent: nobody waits for TCP to give up.
import LupinTestKit
import Testing

struct DeadLinkTests {
    @Test func `what can be repeated goes over another connection, and nothing else`()
        async throws
    {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            let clients = try (0..<2).map { _ in try proxy.client() }
            var kept: [OriginConnection] = []
            for client in clients {
                try client.send("GET", origin.url("/first"))
                kept.append(try origin.accept())
                _ = try kept.last?.requestHead()
            }
            for (client, connection) in zip(clients, kept) {
                try connection.reply(body: "first")
                #expect(try client.response().bodyText == "first")
                connection.stream.socket.swallow()
            }
            try clients[0].send("POST", origin.url("/upload"), body: "once")
            try clients[1].send("GET", origin.url("/again"))
            let other = try origin.accept()
            #expect(try other.requestHead().startLine.contains("/again"))
            try other.reply(body: "second")
            #expect(try clients[1].response().bodyText == "second")
            #expect(!origin.hasWaiting)
            let records = try proxy.records(3)
            #expect(records.map { $0.count("attempts") } == [1, 1, 2])
            // The kernel sends the upload again, on the connection that is not given up.
            for connection in kept { connection.stream.socket.recover() }
            try eventually("the upload") { kept.contains { $0.stream.socket.hasUnread } }
            #expect(!origin.hasWaiting)
        }
    }

    @Test func `a stream of HTTP 2 does, too`() async throws {
        try await UpstreamStory.run { story in
            let client = try story.client()
            try client.send("GET", story.url("/first"))
            let socket = try story.origin.listener.accept()
            let server = try story.proxy.authority.server("origin.test", ["h2"])
            let secured = try SecureSocket(over: socket, as: server)
            let kept = try HTTP2OriginConnection(secured.plain, security: secured)
            try kept.reply(to: try kept.request().stream, body: "first")
            #expect(try client.response().bodyText == "first")
            socket.swallow()
            try client.send("GET", story.url("/again"))
            let other = try story.accept()
            let request = try other.request()
            #expect(request.path == "/again")
            try other.reply(to: request.stream, body: "second")
            #expect(try client.response().bodyText == "second")
            let records = try story.proxy.records(2)
            #expect(records.map { $0.count("attempts") } == [1, 2])
        }
    }
}
