// RFC 9113 §5.1.1, §5.1.2 and §5.3.1: numbers of streams, how many at once, and old priorities.
import LupinTestKit
import Testing

extension HTTP2Case {
    static let streamNumbers: [HTTP2Case] = [
        .broken("an even number", .protocolError) { target in [target.get(2)] }.reachingNobody,
        HTTP2Case("a number below the last one") { target in
            let client = try target.client()
            try client.frames.send(target.get(5))
            try client.expectAnswer(on: 5)
            let late = HTTP2Frame.headers(3, target.head("GET", "/late"), end: true)
            try client.frames.send(late)
            try client.frames.expectConnectionError(.protocolError)
            let answer = client.frames.unasked.first { $0.stream == 3 && $0.isOfMessage }
            let isForwarded = target.origin?.receivedText.contains("/late") ?? false
            if let answer { throw SocketFailure("\(answer)") }
            if isForwarded { throw SocketFailure("the origin heard of it") }
        },
        HTTP2Case("a number for the second time") { target in
            let client = try target.client()
            try client.frames.send(target.get(1))
            try client.expectAnswer(on: 1)
            try client.frames.send(target.get(1))
            try client.frames.expectStreamError(1, .protocolError, .streamClosed)
        },
        .fine("a gap between the numbers", answered: 1, 101) { target in
            [target.get(1), target.get(101)]
        },
        HTTP2Case("the last number of all") { target in
            let client = try target.client()
            try client.frames.send(target.get(0x7FFF_FFFF))
            try client.expectAnswer(on: 0x7FFF_FFFF)
            try client.frames.expectAlive()
        },
        .broken("HEADERS of the connection", .protocolError) { target in [target.get(0)] },
    ]

    static let concurrency: [HTTP2Case] = [
        HTTP2Case("a stream more than SETTINGS_MAX_CONCURRENT_STREAMS") { target in
            let client = try target.client([.initialWindowSize(0)])
            try client.frames.expectSettingsAcknowledged()
            guard let count = client.serverSetting(3), count <= 1000 else { return }
            let streams = (0...count).map { $0 * 2 + 1 }
            try client.frames.send(streams.map { target.get($0) })
            let last = count * 2 + 1
            try client.frames.expectStreamError(last, .protocolError, .refusedStream)
        },
        HTTP2Case("a stream that has ended makes room for another") { target in
            let client = try target.client()
            let count = min(client.serverSetting(3) ?? 10, 200)
            for number in 0...count {
                try client.frames.send(target.head("HEAD").headers(number * 2 + 1))
                try client.expectAnswer(on: number * 2 + 1, to: "HEAD")
            }
            try client.frames.expectAlive()
        },
        .fine("a client that wants no pushed streams at all", answered: 1) { target in
            [.settings(.maxConcurrentStreams(0)), target.get(1)]
        },
        HTTP2Case("several requests at once, answered whatever their order") { target in
            let client = try target.client()
            let streams = stride(from: UInt32(1), to: 21, by: 2)
            try client.frames.send(streams.map { target.get($0) })
            for stream in streams.reversed() { try client.expectAnswer(on: stream) }
        },
    ]

    /// Since priorities have no meaning any more, they may also be ignored.
    static let selfDependency: [HTTP2Case] = [
        .refusedOrIgnored("HEADERS that depend on themselves", .protocolError) { target in
            [.headers(1, target.get, end: true, priority: .init(on: 1))]
        },
        .refusedOrIgnored("PRIORITY that depends on itself", on: 3, .protocolError) { _ in
            [.priority(3, .init(on: 3))]
        },
    ]
}

extension HTTP2Fields {
    /// HEADERS that end their stream.
    fileprivate func headers(_ stream: UInt32) -> HTTP2Frame {
        .headers(stream, self, end: true)
    }
}

struct StreamNumberConformanceTests {
    @Test(arguments: HTTP2Route.allCases)
    func `a client's streams are odd and count up (5_1_1)`(route: HTTP2Route)
        async throws
    {
        try await route.play(HTTP2Case.streamNumbers)
    }

    @Test(arguments: HTTP2Route.allCases)
    func `no more streams at once than the server takes (5_1_2)`(route: HTTP2Route)
        async throws
    {
        try await route.play(HTTP2Case.concurrency)
    }

    @Test(arguments: HTTP2Route.allCases)
    func `a stream does not depend on itself (5_3_1 of RFC 7540)`(route: HTTP2Route)
        async throws
    {
        try await route.play(HTTP2Case.selfDependency)
    }
}
