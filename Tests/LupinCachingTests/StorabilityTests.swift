// Which responses are stored, and the name of every refusal.

import LupinCaching
import LupinCore
import LupinPolicy
import Testing

struct StorabilityTests {
    private func decide(
        _ pairs: CacheFields,
        status: UInt16 = 200,
        request: RequestHead = get(),
        policy: CachePolicy = .standard,
        hasContent: Bool = false,
        attachments: Attachments = Attachments([])
    ) -> StoreDecision {
        policy.decide(
            response: reply(pairs, status: status),
            request: request,
            asked: asked(request, hasContent: hasContent),
            attachments: attachments,
            requestTimeUs: us(),
            responseTimeUs: us()
        )
    }

    private func reason(_ decision: StoreDecision) -> NoStoreReason? {
        if case .refuse(let reason) = decision { return reason }
        return nil
    }

    private static let live = ("Cache-Control", "max-age=60")

    private static let sharedRows: [(String, UInt16, NoStoreReason?)] = [
        ("max-age=60", 200, nil), ("s-maxage=60", 200, nil),
        ("max-age=60, private", 200, .isPrivate),
        ("max-age=60, private=\"x\"", 200, nil), ("max-age=60, no-store", 200, .noStore),
        ("no-store, must-understand, max-age=60", 200, nil),
        ("no-store, must-understand, max-age=60", 599, .mustUnderstand),
        ("must-understand, max-age=60", 299, .mustUnderstand), ("max-age=60", 299, nil),
        ("max-age=60", 500, nil), ("max-age=60", 503, nil), ("max-age=60", 599, nil),
        ("max-age=60", 302, nil), ("max-age=60", 304, .notModified), ("max-age=60", 103, .interim),
        ("max-age=60", 101, .interim), ("max-age=60", 206, .partial),
        ("x", 200, .useless), ("x", 500, .noLifetime), ("x", 403, .noLifetime),
        ("max-age=0", 200, .useless), ("no-cache, max-age=60", 200, .useless),
        ("max-age=0, stale-while-revalidate=9", 200, nil),
        ("max-age=0, must-revalidate, stale-if-error=9", 200, .useless), ("public", 599, .useless),
    ]

    @Test(arguments: sharedRows.indices)
    func `a shared cache keeps what the origin allows and what is of use`(row: Int) {
        let (value, status, expected) = Self.sharedRows[row]
        #expect(reason(decide([("Cache-Control", value)], status: status)) == expected)
    }

    @Test func `a validator makes a stale response useful`() {
        let tag = ("ETag", "\"a\"")
        for value in ["no-cache", "max-age=0", "x"] {
            #expect(reason(decide([("Cache-Control", value), tag])) == nil)
        }
        #expect(reason(decide([("Last-Modified", date(-10))])) == nil)
        #expect(reason(decide([("ETag", "a")])) == .useless)
        #expect(reason(decide([tag], status: 500)) == .noLifetime)
    }

    @Test(arguments: [Method.head, .post, .put, .options, .other("PROPFIND")])
    func `only GET and QUERY are stored`(method: Method) {
        #expect(reason(decide([Self.live], request: get(method: method))) == .method)
    }

    @Test func `a QUERY is stored where its content is in the key, and no part of one`() {
        let query = get(method: .query)
        #expect(asked(query, hasContent: true).refusal(method: .query) == .requestContent)
        let keyed = CacheRequest(query, hasContent: true, isKeyed: true)
        #expect(keyed.bypass == nil && keyed.refusal(method: .query) == nil)
        let content = CacheRequest(get(), hasContent: true, isKeyed: true)
        #expect(content.bypass == .content)
    }

    @Test func `requests have a say`() {
        let noStore = get([("Cache-Control", "no-store")])
        #expect(reason(decide([Self.live], request: noStore)) == .requestNoStore)
        #expect(reason(decide([Self.live], hasContent: true)) == .requestContent)
    }

    @Test(
        arguments: [
            ("max-age=60", NoStoreReason.authorization), ("public, max-age=60", nil),
            ("max-age=60, must-revalidate", nil), ("s-maxage=60", nil),
            ("max-age=60, proxy-revalidate", .authorization),
        ] as [(String, NoStoreReason?)]
    )
    func `authenticated responses need the origin's consent in a shared cache`(
        value: String,
        expected: NoStoreReason?
    ) {
        let pairs = [("Cache-Control", value)]
        let request = get([("Authorization", "Basic eDp5")])
        #expect(reason(decide(pairs, request: request)) == expected)
        #expect(reason(decide(pairs, attachments: Attachments([.token("a")]))) == expected)
        let mine = pairs + [("ETag", "\"a\"")]
        #expect(reason(decide(mine, request: request, policy: .privateMode)) == nil)
        // No `ignore:` lifts this one.
        let ignoring = CachePolicy.changed { $0.ignored = [.private, .cookies, .noStore, .vary] }
        #expect(reason(decide(pairs, request: request, policy: ignoring)) == expected)
    }

