// The tests' own HTTP/2 client and origin, with nobody between them.
import LupinTestKit
import Synchronization
import Testing

struct PlayedHTTP2OriginTests {
    /// Both ends of one connection; TLS where an authority is given.
    private static func run(
        settings: [HTTP2Frame.Setting] = [],
        authority: TestAuthority? = nil,
        client manners: FrameStream.Manners = FrameStream.Manners(),
        _ story: @Sendable @escaping (HTTP2Client, HTTP2OriginConnection) throws -> Void
    ) async throws {
        try await ScriptThread.run {
            let origin = try PlayedHTTP2Origin(security: try authority?.server("origin.test"))
            // The client's thread: the origin is played by this one.
            let dialing = Dialing()
            let thread = TestThread {
                var client = try ScriptedClient(to: origin.address)
                if authority != nil {
                    var tls = SecureSocket.Client("origin.test")
                    tls.protocols = ["h2"]
                    client = try client.secure(tls)
                }
                try dialing.done(HTTP2Client(inside: client, manners: manners))
            }
            let connection = try origin.accept(settings: settings)
            try thread.join()
            try story(try dialing.client(), connection)
        }
    }

    @Test(arguments: [false, true])
    func `a request and its response go through whole`(isSecure: Bool) async throws {
        try await Self.run(authority: isSecure ? try TestAuthority() : nil) { client, origin in
            let body = BytePattern.bytes(3, 40_000)
            let head = HTTP2Fields.request("POST", authority: "origin.test", path: "/a")
            let stream = try client.send(head, body: body, trailers: ["x-sum": "1"])
            let request = try origin.request()
            #expect(request.method == "POST")
            #expect(request.path == "/a")
            #expect(request.body == body)
            #expect(request.trailers["x-sum"] == "1")
            try origin.sendHead(stream, 103, ["link": "</a>"])
            try origin.reply(to: stream, 201, ["x": "y"], body: "done", trailers: ["t": "u"])
            let response = try client.response(on: stream)
            #expect(response.interim.map { $0["link"] } == ["</a>"])
            #expect(response.status == 201)
            #expect(response["x"] == "y")
            #expect(response.bodyText == "done")
            #expect(response.trailers["t"] == "u")
        }
    }

    @Test func `streams are read in any order`() async throws {
        try await Self.run { client, origin in
            let streams = try (0..<3).map { _ in try client.send(.request(authority: "a")) }
            for stream in streams {
                #expect(try origin.request().stream == stream)
                try origin.reply(to: stream, body: "\(stream)")
            }
            for stream in streams.reversed() {
                #expect(try client.response(on: stream).bodyText == "\(stream)")
            }
        }
    }

    @Test func `a body waits for the windows that the origin gives`() async throws {
        try await Self.run(settings: [.initialWindowSize(10)]) { client, origin in
            let stream = try client.open(.request("POST", authority: "a"))
            _ = try origin.requestHead()
            let body = BytePattern.bytes(1, 1000)
            let thread = TestThread { try client.frames.sendData(stream, body) }
            #expect(try origin.frames.bytes(of: stream, exactly: 1000) == body)
            try thread.join()
            #expect(client.frames.sendWindow(stream) <= 10)
        }
    }

    @Test func `resets, GOAWAY and the end are told apart`() async throws {
        try await Self.run { client, origin in
            let first = try client.send(.request(authority: "a"))
            let second = try client.send(.request(authority: "a"))
            try origin.frames.send(.resetStream(first, .refusedStream))
            #expect(try client.response(on: first).reset == .refusedStream)
            try origin.frames.send(.goAway(last: first, .enhanceYourCalm, debug: "later"))
            #expect(throws: SocketFailure.self) { try client.response(on: second) }
            origin.frames.shutdownWrite()
            #expect(try client.frames.waitForEnd() == .finished)
        }
    }

    @Test func `an error of another kind than the one expected is a failure`() async throws {
        try await Self.run { client, origin in
            let stream = try client.send(.request(authority: "a"))
            try origin.frames.send(.resetStream(stream, .cancel))
            #expect(throws: SocketFailure.self) {
                try client.frames.expectStreamError(stream, .protocolError)
            }
            try origin.frames.send(.goAway(.noError))
            #expect(throws: SocketFailure.self) {
                try client.frames.expectConnectionError(.protocolError)
            }
        }
    }

    private static func nextFromClient(_ origin: HTTP2OriginConnection) throws -> String {
        try origin.frames.first("a PING") { event in
            switch event {
            case .ping(let octets): String(decoding: octets, as: UTF8.self)
            case .pingAnswered: "an answer"
            default: nil
            }
        }
    }

    @Test func `without manners nothing is sent unasked`() async throws {
        try await Self.run(client: .none) { client, origin in
            try origin.frames.send(.ping(), .settings())
            try client.frames.send(.ping("client->"))
            #expect(try Self.nextFromClient(origin) == "client->")
            _ = try client.frames.first("the answer") { event in
                if case .pingAnswered = event { true } else { nil }
            }
            // SETTINGS and PING of the origin came before that.
            try client.frames.send(.ping("the last"))
            #expect(try Self.nextFromClient(origin) == "the last")
        }
    }
}

/// Where one thread leaves the client that another goes on with.
private final class Dialing: Sendable {
    private let made = Mutex<HTTP2Client?>(nil)

    func done(_ client: HTTP2Client) { made.withLock { $0 = client } }

    func client() throws -> HTTP2Client { try #require(made.withLock { $0 }) }
}
