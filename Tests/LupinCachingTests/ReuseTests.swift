// Which stored responses answer, row by row: the response, the request, the moment.

import LupinCaching
import LupinCore
import LupinPolicy
import Testing

struct ReuseTests {
    private static let day = ("Date", date())

    private func reuse(
        _ cacheControl: String,
        _ request: String? = nil,
        at seconds: Double,
        policy: CachePolicy = .standard
    ) -> ReuseDecision {
        let response = stored([("Cache-Control", cacheControl), Self.day], policy: policy)
        let head = get(request.map { [("Cache-Control", $0)] } ?? [])
        return response.reuse(for: asked(head), policy: policy, nowUs: us(seconds))
    }

    private static let rows: [(String, String?, Double, ReuseDecision)] = [
        ("max-age=60", nil, 59, .fresh(age: 59, ttl: 1)),
        ("max-age=60", nil, 60, .stale(age: 60, ttl: 0, mayServe: .nothing)),
        ("x", nil, 0, .stale(age: 0, ttl: 0, mayServe: .nothing)),
        // The client's wishes.
        ("max-age=60", "max-age=0", 1, .ask(.requestMaxAge, 1, 59)),
        ("max-age=60", "max-age=0", 0, .ask(.requestMaxAge, 0, 60)),
        ("max-age=60", "max-age=10", 10, .fresh(age: 10, ttl: 50)),
        ("max-age=60", "max-age=10", 11, .ask(.requestMaxAge, 11, 49)),
        ("max-age=60", "max-age=x", 11, .ask(.requestMaxAge, 11, 49)),
        ("max-age=60, immutable", "max-age=0", 11, .fresh(age: 11, ttl: 49)),
        ("max-age=60, immutable", "no-cache", 11, .ask(.requestNoCache, 11, 49)),
        ("max-age=60, immutable", "max-age=0", 61, .stale(age: 61, ttl: -1, mayServe: .nothing)),
        ("max-age=60", "min-fresh=50", 10, .fresh(age: 10, ttl: 50)),
        ("max-age=60", "min-fresh=50", 11, .ask(.requestMinFresh, 11, 49)),
        ("max-age=60", "no-cache", 1, .ask(.requestNoCache, 1, 59)),
        ("max-age=60", "no-store", 1, .bypass(.requestNoStore)),
        ("max-age=60", "max-stale", 999, .stale(age: 999, ttl: -939, mayServe: .now)),
        ("max-age=60", "max-stale=10", 70, .stale(age: 70, ttl: -10, mayServe: .now)),
        ("max-age=60", "max-stale=10", 71, .stale(age: 71, ttl: -11, mayServe: .nothing)),
        ("max-age=60", "only-if-cached", 59, .fresh(age: 59, ttl: 1)),
        ("max-age=60", "only-if-cached", 60, .gatewayTimeout),
        ("max-age=60", "only-if-cached, no-cache", 1, .gatewayTimeout),
        ("max-age=60", "only-if-cached, no-store", 1, .gatewayTimeout),
        ("max-age=60", "only-if-cached, max-stale", 99, .stale(age: 99, ttl: -39, mayServe: .now)),
        // The origin's word.
        ("no-cache, max-age=60", nil, 1, .ask(.noCache, 1, 59)),
        ("no-cache, max-age=60", "max-stale", 99, .ask(.noCache, 99, -39)),
        ("no-cache=\"a\", max-age=60", nil, 1, .fresh(age: 1, ttl: 59)),
        ("max-age=60, must-revalidate", nil, 1, .fresh(age: 1, ttl: 59)),
        ("max-age=60, must-revalidate", "max-stale", 61, .old(61, .nothing)),
        ("max-age=60, proxy-revalidate", "max-stale", 61, .old(61, .nothing)),
        ("s-maxage=60", "max-stale", 61, .old(61, .nothing)),
        // RFC 5861.
        ("max-age=60, stale-while-revalidate=5", nil, 65, .old(65, .whileRevalidating)),
        ("max-age=60, stale-while-revalidate=5", nil, 66, .old(66, .nothing)),
        ("max-age=60, stale-while-revalidate=5", "max-age=9", 62, .old(62, .nothing)),
        ("max-age=60, stale-while-revalidate=5", "min-fresh=9", 62, .old(62, .nothing)),
        ("max-age=60, stale-if-error=5", nil, 65, .old(65, .onError)),
        ("max-age=60, stale-if-error=5", nil, 66, .old(66, .nothing)),
        ("max-age=60", "stale-if-error=5", 65, .old(65, .onError)),
        ("max-age=60, must-revalidate", "stale-if-error=5", 65, .old(65, .nothing)),
        ("max-age=60, stale-if-error=9, must-revalidate", nil, 65, .old(65, .nothing)),
        ("max-age=60, stale-while-revalidate=9, proxy-revalidate", nil, 65, .old(65, .nothing)),
        ("s-maxage=60, stale-while-revalidate=9, stale-if-error=9", nil, 65, .old(65, .nothing)),
        ("max-age=60, stale-while-revalidate=2, stale-if-error=9", nil, 65, .old(65, .onError)),
        (
            "max-age=60, stale-while-revalidate=9", "only-if-cached", 65,
            .old(65, .whileRevalidating)
        ),
    ]

