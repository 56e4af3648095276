// How long responses live and how old they are, row by row.

import LupinCaching
import LupinCore
import LupinPolicy
import Testing

struct FreshnessTests {
    private func freshness(
        _ pairs: CacheFields,
        status: UInt16 = 200,
        policy: CachePolicy = .standard,
        requestAt: Double = 0,
        responseAt: Double = 0
    ) -> Freshness {
        let head = reply(pairs, status: status)
        return Freshness(
            of: head,
            directives: ResponseDirectives(head.fields, targeted: policy.targeted),
            policy: policy,
            requestTimeUs: us(requestAt),
            responseTimeUs: us(responseAt)
        )
    }

    private static let rows: [(CacheFields, Int64, Freshness.Source)] = [
        ([], 0, .none),
        ([("Cache-Control", "max-age=5")], 5, .maxAge),
        ([("Cache-Control", "max-age=5, s-maxage=9")], 9, .sMaxAge),
        ([("Cache-Control", "max-age=5, s-maxage=x")], 0, .sMaxAge),
        ([("Cache-Control", "max-age=5"), ("Expires", date(100))], 5, .maxAge),
        ([("Cache-Control", "max-age=0"), ("Expires", date(100))], 0, .maxAge),
        ([("Cache-Control", "max-age=5"), ("Expires", "0")], 5, .maxAge),
        ([("Date", date(-10)), ("Expires", date(100))], 110, .expires),
        ([("Expires", date(100))], 100, .expires),
        ([("Expires", date(-100)), ("Date", date())], 0, .expires),
        ([("Expires", "0"), ("Last-Modified", date(-9999))], 0, .expires),
        ([("Expires", ""), ("Last-Modified", date(-9999))], 0, .expires),
        ([("Expires", date(7)), ("Expires", date(100))], 7, .expires),
        ([("Date", "yesterday"), ("Expires", date(3))], 3, .expires),
        ([("Last-Modified", date(-1000)), ("Date", date())], 100, .heuristic),
        ([("Last-Modified", date(-100_000_000)), ("Date", date())], 86400, .heuristic),
        ([("Last-Modified", date(10)), ("Date", date())], 0, .none),
        ([("Last-Modified", "x")], 0, .none),
        ([("Lupin-Cache-Control", "max-age=3"), ("Expires", date(100))], 3, .maxAge),
        ([("Lupin-Cache-Control", "x"), ("Expires", date(100))], 0, .none),
    ]

    @Test(arguments: rows.indices)
    func `the lifetime comes from the first source there is`(row: Int) {
        let (pairs, lifetime, source) = Self.rows[row]
        let freshness = freshness(pairs)
        #expect(freshness.lifetime == lifetime && freshness.source == source)
    }

    @Test func `s-maxage is nothing to a private cache`() {
        let pairs = [("Cache-Control", "s-maxage=3600, max-age=1")]
        #expect(freshness(pairs, policy: .privateMode).lifetime == 1)
    }

    @Test(
        arguments: [
            (200, true), (201, false), (202, false), (203, true), (204, true), (300, true),
            (301, true),
            (302, false), (307, false), (308, true), (403, false), (404, true), (405, true),
            (410, true), (414, true), (500, false), (501, true), (502, false), (503, false),
            (504, false), (599, false),
        ] as [(UInt16, Bool)]
    )
    func `only some statuses live by heuristics`(status: UInt16, isHeuristic: Bool) {
        let pairs = [("Last-Modified", date(-1000)), ("Date", date())]
        #expect((freshness(pairs, status: status).source == .heuristic) == isHeuristic)
        let open = pairs + [("Cache-Control", "public")]
        #expect(freshness(open, status: status).source == .heuristic)
    }

    @Test func `the policy sets the heuristic and the lifetime`() {
        let pairs = [("Last-Modified", date(-1000)), ("Date", date())]
        let none = CachePolicy.changed { $0.heuristic = 0 }
        #expect(freshness(pairs, policy: none).source == .none)
        let half = CachePolicy.changed { $0.heuristic = 0.5 }
        #expect(freshness(pairs, policy: half).lifetime == 500)
        let ttl = CachePolicy.changed { $0.ttl = .seconds(42) }
        #expect(freshness([("Cache-Control", "max-age=1")], policy: ttl).lifetime == 42)
        #expect(freshness([], policy: ttl).source == .ttl)
        // An error that nobody called cacheable stays what it is.
        #expect(freshness([], status: 500, policy: ttl).source == .none)
        let error = freshness([("Cache-Control", "max-age=1")], status: 500, policy: ttl)
        #expect(error.lifetime == 42)
    }

    // MARK: Age

    private static let ages: [(CacheFields, Double, Double, Int64)] = [
        ([("Date", date())], 0, 0, 0),
        ([("Date", date()), ("Age", "7")], 0, 0, 7),
        // apparent_age beats a smaller Age, and the delay is added to Age.
        ([("Date", date(-20)), ("Age", "7")], 0, 0, 20),
        ([("Date", date()), ("Age", "7")], -3, 0, 10),
        ([("Age", "7")], 0, 0, 7),
        ([("Date", date(500))], 0, 0, 0),
        ([("Date", date()), ("Age", "abc")], 0, 0, 0),
        ([("Date", date()), ("Age", "-7200")], 0, 0, 0),
        ([("Date", date()), ("Age", "7200.0")], 0, 0, 0),
        ([("Date", date()), ("Age", "7200,0")], 0, 0, 7200),
        ([("Date", date()), ("Age", "0, 7200")], 0, 0, 0),
        ([("Date", date()), ("Age", "7"), ("Age", "0")], 0, 0, 7),
        ([("Date", date()), ("Age", "99999999999999999999")], 0, 0, 2_147_483_648),
    ]

    @Test(arguments: ages.indices)
    func `the age counts from the origin`(row: Int) {
        let (pairs, requestAt, responseAt, age) = Self.ages[row]
        let freshness = freshness(pairs, requestAt: requestAt, responseAt: responseAt)
        #expect(freshness.age(at: us(responseAt)) == age)
        #expect(freshness.age(at: us(responseAt + 5)) == min(age + 5, 2_147_483_648))
    }

    @Test func `a response is fresh until its age reaches its lifetime`() {
        let freshness = freshness([("Cache-Control", "max-age=10"), ("Date", date())])
        #expect(freshness.isFresh(at: us(9.9)) && freshness.remaining(at: us(9.9)) == 1)
        #expect(!freshness.isFresh(at: us(10)) && freshness.remaining(at: us(10)) == 0)
        #expect(freshness.remaining(at: us(25)) == -15)
        #expect(freshness.stalenessUs(at: us(25)) == 15_000_000)
        #expect(freshness.stalenessUs(at: us(3)) == 0)
    }

    @Test func `a clock that goes back makes nothing younger than it came`() {
        let freshness = freshness([("Cache-Control", "max-age=10"), ("Age", "4")])
        #expect(freshness.age(at: us(-1000)) == 4 && freshness.age(at: .min) == 4)
        #expect(freshness.age(at: .max) == 2_147_483_648)
    }

    @Test func `a Date that is far ahead is worth a warning`() {
        #expect(freshness([("Date", date(61))]).hasClockSkew)
        #expect(!freshness([("Date", date(60))]).hasClockSkew)
        #expect(freshness([("Date", date(61))]).clockAhead == 61)
    }
}
