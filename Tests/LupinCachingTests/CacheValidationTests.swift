// What is sent to validate stored responses, and what the answers do to them.

import LupinCaching
import LupinCore
import LupinPolicy
import Testing

struct CacheValidationTests {
    private static let day = ("Date", date())
    private static let modified = ("Last-Modified", date(-100))

    private func tagged(_ tag: String, _ more: CacheFields = []) -> StoredResponse {
        stored([("ETag", tag), Self.day] + more)
    }

    private func conditions(
        _ candidates: [StoredResponse],
        selected: Int? = 0,
        request: CacheFields = []
    ) -> CacheFields? {
        var head = get(request)
        let conditions = StoredResponse.conditions(
            for: candidates,
            selected: selected,
            request: head,
            asked: asked(head)
        )
        guard let conditions else { return nil }
        conditions.apply(to: &head)
        return head.fields.pairs.map { ($0.name, $0.value) }
    }

    private func expect(
        _ found: CacheFields?,
        _ expected: [String]?,
        _ location: SourceLocation = #_sourceLocation
    ) {
        #expect(found?.map { "\($0.0): \($0.1)" } == expected, sourceLocation: location)
    }

    // MARK: Conditions

    @Test func `the validators that are stored are sent as they are`() {
        expect(conditions([tagged("\"a\"")]), ["If-None-Match: \"a\""])
        expect(conditions([tagged("W/\"a\"")]), ["If-None-Match: W/\"a\""])
        let modified = "If-Modified-Since: \(date(-100))"
        expect(conditions([stored([Self.modified])]), [modified])
        let both = tagged("\"a\"", [Self.modified])
        expect(conditions([both]), ["If-None-Match: \"a\"", modified])
        expect(conditions([stored([Self.day])]), nil)
        expect(conditions([stored([("ETag", "a"), ("Last-Modified", "x")])]), nil)
        expect(conditions([]), nil)
    }

    @Test func `all variants are asked about, but for weak ones of others`() {
        let all = [tagged("\"a\""), tagged("\"b\""), tagged("W/\"c\""), tagged("\"a\"")]
        expect(conditions(all), ["If-None-Match: \"a\", \"b\""])
        expect(conditions(all, selected: 2), ["If-None-Match: W/\"c\", \"a\", \"b\""])
        expect(conditions(all, selected: nil), ["If-None-Match: \"a\", \"b\""])
        expect(conditions([tagged("W/\"c\"", [Self.modified])], selected: nil), nil)
    }

    @Test func `the client's tags go along and its date does not`() {
        let client = [
            ("If-None-Match", "\"x\", \"a\", junk, W/\"y\""), ("If-Modified-Since", date()),
            ("Range", "bytes=0-1"), ("If-Range", "\"x\""), ("Accept", "*/*"),
        ]
        expect(
            conditions([tagged("\"a\"")], request: client),
            [
                "Range: bytes=0-1", "If-Range: \"x\"", "Accept: */*",
                "If-None-Match: \"a\", \"x\", W/\"y\"",
            ]
        )
        expect(
            conditions([stored([Self.modified])], request: [("If-None-Match", "\"x\"")]),
            ["If-Modified-Since: \(date(-100))"]
        )
    }

    // MARK: Answers

    private func outcome(
        _ response: CacheFields,
        status: UInt16 = 304,
        _ candidates: [StoredResponse],
        selected: Int? = 0,
        request: CacheFields = [],
        mayServe: StaleUse = .nothing
    ) -> ValidationOutcome? {
        let head = get(request)
        let conditions = StoredResponse.conditions(
            for: candidates,
            selected: selected,
            request: head,
            asked: asked(head)
        )
        guard let conditions else { return nil }
        return StoredResponse.outcome(
            of: reply(response, status: status),
            for: candidates,
            selected: selected,
            conditions: conditions,
            request: head,
            mayServe: mayServe
        )
    }

