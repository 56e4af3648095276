// A stream whose client takes nothing stands still alone, and costs nothing meanwhile.
import LupinTestKit
import Testing

struct StalledStreamTests {
    /// What a stream may send unasked (RFC 9113 §6.9.2).
    private static let window = 65_535

    /// A client that gives no window back by itself but a wide one for the connection.
    private func client(_ proxy: ProxyFixture) throws -> HTTP2Client {
        let client = try proxy.http2Client(manners: .patient)
        try client.frames.send(.windowUpdate(0, 1 << 24))
        return client
    }

    @Test func `a stream without a window does not hold up its siblings`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try proxy.measuredOrigin()
            let client = try client(proxy)
            let stalled = try client.send(.request(authority: origin.authority, path: "/200000"))
            _ = try client.frames.head(on: stalled)
            _ = try client.frames.bytes(of: stalled, exactly: Self.window)
            let head = HTTP2Fields.request(authority: origin.authority, path: "/5000")
            let siblings = try (0..<20).map { _ in try client.send(head) }
            for sibling in siblings.reversed() {
                #expect(try client.response(on: sibling).body.count == 5000)
            }
            try client.frames.expectAlive()
            #expect(!client.frames.unasked.contains { $0.stream == stalled && $0.isOfMessage })
            try client.frames.send(.windowUpdate(stalled, 200_000))
            let rest = 200_000 - Self.window
            #expect(try client.frames.bytes(of: stalled, exactly: rest).count == rest)
        }
    }

    @Test(arguments: [false, true])
    func `waiting for a window is no work`(isOfConnection: Bool) async throws {
        try await ProxyFixture.run { proxy in
            let origin = try proxy.measuredOrigin()
            let client = try proxy.http2Client(manners: .patient)
            if !isOfConnection { try client.frames.send(.windowUpdate(0, 1 << 24)) }
            let head = HTTP2Fields.request(authority: origin.authority, path: "/200000")
            let streams = try (0..<3).map { _ in try client.send(head) }
            _ = try client.frames.bytes(ofAny: Set(streams), exactly: Self.window)
            try proxy.settle()
            try proxy.waitUntilIdle()
            // Windows that come bit by bit wake it for as long as they last.
            for _ in 0..<10 { try client.frames.send(.windowUpdate(streams[0], 1)) }
            try client.frames.expectAlive()
            try proxy.waitUntilIdle()
            client.close()
            #expect(try proxy.records(3).allSatisfy { $0["outcome"] == "aborted" })
        }
    }

    @Test func `a hundred streams that nobody reads stop the origin`() async throws {
        try await ProxyFixture.run("limits: {h2: {window: 64KiB}}", resolve: ProxyFixture.here) {
            proxy in
            let streams = 100
            let origin = try proxy.http2Origin()
            let client = try proxy.http2Client([.initialWindowSize(0)])
            let head = HTTP2Fields.request(
                scheme: "https",
                authority: origin.authority("origin.test")
            )
            let asked = try (0..<streams).map { _ in try client.send(head) }
            let far = try origin.accept()
            let window = 64 << 10
            var heard: [UInt32] = []
            for _ in asked { heard.append(try far.requestHead().stream) }
            for stream in heard {
                try far.sendHead(stream)
                try far.frames.sendData(stream, BytePattern.bytes(1, window), end: false)
            }
            for stream in asked { _ = try client.frames.head(on: stream) }
            // Everything was read off the connection, and nothing more is asked for.
            try proxy.settle()
            try far.frames.expectAlive()
            #expect(heard.allSatisfy { far.frames.sendWindow($0) == 0 })
            #expect(far.frames.sendWindow(0) > 1 << 20)
            try proxy.waitUntilIdle()
            // Whoever is read goes on.
            try client.frames.send(.windowUpdate(asked[7], 100_000))
            #expect(
                try client.frames.bytes(of: asked[7], exactly: window)
                    == BytePattern.bytes(1, window)
            )
            let place = try #require(
                heard.first { stream in
                    try? far.frames.expectAlive()
                    return far.frames.sendWindow(stream) > 0
                }
            )
            try far.frames.sendData(place, Array("more".utf8))
            #expect(try client.frames.text(of: asked[7], exactly: 4) == "more")
        }
    }
}

extension FrameStream {
    /// `count` octets of DATA on any of `streams`.
    fileprivate func bytes(ofAny streams: Set<UInt32>, exactly count: Int) throws -> Int {
        var total = 0
        while total < count {
            total += try first("DATA") { event in
                guard case .data(let stream, let bytes, _) = event, streams.contains(stream) else {
                    return Int?.none
                }
                return bytes.count
            }
        }
        return total
    }
}
