// A 425 is about one request's early data: a later request that has none is not answered with it.
import LupinTestKit
import Testing

struct StoredTooEarlyTests {
    /// Not cacheable by default (RFC 8470 §5.2), and with max-age still about that request alone.
    @Test func `a 425 with a lifetime does not answer a request without early data`()
        async throws
    {
        try await ProxyFixture.run(everywhere("cache: standard")) { proxy in
            let (flaky, origin) = try proxy.flaky(
                .status(425, "Cache-Control: max-age=600"),
                .status(200, body: "good")
            )
            let client = try proxy.client()
            #expect(try client.get(origin.url(), "Early-Data: 1").status == 425)
            #expect(try client.get(origin.url()).bodyText == "good")
            #expect(flaky.asked == 2)
        }
    }
}
