// An origin that speaks HTTP/2 and wants HTTP/1.1 for a request: it gets it, then and later.
import LupinTestKit
import Testing

struct UpstreamHTTP11RequiredTests {
    @Test(arguments: ["GET", "POST"])
    func `the request is repeated by HTTP 1_1, and the next one goes there at once`(
        method: String
    ) async throws {
        try await UpstreamStory.run { story in
            let client = try story.client()
            let body = method == "POST" ? "one lamp" : nil
            try client.send(method, story.url("/one"), body: body)
            let first = try story.accept()
            try first.reset(try first.request().stream, .http11Required)
            let plain = try story.acceptHTTP1()
            let again = try plain.request()
            #expect(again.startLine == "\(method) /one HTTP/1.1")
            #expect(again.bodyText == body ?? "")
            try plain.reply(body: "one")
            #expect(try client.response(to: method).bodyText == "one")

            try client.send(method, story.url("/two"), body: body)
            #expect(try plain.request().target == "/two")
            try plain.reply(body: "two")
            #expect(try client.response(to: method).bodyText == "two")
            try first.expectNoRequest()
            #expect(!story.origin.hasWaiting)
            let records = try story.proxy.records(2)
            #expect(records[0]["attempts.0.reset"] == "HTTP_1_1_REQUIRED")
            #expect(records[0]["attempts.0.protocol"] == "2")
            #expect(records[0]["attempts.1.protocol"] == "1.1")
            #expect(records[1].count("attempts") == 1)
            #expect(records[1]["attempts.0.protocol"] == "1.1")
        }
    }

    @Test func `a new connection offers nothing else`() async throws {
        try await UpstreamStory.run { story in
            let (one, two) = (try story.client(), try story.client())
            try one.send("GET", story.url("/one"))
            let first = try story.accept()
            try first.reset(try first.request().stream, .http11Required)
            let plain = try story.acceptHTTP1()
            // The first of them is taken, so the second request needs another.
            _ = try plain.request()
            try two.send("GET", story.url("/two"))
            let second = try story.acceptHTTP1()
            #expect(try second.request().target == "/two")
            try second.reply(body: "two")
            #expect(try two.response().bodyText == "two")
            try plain.reply(body: "one")
            #expect(try one.response().bodyText == "one")
        }
    }

    @Test func `an origin that then speaks no HTTP 1_1 either is asked no third time`()
        async throws
    {
        try await UpstreamStory.run { story in
            let client = try story.client()
            try client.send("POST", story.url(), body: "x")
            let first = try story.accept()
            try first.reset(try first.request().stream, .http11Required)
            let plain = try story.acceptHTTP1()
            _ = try plain.request()
            plain.close()
            #expect(try client.response(to: "POST").status == 502)
            #expect(!story.origin.hasWaiting)
            #expect(try story.proxy.record().count("attempts") == 2)
        }
    }
}
