// Streams of HTTP/2 that an origin gives back or breaks, under `standard`.
import LupinTestKit
import Testing

struct RetryStreamTests {
    private static let rules = everywhere("retry: {use: standard, backoff: none}")

    @Test func `a POST that was refused is sent again with its body`() async throws {
        try await UpstreamStory.run(Self.rules) { story in
            let client = try story.client()
            try client.send("POST", story.url(), body: "one lamp")
            let origin = try story.accept()
            let first = try origin.request()
            try origin.reset(first.stream, .refusedStream)
            let second = try origin.request()
            #expect(second.bodyText == "one lamp")
            #expect(second.fields == first.fields)
            try origin.reply(to: second.stream, body: "good")
            #expect(try client.response(to: "POST").bodyText == "good")
            let record = try story.proxy.record()
            #expect(record["attempts.0.reason"] == "refused-stream")
            #expect(record["attempts.0.reset"] == "REFUSED_STREAM")
        }
    }

    @Test func `a POST above the last stream of GOAWAY is sent again with its body`() async throws {
        try await UpstreamStory.run(Self.rules) { story in
            let client = try story.streams()
            let stream = try client.send(story.head("POST"), body: Array("one lamp".utf8))
            let old = try story.accept()
            _ = try old.request()
            try old.frames.send(.goAway(last: 0))
            let new = try story.accept()
            let again = try new.request()
            #expect(again.bodyText == "one lamp")
            try new.reply(to: again.stream, body: "good")
            #expect(try client.response(on: stream, to: "POST").bodyText == "good")
        }
    }

    @Test func `a POST whose stream broke is not sent again`() async throws {
        try await UpstreamStory.run(Self.rules) { story in
            let client = try story.client()
            try client.send("POST", story.url(), body: "one lamp")
            let origin = try story.accept()
            try origin.reset(try origin.request().stream, .internalError)
            #expect(try client.response(to: "POST").status == 502)
            try origin.expectNoRequest()
            let record = try story.proxy.record()
            #expect(record["attempts.0.reason"] == "POST may have been processed")
        }
    }

    @Test func `a GET whose stream broke is sent again`() async throws {
        try await UpstreamStory.run(Self.rules) { story in
            let client = try story.client()
            let (origin, request) = try story.asked(by: client)
            try origin.reset(request.stream, .internalError)
            let again = try origin.request()
            try origin.reply(to: again.stream, body: "good")
            #expect(try client.response().bodyText == "good")
            let record = try story.proxy.record()
            #expect(record["attempts.0.reason"] == "reset")
            #expect(record["attempts.0.reset"] == "INTERNAL_ERROR")
        }
    }

    @Test func `who asks for calm is left alone for a second`() async throws {
        let clock = VirtualClock()
        try await UpstreamStory.run(Self.rules, clock: clock) { story in
            let client = try story.client()
            let (origin, request) = try story.asked(by: client)
            try origin.reset(request.stream, .enhanceYourCalm)
            // From its reset on the origin has its second.
            try story.proxy.settle()
            try clock.advance(by: .milliseconds(960))
            try origin.expectNoRequest()
            try clock.advance(by: .milliseconds(60))
            let again = try origin.request()
            try origin.reply(to: again.stream, body: "good")
            #expect(try client.response().bodyText == "good")
            #expect(try story.proxy.record().number("attempts.0.delay") == 1000)
        }
    }

    @Test func `calm is kept behind GOAWAY too`() async throws {
        let clock = VirtualClock()
        try await UpstreamStory.run(Self.rules, clock: clock) { story in
            let client = try story.client()
            try client.send("POST", story.url(), body: "lamp")
            let old = try story.accept()
            _ = try old.request()
            try old.frames.send(.goAway(last: 0, .enhanceYourCalm))
            try story.proxy.settle()
            try clock.advance(by: .milliseconds(960))
            #expect(!story.origin.hasWaiting)
            try clock.advance(by: .milliseconds(60))
            let new = try story.accept()
            let again = try new.request()
            #expect(again.bodyText == "lamp")
            try new.reply(to: again.stream, body: "good")
            #expect(try client.response(to: "POST").bodyText == "good")
        }
    }

    @Test func `an origin that wants HTTP 1_1 gets a POST by it`() async throws {
        try await UpstreamStory.run(Self.rules) { story in
            let client = try story.client()
            try client.send("POST", story.url(), body: "one lamp")
            let first = try story.accept()
            try first.reset(try first.request().stream, .http11Required)
            let plain = try story.acceptHTTP1()
            #expect(try plain.request().bodyText == "one lamp")
            try plain.reply(body: "good")
            #expect(try client.response(to: "POST").bodyText == "good")
        }
    }

    @Test func `a status of a stream is repaired on the same connection`() async throws {
        try await UpstreamStory.run(Self.rules) { story in
            let client = try story.streams()
            let stream = try client.send(story.head())
            let origin = try story.accept()
            try origin.reply(to: try origin.request().stream, 503, body: "later")
            let again = try origin.request()
            try origin.reply(to: again.stream, body: "good")
            let response = try client.response(on: stream)
            #expect(response.status == 200)
            #expect(response.bodyText == "good")
        }
    }
}