    @Test(arguments: rows.indices)
    func `a shared cache does what everybody allows`(row: Int) {
        let (response, request, seconds, expected) = Self.rows[row]
        #expect(reuse(response, request, at: seconds) == expected)
    }

    @Test func `what is for shared caches is nothing to a private one`() {
        let policy = CachePolicy.privateMode
        for value in ["max-age=60, proxy-revalidate", "max-age=60, s-maxage=1"] {
            let decision = reuse(value, "max-stale", at: 61, policy: policy)
            #expect(decision == .old(61, .now))
        }
    }

    @Test func `the policy widens the windows, and never against a prohibition`() {
        let policy = CachePolicy.changed {
            $0.staleIfError = .seconds(100)
            $0.staleWhileRevalidate = .seconds(10)
        }
        #expect(reuse("max-age=60", at: 65, policy: policy) == .old(65, .whileRevalidating))
        #expect(reuse("max-age=60", at: 75, policy: policy) == .old(75, .onError))
        #expect(reuse("max-age=60", at: 161, policy: policy) == .old(161, .nothing))
        #expect(reuse("max-age=60, must-revalidate", at: 65, policy: policy) == .old(65, .nothing))
        let demanding = reuse("max-age=60", "max-age=1", at: 9, policy: policy)
        #expect(
            demanding == .validate(.requestMaxAge, age: 9, ttl: 51, mayServe: .onError)
        )
    }

    @Test func `a lifetime of the user goes before the origin's no-cache`() {
        let policy = CachePolicy.changed { $0.ttl = .seconds(10) }
        #expect(reuse("no-cache", at: 9, policy: policy) == .fresh(age: 9, ttl: 1))
        #expect(reuse("no-cache", "no-cache", at: 9, policy: policy) == .ask(.requestNoCache, 9, 1))
    }

    @Test func `some requests are never answered from a store`() {
        let response = stored([("Cache-Control", "max-age=60"), Self.day])
        func decide(_ head: RequestHead, hasContent: Bool = false) -> ReuseDecision {
            let asked = asked(head, hasContent: hasContent)
            return response.reuse(for: asked, policy: .standard, nowUs: us(1))
        }
        for method in [Method.post, .put, .delete, .options, .other("PROPFIND")] {
            #expect(decide(get(method: method)) == .bypass(.method))
        }
        #expect(decide(get(), hasContent: true) == .bypass(.content))
        #expect(decide(get([("If-Match", "\"a\"")])) == .bypass(.precondition))
        #expect(decide(get([("If-Unmodified-Since", date())])) == .bypass(.precondition))
        let upgrade = [("Connection", "Upgrade"), ("Upgrade", "websocket")]
        #expect(decide(get(upgrade)) == .bypass(.upgrade))
        #expect(decide(get([("Upgrade", "websocket")])) == .fresh(age: 1, ttl: 59))
        #expect(decide(get(method: .head)) == .fresh(age: 1, ttl: 59))
        #expect(decide(get([("Pragma", "no-cache")])) == .ask(.requestNoCache, 1, 59))
    }

    @Test func `only what asks for the whole and for nothing special may wait for another`() {
        func isCollapsible(_ pairs: CacheFields, _ method: Method = .get) -> Bool {
            asked(get(pairs, method: method)).isCollapsible
        }
        #expect(isCollapsible([]) && isCollapsible([("Cache-Control", "max-stale")]))
        for value in ["no-cache", "no-store", "max-age=0", "min-fresh=1", "only-if-cached"] {
            #expect(!isCollapsible([("Cache-Control", value)]))
        }
        #expect(!isCollapsible([("Range", "bytes=0-1")]))
        #expect(!isCollapsible([], .head) && !isCollapsible([], .post))
    }

    // MARK: Parts

    private func partial(_ range: String, _ more: CacheFields = [], length: UInt64? = 10)
        -> ReuseDecision
    {
        let response = stored(
            [("Cache-Control", "max-age=60"), Self.day, ("ETag", "\"a\"")],
            status: 206,
            content: HeldContent(range: 4..<8, completeLength: length)
        )
        let head = get([("Range", range)] + more)
        return response.reuse(for: asked(head), policy: .standard, nowUs: us())
    }

    @Test func `a part answers what it holds`() {
        let fresh = ReuseDecision.fresh(age: 0, ttl: 60)
        #expect(partial("bytes=4-7") == fresh && partial("bytes=5-6, 7-7") == fresh)
        #expect(partial("bytes=2-5") == .incomplete(missing: [2..<4]))
        #expect(partial("bytes=-2") == .incomplete(missing: [8..<10]))
        #expect(partial("bytes=6-") == .incomplete(missing: [8..<10]))
        #expect(partial("bytes=20-30") == fresh)
        #expect(partial("lines=1-2") == .incomplete(missing: [0..<4, 8..<10]))
        let other = ("If-Range", "\"b\"")
        #expect(partial("bytes=4-7", [other]) == .incomplete(missing: [0..<4, 8..<10]))
        #expect(partial("bytes=4-7", [("If-Range", "\"a\"")]) == fresh)
        #expect(partial("bytes=2-5", [("Cache-Control", "only-if-cached")]) == .gatewayTimeout)
    }

    @Test func `a part of something of unknown length answers what says where it ends`() {
        #expect(partial("bytes=4-7", length: nil) == .fresh(age: 0, ttl: 60))
        for range in ["bytes=4-8", "bytes=4-", "bytes=-1"] {
            #expect(partial(range, length: nil) == .incomplete(missing: []))
        }
    }

    // MARK: Cache-Status

    @Test func `every decision has its word`() {
        #expect(ReuseDecision.fresh(age: 0, ttl: 1).forward == nil)
        #expect(ReuseDecision.old(61, .now).forward == nil)
        #expect(ReuseDecision.old(61, .whileRevalidating).forward == nil)
        #expect(ReuseDecision.old(61, .onError).forward == .stale)
        #expect(ReuseDecision.ask(.noCache, 0, 1).forward == .stale)
        #expect(ReuseDecision.ask(.requestMaxAge, 0, 1).forward == .request)
        #expect(ReuseDecision.incomplete(missing: []).forward == .partial)
        #expect(ReuseDecision.bypass(.method).forward == .method)
        #expect(ReuseDecision.bypass(.content).forward == .bypass)
        #expect(ReuseDecision.gatewayTimeout.forward == nil)
    }

    @Test func `only server errors are replaced by what is stale`() {
        let errors = (100...599).filter { StaleWindows.isError(UInt16($0)) }
        #expect(errors == [500, 502, 503, 504])
    }
}

extension ReuseDecision {
    /// Validated, and not served whatever happens.
    fileprivate static func ask(
        _ reason: ValidationReason,
        _ age: Int64,
        _ ttl: Int64
    ) -> ReuseDecision {
        .validate(reason, age: age, ttl: ttl, mayServe: .nothing)
    }

    /// Stale after a lifetime of 60 seconds.
    fileprivate static func old(_ age: Int64, _ use: StaleUse) -> ReuseDecision {
        .stale(age: age, ttl: 60 - age, mayServe: use)
    }
}
