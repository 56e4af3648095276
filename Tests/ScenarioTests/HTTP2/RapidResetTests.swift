// Streams that end as soon as they begin: a few are a client's right, a flood ends the connection.
import LupinTestKit
import Testing

struct RapidResetTests {
    private static let limit = 50
    private static let rules = "limits: {h2: {resets: \(limit)/30s, control: 1000000/1s}}"

    /// Frames that open one stream, and how it comes to be reset.
    struct Flood: Sendable, CustomTestStringConvertible {
        let name: String
        let frames: @Sendable (_ stream: UInt32, _ head: HTTP2Fields) -> [HTTP2Frame]

        var testDescription: String { name }
    }

    /// Resets by the client, and by lupin because the client makes it (CVE-2023-44487,
    /// CVE-2025-8671).
    static let floods: [Flood] = [
        Flood(name: "the client resets") { stream, head in
            [.headers(stream, head, end: true), .resetStream(stream)]
        },
        Flood(name: "the client resets an upload") { stream, head in
            [.headers(stream, head), .data(stream, "x"), .resetStream(stream)]
        },
        Flood(name: "a name in upper case") { stream, head in
            [.headers(stream, head + ["X-Upper": "1"], end: true)]
        },
        Flood(name: "no path") { stream, head in
            [.headers(stream, head.without(":path"), end: true)]
        },
        Flood(name: "a path that is none") { stream, head in
            [.headers(stream, head.with(":path", "nothing"), end: true)]
        },
        Flood(name: "a longer body than Content-Length says") { stream, head in
            let length: HTTP2Fields = ["content-length": "1"]
            return [.headers(stream, head + length), .data(stream, "xyz", end: true)]
        },
        Flood(name: "a shorter body than Content-Length says") { stream, head in
            let length: HTTP2Fields = ["content-length": "9"]
            return [.headers(stream, head + length), .data(stream, "xyz", end: true)]
        },
        Flood(name: "no body where Content-Length says one") { stream, head in
            [.headers(stream, head + ["content-length": "9"], end: true)]
        },
        Flood(name: "a window beyond 2^31-1") { stream, head in
            [.headers(stream, head), .windowUpdate(stream, 0x7FFF_FFFF)]
        },
        Flood(name: "trailers that end nothing") { stream, head in
            [.headers(stream, head), .headers(stream, ["x": "y"])]
        },
        Flood(name: "a pseudo-field in trailers") { stream, head in
            [.headers(stream, head), .headers(stream, [":path": "/"], end: true)]
        },
        Flood(name: "trailers that are too long") { stream, head in
            let field: HTTP2Fields = ["x": String(repeating: "y", count: 9000)]
            return [.headers(stream, head), .headers(stream, field, end: true)]
        },
    ]

    @Test(arguments: floods)
    func `a flood of resets ends the connection`(flood: Flood) async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let origin = try proxy.measuredOrigin()
            let head = HTTP2Fields.request("POST", authority: origin.authority, path: "/1")
            let client = try proxy.http2Client()
            let innocent = try proxy.http2Client()
            // One at a time, so that no limit of streams is met.
            for i in 0..<(2 * Self.limit) {
                client.frames.sendAnyway(UInt32(2 * i + 1), flood.frames, head)
                if i % 10 == 9, (try? client.frames.expectAnswer()) == nil { break }
            }
            try client.frames.expectCalm()
            #expect(client.frames.unasked.filter(\.isReset).count <= Self.limit + 10)
            #expect(try innocent.request(authority: origin.authority, path: "/7").body.count == 7)
        }
    }

    @Test func `a thousand streams are reset and no more`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try proxy.measuredOrigin()
            let client = try proxy.http2Client()
            let head = HTTP2Fields.request(authority: origin.authority, path: "/1")
            let frames = (0..<1100).flatMap { i -> [HTTP2Frame] in
                [.headers(2 * i + 1, head, end: true), .resetStream(2 * i + 1)]
            }
            client.frames.sendAnyway(frames)
            let last = try client.frames.expectGoAway(.enhanceYourCalm)
            #expect(last <= 2 * 1001 + 1)
            _ = try client.frames.waitForEnd()
            // What was given up before it began has made nobody work.
            #expect(origin.connections.count < 100)
            let innocent = try proxy.http2Client()
            #expect(try innocent.request(authority: origin.authority, path: "/7").body.count == 7)
        }
    }

    @Test func `resets as many as are allowed do no harm`() async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let origin = try proxy.measuredOrigin()
            let client = try proxy.http2Client()
            let head = HTTP2Fields.request(authority: origin.authority, path: "/1")
            for _ in 0..<Self.limit {
                let stream = try client.open(head)
                try client.frames.send(.resetStream(stream))
            }
            #expect(try client.request(head).body.count == 1)
        }
    }
}

extension FrameEvent {
    fileprivate var isReset: Bool {
        if case .reset = self { true } else { false }
    }
}

extension FrameStream {
    fileprivate func sendAnyway(
        _ stream: UInt32,
        _ frames: (UInt32, HTTP2Fields) -> [HTTP2Frame],
        _ head: HTTP2Fields
    ) {
        _ = try? send(frames(stream, head))
    }

    fileprivate func sendAnyway(_ frames: [HTTP2Frame]) { _ = try? send(frames) }

    /// That the peer still answers a PING, whatever comes before.
    fileprivate func expectAnswer() throws {
        try send(.ping("anybody?"))
        _ = try first("an answer to PING") { event in
            switch event {
            case .pingAnswered(let bytes) where bytes == Array("anybody?".utf8): true
            default: nil
            }
        }
    }
}
