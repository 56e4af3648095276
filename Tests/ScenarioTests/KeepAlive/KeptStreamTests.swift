// Streams of both sides on connections that are kept: each has its answer, its record and its end.
import LupinProxy
import LupinTestKit
import Testing

struct KeptStreamTests {
    private typealias Answer = KeptStreams.Answer

    @Test func `history has the stream of each`() async throws {
        try await UpstreamStory.run(ProxyFixture.adminSocket) { story in
            let kept = try KeptStreams(story)
            for _ in 0..<3 { try kept.repeatOnce() }
            for record in try story.proxy.records(KeptStreams.served + 3).suffix(3) {
                let id = try #require(record["id"])
                let shown = try story.proxy.adminJSON("/v1/exchanges/\(id)")
                for value in ["network.stream", "attempts.0.stream"] {
                    #expect(shown["record.\(value)"] == record[value])
                }
            }
        }
    }

    @Test func `the origin's Date is passed on as it changes`() async throws {
        try await UpstreamStory.run(clock: VirtualClock()) { story in
            let kept = try KeptStreams(story)
            for i in 0..<3 {
                let date = "Mon, 23 Nov 2026 09:30:0\(i) GMT"
                for _ in 0..<2 {
                    let dated = Answer(fields: ["date": date])
                    #expect(try kept.repeatOnce(dated)["date"] == date)
                }
            }
            #expect(try kept.repeatOnce()["date"] == KeptConnection.date)
        }
    }

    @Test(arguments: [false, true])
    func `a client that resets its stream is an abort`(hasHead: Bool) async throws {
        try await UpstreamStory.run(clock: VirtualClock()) { story in
            let kept = try KeptStreams(story)
            let (stream, beyond) = try kept.ask()
            if hasHead {
                try kept.far.frames.send(.headers(beyond, Answer().head))
                try kept.far.frames.expectAlive()
            }
            try kept.client.frames.send(.resetStream(stream))
            try kept.far.frames.expectReset(beyond, .cancel)
            let record = try kept.record()
            #expect(record["outcome"] == "aborted")
            #expect(record["network.reset"] == "CANCEL")
            #expect(record["network.reset_by"] == "client")
            #expect(record["network.stream"] == "\(stream)")
            #expect(record["attempts.0.stream"] == "\(beyond)")
            #expect(try kept.repeatOnce().bodyText == "good")
        }
    }

    @Test func `a client that leaves is an abort`() async throws {
        try await UpstreamStory.run(clock: VirtualClock()) { story in
            let kept = try KeptStreams(story)
            let asked = try (0..<3).map { _ in try kept.ask() }
            kept.client.close()
            for one in asked { try kept.far.frames.expectReset(one.far, .cancel) }
            let records = try story.proxy.records(KeptStreams.served + 3)[KeptStreams.served...]
            #expect(records.allSatisfy { $0["outcome"] == "aborted" })
            let other = try story.streams()
            #expect(try kept.repeatOnce(by: other).bodyText == "good")
        }
    }

    @Test(arguments: [0, 3])
    func `a body waits for its window`(window: UInt32) async throws {
        try await UpstreamStory.run { story in
            let kept = try KeptStreams(story)
            let slow = try story.streams([.initialWindowSize(window)])
            slow.frames.manners = .none
            let (stream, beyond) = try kept.ask(by: slow)
            try kept.far.send(Answer(), on: beyond)
            #expect(try slow.frames.head(on: stream)[":status"] == "200")
            let begun = try slow.frames.text(of: stream, exactly: Int(window))
            #expect(try kept.repeatOnce().bodyText == "good")
            #expect(try story.proxy.records(KeptStreams.served + 1).count == KeptStreams.served + 1)
            try slow.frames.send(.windowUpdate(stream, 9))
            let rest = try slow.frames.text(of: stream, exactly: 4 - Int(window))
            #expect(begun + rest == "good")
            let record = try kept.record(after: 1)
            #expect(record["outcome"] == "ok")
            #expect(record["http.response.body.size"] == "4")
            #expect(record["network.stream"] == "\(stream)")
            #expect(record["attempts.0.stream"] == "\(beyond)")
            #expect(try #require(record.number("bytes.upstream_in")) > 4)
        }
    }

    @Test func `GOAWAY beside an answer is in its record`() async throws {
        try await UpstreamStory.run(clock: VirtualClock()) { story in
            let kept = try KeptStreams(story)
            let (stream, beyond) = try kept.ask()
            try kept.far.frames.send(.goAway(last: beyond))
            try kept.far.send(Answer(), on: beyond)
            #expect(try kept.client.response(on: stream).bodyText == "good")
            #expect(try kept.record()["attempts.0.goaway"] == "NO_ERROR")
            try kept.expectAnew(try kept.client.send(kept.head))
            #expect(try kept.record(after: 1)["attempts.0.goaway"] == nil)
        }
    }

    @Test func `an answer that is all there is one, whatever becomes of its connection`()
        async throws
    {
        try await UpstreamStory.run { story in
            let kept = try KeptStreams(story)
            let (one, two) = (try kept.ask(), try kept.ask())
            try kept.far.send(Answer(), on: one.far)
            kept.far.close()
            try kept.expectAnew(two.stream)
            #expect(try kept.client.response(on: one.stream).bodyText == "good")
        }
    }

    @Test func `a reload while one is under way is for those behind it`() async throws {
        try await ProxyFixture.run(clock: VirtualClock(), resolve: ProxyFixture.here) { proxy in
            let kept = try KeptStreams(UpstreamStory(proxy: proxy, origin: try PlayedOrigin()))
            try kept.repeatOnce()
            let (stream, beyond) = try kept.ask()
            let before = proxy.proxy.rulesVersion
            _ = try await proxy.reload(everywhere("response: [{set: {X-New: \"yes\"}}]"))
            #expect(proxy.proxy.rulesVersion != before)
            try kept.far.send(Answer(), on: beyond)
            let response = try kept.client.response(on: stream)
            #expect(response.bodyText == "good")
            #expect(response["x-new"] == nil)
            #expect(try kept.record(after: 1)["rules.version"] == before)
            let later = try kept.client.send(kept.head)
            let new = try kept.story.accept()
            try new.send(Answer(), on: try new.request().stream)
            #expect(try kept.client.response(on: later)["x-new"] == "yes")
        }
    }
}
