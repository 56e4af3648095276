// Frames that carry no message and cost work: as many as are usual, and then the connection ends.
import LupinTestKit
import Testing

struct FrameFloodTests {
    private static let limit = 40
    private static let rules = """
        limits: {h2: {control: \(limit)/30s}}
        rules: [{name: canned, match: {host: a.test}, respond: {status: 200, body: fine}}]
        """

    struct Flood: Sendable, CustomTestStringConvertible {
        let name: String
        /// It comes on a stream that waits for the rest of a request.
        var isOnStream = false
        let frame: HTTP2Frame

        var testDescription: String { name }
    }

    private static let post = HTTP2Fields.request("POST", authority: "a.test")

    static let floods: [Flood] = [
        Flood(name: "SETTINGS", frame: .settings()),
        Flood(name: "SETTINGS with one", frame: .settings(.headerTableSize(4096))),
        Flood(name: "PING", frame: .ping()),
        Flood(name: "answers to no PING", frame: .ping(isAnswer: true)),
        Flood(name: "PRIORITY", frame: .priority(1, HTTP2Frame.Priority(on: 3))),
        Flood(name: "an unknown type", frame: .unknown()),
        Flood(name: "ALTSVC", frame: HTTP2Frame.unknown(1).changed { $0.kind.rawValue = 0xA }),
        Flood(
            name: "PRIORITY_UPDATE",
            frame: HTTP2Frame.unknown().changed { $0.kind.rawValue = 0x10 }
        ),
        Flood(name: "DATA of nothing", isOnStream: true, frame: .data(1)),
        Flood(name: "DATA of padding alone", isOnStream: true, frame: .data(1, padding: 0)),
    ]

    @Test(arguments: floods)
    func `a flood ends the connection`(flood: Flood) async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let client = try proxy.http2Client()
            let innocent = try proxy.http2Client()
            let origin = try PlayedOrigin()
            if flood.isOnStream {
                let head = HTTP2Fields.request("POST", authority: origin.authority)
                try client.frames.send(.headers(1, head))
            }
            let frames = [HTTP2Frame](repeating: flood.frame, count: 1100)
            _ = try? client.frames.send(frames)
            try client.frames.expectCalm()
            let answers = client.frames.unasked.count
            #expect(answers <= Self.limit + 4, "\(answers) frames came for it")
            #expect(try innocent.request(authority: "a.test").bodyText == "fine")
        }
    }

    @Test(arguments: floods)
    func `as many as are usual do no harm`(flood: Flood) async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let client = try proxy.http2Client()
            let origin = try PlayedOrigin()
            if flood.isOnStream {
                let head = HTTP2Fields.request("POST", authority: origin.authority)
                try client.frames.send(.headers(1, head))
            }
            // The client's own SETTINGS have counted already, and so has an acknowledgement.
            let frames = [HTTP2Frame](repeating: flood.frame, count: Self.limit - 4)
            try client.frames.send(frames)
            try client.frames.send(.headers(5, Self.post, end: true))
            #expect(try client.response(on: 5).bodyText == "fine")
        }
    }

    @Test func `what came whole before a head without end has a record`() async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let client = try proxy.http2Client()
            let get = HTTP2Fields.request("GET", authority: "a.test")
            let endless = HTTP2Frame.headers(3, block: HPACK.block(get), endHeaders: false)
            let more = HTTP2Frame.continuation(3, block: [], endHeaders: false)
            try client.frames.send(
                [.headers(1, get, end: true), endless] + Array(repeating: more, count: 12)
            )
            try client.frames.expectCalm()
            let record = try proxy.record()
            #expect(record["url.domain"] == "a.test" && record["http.request.method"] == "GET")
        }
    }

    @Test(arguments: [0, 1])
    func `a head that CONTINUATION never ends is given up`(bytes: Int) async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let client = try proxy.http2Client()
            let innocent = try proxy.http2Client()
            let block = HPACK.block(Self.post)
            let more = HTTP2Frame.continuation(
                1,
                block: bytes == 0 ? [] : HPACK.indexed(2),
                endHeaders: false
            )
            let beginning = HTTP2Frame.headers(1, block: block, endHeaders: false)
            _ = try? client.frames.send([beginning] + Array(repeating: more, count: 1100))
            try client.frames.expectConnectionError(.enhanceYourCalm, .protocolError)
            #expect(try innocent.request(authority: "a.test").bodyText == "fine")
        }
    }

    @Test func `WINDOW_UPDATE of the connection that adds nothing is an error`() async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let client = try proxy.http2Client()
            let innocent = try proxy.http2Client()
            _ = try? client.frames.send([HTTP2Frame](repeating: .windowUpdate(0, 0), count: 1100))
            try client.frames.expectConnectionError(.protocolError)
            #expect(try innocent.request(authority: "a.test").bodyText == "fine")
        }
    }
}
