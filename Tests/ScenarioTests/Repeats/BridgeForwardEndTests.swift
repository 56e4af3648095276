// How equal requests on streams of both sides come to another end: resets, failures, a stop.
import LupinProxy
import LupinTestKit
import Testing

struct BridgeForwardEndTests {
    private typealias Answer = EqualBridges.Answer
    private static let warmUps = EqualBridges.warmUps

    // MARK: The client

    @Test(arguments: [false, true])
    func `a client that resets its stream is an abort`(hasHead: Bool) async throws {
        try await UpstreamStory.run(clock: VirtualClock()) { story in
            let equal = try EqualBridges(story)
            let (stream, beyond) = try equal.ask()
            if hasHead {
                try equal.far.frames.send(.headers(beyond, Answer().head))
                try equal.far.frames.expectAlive()
            }
            try equal.client.frames.send(.resetStream(stream))
            try equal.far.frames.expectReset(beyond, .cancel)
            let record = try equal.record()
            #expect(record["outcome"] == "aborted")
            #expect(record["network.reset"] == "CANCEL")
            #expect(record["network.reset_by"] == "client")
            #expect(record["network.stream"] == "\(stream)")
            #expect(record["attempts.0.stream"] == "\(beyond)")
            #expect(try equal.repeatOnce().bodyText == "good")
        }
    }

    @Test func `a client that leaves is an abort`() async throws {
        try await UpstreamStory.run(clock: VirtualClock()) { story in
            let equal = try EqualBridges(story)
            let asked = try (0..<3).map { _ in try equal.ask() }
            equal.client.close()
            for one in asked { try equal.far.frames.expectReset(one.far, .cancel) }
            let records = try story.proxy.records(Self.warmUps + 3)[Self.warmUps...]
            #expect(records.allSatisfy { $0["outcome"] == "aborted" })
            let other = try story.streams()
            #expect(try equal.repeatOnce(by: other).bodyText == "good")
        }
    }

    @Test(arguments: [0, 1, 3])
    func `a body waits for its window`(window: UInt32) async throws {
        try await UpstreamStory.run { story in
            let equal = try EqualBridges(story)
            let slow = try story.streams([.initialWindowSize(window)])
            slow.frames.manners = .none
            let (stream, beyond) = try equal.ask(by: slow)
            try equal.far.send(Answer(), on: beyond)
            #expect(try slow.frames.head(on: stream)[":status"] == "200")
            let begun = try slow.frames.text(of: stream, exactly: Int(window))
            #expect(try equal.repeatOnce().bodyText == "good")
            #expect(try story.proxy.records(Self.warmUps + 1).count == Self.warmUps + 1)
            try slow.frames.send(.windowUpdate(stream, 9))
            let rest = try slow.frames.text(of: stream, exactly: 4 - Int(window))
            #expect(begun + rest == "good")
            let record = try equal.record(after: 1)
            #expect(record["outcome"] == "ok")
            #expect(record["http.response.body.size"] == "4")
            #expect(record["network.stream"] == "\(stream)")
            #expect(record["attempts.0.stream"] == "\(beyond)")
            #expect(try #require(record.number("bytes.upstream_in")) > 4)
        }
    }

    // MARK: The origin

    @Test(arguments: [HTTP2Frame.Code.refusedStream, .cancel, .internalError])
    func `a stream that the origin resets is an ordinary failure`(
        code: HTTP2Frame.Code
    ) async throws {
        try await UpstreamStory.run { story in
            let equal = try EqualBridges(story)
            let (stream, beyond) = try equal.ask()
            try equal.far.reset(beyond, code)
            if code == .refusedStream {
                let again = try equal.far.request()
                try equal.far.send(Answer(), on: again.stream)
                #expect(try equal.client.response(on: stream).bodyText == "good")
            } else {
                #expect(try equal.client.response(on: stream).status == 502)
            }
            let record = try equal.record()
            #expect(record["attempts.0.stream"] == "\(beyond)")
            #expect(record["attempts.0.reset"] == "\(code)")
            #expect(record.count("attempts") == (code == .refusedStream ? 2 : 1))
            try equal.far.expectNoRequest()
            #expect(try equal.repeatOnce().bodyText == "good")
        }
    }

