// Equal requests whose responses can't be stored: past the cache, and past the exchange.
import LupinTestKit
import Testing

struct RepeatedPassTests {
    private static let rules = everywhere("cache: standard")

    @Test func `the cache is asked again after a second`() async throws {
        let clock = VirtualClock()
        try await ProxyFixture.run(Self.rules, clock: clock) { proxy in
            let refused = FlakyOrigin.Deed.answer(200, ["Cache-Control: no-store"], "not kept")
            let (flaky, origin) = try proxy.flaky(refused)
            let client = try proxy.client()
            for round in 0..<4 {
                for _ in 0..<6 {
                    let response = try client.get(origin.url())
                    #expect(response.bodyText == "not kept")
                    #expect(response.caching == "lupin; fwd=uri-miss; detail=no-store")
                }
                #expect(flaky.asked == 6 * (round + 1))
                try clock.advance(by: .milliseconds(1100))
            }
            let records = try proxy.records(24)
            #expect(records.allSatisfy { $0["outcome"] == "ok" })
            let statuses = records.map { $0["cache.status"] }
            #expect(Set(statuses) == ["lupin; fwd=uri-miss; detail=no-store"])
        }
    }

    /// Whether what can be stored is stored at once tells whether the cache was asked.
    @Test(arguments: [false, true])
    func `what could be stored by then is a moment late`(isChunked: Bool) async throws {
        let clock = VirtualClock()
        try await ProxyFixture.run(Self.rules, clock: clock) { proxy in
            // What is chunked is nothing that is forwarded without an exchange.
            let refused =
                isChunked
                ? "HTTP/1.1 200 X\r\nCache-Control: no-store\r\nTransfer-Encoding: chunked\r\n\r\n"
                    + "2\r\nno\r\n0\r\n\r\n"
                : EqualRequests.response(200, "Cache-Control: no-store", body: "no")
            let kept = EqualRequests.response(200, "Cache-Control: max-age=60", body: "kept")
            let equal = try EqualRequests(proxy, refused)
            for _ in 0..<3 {
                for _ in 0..<3 {
                    let seen = try equal.repeatOnce()
                    #expect(seen.caching == "lupin; fwd=uri-miss; detail=no-store")
                }
                let seen = try equal.repeatOnce(kept)
                #expect(seen.caching == "lupin; fwd=uri-miss; detail=no-store")
                try clock.advance(by: .milliseconds(1100))
            }
            #expect(try equal.repeatOnce(kept).caching == "lupin; fwd=uri-miss; stored")
            for _ in 0..<4 { #expect(try equal.client.get(equal.origin.url("/same")).isHit) }
        }
    }
}