    @Test(arguments: ["public, max-age=60", "s-maxage=60", "max-age=60"])
    func `what comes by a login to the connection is its client's`(value: String) {
        let login = Attachments([.connectionLogin])
        for policy in [CachePolicy.standard, .privateMode] {
            let decision = decide([("Cache-Control", value)], policy: policy, attachments: login)
            #expect(reason(decision) == .login)
        }
    }

    @Test(arguments: ["public, max-age=60", "s-maxage=60", "max-age=60", "immutable, max-age=60"])
    func `a proxy's challenge is stored nowhere`(value: String) {
        let given = CachePolicy.changed { policy in
            policy.ttl = .seconds(600)
            policy.ignored = [.private, .cookies, .noStore, .vary]
        }
        for policy in [CachePolicy.standard, .privateMode, given] {
            let decision = decide([("Cache-Control", value)], status: 407, policy: policy)
            #expect(reason(decision) == .challenge)
        }
    }

    @Test func `a cookie is for one user`() {
        let cookie = ("Set-Cookie", "a=b")
        #expect(reason(decide([Self.live, cookie])) == .setCookie)
        #expect(reason(decide([Self.live, cookie], policy: .privateMode)) == nil)
        #expect(reason(decide([("Cache-Control", "public, max-age=1"), cookie])) == nil)
        let request = get([("Cookie", "a=b")])
        #expect(reason(decide([Self.live], request: request)) == nil)
    }

    @Test(arguments: ["*", "*, *", ", *", "*, Foo", "Foo, *"])
    func `Vary with a star is never stored`(vary: String) {
        #expect(reason(decide([Self.live, ("Vary", vary)])) == .varyAny)
        let lines = [Self.live, ("Vary", ""), ("Vary", vary)]
        #expect(reason(decide(lines)) == .varyAny)
    }

    @Test func `a private cache keeps what is private`() {
        let pairs = [("Cache-Control", "private"), ("ETag", "\"a\"")]
        #expect(reason(decide(pairs, status: 403, policy: .privateMode)) == nil)
        #expect(reason(decide(pairs, status: 403)) == .isPrivate)
    }

    // MARK: What else the advice says

    @Test func `a 206 is stored as the range that it is`() throws {
        let pairs = [Self.live, ("Content-Range", "bytes 4-9/10")]
        guard case .store(let advice) = decide(pairs, status: 206) else {
            Issue.record("it is not stored")
            return
        }
        #expect(advice.range == ContentRange(range: 4..<10, completeLength: 10))
        let broken = [Self.live, ("Content-Range", "bytes 4-9/5")]
        #expect(reason(decide(broken, status: 206)) == .partial)
        let none = [Self.live, ("Content-Range", "bytes */10")]
        #expect(reason(decide(none, status: 206)) == .partial)
    }

    @Test func `whatever a policy overrides is told`() {
        func overridden(
            _ pairs: CacheFields,
            _ change: (inout CachePolicy) -> Void
        ) -> [CacheOverride]? {
            guard case .store(let advice) = decide(pairs, policy: .changed(change)) else {
                return nil
            }
            return advice.overridden
        }
        let noStore = [("Cache-Control", "no-store, max-age=9")]
        #expect(overridden(noStore) { $0.ignored = .noStore } == [.noStore])
        let isPrivate = [("Cache-Control", "private, max-age=9")]
        #expect(overridden(isPrivate) { $0.ignored = .private } == [.isPrivate])
        let cookie = [Self.live, ("Set-Cookie", "a=b")]
        #expect(overridden(cookie) { $0.ignored = .cookies } == [.cookies])
        let vary = [Self.live, ("Vary", "*")]
        #expect(overridden(vary) { $0.ignored = .vary } == [.vary])
        #expect(overridden([]) { $0.ttl = .seconds(9) } == [.ttl])
        #expect(overridden([("Cache-Control", "no-cache")]) { $0.ttl = .seconds(9) } == [.ttl])
        #expect(overridden([Self.live]) { $0.ignored = [.noStore, .vary] } == [])
    }

    @Test func `every refusal has a name and a sentence of its own`() {
        let all = NoStoreReason.allCases
        #expect(Set(all.map(\.token)).count == all.count)
        #expect(Set(all.map(\.sentence)).count == all.count)
        #expect(all.allSatisfy { $0.token.utf8.allSatisfy(\.isTokenByte) })
    }
}
