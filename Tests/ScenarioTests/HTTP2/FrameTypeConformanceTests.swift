// RFC 9113 §6.1 to §6.4 and §6.6 to §6.8: what each type of frame demands.
import LupinTestKit
import Testing

extension HTTP2Case {
    static let data: [HTTP2Case] = [
        .fine("DATA in one frame", answered: 1) { [$0.post(1), .data(1, "body", end: true)] },
        .fine("DATA in several frames", answered: 1) { target in
            [target.post(1), .data(1, "bo"), .data(1), .data(1, "dy"), .data(1, end: true)]
        },
        .fine("padded DATA", answered: 1) { target in
            [
                target.post(1), .data(1, Array("bo".utf8), padding: 255),
                .data(1, Array("dy".utf8), end: true, padding: 0),
            ]
        },
        .fine("DATA of padding alone", answered: 1) { target in
            [target.post(1), .data(1, padding: 7), .data(1, end: true, padding: 7)]
        },
        .broken("DATA of the connection", .protocolError) { _ in [.data(0, "body")] },
        .broken("as much padding as payload", .protocolError) { target in
            [target.post(1), HTTP2Frame(.data, .padded, stream: 1, payload: [4, 0, 0, 0])]
        },
        .broken("more padding than payload", .protocolError) { target in
            [target.post(1), HTTP2Frame(.data, .padded, stream: 1, payload: [255, 0, 0])]
        },
        HTTP2Case("the origin gets the octets without their padding") { target in
            let client = try target.client()
            try client.frames.send(
                .headers(1, target.post + ["content-length": "10"]),
                .data(1, Array("what ".utf8), padding: 9),
                .data(1, Array("it is".utf8), end: true, padding: 1)
            )
            try client.expectAnswer(on: 1)
            let text = target.origin?.receivedText ?? "what it is"
            guard text.hasSuffix("what it is") else {
                throw SocketFailure("the origin got \(text)")
            }
        },
    ]

    static let headers: [HTTP2Case] = [
        .fine("HEADERS", answered: 1) { [$0.get(1)] },
        .fine("padded HEADERS", answered: 1) { target in
            [.headers(1, target.get, end: true, padding: 255)]
        },
        .fine("HEADERS with a priority", answered: 1) { target in
            [.headers(1, target.get, end: true, priority: .init(on: 0, weight: 255))]
        },
        .fine("padded HEADERS with a priority, on an idle stream", answered: 3) { target in
            let priority = HTTP2Frame.Priority(on: 1, isExclusive: true, weight: 0)
            return [.headers(3, target.get, end: true, priority: priority, padding: 3)]
        },
        .broken("as much padding as payload", .protocolError) { target in
            let block = HPACK.block(target.get)
            return [
                .headers(1, block: [UInt8(block.count + 1)] + block, end: true)
                    .changed { $0.flags.insert(.padded) }
            ]
        }.reachingNobody,
        .broken("more padding than fits behind the priority", .protocolError) { target in
            let block = HPACK.block(target.get)
            let frame = HTTP2Frame.headers(1, block: block, priority: .init(on: 0))
            return [
                frame.changed {
                    $0.payload = [UInt8(block.count + 6)] + $0.payload
                    $0.flags.insert(.padded)
                }
            ]
        }.reachingNobody,
    ]

    static let priority: [HTTP2Case] = [
        .fine("PRIORITY with the least weight", answered: 1) { target in
            [.priority(1, .init(on: 0, weight: 0)), target.get(1)]
        },
        .fine("PRIORITY with the greatest weight", answered: 1) { target in
            [.priority(1, .init(on: 0, weight: 255)), target.get(1)]
        },
        .fine("PRIORITY that depends on another stream", answered: 1, 3) { target in
            [target.get(1), .priority(3, .init(on: 1)), target.get(3)]
        },
        .fine("exclusive PRIORITY", answered: 1) { target in
            [.priority(1, .init(on: 3, isExclusive: true)), target.get(1)]
        },
        .fine("PRIORITY of an idle stream above the next one", answered: 3) { target in
            [.priority(5, .init(on: 0)), target.get(3)]
        },
        .broken("PRIORITY of the connection", .protocolError) { _ in
            [.priority(0, .init(on: 1))]
        },
    ]