    @Test func `a body that is reset resets the client's stream`() async throws {
        try await UpstreamStory.run { story in
            let equal = try EqualBridges(story)
            let (stream, beyond) = try equal.ask()
            try equal.far.frames.send(.headers(beyond, Answer().head), .data(beyond, "go"))
            try equal.far.reset(beyond, .internalError)
            #expect(try equal.client.response(on: stream).reset == .internalError)
            let record = try equal.record()
            #expect(record["outcome"] == "truncated")
            #expect(record["attempts.0.reset"] == "INTERNAL_ERROR")
        }
    }

    @Test func `what GOAWAY leaves out is sent again, and new ones go elsewhere`() async throws {
        try await UpstreamStory.run { story in
            let equal = try EqualBridges(story)
            let (one, two) = (try equal.ask(), try equal.ask())
            try equal.far.frames.send(.goAway(last: one.far))
            let new = try equal.expectAnew(two.stream)
            try equal.far.send(Answer(), on: one.far)
            #expect(try equal.client.response(on: one.stream).bodyText == "good")
            #expect(try equal.far.frames.waitForEnd() == .finished)
            for _ in 0..<3 {
                let stream = try equal.client.send(equal.head)
                try new.send(Answer(), on: try new.request().stream)
                #expect(try equal.client.response(on: stream).bodyText == "good")
            }
            let records = try story.proxy.records(Self.warmUps + 5)[Self.warmUps...]
            #expect(records.first?["attempts.0.goaway"] == "NO_ERROR")
            #expect(records.first?["attempts.0.reason"] == "goaway")
            #expect(records.dropFirst(2).allSatisfy { $0["attempts.0.goaway"] == nil })
            #expect(records.dropFirst(2).allSatisfy { $0.count("attempts") == 1 })
        }
    }

    @Test func `GOAWAY beside an answer is in its record`() async throws {
        try await UpstreamStory.run(clock: VirtualClock()) { story in
            let equal = try EqualBridges(story)
            let (stream, beyond) = try equal.ask()
            try equal.far.frames.send(.goAway(last: beyond))
            try equal.far.send(Answer(), on: beyond)
            #expect(try equal.client.response(on: stream).bodyText == "good")
            #expect(try equal.record()["attempts.0.goaway"] == "NO_ERROR")
            try equal.expectAnew(try equal.client.send(equal.head))
            #expect(try equal.record(after: 1)["attempts.0.goaway"] == nil)
        }
    }

    @Test(arguments: [false, true])
    func `a connection that ends instead of a response is repaired`(
        isReset: Bool
    ) async throws {
        try await UpstreamStory.run { story in
            let equal = try EqualBridges(story)
            let (stream, _) = try equal.ask()
            if isReset { equal.far.frames.reset() } else { equal.far.close() }
            try equal.expectAnew(stream)
            let record = try equal.record()
            #expect(record["outcome"] == "ok")
            #expect(record["attempts.0.reason"] == "stale-connection")
        }
    }

    @Test func `an answer that is all there is one, whatever becomes of its connection`()
        async throws
    {
        try await UpstreamStory.run { story in
            let equal = try EqualBridges(story)
            let (one, two) = (try equal.ask(), try equal.ask())
            try equal.far.send(Answer(), on: one.far)
            equal.far.close()
            try equal.expectAnew(two.stream)
            #expect(try equal.client.response(on: one.stream).bodyText == "good")
        }
    }

    @Test func `a connection that was silent for long is asked first`() async throws {
        let clock = VirtualClock()
        try await UpstreamStory.run(clock: clock) { story in
            let equal = try EqualBridges(story)
            try equal.repeatOnce()
            for _ in 0..<16 { try clock.advance(by: .seconds(1)) }
            let stream = try equal.client.send(equal.head)
            let isPing = try equal.far.frames.first("PING or a request") { event -> Bool? in
                switch event {
                case .ping: true
                case .fields: false
                default: nil
                }
            }
            #expect(isPing)
            try equal.far.send(Answer(), on: try equal.far.request().stream)
            #expect(try equal.client.response(on: stream).bodyText == "good")
        }
    }

