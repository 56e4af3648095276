// RFC 9113 §6.9: windows in both directions, and what they never do.
import LupinTestKit
import Testing

extension HTTP2Case {
    /// The biggest window.
    private static let windowMax: UInt32 = 0x7FFF_FFFF

    static let windowUpdate: [HTTP2Case] = [
        .fine("WINDOW_UPDATE of the connection", answered: 1) { target in
            [.windowUpdate(0, 1), target.get(1)]
        },
        .fine("WINDOW_UPDATE of a stream", answered: 1) { target in
            [target.post(1), .windowUpdate(1, 1), .data(1, "body", end: true)]
        },
        .fine("the biggest windows", answered: 1) { target in
            let increment = windowMax - 65_535
            return [
                .windowUpdate(0, increment), target.post(1), .windowUpdate(1, increment),
                .data(1, "body", end: true),
            ]
        },
        .broken("a window of the connection that grows by 0", .protocolError) { _ in
            [.windowUpdate(0, 0)]
        },
        .refused("a window of a stream that grows by 0", .protocolError) { target in
            [target.post(1), .windowUpdate(1, 0)]
        },
        .broken("a window of the connection beyond 2^31-1", .flowControlError) { _ in
            [.windowUpdate(0, windowMax)]
        },
        .broken("a window of the connection that creeps beyond 2^31-1", .flowControlError) { _ in
            [.windowUpdate(0, windowMax - 65_535), .windowUpdate(0, 1)]
        },
        .refused("a window of a stream beyond 2^31-1", .flowControlError) { target in
            [target.post(1), .windowUpdate(1, windowMax)]
        },
        .refused("a window of a stream that creeps beyond 2^31-1", .flowControlError) { target in
            [target.post(1), .windowUpdate(1, windowMax - 65_535), .windowUpdate(1, 1)]
        },
        // §6.9.2 calls it an error of the connection; to end the one stream is as safe, and what
        // nghttp2 does.
        .refused("settings that lift a window beyond 2^31-1", .flowControlError) { target in
            [
                target.post(1), .windowUpdate(1, windowMax - 65_535),
                .settings(.initialWindowSize(65_536)),
            ]
        },
    ]

    static let windows: [HTTP2Case] = [
        HTTP2Case("a window of 1 gives DATA of one octet") { target in
            let client = try target.client([.initialWindowSize(1)], manners: .patient)
            try client.frames.send(target.get(1))
            _ = try client.frames.head(on: 1)
            try client.frames.expectData(1, on: 1)
            try client.frames.expectSilence(on: 1)
            try client.frames.send(.windowUpdate(1, 2))
            try client.frames.expectData(2, on: 1)
            try client.frames.expectSilence(on: 1)
            try client.frames.send(.windowUpdate(1, 1000))
            try client.expectRest(of: 1)
        },
        HTTP2Case("a window of 0 gives the head alone") { target in
            let client = try target.client([.initialWindowSize(0)], manners: .patient)
            try client.frames.send(target.get(1))
            _ = try client.frames.head(on: 1)
            try client.frames.expectSilence(on: 1)
            try client.frames.send(.windowUpdate(1, 1000))
            try client.expectRest(of: 1)
        },
        HTTP2Case("later settings open the windows of streams that wait") { target in
            let client = try target.client([.initialWindowSize(0)], manners: .patient)
            try client.frames.send(target.get(1))
            _ = try client.frames.head(on: 1)
            try client.frames.expectSilence(on: 1)
            try client.frames.send(.settings(.initialWindowSize(1)))
            try client.frames.expectData(1, on: 1)
            try client.frames.expectSilence(on: 1)
            try client.frames.send(.settings(.initialWindowSize(65_535)))
            try client.expectRest(of: 1)
        },
        HTTP2Case("a window that settings made negative must be filled up first") { target in
            let client = try target.client([.initialWindowSize(3)], manners: .patient)
            try client.frames.send(target.get(1))
            _ = try client.frames.head(on: 1)
            try client.frames.expectData(3, on: 1)
            // From 0 to -2.
            try client.frames.send(.settings(.initialWindowSize(1)), .windowUpdate(1, 2))
            try client.frames.expectSilence(on: 1)
            try client.frames.send(.windowUpdate(1, 1))
            try client.frames.expectData(1, on: 1)
            try client.frames.send(.windowUpdate(1, 1000))
            try client.expectRest(of: 1)
        },
        HTTP2Case("a stream that waits does not stop another") { target in
            let client = try target.client([.initialWindowSize(0)], manners: .patient)
            try client.frames.send(target.get(1), target.get(3), .windowUpdate(3, 1000))
            try client.expectAnswer(on: 3)
            try client.frames.send(.windowUpdate(1, 1000))
            try client.expectAnswer(on: 1)
        },
        HTTP2Case("the window of the connection holds all streams") { target in
            let client = try target.client(manners: .patient)
            // Requests until the connection's window is used up by their bodies.
            let size = try client.request(target.long).body.count
            let count = 65_535 / size
            for _ in 1..<count { _ = try client.request(target.long) }
            let room = 65_535 - count * size
            let stream = try client.send(target.long)
            _ = try client.frames.head(on: stream)
            if room > 0 { try client.frames.expectData(room, on: stream) }
            try client.frames.expectSilence(on: stream)
            try client.frames.send(.windowUpdate(0, 65_535))
            try client.expectRest(of: stream)
        },
        HTTP2Case("a long body gets its windows back") { target in
            let client = try target.client()
            let body = BytePattern.bytes(7, 300_000)
            let stream = try client.send(target.post, body: body)
            try client.expectAnswer(on: stream)
        },
        HTTP2Case("padding counts for the windows, which are given back") { target in
            let client = try target.client()
            try client.frames.send(target.post(1))
            for _ in 0..<300 {
                while min(client.frames.sendWindow(0), client.frames.sendWindow(1)) < 256 {
                    _ = try client.frames.first("a window") { event in
                        if case .windowUpdate = event { true } else { nil }
                    }
                }
                try client.frames.send(.data(1, padding: 255))
            }
            try client.frames.send(.data(1, end: true))
            try client.expectAnswer(on: 1)
        },
    ]
}