    static let resetStream: [HTTP2Case] = [
        .fine("RST_STREAM of a request that goes on") { [$0.post(1), .resetStream(1)] },
        .fine("RST_STREAM of a whole request", answered: 3) { target in
            [target.get(1), .resetStream(1), target.get(3)]
        },
        .fine("RST_STREAM with a code that nobody has defined", answered: 3) { target in
            [target.post(1), .resetStream(1, .init(rawValue: 0xFFFF_FFFF)), target.get(3)]
        },
        .fine("RST_STREAM with NO_ERROR", answered: 3) { target in
            [target.post(1), .resetStream(1, .noError), target.get(3)]
        },
        .broken("RST_STREAM of the connection", .protocolError) { _ in [.resetStream(0)] },
        .broken("RST_STREAM of an idle stream above others", .protocolError) { target in
            [target.get(1), .resetStream(3)]
        },
    ]

    static let push: [HTTP2Case] = [
        .broken("PUSH_PROMISE of a request", .protocolError) { target in
            [target.post(1), .pushPromise(1, promising: 2, target.get)]
        },
        .broken("PUSH_PROMISE of the connection", .protocolError) { target in
            [.pushPromise(0, promising: 2, target.get)]
        },
    ]

    static let ping: [HTTP2Case] = [
        HTTP2Case("PING is answered by the same octets") { target in
            let client = try target.client()
            let marks: [[UInt8]] = [BytePattern.bytes(1, 8), [UInt8](repeating: 0, count: 8)]
            for mark in marks { try client.frames.send(HTTP2Frame(.ping, payload: mark)) }
            for mark in marks { try client.frames.expectAnswer(toPing: mark) }
        },
        HTTP2Case("PING is answered while the response waits for a window") { target in
            let client = try target.client([.initialWindowSize(0)])
            try client.frames.send(target.get(1))
            _ = try client.frames.head(on: 1)
            try client.frames.expectAlive()
        },
        HTTP2Case("an answer to no PING is not answered") { target in
            let client = try target.client()
            try client.frames.send(.ping("unasked!", isAnswer: true))
            try client.expectService(target)
            for event in client.frames.unasked {
                guard case .pingAnswered = event else { continue }
                throw SocketFailure("an answer is answered")
            }
        },
        .broken("PING of a stream", .protocolError) { _ in [HTTP2Frame.ping().on(1)] },
        .broken("an answer to PING of a stream", .protocolError) { _ in
            [HTTP2Frame.ping(isAnswer: true).on(1)]
        },
    ]

    static let goAway: [HTTP2Case] = [
        .broken("GOAWAY of a stream", .protocolError) { _ in [HTTP2Frame.goAway().on(1)] },
        HTTP2Case("what was asked before GOAWAY is answered") { target in
            let client = try target.client()
            try client.frames.send(target.get(1), .goAway(last: 0, .noError, debug: "good bye"))
            try client.expectAnswer(on: 1)
        },
        HTTP2Case("a body goes on behind GOAWAY") { target in
            let client = try target.client()
            try client.frames.send(target.post(1), .goAway(), .data(1, "body", end: true))
            try client.expectAnswer(on: 1)
        },
        HTTP2Case("GOAWAY with a code that nobody has defined") { target in
            let client = try target.client()
            try client.frames.send(.goAway(.init(rawValue: 0xFF)))
            try client.frames.expectEither(.noError)
        },
    ]
}

extension FrameStream {
    func expectAnswer(toPing mark: [UInt8]) throws {
        _ = try first("an answer to PING") { event in
            if case .pingAnswered(mark) = event { true } else { nil }
        }
    }
}

struct FrameTypeConformanceTests {
    @Test(arguments: HTTP2Route.allCases)
    func `DATA (6_1)`(route: HTTP2Route)
        async throws
    {
        try await route.play(HTTP2Case.data)
    }

    @Test(arguments: HTTP2Route.allCases)
    func `HEADERS (6_2)`(route: HTTP2Route)
        async throws
    {
        try await route.play(HTTP2Case.headers)
    }

    @Test(arguments: HTTP2Route.allCases)
    func `PRIORITY (6_3)`(route: HTTP2Route)
        async throws
    {
        try await route.play(HTTP2Case.priority)
    }

    @Test(arguments: HTTP2Route.allCases)
    func `RST_STREAM (6_4, 7)`(route: HTTP2Route)
        async throws
    {
        try await route.play(HTTP2Case.resetStream)
    }

    @Test(arguments: HTTP2Route.allCases)
    func `PUSH_PROMISE (6_6, 8_4)`(route: HTTP2Route)
        async throws
    {
        try await route.play(HTTP2Case.push)
    }

    @Test(arguments: HTTP2Route.allCases)
    func `PING (6_7)`(route: HTTP2Route)
        async throws
    {
        try await route.play(HTTP2Case.ping)
    }

    @Test(arguments: HTTP2Route.allCases)
    func `GOAWAY (6_8, 7)`(route: HTTP2Route)
        async throws
    {
        try await route.play(HTTP2Case.goAway)
    }
}
