// RFC 9113 §5.1: every frame in every state of a stream.
import LupinTestKit
import Testing

extension HTTP2Case {
    /// How stream 1 stands for the server when the frame comes.
    enum StreamState: String, Sendable, CaseIterable {
        case idle, open
        /// The request is complete, and the response waits for a window.
        case halfClosed = "half-closed (remote)"
        /// Both sides have said END_STREAM.
        case closed
        /// The client has reset it.
        case closedByReset = "closed by RST_STREAM"
    }

    /// What a client may send on a stream.
    enum SentFrame: String, Sendable, CaseIterable {
        case data = "DATA"
        case headers = "HEADERS"
        case trailers = "trailers"
        case priority = "PRIORITY"
        case resetStream = "RST_STREAM"
        case pushPromise = "PUSH_PROMISE"
        case windowUpdate = "WINDOW_UPDATE"
        case continuation = "CONTINUATION"
        case extensionFrame = "an extension"

        func frame(_ target: HTTP2Target) -> HTTP2Frame {
            switch self {
            case .data: .data(1, "more", end: true)
            case .headers: target.post(1)
            case .trailers: .headers(1, ["x-sum": "1"], end: true)
            case .priority: .priority(1, .init(on: 0))
            case .resetStream: .resetStream(1)
            case .pushPromise: .pushPromise(1, promising: 2, target.get)
            case .windowUpdate: .windowUpdate(1, 1)
            case .continuation: .continuation(1, block: HPACK.literal("x", "y"))
            case .extensionFrame: .unknown(1)
            }
        }
    }

    private enum Verdict {
        case fine
        case connectionError([HTTP2Frame.Code])
        case streamError([HTTP2Frame.Code])
    }

    private static func verdict(_ frame: SentFrame, _ state: StreamState) -> Verdict {
        switch (frame, state) {
        case (.extensionFrame, _), (.priority, _): .fine
        // No server can be pushed to (§8.4).
        case (.pushPromise, _): .connectionError([.protocolError])
        // A block that nobody opened counts for the connection before the stream is looked at.
        case (.continuation, .idle), (.continuation, .open): .connectionError([.protocolError])
        case (.continuation, _): .connectionError([.protocolError, .streamClosed])
        // HEADERS open an idle stream, and a request of trailers is malformed.
        case (.headers, .idle): .fine
        case (.trailers, .idle): .streamError([.protocolError])
        case (_, .idle): .connectionError([.protocolError])
        // A second head without END_STREAM makes the request malformed (§8.1).
        case (.headers, .open): .streamError([.protocolError])
        case (_, .open): .fine
        case (.resetStream, _), (.windowUpdate, _): .fine
        // A server may also discard what comes behind the end (§5.1), but one that remembers its
        // latest streams can tell what is wrong.
        case (.data, _), (.headers, _), (.trailers, _): .streamError([.streamClosed])
        }
    }

    static let streamStates: [HTTP2Case] = StreamState.allCases.flatMap { state in
        SentFrame.allCases.map { streamState($0, state) }
    }

    private static func streamState(_ sent: SentFrame, _ state: StreamState) -> HTTP2Case {
        HTTP2Case("\(sent.rawValue) on a stream that is \(state.rawValue)") { target in
            let client = try target.client(
                state == .halfClosed ? [.initialWindowSize(0)] : []
            )
            try client.bring(to: state, target)
            try client.frames.send(sent.frame(target))
            switch verdict(sent, state) {
            case .fine: try client.expectService(target)
            case .connectionError(let codes): try client.frames.expectConnectionError(codes)
            case .streamError(let codes):
                let reaction = try client.frames.expectStreamError(1, codes)
                if case .reset = reaction { try client.expectService(target) }
            }
        }
    }

    /// What the client sent before it learned that the server had reset its stream.
    static let resetByServer: [HTTP2Case] = [
        late("DATA") { _ in [.data(1, "late", end: true)] },
        late("trailers") { _ in [.headers(1, ["x-sum": "1"], end: true)] },
        late("WINDOW_UPDATE") { _ in [.windowUpdate(1, 1)] },
        late("RST_STREAM") { _ in [.resetStream(1)] },
        late("PRIORITY") { _ in [.priority(1, .init(on: 0))] },
        HTTP2Case("late DATA count for the connection's window, which is given back") { target in
            let client = try target.client()
            try client.frames.send(.headers(1, target.post + ["X-Upper": "bad"]))
            try client.frames.expectReset(1, .protocolError)
            // As much as the stream took before, which a client sends that is behind its time.
            let late = 65_535
            var sent = 0
            while sent < late {
                let room = min(late - sent, 16_384, client.frames.sendWindow(0))
                guard room > 0 else { break }
                try client.frames.send(.data(1, [UInt8](repeating: 0, count: room)))
                sent += room
            }
            let stream: UInt32 = 3
            try client.frames.sendMessage(stream, target.post, body: BytePattern.bytes(1, 100_000))
            try client.expectAnswer(on: stream)
        },
    ]

    private static func late(_ name: String, _ frames: @escaping Frames) -> HTTP2Case {
        HTTP2Case("\(name) on a stream that the server has reset") { target in
            let client = try target.client()
            try client.frames.send(.headers(1, target.post + ["X-Upper": "bad"]))
            let reaction = try client.frames.expectStreamError(1, .protocolError)
            guard case .reset = reaction else { return }
            try client.frames.send(frames(target))
            try client.frames.expectEither(.streamClosed)
        }
    }
}

extension HTTP2Client {
    fileprivate func bring(to state: HTTP2Case.StreamState, _ target: HTTP2Target) throws {
        switch state {
        case .idle: break
        case .open: try frames.send(target.post(1))
        case .halfClosed:
            try frames.send(target.get(1))
            // The head is there, and its body waits for a window.
            _ = try frames.head(on: 1)
        case .closed:
            try frames.send(target.get(1))
            try expectAnswer(on: 1)
        case .closedByReset: try frames.send(target.post(1), .resetStream(1))
        }
    }
}

struct StreamStateConformanceTests {
    @Test(arguments: HTTP2Route.allCases)
    func `each state of a stream takes its frames and no others (5_1)`(route: HTTP2Route)
        async throws
    {
        try await route.play(HTTP2Case.streamStates)
    }

    @Test(arguments: HTTP2Route.allCases)
    func `what comes late on a stream that the server has reset is let pass (5_1, 5_4_2)`(
        route: HTTP2Route
    )
        async throws
    {
        try await route.play(HTTP2Case.resetByServer)
    }
}