    @Test func `more than the origin takes at a time goes elsewhere`() async throws {
        try await UpstreamStory.run { story in
            let equal = try EqualBridges(story, settings: [.maxConcurrentStreams(1)])
            for _ in 0..<3 {
                let one = try equal.ask()
                let stream = try equal.client.send(equal.head)
                let new = try equal.expectAnew(stream)
                try equal.far.send(Answer(), on: one.far)
                #expect(try equal.client.response(on: one.stream).bodyText == "good")
                new.close()
            }
        }
    }

    /// What nobody gives back is gone, of a window of 16 MiB.
    @Test func `the window of the connection is given back`() async throws {
        try await UpstreamStory.run { story in
            let answer = Answer(body: String(repeating: "w", count: 8000))
            let equal = try EqualBridges(story, answer)
            for _ in 0..<24 {
                let asked = try (0..<50).map { _ in try equal.ask() }
                for one in asked { try equal.far.send(answer, on: one.far) }
                for one in asked {
                    #expect(try equal.client.response(on: one.stream).body.count == 8000)
                }
            }
            try equal.far.frames.expectAlive()
            #expect(equal.far.frames.sendWindow(0) > 8 << 20)
        }
    }

    // MARK: Time and rules

    @Test func `a slow answer is an ordinary one`() async throws {
        let clock = VirtualClock()
        try await UpstreamStory.run("timeouts: {response_header: 30s}", clock: clock) { story in
            let equal = try EqualBridges(story)
            let late = try equal.ask()
            for _ in 0..<5 { try clock.advance(by: .milliseconds(50)) }
            try equal.far.send(Answer(), on: late.far)
            #expect(try equal.client.response(on: late.stream).bodyText == "good")
            let never = try equal.ask()
            for _ in 0..<16 { try clock.advance(by: .seconds(2)) }
            #expect(try equal.client.response(on: never.stream).status == 504)
            try equal.far.frames.expectReset(never.far, .cancel)
            #expect(try #require(try equal.record().number("timing.total")) >= 250)
            #expect(try equal.record(after: 1)["error.type"] == "http_response_timeout")
        }
    }

    @Test func `a stop waits for what is under way`() async throws {
        try await ProxyFixture.run(resolve: ProxyFixture.here) { proxy in
            let equal = try EqualBridges(UpstreamStory(proxy: proxy, origin: try PlayedOrigin()))
            let (stream, beyond) = try equal.ask()
            let stopping = try proxy.beginDraining()
            try equal.client.frames.expectGoAway(.noError)
            try equal.far.send(Answer(), on: beyond)
            #expect(try equal.client.response(on: stream).bodyText == "good")
            _ = try equal.client.frames.waitForEnd()
            await stopping.value
            #expect(try proxy.records(Self.warmUps + 1).allSatisfy { $0["outcome"] == "ok" })
        }
    }

    @Test func `a reload while one is under way is for those behind it`() async throws {
        try await ProxyFixture.run(clock: VirtualClock(), resolve: ProxyFixture.here) { proxy in
            let equal = try EqualBridges(UpstreamStory(proxy: proxy, origin: try PlayedOrigin()))
            try equal.repeatOnce()
            let (stream, beyond) = try equal.ask()
            let before = proxy.proxy.rulesVersion
            _ = try await proxy.reload(everywhere("response: [{set: {X-New: \"yes\"}}]"))
            #expect(proxy.proxy.rulesVersion != before)
            try equal.far.send(Answer(), on: beyond)
            let response = try equal.client.response(on: stream)
            #expect(response.bodyText == "good")
            #expect(response["x-new"] == nil)
            #expect(try equal.record(after: 1)["rules.version"] == before)
            let later = try equal.client.send(equal.head)
            let new = try equal.story.accept()
            try new.send(Answer(), on: try new.request().stream)
            #expect(try equal.client.response(on: later)["x-new"] == "yes")
        }
    }

    @Test func `who may use a client certificate is asked each time`() async throws {
        let files = try TestAuthority.identityFiles("me.test")
        let rules = """
            upstream: {tls: {client_cert: {cert: DIR/my.pem, key: DIR/my.key}}}
            """
        try await ProxyFixture.run(
            rules,
            clock: VirtualClock(),
            files: ["my.pem": files.pem, "my.key": files.key],
            resolve: ProxyFixture.here
        ) { proxy in
            let equal = try EqualBridges(UpstreamStory(proxy: proxy, origin: try PlayedOrigin()))
            try equal.repeatOnce()
        }
    }
}
