// RFC 9113 §4.1 and §4.2: what of a frame's header has a meaning, and how long a frame may be.
import LupinTestKit
import Testing

extension HTTP2Case {
    static let frameFormat: [HTTP2Case] = [
        .fine("a type that nobody has defined") { _ in [.unknown()] },
        .fine("a type that nobody has defined, on an idle stream") { _ in [.unknown(77)] },
        .fine("a type that nobody has defined, with all flags", answered: 1) { target in
            [
                target.post(1),
                .unknown(1, flags: HTTP2Frame.Flags(rawValue: 0xFF)),
                .data(1, end: true),
            ]
        },
        .fine("flags that PING does not have") { _ in
            [.ping().changed { $0.flags = HTTP2Frame.Flags(rawValue: 0xFE) }]
        },
        .fine("flags that SETTINGS does not have") { _ in
            [.settings().changed { $0.flags = HTTP2Frame.Flags(rawValue: 0xFE) }]
        },
        .fine("flags that HEADERS and DATA do not have", answered: 1) { target in
            let others = HTTP2Frame.Flags(rawValue: 0x52)
            return [
                target.post(1).changed { $0.flags.formUnion(others) },
                .data(1, "body", end: true).changed { $0.flags.formUnion(others) },
            ]
        },
        .fine("flags that WINDOW_UPDATE and RST_STREAM do not have") { target in
            [
                .windowUpdate(0, 1).changed { $0.flags = HTTP2Frame.Flags(rawValue: 0xFF) },
                target.post(1),
                .resetStream(1).changed { $0.flags = HTTP2Frame.Flags(rawValue: 0xFF) },
            ]
        },
        .fine("the reserved bit of PING") { _ in [.ping().changed { $0.hasReservedBit = true }] },
        .fine("the reserved bit of HEADERS and DATA", answered: 1) { target in
            [
                target.post(1).changed { $0.hasReservedBit = true },
                .data(1, "body", end: true).changed { $0.hasReservedBit = true },
            ]
        },
        .fine("the reserved bit of WINDOW_UPDATE's increment") { _ in
            [HTTP2Frame(.windowUpdate, payload: UInt32(0x8000_0001).octets)]
        },
    ]

    static let frameSize: [HTTP2Case] =
        [
            .fine("DATA of 2^14 octets", answered: 1) { target in
                [target.post(1), .data(1, [UInt8](repeating: 0x61, count: 16_384), end: true)]
            },
            .fine("HEADERS of 2^14 octets", answered: 1) { target in
                let head = HPACK.block(target.get)
                let rest = 16_384 - head.count - HPACK.literal("x", "").count - 2
                let block = head + HPACK.literal("x", String(repeating: "a", count: rest))
                return HTTP2Frame.headerFrames(1, block: block, end: true)
            },
            HTTP2Case("DATA that are longer than SETTINGS_MAX_FRAME_SIZE") { target in
                let client = try target.client()
                let size = client.frameSizeMax + 1
                try client.frames.send(target.post(1))
                client.frames.sendAnyway(.data(1, [UInt8](repeating: 0, count: size), end: true))
                try client.frames.expectStreamError(1, .frameSizeError)
            },
            oversized("HEADERS") { target, size in target.get(1).sized(size) },
            oversized("SETTINGS") { _, size in
                HTTP2Frame.settings().sized(size + 6 - size % 6)
            },
            oversized("a frame that nobody has defined") { _, size in
                HTTP2Frame.unknown().sized(size)
            },
        ] + wrongSizes

    private static let wrongSizes: [HTTP2Case] = [
        .broken("PING of 7 octets", .frameSizeError) { _ in [.ping().sized(7)] },
        .broken("PING of 9 octets", .frameSizeError) { _ in [.ping().sized(9)] },
        .broken("SETTINGS of 3 octets", .frameSizeError) { _ in [.settings().sized(3)] },
        .broken("SETTINGS of 7 octets", .frameSizeError) { _ in
            [.settings(.enablePush(0)).sized(7)]
        },
        .broken("an acknowledgement of SETTINGS with octets", .frameSizeError) { _ in
            [HTTP2Frame.settingsAcknowledgement.sized(6)]
        },
        .broken("WINDOW_UPDATE of 3 octets", .frameSizeError) { _ in
            [.windowUpdate(0, 256).sized(3)]
        },
        .broken("WINDOW_UPDATE of 5 octets", .frameSizeError) { _ in
            [.windowUpdate(0, 256).sized(5)]
        },
        .broken("WINDOW_UPDATE of a stream of 3 octets", .frameSizeError) { target in
            [target.post(1), .windowUpdate(1, 256).sized(3)]
        },
        .broken("RST_STREAM of 3 octets", .frameSizeError) { target in
            [target.post(1), .resetStream(1).sized(3)]
        },
        .broken("RST_STREAM of 5 octets", .frameSizeError) { target in
            [target.post(1), .resetStream(1).sized(5)]
        },
        .broken("GOAWAY of 7 octets", .frameSizeError) { _ in [.goAway().sized(7)] },
        .refused("PRIORITY of 4 octets", .frameSizeError) { target in
            [target.post(1), .priority(1, .init(on: 0)).sized(4)]
        },
        .refused("PRIORITY of 6 octets", .frameSizeError) { target in
            [target.post(1), .priority(1, .init(on: 0)).sized(6)]
        },
        .broken("HEADERS too short for their priority", .frameSizeError, .protocolError) { _ in
            [.headers(1, block: [0, 0, 0, 0], priority: .init(on: 0)).sized(4)]
        },
        .broken("PADDED DATA without octets", .frameSizeError, .protocolError) { target in
            [target.post(1), .data(1, padding: 0).sized(0)]
        },
        .broken("PADDED HEADERS without octets", .frameSizeError, .protocolError) { _ in
            [.headers(1, block: [], padding: 0).sized(0)]
        },
    ]

    /// A frame one octet beyond what the server takes, and one that could change the state of the
    /// whole connection, so that the connection is over (§4.2).
    private static func oversized(
        _ name: String,
        _ frame: @escaping @Sendable (HTTP2Target, Int) -> HTTP2Frame
    ) -> HTTP2Case {
        HTTP2Case("\(name) longer than SETTINGS_MAX_FRAME_SIZE") { target in
            let client = try target.client()
            client.frames.sendAnyway(frame(target, client.frameSizeMax + 1))
            try client.frames.expectConnectionError(.frameSizeError)
        }
    }
}

extension HTTP2Client {
    /// The server's SETTINGS_MAX_FRAME_SIZE.
    var frameSizeMax: Int { Int(serverSetting(5) ?? 16_384) }
}

struct FramingConformanceTests {
    @Test(arguments: HTTP2Route.allCases)
    func `what has no meaning in a frame's header is ignored (4_1)`(route: HTTP2Route)
        async throws
    {
        try await route.play(HTTP2Case.frameFormat)
    }

    @Test(arguments: HTTP2Route.allCases)
    func `a frame of a wrong size is refused (4_2)`(route: HTTP2Route)
        async throws
    {
        try await route.play(HTTP2Case.frameSize)
    }
}
