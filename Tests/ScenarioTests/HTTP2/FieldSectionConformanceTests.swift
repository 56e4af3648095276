// RFC 9113 §4.3, §6.10 and §5.5: a header block in several frames, and what may not come between.
import LupinTestKit
import Testing

extension HTTP2Case {
    static let fieldCompression: [HTTP2Case] = [
        .broken("a block that cannot be decoded", .compressionError) { _ in
            [.headers(1, block: HPACK.indexed(70), end: true)]
        }.reachingNobody,
        .broken("trailers that cannot be decoded", .compressionError) { target in
            [target.post(1), .headers(1, block: HPACK.indexed(70), end: true)]
        },
        .broken("a block that is cut in a string", .compressionError) { target in
            let block = HPACK.block(target.get) + HPACK.literal("x", "12345").dropLast()
            return [.headers(1, block: Array(block), end: true)]
        }.reachingNobody,
        .broken("CONTINUATION that cannot be decoded", .compressionError) { target in
            [
                .headers(1, block: HPACK.block(target.get), end: true, endHeaders: false),
                .continuation(1, block: HPACK.indexed(70)),
            ]
        }.reachingNobody,
        HTTP2Case("a block of a stream that was reset still fills the table") { target in
            let client = try target.client()
            let field = HPACK.literal("X-Upper", "malformed", .incremental)
            let known = HPACK.literal("x-known", "to both", .incremental)
            let block = HPACK.block(target.get)
            try client.frames.send(.headers(1, block: block + field + known, end: true))
            try client.expectMalformed(on: 1, target)
            try client.frames.send(.headers(1003, block: block + HPACK.indexed(62), end: true))
            try client.expectAnswer(on: 1003)
        },
    ]

    /// Each of these comes between HEADERS without END_HEADERS and CONTINUATION.
    static let interruptedBlock: [HTTP2Case] = [
        interrupted("PRIORITY") { _ in .priority(1, .init(on: 0)) },
        interrupted("PING") { _ in .ping() },
        interrupted("SETTINGS") { _ in .settings() },
        interrupted("WINDOW_UPDATE") { _ in .windowUpdate(0, 1) },
        interrupted("DATA") { _ in .data(1, "body") },
        interrupted("RST_STREAM") { _ in .resetStream(1) },
        interrupted("GOAWAY") { _ in .goAway() },
        interrupted("HEADERS of the same stream") { target in target.get(1) },
        interrupted("HEADERS of another stream") { target in target.get(3) },
        interrupted("PRIORITY of another stream") { _ in .priority(3, .init(on: 0)) },
        interrupted("CONTINUATION of another stream") { target in
            .continuation(3, block: HPACK.block(target.get))
        },
        interrupted("CONTINUATION of no stream") { _ in .continuation(0, block: []) },
        // RFC 9113 §5.5: extensions have no place here either.
        interrupted("a frame that nobody has defined") { _ in .unknown(1) },
    ]

    private static func interrupted(
        _ name: String,
        _ frame: @escaping @Sendable (HTTP2Target) -> HTTP2Frame
    ) -> HTTP2Case {
        .broken("\(name) in the middle of a block", .protocolError) { target in
            [
                .headers(1, block: HPACK.block(target.get), end: true, endHeaders: false),
                frame(target), .continuation(1, block: HPACK.literal("x", "y")),
            ]
        }.reachingNobody
    }

    static let continuation: [HTTP2Case] = [
        .fine("a block in HEADERS and one CONTINUATION", answered: 1) { target in
            [
                .headers(1, block: HPACK.block(target.get), end: true, endHeaders: false),
                .continuation(1, block: HPACK.literal("x", "y")),
            ]
        },
        // More than eight CONTINUATION may count as a flood (§10.5).
        .fine("a block in six frames", answered: 1) { target in
            let block = HPACK.block(target.get)
            let size = (block.count + 5) / 6
            return HTTP2Frame.headerFrames(1, block: block, end: true, size: size)
        },
        .fine("HEADERS and CONTINUATION without octets", answered: 1) { target in
            [
                .headers(1, block: [], end: true, endHeaders: false),
                .continuation(1, block: [], endHeaders: false),
                .continuation(1, block: HPACK.block(target.get), endHeaders: false),
                .continuation(1, block: []),
            ]
        },
        .fine("trailers in HEADERS and CONTINUATION", answered: 1) { target in
            let trailers = HPACK.literal("x-sum", "1") + HPACK.literal("x-more", "2")
            return [target.post(1), .data(1, "body")]
                + HTTP2Frame.headerFrames(1, block: trailers, end: true, size: 8)
        },
        .fine("END_STREAM counts on HEADERS alone", answered: 1) { target in
            [
                .headers(1, block: HPACK.block(target.post), endHeaders: false),
                HTTP2Frame(.continuation, [.endHeaders, .endStream], stream: 1),
                .data(1, "body", end: true),
            ]
        },
        .broken("CONTINUATION of no stream", .protocolError) { target in
            [
                .headers(1, block: HPACK.block(target.get), endHeaders: false),
                .continuation(0, block: []),
            ]
        },
        .broken("CONTINUATION behind HEADERS with END_HEADERS", .protocolError) { target in
            [target.post(1), .continuation(1, block: HPACK.literal("x", "y"))]
        },
        .broken("CONTINUATION behind the last CONTINUATION", .protocolError) { target in
            [
                .headers(1, block: HPACK.block(target.post), endHeaders: false),
                .continuation(1, block: HPACK.literal("x", "y")),
                .continuation(1, block: HPACK.literal("z", "y")),
            ]
        },
        .broken("CONTINUATION behind DATA", .protocolError) { target in
            [
                target.post(1), .data(1, "body"),
                .continuation(1, block: HPACK.literal("x", "y")),
            ]
        },
        HTTP2Case("a block without an end") { target in
            let client = try target.client()
            client.frames.sendAnyway(
                .headers(1, block: HPACK.block(target.get), end: true, endHeaders: false)
            )
            // 8 MiB is more than anybody keeps for one head.
            let block = HPACK.literal("x", String(repeating: "a", count: 16_000))
            for _ in 0..<512 {
                client.frames.sendAnyway(.continuation(1, block: block, endHeaders: false))
            }
            try client.frames.expectConnectionError(
                .enhanceYourCalm,
                .protocolError,
                .internalError,
                .compressionError
            )
        }.reachingNobody,
    ]
}

struct FieldSectionConformanceTests {
    @Test(arguments: HTTP2Route.allCases)
    func `a block that cannot be decoded ends the connection (4_3)`(route: HTTP2Route)
        async throws
    {
        try await route.play(HTTP2Case.fieldCompression)
    }

    @Test(arguments: HTTP2Route.allCases)
    func `nothing comes between the frames of a block (4_3, 5_5)`(route: HTTP2Route)
        async throws
    {
        try await route.play(HTTP2Case.interruptedBlock)
    }

    @Test(arguments: HTTP2Route.allCases)
    func `CONTINUATION goes on with HEADERS and nothing else (6_10)`(route: HTTP2Route)
        async throws
    {
        try await route.play(HTTP2Case.continuation)
    }
}
