// Requests that are equal byte for byte: answered without a second thought, and still all of them.
import LupinCore
import LupinTestKit
import Testing

struct RepeatedHitTests {
    private static let rules = everywhere("cache: standard")

    /// Asks for the same until the answer is a repetition: seen once, remembered, repeated.
    @discardableResult
    private func warmUp(_ client: ScriptedClient, _ url: String) throws -> ScriptedMessage {
        var last = try client.get(url)
        for _ in 0..<4 { last = try client.get(url) }
        return last
    }

    @Test(arguments: [1, 1000, 100_000, 1_000_000])
    func `equal requests get equal answers, and a record each`(count: Int) async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let range = RangeOrigin(count, breaks: [], fields: ["Cache-Control: max-age=600"])
            let origin = try proxy.origin { range.serve($0) }
            let (client, other) = (try proxy.client(), try proxy.client())
            for i in 0..<40 {
                let response = try (i % 3 == 0 ? other : client).get(origin.url())
                #expect(response.body == range.body)
                #expect(response.isHit == (i > 0))
                #expect(response["Via"] != nil)
            }
            #expect(range.requests.count == 1)
            let records = try proxy.records(40)
            #expect(Set(records.compactMap { $0["id"] }).count == 40)
            #expect(Set(records.compactMap { $0["client.port"] }).count == 2)
            for record in records {
                #expect(record["outcome"] == "ok")
                #expect(record["http.response.body.size"] == "\(count)")
                #expect(record["url.full"] == origin.url())
                #expect(record["rules.matched"] == records[0]["rules.matched"])
            }
            #expect(Set(records.dropFirst().map { $0["bytes.client_in"] }).count == 1)
            #expect(records.allSatisfy { $0["timing.total"] != nil })
        }
    }

    @Test func `requests that are pipelined are all answered, in order`() async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let (flaky, origin) = try proxy.flaky(.fresh("one"))
            let client = try proxy.client()
            try warmUp(client, origin.url())
            let request = "GET \(origin.url()) HTTP/1.1\r\nHost: \(origin.authority)\r\n\r\n"
            let odd = "GET \(origin.url()) HTTP/1.1\r\nHost: \(origin.authority)\r\nX: y\r\n\r\n"
            try client.send(request + request + odd + request)
            for _ in 0..<4 { #expect(try client.response().bodyText == "one") }
            try client.sendBytewise(request)
            #expect(try client.response().bodyText == "one")
            #expect(flaky.asked == 1)
            #expect(try proxy.records(10).allSatisfy { $0["outcome"] == "ok" })
        }
    }

    @Test func `what comes behind is not taken for a part of it`() async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let (_, origin) = try proxy.flaky(.fresh("one"))
            let client = try proxy.client()
            try warmUp(client, origin.url())
            let request = "GET \(origin.url()) HTTP/1.1\r\nHost: \(origin.authority)\r\n\r\n"
            try client.send(request + "BAD REQUEST LINE\r\n\r\n")
            #expect(try client.response().bodyText == "one")
            #expect(try client.response().status == 400)
        }
    }

    @Test func `empty lines before a request are no request`() async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let refused = FlakyOrigin.Deed.answer(200, ["Cache-Control: no-store"], "not kept")
            let (_, origin) = try proxy.flaky(.fresh("kept"), refused)
            let client = try proxy.client()
            try client.get(origin.url("/kept"))
            func ask(_ path: String) throws -> ScriptedMessage {
                let line = "GET \(origin.url(path)) HTTP/1.1\r\nHost: \(origin.authority)\r\n"
                try client.send("\r\n\r\n\(line)\r\n")
                return try client.response()
            }
            for _ in 0..<3 { #expect(try ask("/other").bodyText == "not kept") }
            #expect(try ask("/kept").isHit)
        }
    }

    @Test func `a client that says close is answered and left`() async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let (_, origin) = try proxy.flaky(.fresh("one"))
            for _ in 0..<4 {
                let client = try proxy.client()
                #expect(try client.get(origin.url(), "Connection: close").bodyText == "one")
                #expect(try client.waitForEnd() == .finished)
            }
        }
    }

    @Test func `what is dropped, replaced or joined by a variant is not repeated`() async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let (flaky, origin) = try proxy.flaky(
                .fresh("one"),
                .answer(204, []),
                .fresh("two", ["Vary: X-Kind"]),
                .fresh("three", ["Vary: X-Kind"])
            )
            let client = try proxy.client()
            #expect(try warmUp(client, origin.url()).bodyText == "one")
            try client.send("DELETE", origin.url())
            _ = try client.response(to: "DELETE")
            #expect(try warmUp(client, origin.url()).bodyText == "two")
            #expect(try client.get(origin.url(), "X-Kind: 3").bodyText == "three")
            for _ in 0..<4 {
                #expect(try client.get(origin.url()).bodyText == "two")
                #expect(try client.get(origin.url(), "X-Kind: 3").bodyText == "three")
            }
            #expect(flaky.asked == 4)
        }
    }

    @Test func `a reload of the rules holds for the next request`() async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let (_, origin) = try proxy.flaky(.fresh("one"))
            let client = try proxy.client()
            try warmUp(client, origin.url())
            let steps = "cache: standard, response: [{set: {X-New: \"yes\"}}]"
            _ = try await proxy.reload(everywhere(steps))
            for _ in 0..<4 { #expect(try client.get(origin.url())["X-New"] == "yes") }
            _ = try await proxy.reload(everywhere("respond: {status: 418}"))
            #expect(try client.get(origin.url()).status == 418)
        }
    }

    @Test func `what has become stale is not repeated`() async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            // Fresh for no more than a second of real time.
            let (flaky, origin) = try proxy.flaky(.fresh("one", ["Age: 599"]), .fresh("two"))
            let client = try proxy.client()
            try eventually("the response has become stale") {
                (try? client.get(origin.url()))?.bodyText == "two"
            }
            #expect(flaky.asked == 2)
        }
    }

    @Test func `what can't be stored goes past the cache, and only for a moment`() async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let refused = FlakyOrigin.Deed.answer(200, ["Cache-Control: no-store"], "not kept")
            let (flaky, origin) = try proxy.flaky(
                refused,
                refused,
                refused,
                refused,
                refused,
                refused,
                .fresh("kept")
            )
            let client = try proxy.client()
            for _ in 0..<6 {
                let response = try client.get(origin.url())
                #expect(response.bodyText == "not kept")
                #expect(response.caching == "lupin; fwd=uri-miss; detail=no-store")
            }
            let statuses = try proxy.records(6).map { $0["cache.status"] }
            #expect(Set(statuses) == ["lupin; fwd=uri-miss; detail=no-store"])
            #expect(flaky.asked == 6)
            try eventually("the response has been stored") {
                (try? client.get(origin.url()))?.isHit ?? false
            }
        }
    }

    /// Has a client ask twelve times for what is long and in memory; it has read nothing yet.
    private func askWithoutReading(
        _ proxy: ProxyFixture
    ) throws -> (client: ScriptedClient, origin: RangeOrigin) {
        let range = RangeOrigin(900_000, breaks: [], fields: ["Cache-Control: max-age=600"])
        let origin = try proxy.origin { range.serve($0) }
        try warmUp(try proxy.client(), origin.url())
        let slow = try proxy.client(receiveBuffer: 4096)
        // More answers than any socket buffer holds.
        for _ in 0..<12 { try slow.send("GET", origin.url()) }
        try proxy.settleWell()
        return (slow, range)
    }

    @Test func `a client that reads late gets all of it`() async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let (slow, range) = try askWithoutReading(proxy)
            for _ in 0..<12 { #expect(try slow.response().body == range.body) }
            let records = try proxy.records(17)
            #expect(records.allSatisfy { $0["http.response.body.size"] == "900000" })
            #expect(records.allSatisfy { $0["outcome"] == "ok" })
        }
    }

    @Test func `a client that leaves within it is an abort`() async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let (slow, _) = try askWithoutReading(proxy)
            slow.reset()
            try eventually("a record of the abort") {
                proxy.recordsSoFar().contains { $0["outcome"] == "aborted" }
            }
        }
    }
}
