// RFC 9113 §6.5 and §5.4.1: SETTINGS, their values and what an error of the connection looks like.
import LupinTestKit
import Testing

extension HTTP2Case {
    static let settings: [HTTP2Case] = [
        .broken("SETTINGS of a stream", .protocolError) { _ in [HTTP2Frame.settings().on(1)] },
        .broken("SETTINGS of a stream that is open", .protocolError) { target in
            [target.post(1), HTTP2Frame.settings().on(1)]
        },
        HTTP2Case("each SETTINGS is acknowledged once") { target in
            let client = try target.client()
            try client.frames.send(.settings(), .settings(.maxFrameSize(20_000)), .settings())
            for _ in 0..<4 { try client.frames.expectSettingsAcknowledged() }
            try client.expectService(target)
            for event in client.frames.unasked {
                guard case .settingsAcknowledged = event else { continue }
                throw SocketFailure("SETTINGS acknowledged once more")
            }
        },
        HTTP2Case("of several values of one setting the last counts") { target in
            let client = try target.client([.initialWindowSize(100), .initialWindowSize(1)])
            try client.frames.send(target.get(1))
            _ = try client.frames.head(on: 1)
            guard case .data(_, let bytes, _) = try client.frames.part(of: 1), bytes.count == 1
            else { throw SocketFailure("no DATA of one octet") }
        },
    ]

    static let settingValues: [HTTP2Case] = badSettings + goodSettings

    private static let badSettings: [HTTP2Case] = [
        badSetting("ENABLE_PUSH of 2", .enablePush(2), .protocolError),
        badSetting(
            "INITIAL_WINDOW_SIZE of 2^31",
            .initialWindowSize(1 << 31),
            .flowControlError
        ),
        badSetting(
            "INITIAL_WINDOW_SIZE of 2^32-1",
            .initialWindowSize(0xFFFF_FFFF),
            .flowControlError
        ),
        badSetting("MAX_FRAME_SIZE of 2^14-1", .maxFrameSize(16_383), .protocolError),
        badSetting("MAX_FRAME_SIZE of 0", .maxFrameSize(0), .protocolError),
        badSetting("MAX_FRAME_SIZE of 2^24", .maxFrameSize(1 << 24), .protocolError),
    ]

    private static let goodSettings: [HTTP2Case] = [
        goodSetting("ENABLE_PUSH of 0", .enablePush(0)),
        goodSetting("ENABLE_PUSH of 1", .enablePush(1)),
        goodSetting("INITIAL_WINDOW_SIZE of 2^31-1", .initialWindowSize(0x7FFF_FFFF)),
        goodSetting("MAX_FRAME_SIZE of 2^14", .maxFrameSize(16_384)),
        goodSetting("MAX_FRAME_SIZE of 2^24-1", .maxFrameSize(0xFF_FFFF)),
        goodSetting("MAX_CONCURRENT_STREAMS of 0", .maxConcurrentStreams(0)),
        goodSetting("HEADER_TABLE_SIZE of 0", .headerTableSize(0)),
        goodSetting("HEADER_TABLE_SIZE of 2^32-1", .headerTableSize(0xFFFF_FFFF)),
        goodSetting("MAX_HEADER_LIST_SIZE of 2^32-1", .maxHeaderListSize(0xFFFF_FFFF)),
        goodSetting("ENABLE_CONNECT_PROTOCOL of 0", .enableConnectProtocol(0)),
        goodSetting("a setting that nobody has defined", .init(0xFF, 0xFFFF_FFFF)),
        goodSetting("the setting 0", .init(0, 1)),
        HTTP2Case("HEADER_TABLE_SIZE grows and shrinks between requests") { target in
            let client = try target.client()
            for (number, size) in [UInt32(4096), 0, 100, 0, 65_536].enumerated() {
                try client.frames.send(.settings(.headerTableSize(size)))
                let stream = UInt32(number) * 2 + 1
                try client.frames.send(target.get(stream))
                try client.expectAnswer(on: stream)
            }
        },
    ]

    private static func badSetting(
        _ name: String,
        _ setting: HTTP2Frame.Setting,
        _ code: HTTP2Frame.Code
    ) -> HTTP2Case {
        .broken(name, code) { _ in [.settings(setting)] }
    }

    /// Given at the start, and once more while a request runs.
    private static func goodSetting(_ name: String, _ setting: HTTP2Frame.Setting) -> HTTP2Case {
        .fine(name, answered: 1, 3, settings: [setting]) { target in
            [target.get(1), .settings(setting), target.get(3)]
        }
    }

    static let connectionErrors: [HTTP2Case] = [
        HTTP2Case("an error of the connection: GOAWAY, and then the end") { target in
            let client = try target.client()
            try client.frames.send(HTTP2Frame.ping().on(1))
            try client.frames.expectGoAway(.protocolError)
            _ = try client.frames.waitForEnd()
        },
        HTTP2Case("GOAWAY names the last stream that was looked at") { target in
            let client = try target.client()
            try client.frames.send(target.get(1), target.get(3))
            try client.expectAnswer(on: 1)
            try client.expectAnswer(on: 3)
            try client.frames.send(HTTP2Frame.ping().on(1))
            let last = try client.frames.expectGoAway(.protocolError)
            guard last == 3 else { throw SocketFailure("the last stream is \(last)") }
        },
        HTTP2Case("nothing behind an error of the connection counts") { target in
            let client = try target.client()
            try client.frames.send(HTTP2Frame.ping().on(1), target.get(1))
            try client.frames.expectConnectionError(.protocolError)
        }.reachingNobody,
    ]
}

struct SettingsConformanceTests {
    @Test(arguments: HTTP2Route.allCases)
    func `SETTINGS belong to the connection and are acknowledged (6_5, 6_5_3)`(route: HTTP2Route)
        async throws
    {
        try await route.play(HTTP2Case.settings)
    }

    @Test(arguments: HTTP2Route.allCases)
    func `a setting has the values that it may have (6_5_2)`(route: HTTP2Route)
        async throws
    {
        try await route.play(HTTP2Case.settingValues)
    }

    @Test(arguments: HTTP2Route.allCases)
    func `an error of the connection ends it (5_4_1)`(route: HTTP2Route)
        async throws
    {
        try await route.play(HTTP2Case.connectionErrors)
    }
}
