// A peer that sends a message in pieces waits for no acknowledgement: Nagle's algorithm holds the
// second piece back until the first is acknowledged, and the kernel delays that on connections that
// have answered before.

import LupinIO
import LupinTestKit
import Testing

struct PromptAcknowledgementTests {
    // MARK: Clients

    @Test(arguments: ["Content-Length: 4", "Transfer-Encoding: chunked"])
    func `a head without its body is acknowledged at once`(framing: String) async throws {
        try await ProxyFixture.run { proxy in
            let origin = try proxy.origin { try $0.serve() }
            let client = try proxy.client()
            let kept = try Kept(client) { _ = try client.get(origin.url()) }
            try client.send("POST", origin.url(), [framing])
            try kept.expectPrompt("the request's head")
            try client.send(framing.hasPrefix("C") ? "body" : "4\r\nbody\r\n0\r\n\r\n")
            #expect(try client.response(to: "POST").status == 200)
        }
    }

    @Test func `so is a part of a head`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try proxy.origin { try $0.serve() }
            let client = try proxy.client()
            let kept = try Kept(client) { _ = try client.get(origin.url()) }
            try client.send("GET \(origin.url()) HTTP/1.1\r\n")
            try kept.expectPrompt("the request line")
            try client.send("Host: \(origin.authority("127.0.0.1"))\r\n\r\n")
            #expect(try client.response().status == 200)
        }
    }

    @Test func `so is a head inside TLS`() async throws {
        try await ProxyFixture.run(Inside.rule, resolve: ProxyFixture.here) { proxy in
            let origin = try PlayedOrigin()
            let outer = try proxy.client()
            let client = try outer.connectSecurely(origin.authority("origin.test"))
            let inside = Inside(proxy: proxy, origin: origin, client: client)
            try inside.send()
            let connection = try inside.accept()
            var isFirst = true
            let kept = try Kept(outer) {
                if !isFirst { try inside.send() }
                isFirst = false
                try connection.request()
                try connection.reply()
                _ = try client.response()
            }
            try client.send(
                "POST / HTTP/1.1\r\nHost: \(inside.authority)\r\nContent-Length: 4\r\n\r\n"
            )
            try kept.expectPrompt("the head in its record")
            try client.send("body")
            #expect(try connection.request().bodyText == "body")
        }
    }

    @Test func `so is a stream that has begun`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try proxy.origin { try $0.serve() }
            let outer = try proxy.client()
            let client = try HTTP2Client(inside: outer)
            let authority = origin.authority("127.0.0.1")
            let kept = try Kept(outer) {
                _ = try client.request(.request("GET", authority: authority))
            }
            let stream = try client.open(.request("POST", authority: authority))
            try kept.expectPrompt("the stream's head")
            try client.frames.sendData(stream, Array("body".utf8))
            #expect(try client.response(on: stream, to: "POST").status == 200)
        }
    }

    @Test func `so is each message in a tunnel, however much came before`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            #expect(try client.connect(origin.authority).status == 200)
            let near = client.stream.socket
            let far = try origin.accept().stream.socket
            func exchange() throws {
                try near.send(pattern: 1, count: 8 << 10)
                try far.receive(pattern: 1, count: 8 << 10)
                try far.send("ok")
                #expect(try near.receive(exactly: 2) == Array("ok".utf8))
            }
            for _ in 0..<20 { try exchange() }
            let kept = try Kept(client, exchange)
            try near.send("the first piece")
            try kept.expectPrompt("the first piece of a message")
        }
    }

    @Test func `a request that comes in one piece costs no call`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try proxy.origin { try $0.serve() }
            let client = try proxy.client()
            let kept = try Kept(client) { _ = try client.get(origin.url()) }
            for _ in 0..<5 { _ = try client.get(origin.url()) }
            #expect(!kept.isPrompt)
        }
    }

    // MARK: Origins

    @Test(arguments: ["Content-Length: 4", "Transfer-Encoding: chunked"])
    func `a response without its body is acknowledged at once`(framing: String) async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            try client.send("GET", origin.url())
            let connection = try origin.accept()
            var isFirst = true
            let kept = try Kept(originAt: origin.address.port) {
                if !isFirst { try client.send("GET", origin.url()) }
                isFirst = false
                try connection.request()
                try connection.reply()
                _ = try client.response()
            }
            try client.send("GET", origin.url())
            try connection.request()
            try connection.send("HTTP/1.1 200 OK\r\n\(framing)\r\n\r\n")
            try kept.expectPrompt("the response's head")
            try connection.send(framing.hasPrefix("C") ? "body" : "4\r\nbody\r\n0\r\n\r\n")
            #expect(try client.response().bodyText == "body")
        }
    }

    @Test func `so is one of a stream`() async throws {
        try await UpstreamStory.run { story in
            let client = try story.client()
            let connection = try story.served(by: client)
            let kept = try Kept(originAt: story.origin.address.port) {
                try client.send("GET", story.url())
                try connection.reply(to: try connection.request().stream, body: "x")
                _ = try client.response()
            }
            try client.send("GET", story.url())
            let stream = try connection.request().stream
            try connection.frames.send(.headers(stream, [":status": "200"]))
            try kept.expectPrompt("the stream's head")
            try connection.frames.sendData(stream, Array("body".utf8))
            #expect(try client.response().bodyText == "body")
        }
    }
}

/// lupin's end of a connection that has answered, so that its kernel delays acknowledgements.
private struct Kept: Sendable {
    private let isOurs: @Sendable (OpenSocket.Ends) -> Bool

    /// `exchange` is a request with its response over the client's connection.
    init(_ client: ScriptedClient, _ exchange: () throws -> Void) throws {
        let port = try #require(client.stream.socket.address?.port)
        try self.init({ $0.remote == port }, exchange)
    }

    /// The same over lupin's only connection to an origin.
    init(originAt port: UInt16, _ exchange: () throws -> Void) throws {
        try self.init({ $0.remote == port }, exchange)
    }

    private init(
        _ isOurs: @Sendable @escaping (OpenSocket.Ends) -> Bool,
        _ exchange: () throws -> Void
    ) throws {
        self.isOurs = isOurs
        // A new connection acknowledges its first packets at once.
        for _ in 0..<100 {
            try exchange()
            if !isPrompt { return }
        }
        throw SocketFailure("the kernel never delayed an acknowledgement")
    }

    var isPrompt: Bool { OpenSocket.all(isOurs).contains(where: \.acknowledgesAtOnce) }

    func expectPrompt(_ what: String) throws {
        try eventually("\(what) to be acknowledged at once") { isPrompt }
    }
}

extension OriginConnection {
    /// Answers requests until the end.
    fileprivate func serve() throws {
        while try nextRequest() != nil { try reply(body: "ok") }
    }
}