extension FrameStream.Manners {
    /// A client that gives no window back by itself.
    static var patient: FrameStream.Manners {
        var manners = FrameStream.Manners()
        manners.opensWindows = false
        return manners
    }
}

extension FrameStream {
    /// DATA of `count` octets in all, and no end.
    fileprivate func expectData(_ count: Int, on stream: UInt32) throws {
        _ = try bytes(of: stream, exactly: count)
    }

    /// That the server has nothing for `stream` before it answers a PING.
    fileprivate func expectSilence(on stream: UInt32) throws {
        try expectAlive()
        if let event = unasked.first(where: { $0.stream == stream && $0.isOfMessage }) {
            throw SocketFailure("\(event) without a window")
        }
    }
}

extension HTTP2Client {
    /// That the body on `stream` comes to its end.
    fileprivate func expectRest(of stream: UInt32) throws {
        while case .data(_, _, let ends) = try frames.part(of: stream) {
            if ends { return }
        }
        throw SocketFailure("stream \(stream) did not end with DATA")
    }
}

struct FlowControlConformanceTests {
    @Test(arguments: HTTP2Route.allCases)
    func `a window grows by 1 at least and not beyond its maximum (6_9, 6_9_1)`(route: HTTP2Route)
        async throws
    {
        try await route.play(HTTP2Case.windowUpdate)
    }

    @Test(arguments: HTTP2Route.allCases)
    func `windows hold what is sent (6_9_1, 6_9_2)`(route: HTTP2Route)
        async throws
    {
        try await route.play(HTTP2Case.windows)
    }

    @Test func `DATA beyond a window that is used up are refused (6_9_1)`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            let client = try HTTP2Client(inside: try proxy.client())
            let stream = try client.open(.request("POST", authority: origin.authority))
            let upstream = try origin.accept()
            defer { upstream.close() }
            upstream.stream.socket.narrow()
            _ = try upstream.requestHead()
            // The origin takes nothing more: at last lupin gives no window back.
            var rounds = 0
            try eventually("a window that stays shut") {
                let room = min(client.frames.sendWindow(0), client.frames.sendWindow(stream))
                let piece = [UInt8](repeating: 0, count: min(max(room, 0), 16_384))
                if !piece.isEmpty { client.frames.sendAnyway(.data(stream, piece)) }
                rounds = piece.isEmpty ? rounds + 1 : 0
                try? proxy.settle()
                try? client.frames.expectAlive()
                return rounds > 20
            }
            try client.frames.send(.data(stream, "!"))
            try client.frames.expectStreamError(stream, .flowControlError)
        }
    }
}