    @Test func `a strong tag updates all that have it and nothing else`() {
        let all = [tagged("\"a\""), tagged("\"b\""), tagged("\"a\""), tagged("W/\"a\"")]
        let tag = [("ETag", "\"a\"")]
        #expect(outcome(tag, all) == .freshen(serve: 0, updated: [0, 2]))
        #expect(outcome(tag, all, selected: 1) == .freshen(serve: 0, updated: [0, 2]))
        #expect(outcome(tag, all, selected: nil) == .freshen(serve: 0, updated: [0, 2]))
        #expect(outcome([("ETag", "\"z\"")], all) == .askAgain)
    }

    @Test func `weak validators update the one that has them all`() {
        let all = [tagged("W/\"a\"", [Self.modified]), tagged("W/\"a\"")]
        #expect(outcome([("ETag", "W/\"a\"")], all) == .freshen(serve: 0, updated: [0]))
        #expect(
            outcome([("ETag", "W/\"a\"")], all, selected: 1) == .freshen(serve: 1, updated: [1])
        )
        #expect(outcome([Self.modified], all) == .freshen(serve: 0, updated: [0]))
        #expect(outcome([("ETag", "W/\"a\""), ("Last-Modified", date())], all) == .askAgain)
        #expect(outcome([("ETag", "W/\"b\"")], all) == .askAgain)
    }

    @Test func `a weak tag never selects a variant for another request`() {
        let all = [tagged("\"s\""), tagged("W/\"a\"")]
        #expect(outcome([("ETag", "W/\"a\"")], all, selected: nil) == .askAgain)
    }

    @Test func `no validator at all updates the one that was asked about`() {
        #expect(outcome([], [tagged("\"a\"")]) == .freshen(serve: 0, updated: [0]))
        #expect(outcome([], [stored([Self.modified])]) == .freshen(serve: 0, updated: [0]))
        #expect(outcome([], [tagged("\"a\""), tagged("\"b\"")]) == .askAgain)
        #expect(outcome([], [tagged("\"a\"")], selected: nil) == .askAgain)
    }

    @Test func `a 304 about what the client has goes to the client`() {
        let client = [("If-None-Match", "\"x\"")]
        #expect(outcome([("ETag", "\"x\"")], [tagged("\"a\"")], request: client) == .deliver)
        #expect(outcome([("ETag", "\"y\"")], [tagged("\"a\"")], request: client) == .askAgain)
    }

    @Test(
        arguments: [
            (200, .nothing, .replace), (200, .onError, .replace), (404, .onError, .replace),
            (410, .nothing, .replace), (302, .nothing, .replace), (401, .nothing, .deliver),
            (429, .onError, .deliver), (206, .nothing, .replace), (500, .nothing, .deliver),
            (500, .onError, .serveStale), (502, .onError, .serveStale),
            (503, .onError, .serveStale),
            (504, .onError, .serveStale), (501, .onError, .deliver), (505, .onError, .deliver),
        ] as [(UInt16, StaleUse, ValidationOutcome)]
    )
    func `other answers replace, or leave what is stored`(
        status: UInt16,
        mayServe: StaleUse,
        expected: ValidationOutcome
    ) {
        let found = outcome([], status: status, [tagged("\"a\"")], mayServe: mayServe)
        #expect(found == expected)
    }

    // MARK: Updates

    private func updated(
        _ old: CacheFields,
        _ new: CacheFields,
        policy: CachePolicy = .standard
    ) -> StoredResponse? {
        let renewal = renewal(old, new, policy: policy)
        return renewal.outcome == .renewed ? renewal.response : nil
    }

    private func renewal(
        _ old: CacheFields,
        _ new: CacheFields,
        asking fields: CacheFields = [("Foo", "2")],
        _ attached: [Attached] = [],
        policy: CachePolicy = .standard
    ) -> RenewedResponse {
        stored(old, policy: policy).renewed(
            by: reply(new, status: 304),
            request: get(fields),
            attachments: Attachments(attached),
            policy: policy,
            requestTimeUs: us(1000),
            responseTimeUs: us(1000)
        )
    }

    @Test func `a cookie of a 304 is for who asked, in a shared cache`() throws {
        let old: CacheFields = [("Cache-Control", "max-age=5"), Self.day]
        let cookie = ("Set-Cookie", "sid=secret")
        let shared = renewal(old, [cookie, ("A", "2")])
        #expect(shared.lacksCookies && shared.outcome == .renewed)
        #expect(shared.response.fields.value(of: "Set-Cookie") == nil)
        #expect(shared.response.fields.value(of: "A") == "2")
        let own = try #require(updated(old, [cookie], policy: .privateMode))
        #expect(own.fields.value(of: "Set-Cookie") == "sid=secret")
        let forAll = try #require(updated(old, [cookie, ("Cache-Control", "public, max-age=5")]))
        #expect(forAll.fields.value(of: "Set-Cookie") == "sid=secret")
    }

    @Test(arguments: [false, true])
    func `an authenticated request renews nothing for others`(isAttached: Bool) throws {
        let fields: CacheFields = isAttached ? [] : [("Authorization", "Basic eA==")]
        let attached: [Attached] = isAttached ? [.connectionLogin] : []
        func outcome(_ said: String) -> RenewedResponse.Outcome {
            let old: CacheFields = [("Cache-Control", "max-age=5"), Self.day]
            return renewal(old, [("Cache-Control", said)], asking: fields, attached).outcome
        }
        #expect(outcome("max-age=60") == .unchanged)
        for said in ["max-age=60, public", "s-maxage=60", "max-age=60, must-revalidate"] {
            #expect(outcome(said) == .renewed)
        }
    }

    @Test func `a 304 begins a new life`() throws {
        let old: CacheFields = [("Cache-Control", "max-age=5"), Self.day, ("Age", "9"), ("A", "1")]
        let plain = try #require(updated(old, [("Date", date(1000))]))
        #expect(plain.freshness.age(at: us(1000)) == 0 && plain.freshness.lifetime == 5)
        #expect(plain.fields.value(of: "A") == "1" && plain.status == 200)
        let longer = try #require(updated(old, [("Cache-Control", "max-age=60"), ("Age", "3")]))
        #expect(longer.freshness.lifetime == 60 && longer.freshness.age(at: us(1000)) == 3)
        #expect(longer.content == HeldContent(complete: 100))
    }

    @Test func `a 304 that forbids storing ends it`() {
        let old = [("Cache-Control", "max-age=5"), Self.day]
        #expect(updated(old, [("Cache-Control", "no-store")]) == nil)
        #expect(updated(old, [("Cache-Control", "private")]) == nil)
        #expect(updated(old, [("Vary", "*")]) == nil)
        let isPrivate = [("Cache-Control", "private")]
        #expect(updated(old, isPrivate, policy: .privateMode) != nil)
        let ignoring = CachePolicy.changed { $0.ignored = .noStore }
        #expect(updated(old, [("Cache-Control", "no-store")], policy: ignoring) != nil)
    }

    @Test func `a new Vary makes a new key`() throws {
        let response = try #require(updated([Self.day], [("Vary", "Foo")]))
        #expect(response.vary.names == ["foo"] && response.vary.matches(fields([("foo", "2")])))
    }

    // MARK: HEAD

    @Test(
        arguments: [
            ([], 200, .update), ([("ETag", "\"a\"")], 200, .update),
            ([("ETag", "\"b\"")], 200, .invalidate), ([("ETag", "W/\"a\"")], 200, .invalidate),
            ([("Content-Length", "100")], 200, .update),
            ([("Content-Length", "101")], 200, .invalidate),
            ([("Last-Modified", date(-1))], 200, .invalidate), ([("ETag", "\"b\"")], 410, .none),
            ([("ETag", "\"b\"")], 304, .none),
        ] as [(CacheFields, UInt16, HeadEffect)]
    )
    func `HEAD updates or invalidates`(pairs: CacheFields, status: UInt16, effect: HeadEffect) {
        #expect(tagged("\"a\"").effect(ofHead: reply(pairs, status: status)) == effect)
    }
}
