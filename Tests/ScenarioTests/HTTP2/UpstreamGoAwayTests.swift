// An origin that sends GOAWAY: which requests finish, which are sent again, and where new ones go.
import LupinTestKit
import Testing

struct UpstreamGoAwayTests {
    @Test(arguments: ["GET", "POST", "PATCH"])
    func `a request above the last stream is sent again, whatever it is`(
        method: String
    ) async throws {
        try await UpstreamStory.run { story in
            let client = try story.client()
            try client.send(method, story.url(), body: method == "GET" ? nil : "one lamp")
            let old = try story.accept()
            let first = try old.request()
            try old.frames.send(.goAway(last: 0))
            let new = try story.accept()
            let second = try new.request()
            #expect(second.fields == first.fields)
            #expect(second.body == first.body)
            try new.reply(to: second.stream, body: "done")
            #expect(try client.response(to: method).bodyText == "done")
            #expect(try old.frames.waitForEnd() == .finished)
            let record = try story.proxy.record()
            #expect(record["outcome"] == "ok")
            #expect(record["attempts.0.decision"] == "retry")
            #expect(record["attempts.0.reason"] == "goaway")
            #expect(record["attempts.0.goaway"] == "NO_ERROR")
            #expect(record["attempts.1.goaway"] == nil)
        }
    }

    @Test func `a stream up to the last one finishes where it began`() async throws {
        try await UpstreamStory.run { story in
            let (one, two) = (try story.client(), try story.client())
            try one.send("GET", story.url("/one"))
            let old = try story.accept()
            let first = try old.request()
            try old.sendHead(first.stream)
            try old.frames.send(.data(first.stream, "o"), .goAway(last: first.stream))
            // What was sent is read before the next request comes.
            try old.frames.expectAlive()
            try two.send("GET", story.url("/two"))
            let new = try story.accept()
            let second = try new.request()
            #expect(second.path == "/two")
            try new.reply(to: second.stream, body: "two")
            #expect(try two.response().bodyText == "two")
            try old.frames.send(.data(first.stream, "ne", end: true))
            #expect(try one.response().bodyText == "one")
            #expect(try old.frames.waitForEnd() == .finished)
            try new.expectNoRequest()
        }
    }

    @Test func `of two streams the one above the last is sent again`() async throws {
        try await UpstreamStory.run { story in
            let (one, two) = (try story.client(), try story.client())
            try one.send("POST", story.url("/one"), body: "1")
            let old = try story.accept()
            let first = try old.request()
            try two.send("POST", story.url("/two"), body: "2")
            #expect(try old.request().path == "/two")
            try old.frames.send(.goAway(last: first.stream, .enhanceYourCalm))
            let new = try story.accept()
            let again = try new.request()
            #expect(again.path == "/two")
            #expect(again.bodyText == "2")
            try new.reply(to: again.stream, body: "two")
            #expect(try two.response(to: "POST").bodyText == "two")
            try old.reply(to: first.stream, body: "one")
            #expect(try one.response(to: "POST").bodyText == "one")
            let records = try story.proxy.records(2)
            #expect(records.map { $0.count("attempts") }.sorted() == [1, 2])
        }
    }

    @Test func `an origin that says it goes and then names the last stream loses none`()
        async throws
    {
        try await UpstreamStory.run { story in
            let (one, two) = (try story.client(), try story.client())
            try one.send("GET", story.url("/one"))
            let old = try story.accept()
            let first = try old.request()
            try old.frames.send(.goAway(last: 0x7FFF_FFFF))
            try old.frames.expectAlive()
            try two.send("GET", story.url("/two"))
            let new = try story.accept()
            try new.reply(to: try new.request().stream, body: "two")
            #expect(try two.response().bodyText == "two")
            try old.frames.send(.goAway(last: first.stream))
            try old.reply(to: first.stream, body: "one")
            #expect(try one.response().bodyText == "one")
        }
    }

    @Test func `a request lost behind GOAWAY and the end is sent again`() async throws {
        try await UpstreamStory.run { story in
            let client = try story.client()
            try client.send("POST", story.url(), body: "one lamp")
            let old = try story.accept()
            _ = try old.request()
            try old.frames.send(.goAway(last: 0))
            old.frames.shutdownWrite()
            let new = try story.accept()
            let again = try new.request()
            #expect(again.bodyText == "one lamp")
            try new.reply(to: again.stream, body: "done")
            #expect(try client.response(to: "POST").bodyText == "done")
        }
    }

    @Test func `a POST up to the last stream is not sent again when the end cuts it`()
        async throws
    {
        try await UpstreamStory.run { story in
            let client = try story.client()
            try client.send("POST", story.url(), body: "one lamp")
            let old = try story.accept()
            let first = try old.request()
            try old.frames.send(.goAway(last: first.stream))
            old.frames.shutdownWrite()
            let response = try client.response(to: "POST")
            #expect(response.status == 502)
            #expect(!story.origin.hasWaiting)
        }
    }

    @Test func `an idle connection is closed when the origin says it goes`() async throws {
        try await UpstreamStory.run { story in
            let client = try story.client()
            let old = try story.served(by: client)
            try old.frames.send(.goAway(last: 1))
            #expect(try old.frames.waitForEnd() == .finished)
            try client.send("POST", story.url("/two"), body: "2")
            let new = try story.accept()
            try new.reply(to: try new.request().stream, body: "two")
            #expect(try client.response(to: "POST").bodyText == "two")
        }
    }
}
