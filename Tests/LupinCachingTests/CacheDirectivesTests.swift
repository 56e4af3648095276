// What Cache-Control means however it is written, and what nobody should have written.

import LupinCaching
import Testing

struct CacheDirectivesTests {
    private func response(_ lines: String...) -> ResponseDirectives {
        ResponseDirectives(cacheControlOf: fields(lines.map { ("Cache-Control", $0) }))
    }

    private func request(_ lines: String...) -> RequestDirectives {
        RequestDirectives(fields(lines.map { ("Cache-Control", $0) }))
    }

    // MARK: Responses

    private static let names: [(String, ResponseDirectives.Flags)] = [
        ("no-store", .noStore), ("No-StOrE", .noStore),
        ("no-cache", .noCache), ("private", .private), ("public", .public),
        ("must-revalidate", .mustRevalidate), ("proxy-revalidate", .proxyRevalidate),
        ("must-understand", .mustUnderstand), ("no-transform", .noTransform),
        ("immutable", .immutable), ("  ,, public ,", .public),
        ("public,no-store", [.public, .noStore]),
        // A prohibition stands whatever stands behind it, a permission doesn't.
        ("no-store=yes", .noStore), ("no-store = x", .noStore), ("public=yes", []),
        ("immutable=1", []), ("no-cache=", .noCache), ("private=\"\"", .private),
        ("private=\"x", .private), ("x-no-store", []), ("no-stor", []), ("", []), (",", []),
        ("extension=\"no-store, private\"", []), ("extension=\"a\\\", no-store\"", []),
    ]

    @Test(arguments: names.indices)
    func `a directive is found by its name alone`(row: Int) {
        let (value, flags) = Self.names[row]
        #expect(response(value).flags == flags)
    }

    @Test(
        arguments: [
            ("max-age=3600", 3600), ("MaX-aGe=3600", 3600), ("max-age=003600", 3600),
            ("max-age=\"3600\"", 3600), ("max-age=0", 0), ("max-age=2147483648", 2_147_483_648),
            ("max-age=99999999999", 2_147_483_648),
            ("max-age=99999999999999999999999999999999999", 2_147_483_648),
            // What is no number is over at once (RFC 9111 §4.2.1).
            ("max-age='3600'", 0), ("max-age=-100", 0), ("max-age=a3600", 0), ("max-age=3600a", 0),
            ("max-age=3600.0", 0), ("max-age=", 0), ("max-age", 0), ("max-age =3600", 0),
            ("max-age= 3600", 0), ("max-age 3600", 0), ("max-age=3600 x", 0), ("max-age=\"3600", 0),
            ("max-age=\"\"", 0),
            // The first of several.
            ("max-age=1800, max-age=1", 1800), ("max-age=1, max-age=1800", 1),
            ("max-age=x, max-age=1800", 0), ("extension=\"max-age=3600\", max-age=1", 1),
            ("max-age=1, extension=\"max-age=3600\"", 1), ("foobar, max-age=3600", 3600),
        ] as [(String, Int64)]
    )
    func `a lifetime is a number, or over`(value: String, seconds: Int64) {
        #expect(response(value).maxAge == seconds)
    }

    @Test func `several lines are one`() {
        let both = response("max-age=1800", "max-age=1, s-maxage=7, private")
        #expect(both.maxAge == 1800 && both.sMaxAge == 7 && both.flags == .private)
        #expect(response("x").maxAge == nil)
    }

    @Test func `a window that is no number is none`() {
        let good = response("stale-while-revalidate=5, stale-if-error=6")
        #expect(good.staleWhileRevalidate == 5 && good.staleIfError == 6)
        let bad = response("stale-while-revalidate=x, stale-if-error")
        #expect(bad.staleWhileRevalidate == nil && bad.staleIfError == nil)
    }

    @Test func `listed fields restrict less than no list`() {
        let listed = response("no-cache=\"A, b ,c-D\", private=x")
        #expect(listed.noCacheFields == ["a", "b", "c-d"] && listed.privateFields == ["x"])
        #expect(listed.flags == [])
        let both = response("no-cache=\"a\", no-cache")
        #expect(both.flags == .noCache && both.noCacheFields == ["a"])
    }

    // MARK: Targeted fields

