// A download that breaks off and goes on behind the break: the client sees one clean response.
import LupinTestKit
import Testing

struct ResumeTests {
    private static let rules = everywhere("resume: true")
    private static let count = 10_000

    @Test(arguments: [0, 1, 5000, 9999], [false, true])
    func `a client of HTTP 1_1 sees one response`(stop: Int, isReset: Bool) async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let range = RangeOrigin(Self.count, breaks: [stop], isReset: isReset)
            let origin = try proxy.origin { range.serve($0) }
            let client = try proxy.client()
            let response = try client.get(origin.url("/f"), "Accept: */*")
            #expect(response.status == 200)
            #expect(response.body == range.body)
            #expect(response["Content-Length"] == "\(Self.count)")
            #expect(response["Content-Range"] == nil)
            #expect(response["ETag"] == "\"v1\"")
            #expect(range.ranges == ["", "bytes=\(stop)-"])
            #expect(range.requests[1]["If-Range"] == "\"v1\"")
            #expect(range.requests[1]["Accept"] == "*/*")
            // Both connections are as good as before.
            #expect(try client.get(origin.url("/again")).body == range.body)
            #expect(origin.connections.count == 2)
            let record = try proxy.record()
            #expect(record["outcome"] == "ok")
            #expect(record["error.type"] == nil)
            #expect(record["http.response.status_code"] == "200")
            #expect(record["http.response.body.size"] == "\(Self.count)")
            #expect(record.count("attempts") == 2)
            #expect(record["attempts.0.status"] == "200")
            #expect(record["attempts.0.decision"] == "resume")
            #expect(record["attempts.0.reason"] == "broke off after \(stop) bytes")
            #expect(record["attempts.0.error.type"] != nil)
            #expect(record["attempts.1.n"] == "2")
            #expect(record["attempts.1.why"] == "resume")
            #expect(record["attempts.1.status"] == "206")
            #expect(record["attempts.1.decision"] == "deliver")
            let received = record.number("bytes.upstream_in") ?? 0
            #expect(received > Double(Self.count) && received < Double(Self.count) + 500)
        }
    }

    @Test(arguments: [0, 1, 5000, 9999])
    func `a stream sees one response`(stop: Int) async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let range = RangeOrigin(Self.count, breaks: [stop])
            let origin = try proxy.origin { range.serve($0) }
            let client = try proxy.http2Client()
            let response = try client.request(authority: origin.authority)
            #expect(response.status == 200)
            #expect(response.reset == nil)
            #expect(response.body == range.body)
            #expect(response["content-length"] == "\(Self.count)")
            #expect(range.ranges == ["", "bytes=\(stop)-"])
            #expect(try proxy.record()["outcome"] == "ok")
        }
    }

    @Test func `a client of HTTP 1_0 sees one response`() async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let range = RangeOrigin(Self.count, breaks: [700])
            let origin = try proxy.origin { range.serve($0) }
            let client = try proxy.client()
            try client.send("GET \(origin.url()) HTTP/1.0\r\n\r\n")
            #expect(try client.response().body == range.body)
            #expect(range.ranges == ["", "bytes=700-"])
        }
    }

    @Test func `an origin of streams is resumed too`() async throws {
        try await UpstreamStory.run(Self.rules) { story in
            let client = try story.client()
            let (origin, request) = try story.asked(by: client)
            let fields: HTTP2Fields = ["etag": "\"v1\"", "content-length": "10"]
            try origin.sendHead(request.stream, 200, fields)
            try origin.frames.send(
                .data(request.stream, "01234"),
                .resetStream(request.stream, .internalError)
            )
            let again = try origin.request()
            #expect(again["range"] == "bytes=5-")
            try origin.reply(
                to: again.stream,
                206,
                ["etag": "\"v1\"", "content-range": "bytes 5-9/10"],
                body: "56789"
            )
            let response = try client.response()
            #expect(response.bodyText == "0123456789")
            let record = try story.proxy.record()
            #expect(record["attempts.0.reset"] == "INTERNAL_ERROR")
            #expect(record["attempts.1.reset"] == nil)
        }
    }

    @Test func `again and again, as long as there is progress`() async throws {
        // `safe` has a limit of 1: every attempt that brings a byte sets the count back.
        try await ProxyFixture.run(Self.rules) { proxy in
            let range = RangeOrigin(Self.count, breaks: [3000, 2000, 1, 1, 4000])
            let origin = try proxy.origin { range.serve($0) }
            #expect(try proxy.client().get(origin.url()).body == range.body)
            #expect(range.ranges.last == "bytes=9002-")
            let record = try proxy.record()
            #expect(record.count("attempts") == 6)
            #expect(record["attempts.1.decision"] == "resume")
            #expect(record["attempts.1.reason"] == "broke off after 5000 bytes")
            #expect(record["attempts.4.reason"] == "broke off after 9002 bytes")
            #expect(record["attempts.5.decision"] == "deliver")
        }
    }

    @Test func `without progress there is an end`() async throws {
        let rules = everywhere("resume: true, retry: {use: standard, backoff: none}")
        try await ProxyFixture.run(rules) { proxy in
            let range = RangeOrigin(Self.count, breaks: [100, 0, 0, 0, 0])
            let origin = try proxy.origin { range.serve($0) }
            let client = try proxy.client()
            try client.send("GET", origin.url())
            #expect(try client.stream.head()?.status == 200)
            let (bytes, _) = try client.stream.untilEnd()
            #expect(bytes == Array(range.body.prefix(100)))
            #expect(range.requests.count == 3)
            let record = try proxy.record()
            #expect(record["outcome"] == "truncated")
            #expect(record["attempts.2.decision"] == "give-up")
            #expect(
                record["attempts.2.reason"] == "broke off after 100 bytes; limit of 2 reached"
            )
        }
    }

    /// An origin of which the client has half a response of ten bytes.
    private func halfSent(
        _ proxy: ProxyFixture
    ) throws -> (origin: PlayedOrigin, client: ScriptedClient, first: OriginConnection) {
        let origin = try PlayedOrigin()
        let client = try proxy.client()
        try client.send("GET", origin.url())
        let first = try origin.accept()
        try first.request()
        try first.send(head("HTTP/1.1 200 OK", "ETag: \"v\"", "Content-Length: 10") + "01234")
        _ = try client.stream.head()
        #expect(try client.stream.text(5) == "01234")
        return (origin, client, first)
    }

    @Test func `the second attempt comes at once, the third after the back-off`() async throws {
        let clock = VirtualClock()
        let rules = everywhere("resume: true, retry: {use: standard, backoff: {jitter: none}}")
        try await ProxyFixture.run(rules, clock: clock) { proxy in
            let (origin, client, first) = try halfSent(proxy)
            first.close()
            let second = try origin.accept()
            try second.request()
            second.close()
            try clock.advance(by: .milliseconds(480))
            #expect(!origin.hasWaiting)
            try clock.advance(by: .milliseconds(40))
            let third = try origin.accept()
            #expect(try third.request()["Range"] == "bytes=5-")
            try third.reply(206, "ETag: \"v\"", "Content-Range: bytes 5-9/10", body: "56789")
            #expect(try client.stream.text(5) == "56789")
            let record = try proxy.record()
            #expect(record["attempts.1.why"] == "resume")
            #expect(record["attempts.1.decision"] == "resume")
            #expect(record["attempts.1.reason"] == "reset")
            #expect(record["attempts.2.decision"] == "deliver")
        }
    }

    @Test func `a part that the client asked for is resumed inside it`() async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let range = RangeOrigin(Self.count, breaks: [1000])
            let origin = try proxy.origin { range.serve($0) }
            let response = try proxy.client().get(origin.url(), "Range: bytes=100-4099")
            #expect(response.status == 206)
            #expect(response["Content-Range"] == "bytes 100-4099/10000")
            #expect(response.body == Array(range.body[100..<4100]))
            #expect(range.ranges == ["bytes=100-4099", "bytes=1100-4099"])
        }
    }

    @Test func `the client's conditions are not asked again`() async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let range = RangeOrigin(Self.count, breaks: [1000])
            let origin = try proxy.origin { range.serve($0) }
            let condition = "If-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT"
            let response = try proxy.client().get(origin.url(), condition)
            #expect(response.body == range.body)
            #expect(range.requests[0]["If-Modified-Since"] != nil)
            #expect(range.requests[1]["If-Modified-Since"] == nil)
        }
    }

    @Test func `a strong date will do`() async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let date = "Sun, 06 Nov 1994 08:49:37 GMT"
            let fields = ["Last-Modified: \(date)", "Date: Mon, 07 Nov 1994 08:49:37 GMT"]
            let range = RangeOrigin(Self.count, breaks: [1000], fields: fields)
            let origin = try proxy.origin { range.serve($0) }
            #expect(try proxy.client().get(origin.url()).body == range.body)
            #expect(range.requests[1]["If-Range"] == date)
        }
    }

    @Test(arguments: [false, true])
    func `four MiB that pass by splice are whole`(isReset: Bool) async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let breaks = [1_500_001, 70_000, 900_000]
            let range = RangeOrigin(4 << 20, breaks: breaks, isReset: isReset)
            let origin = try proxy.origin { range.serve($0) }
            let response = try proxy.client().get(origin.url())
            #expect(response.body == range.body)
            let record = try proxy.record()
            #expect(record["http.response.body.size"] == "\(4 << 20)")
            #expect(record["outcome"] == "ok")
        }
    }

    @Test func `a rate is kept across the break`() async throws {
        let clock = VirtualClock()
        let rules = everywhere("resume: true, throttle: {down: 1MiB/s}")
        try await ProxyFixture.run(rules, clock: clock) { proxy in
            let range = RangeOrigin(400_000, breaks: [250_000])
            let origin = try proxy.origin { range.serve($0) }
            let client = try proxy.client()
            let begun = clock.now
            try client.send("GET", origin.url())
            try proxy.advance(by: .milliseconds(20), until: "the record") {
                !proxy.recordsSoFar().isEmpty
            }
            #expect(try client.response().body == range.body)
            // All but the burst of 100 ms.
            #expect(clock.now - begun >= 280_000)
        }
    }

    @Test func `an origin that goes silent is left for another attempt`() async throws {
        let clock = VirtualClock()
        let rules = everywhere("resume: true", "timeouts: {idle: 30s}")
        try await ProxyFixture.run(rules, clock: clock) { proxy in
            let (origin, client, first) = try halfSent(proxy)
            try clock.advance(by: .milliseconds(30_100))
            let second = try origin.accept()
            _ = try first.waitForEnd()
            #expect(try second.request()["Range"] == "bytes=5-")
            try second.reply(206, "ETag: \"v\"", "Content-Range: bytes 5-9/10", body: "56789")
            #expect(try client.stream.text(5) == "56789")
            #expect(try proxy.record()["attempts.0.error.type"] == "connection_read_timeout")
        }
    }

    @Test(arguments: [false, true])
    func `a client that leaves meanwhile ends it`(isBackingOff: Bool) async throws {
        let clock = VirtualClock()
        let rules = everywhere("resume: true, retry: {use: standard, backoff: {jitter: none}}")
        try await ProxyFixture.run(rules, clock: clock) { proxy in
            let (origin, client, first) = try halfSent(proxy)
            first.close()
            let second = try origin.accept()
            try second.request()
            if isBackingOff {
                second.close()
                try clock.advance(by: .milliseconds(100))
            }
            client.close()
            if !isBackingOff { _ = try second.waitForEnd() }
            let record = try proxy.record()
            #expect(record["outcome"] == "aborted")
            try clock.advance(by: .seconds(5))
            #expect(!origin.hasWaiting)
        }
    }
}
