// HTTP/2 connections that nobody used for long: asked by PING before a request, closed in the end.
import LupinTestKit
import Testing

struct UpstreamHealthTests {
    private static func story(
        _ rules: String = "",
        _ body: @Sendable @escaping (UpstreamStory, VirtualClock) throws -> Void
    ) async throws {
        let clock = VirtualClock()
        try await UpstreamStory.run(rules, clock: clock) { try body($0, clock) }
    }

    private static func ping(on origin: HTTP2OriginConnection) throws -> [UInt8] {
        try origin.frames.first("a PING") { event in
            if case .ping(let octets) = event { octets } else { nil }
        }
    }

    @Test func `after 15 s of silence the origin is asked, and used when it answers`()
        async throws
    {
        try await Self.story { story, clock in
            let client = try story.client()
            let origin = try story.served(by: client)
            origin.frames.manners.answersPings = false
            try clock.advance(by: .seconds(15))
            try client.send("POST", story.url("/two"), body: "2")
            let octets = try Self.ping(on: origin)
            // Nothing is sent before the answer.
            try story.proxy.settle()
            #expect(!origin.frames.unasked.contains { $0.isOfMessage })
            try origin.frames.send(HTTP2Frame(.ping, .acknowledges, payload: octets))
            let request = try origin.request()
            #expect(request.path == "/two")
            try origin.reply(to: request.stream, body: "two")
            #expect(try client.response(to: "POST").bodyText == "two")
            #expect(!story.origin.hasWaiting)
        }
    }

    @Test func `before that it is used at once`() async throws {
        try await Self.story { story, clock in
            let client = try story.client()
            let origin = try story.served(by: client)
            origin.frames.manners.answersPings = false
            try clock.advance(by: .seconds(14))
            try client.send("GET", story.url("/two"))
            try origin.reply(to: try origin.request().stream, body: "two")
            #expect(try client.response().bodyText == "two")
            let pings = origin.frames.unasked.filter { event in
                if case .ping = event { true } else { false }
            }
            #expect(pings.isEmpty)
        }
    }

    @Test func `what can be repeated is sent at once, with a PING beside it`() async throws {
        try await Self.story { story, clock in
            let client = try story.client()
            let origin = try story.served(by: client)
            origin.frames.manners.answersPings = false
            try clock.advance(by: .seconds(16))
            try client.send("GET", story.url("/two"))
            #expect(try origin.request().path == "/two")
            _ = try Self.ping(on: origin)
            // Neither is answered.
            for _ in 0..<3 { try clock.advance(by: .seconds(1)) }
            let new = try story.accept()
            let request = try new.request()
            try new.reply(to: request.stream, body: "again")
            #expect(try client.response().bodyText == "again")
            #expect(try story.proxy.records(2).map { $0.count("attempts") } == [1, 2])
        }
    }

    @Test func `without an answer in 2 s another connection serves, for all who wait`()
        async throws
    {
        try await Self.story { story, clock in
            let client = try story.client()
            let origin = try story.served(by: client)
            origin.frames.manners.answersPings = false
            try clock.advance(by: .seconds(16))
            let other = try story.client()
            try client.send("POST", story.url("/two"), body: "2")
            _ = try Self.ping(on: origin)
            // It can be repeated, so it is sent at once.
            try other.send("GET", story.url("/three"))
            #expect(try origin.request().path == "/three")
            try story.proxy.settle()
            try clock.advance(by: .milliseconds(1900))
            #expect(!story.origin.hasWaiting)
            try clock.advance(by: .milliseconds(200))
            let new = try story.accept()
            for _ in 0..<2 {
                let request = try new.request()
                try new.reply(to: request.stream, body: request.path)
            }
            #expect(try client.response(to: "POST").bodyText == "/two")
            #expect(try other.response().bodyText == "/three")
            #expect(!story.origin.hasWaiting)
            _ = try origin.frames.waitForEnd()
            let records = try story.proxy.records(3)
            #expect(records.map { $0.count("attempts") }.sorted() == [1, 1, 2])
        }
    }

    @Test func `a connection with a stream under way is not asked`() async throws {
        try await Self.story { story, clock in
            let client = try story.client()
            let (origin, first) = try story.asked(by: client)
            origin.frames.manners.answersPings = false
            try clock.advance(by: .seconds(16))
            let other = try story.client()
            try other.send("GET", story.url("/two"))
            try origin.reply(to: try origin.request().stream, body: "two")
            #expect(try other.response().bodyText == "two")
            try origin.reply(to: first.stream, body: "one")
            #expect(try client.response().bodyText == "one")
        }
    }

    @Test func `pool idle closes a connection with GOAWAY, and not before`() async throws {
        try await Self.story("upstream: {pool: {idle: 5s}}") { story, clock in
            let client = try story.client()
            let origin = try story.served(by: client)
            try clock.advance(by: .seconds(3))
            try client.send("GET", story.url("/two"))
            try origin.reply(to: try origin.request().stream, body: "two")
            #expect(try client.response().bodyText == "two")
            try clock.advance(by: .seconds(3))
            try origin.frames.expectAlive()
            try story.proxy.advance(by: .seconds(1), until: "the end") {
                (try? origin.frames.first("GOAWAY", by: .milliseconds(5)) { event in
                    if case .goAway(0, .noError, _) = event { true } else { nil }
                }) != nil
            }
            #expect(try origin.frames.waitForEnd() == .finished)
        }
    }

    @Test func `pool idle leaves a connection whose stream is silent`() async throws {
        try await Self.story("upstream: {pool: {idle: 5s}}") { story, clock in
            let client = try story.client()
            let (origin, request) = try story.asked(by: client)
            for _ in 0..<10 { try clock.advance(by: .seconds(1)) }
            try origin.frames.expectAlive()
            try origin.reply(to: request.stream, body: "late")
            #expect(try client.response().bodyText == "late")
        }
    }
}
