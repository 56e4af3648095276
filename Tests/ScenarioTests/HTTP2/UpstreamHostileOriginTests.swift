// Origins that break HTTP/2 itself, or flood: their connection ends, and lupin goes on.
import LupinTestKit
import Testing

struct UpstreamHostileOriginTests {
    /// What an origin sends on a connection with one request, on the given stream.
    struct Attack: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let codes: [HTTP2Frame.Code]
        let bytes: @Sendable (UInt32) -> [UInt8]

        init(
            _ name: String,
            _ codes: HTTP2Frame.Code...,
            frames: @escaping @Sendable (UInt32) -> [HTTP2Frame]
        ) {
            testDescription = name
            self.codes = codes
            bytes = { frames($0).flatMap(\.bytes) }
        }
    }

    private static let ok: HTTP2Fields = [":status": "200"]

    static let attacks = [
        Attack("PUSH_PROMISE", .protocolError) {
            [.pushPromise($0, promising: 2, .request(authority: "a"))]
        },
        Attack("HEADERS on an even stream", .protocolError) { _ in [.headers(2, ok, end: true)] },
        Attack("HEADERS on an idle stream", .protocolError) { _ in [.headers(77, ok, end: true)] },
        // Of one stream by RFC 9113 §8.1.1; nghttp2 makes more of it, as §5.4.2 allows.
        Attack("DATA before the head", .protocolError) { [.data($0, "body", end: true)] },
        Attack("DATA on an idle stream", .protocolError) { _ in [.data(77, "x")] },
        Attack("DATA on stream 0", .protocolError) { _ in [.data(0, "x")] },
        Attack("a reset of an idle stream", .protocolError) { _ in [.resetStream(77)] },
        Attack("a window of an idle stream", .protocolError) { _ in [.windowUpdate(77, 1)] },
        Attack("broken HPACK", .compressionError) {
            [.headers($0, block: [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF])]
        },
        Attack("a frame beyond the size", .frameSizeError) {
            [.headers($0, ok), .data($0, [UInt8](repeating: 0, count: 16_385))]
        },
        Attack("SETTINGS of five octets", .frameSizeError) { _ in
            [HTTP2Frame(.settings, payload: [0, 0, 0, 0, 0])]
        },
        Attack("a setting out of range", .flowControlError) { _ in
            [.settings(.initialWindowSize(0x8000_0000))]
        },
        Attack("ENABLE_PUSH of a server", .protocolError) { _ in [.settings(.enablePush(1))] },
        Attack("a window beyond 2^31-1", .flowControlError) { _ in
            [.windowUpdate(0, 0x7FFF_FFFF)]
        },
        Attack("CONTINUATION out of nowhere", .protocolError) {
            [.continuation($0, block: [0x88])]
        },
        Attack("another frame inside a header block", .protocolError) {
            [.headers($0, block: [0x88], endHeaders: false), .ping()]
        },
        Attack("a flood of CONTINUATION", .enhanceYourCalm, .internalError) { stream in
            [.headers(stream, block: [0x88], endHeaders: false)]
                + [HTTP2Frame](
                    repeating: .continuation(stream, block: [], endHeaders: false),
                    count: 100
                )
        },
        Attack("a flood of SETTINGS", .enhanceYourCalm) { _ in
            [HTTP2Frame](repeating: .settings(), count: 1100)
        },
        Attack("a flood of PING", .enhanceYourCalm) { _ in
            [HTTP2Frame](repeating: .ping(), count: 1100)
        },
        Attack("a flood of empty DATA", .enhanceYourCalm) {
            [.headers($0, ok)] + [HTTP2Frame](repeating: .data($0), count: 1100)
        },
        Attack("a flood of PRIORITY", .enhanceYourCalm) { stream in
            [HTTP2Frame](repeating: .priority(stream, .init(on: 0)), count: 1100)
        },
        Attack("a header block that unpacks to megabytes", .enhanceYourCalm) { stream in
            let big = HPACK.literal("x", String(repeating: "y", count: 4000), .incremental)
            return [
                .headers(stream, block: [0x88] + big + [UInt8](repeating: 0xBE, count: 12_000))
            ]
        },
    ]

    @Test(arguments: attacks)
    func `the connection ends, and who asked gets no clean answer`(attack: Attack) async throws {
        try await UpstreamStory.run { story in
            let client = try story.client()
            try client.send("POST", story.url(), body: "x")
            let origin = try story.accept()
            let request = try origin.request()
            origin.frames.sendBytesAnyway(attack.bytes(request.stream))
            try origin.frames.expectConnectionError(attack.codes)
            origin.close()
            if let head = try client.stream.head(), head.status != 502 {
                let (rest, _) = try client.stream.untilEnd()
                #expect(!String(decoding: rest, as: UTF8.self).contains("0\r\n\r\n"))
            }
            let record = try story.proxy.record()
            #expect(record["outcome"] == "error" || record["outcome"] == "truncated")
            #expect(record["error.type"] == "http_protocol_error")
            #expect(record.count("attempts") == 1)
            // Others are served, by a new connection.
            let other = try story.client()
            try other.send("GET", story.url("/other"))
            let second = try story.accept()
            try second.reply(to: try second.request().stream, body: "other")
            #expect(try other.response().bodyText == "other")
        }
    }

    @Test func `an origin whose first frame is no SETTINGS is none of HTTP 2`() async throws {
        try await UpstreamStory.run { story in
            let client = try story.client()
            try client.send("POST", story.url(), body: "x")
            let server = try story.proxy.authority.server("origin.test", ["h2"])
            let secured = try SecureSocket(over: try story.origin.listener.accept(), as: server)
            try secured.plain.send("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
            let response = try client.response(to: "POST")
            #expect(response.status == 502)
            #expect(response["Proxy-Status"]?.contains("http_protocol_error") == true)
        }
    }

    @Test func `a head beyond limits header_bytes is 502, for its stream alone`() async throws {
        try await UpstreamStory.run("limits: {header_bytes: 4KiB}") { story in
            let (client, other) = (try story.client(), try story.client())
            let (origin, request) = try story.asked(by: client)
            #expect(origin.clientSetting(6) == 4096)
            try other.send("GET", story.url("/other"))
            let sibling = try origin.request()
            try origin.sendHead(request.stream, 200, ["x": String(repeating: "y", count: 5000)])
            let response = try client.response()
            #expect(response.status == 502)
            let status = response["Proxy-Status"] ?? ""
            #expect(status.contains("http_response_header_section_size"), "\(status)")
            try origin.reply(to: sibling.stream, body: "well")
            #expect(try other.response().bodyText == "well")
        }
    }

    @Test func `interim responses without end are cut`() async throws {
        try await UpstreamStory.run("limits: {header_bytes: 4KiB}") { story in
            let client = try story.client()
            let (origin, request) = try story.asked(by: client)
            let interim = HTTP2Frame.headers(
                request.stream,
                [":status": "103", "link": String(repeating: "x", count: 400)]
            )
            origin.frames.sendAnyway(interim, interim, interim, interim, interim, interim)
            origin.frames.sendAnyway(interim, interim, interim, interim, interim, interim)
            #expect(try client.response().status == 502)
            try origin.frames.expectReset(request.stream, .cancel, .protocolError)
            try origin.expectNoRequest()
        }
    }
}

extension FrameStream {
    /// Sends what a peer may have closed the connection for already.
    func sendBytesAnyway(_ bytes: [UInt8]) { _ = try? send(bytes: bytes) }
}