    @Test(
        arguments: [
            ("max-age=100", 100), ("foobar, max-age=100", 100),
            ("max-age=99999999999", 2_147_483_648),
            ("max-age=1;p=2, x=(a \"b\" ?1;q);r", 1), ("max-age=1, max-age=2", 2), ("none", nil),
            ("max-age=5, other=1.5, o=:YQ==:, d=@1, t=*a/b", 5),
        ] as [(String, Int64?)]
    )
    func `a targeted field governs alone`(value: String, seconds: Int64?) {
        let head = fields([("Cache-Control", "no-store, max-age=7"), ("X-CC", value)])
        let directives = ResponseDirectives(head, targeted: ["x-cc"])
        #expect(directives.isTargeted && directives.maxAge == seconds && directives.flags == [])
    }

    @Test(arguments: [
        "", "max-age=100, &&&&&", "max-age=\"100\"", "MaX-aGe=100", "max-age=-1", "max-age=1.0",
        "max-age =100", "max-age= 100", "max-age=100,", "max-age=1000000000000000", "no-store=1",
        "private=a", "max-age", "no-cache=(\"a\")", "x=\"", "x=?2", "x=(1 2", "x=1;", "x=:!:",
        "x=1.2345", "x=-", "x=(1\"a\")", "x=\"\u{7F}\"",
    ])
    func `a targeted field that is not valid is as if it were not there`(value: String) {
        let head = fields([("Cache-Control", "max-age=7"), ("X-CC", value)])
        let directives = ResponseDirectives(head, targeted: ["missing", "x-cc"])
        #expect(!directives.isTargeted && directives.maxAge == 7)
    }

    @Test func `the first targeted field wins, and lines of one are joined`() {
        let head = fields([
            ("CDN-Cache-Control", "max-age=1"), ("Lupin-Cache-Control", "max-age=2"),
            ("Lupin-Cache-Control", "private=\"x\", no-store=?0, no-cache"),
        ])
        let directives = ResponseDirectives(
            head,
            targeted: ["lupin-cache-control", "cdn-cache-control"]
        )
        #expect(directives.maxAge == 2 && directives.privateFields == ["x"])
        #expect(directives.flags == .noCache)
    }

    // MARK: Requests

    @Test func `a request's directives are all honoured`() {
        let all = request(
            "no-cache, no-store, only-if-cached, no-transform",
            "max-age=1, min-fresh=2, max-stale=3, stale-if-error=4"
        )
        #expect(all.isNoCache && all.isNoStore && all.isOnlyIfCached && all.isNoTransform)
        #expect(all.maxAge == 1 && all.minFresh == 2 && all.maxStale == 3 && all.staleIfError == 4)
    }

    @Test(
        arguments: [
            ("max-stale", 2_147_483_648), ("max-stale=5", 5), ("max-stale=x", nil),
            ("max-stale=", nil), ("max-stale =5", nil),
        ] as [(String, Int64?)]
    )
    func `max-stale without a number is any, and with garbage none`(
        value: String,
        seconds: Int64?
    ) {
        #expect(request(value).maxStale == seconds)
    }

    @Test func `garbage in a request's max-age asks for validation`() {
        #expect(request("max-age=x").maxAge == 0 && request("min-fresh=x").minFresh == nil)
    }

    @Test func `Pragma counts where there is no Cache-Control`() {
        #expect(RequestDirectives(fields([("pragma", "x, No-Cache")])).isNoCache)
        #expect(!RequestDirectives(fields([("pragma", "x, no-cach")])).isNoCache)
        let both = fields([("Pragma", "no-cache"), ("Cache-Control", "max-age=1")])
        #expect(!RequestDirectives(both).isNoCache)
    }

    @Test func `any bytes are read without harm`() {
        var seed: UInt64 = 7
        for _ in 0..<3000 {
            var bytes: [UInt8] = []
            for _ in 0..<24 {
                seed = seed &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                bytes.append(Array("max-age=\"\\, 019private()@:%;?".utf8)[Int(seed >> 33) % 29])
            }
            let text = String(decoding: bytes, as: UTF8.self)
            _ = response(text)
            _ = request(text)
            _ = ResponseDirectives(targeted: "x", of: fields([("x", text)]))
        }
    }
}
