// The cache beside what else happens to a response: redirects, retries, and bodies that go on.
import LupinTestKit
import Testing

struct CacheAndRetryTests {
    @Test func `what a followed redirect brings is not stored under the first URL`() async throws {
        let rules = everywhere("cache: standard, redirect: {follow: true}")
        try await ProxyFixture.run(rules) { proxy in
            let (flaky, origin) = try proxy.flaky(
                .status(302, "Location: /there"),
                .fresh("there"),
                .fresh("here")
            )
            let client = try proxy.client()
            let first = try client.get(origin.url("/here"))
            #expect(first.bodyText == "there")
            #expect(first.caching == "lupin; fwd=uri-miss; detail=redirected")
            #expect(try client.get(origin.url("/here")).bodyText == "here")
            #expect(flaky.requests.map(\.target) == ["/here", "/there", "/here"])
        }
    }

    @Test func `what a retry brings is stored`() async throws {
        let rules = everywhere("cache: standard, retry: {use: standard, backoff: none}")
        try await ProxyFixture.run(rules) { proxy in
            let (flaky, origin) = try proxy.flaky(.status(503), .reset, .fresh("good"))
            let client = try proxy.client()
            #expect(try client.get(origin.url()).bodyText == "good")
            #expect(try client.get(origin.url()).isHit)
            #expect(flaky.asked == 3)
        }
    }

    @Test func `an error that a retry leaves behind is not stored`() async throws {
        let rules = everywhere(
            "cache: standard, retry: {use: standard, limit: 1, backoff: none}"
        )
        try await ProxyFixture.run(rules) { proxy in
            let (flaky, origin) = try proxy.flaky(.status(503), .status(503), .fresh("good"))
            let client = try proxy.client()
            #expect(try client.get(origin.url()).status == 503)
            #expect(try client.get(origin.url()).bodyText == "good")
            #expect(flaky.asked == 3)
        }
    }

    @Test(arguments: [0, 5000])
    func `a body that is fetched in two pieces is stored whole`(stop: Int) async throws {
        try await ProxyFixture.run(everywhere("cache: standard, resume: true")) { proxy in
            let fields = ["ETag: \"v1\"", "Accept-Ranges: bytes", "Cache-Control: max-age=600"]
            let range = RangeOrigin(10_000, breaks: [stop], fields: fields)
            let origin = try proxy.origin { range.serve($0) }
            let client = try proxy.client()
            #expect(try client.get(origin.url()).body == range.body)
            let hit = try client.get(origin.url())
            #expect(hit.isHit)
            #expect(hit.body == range.body)
            #expect(range.ranges == ["", "bytes=\(stop)-"])
        }
    }

    @Test func `what validation of a rule refuses is not stored`() async throws {
        let rules = everywhere("cache: standard, validate: {status: [200]}, retry: none")
        try await ProxyFixture.run(rules) { proxy in
            let (flaky, origin) = try proxy.flaky(
                .answer(203, ["Cache-Control: max-age=600"], "bad"),
                .fresh("good")
            )
            let client = try proxy.client()
            #expect(try client.get(origin.url()).status == 502)
            #expect(try client.get(origin.url()).bodyText == "good")
            #expect(flaky.asked == 2)
        }
    }
}
