// Which URLs are one URL to the store.

import LupinCore
import Testing

struct CacheKeyTests {
    private func key(
        _ path: String,
        host: String = "x.dev",
        scheme: Scheme = .https,
        port: UInt16 = 443,
        partition: String = "",
        search: NoVarySearch? = nil
    ) throws -> CacheKey {
        let host = try #require(Host(host))
        return CacheKey(
            origin: Origin(scheme: scheme, host: host, port: port),
            pathAndQuery: Array(path.utf8).span,
            partition: partition,
            search: search
        )
    }

    @Test func `a key is the URL in its normal form`() throws {
        #expect(try key("/a?b=c").url == "https://x.dev/a?b=c")
        #expect(try key("", host: "X.DEV", scheme: .http).url == "http://x.dev:443/")
        #expect(try key("?q").url == "https://x.dev/?q")
        #expect(try key("/%7Ea/%2f/../b") == key("/~a/b"))
        #expect(try key("/a#f") == key("/a"))
        #expect(try key("/\u{E9}") == key("/%C3%A9"))
    }

    @Test func `what differs is another key`() throws {
        let base = try key("/a?b")
        #expect(try key("/a?B") != base)
        #expect(try key("/a?%62") != base)
        #expect(try key("/a") != base)
        #expect(try key("/a?b", port: 8443) != base)
        #expect(try key("/a?b", scheme: .http, port: 443) != base)
        #expect(try key("/a?b", partition: "u") != base)
        #expect(try key("/a%2Fb") != key("/a/b"))
    }

    @Test func `no path can pass for another partition`() throws {
        #expect(try key("/a\nu") != key("/a", partition: "u"))
        #expect(try key("/a", partition: "secret").url == "https://x.dev/a")
    }

    @Test func `a request's method is no part of it`() throws {
        let host = try #require(Host("x.dev"))
        let origin = Origin(scheme: .https, host: host, port: 443)
        let head = CacheKey(get(method: .head, path: "/p"), to: origin, partition: "")
        #expect(head == CacheKey(get(path: "/p"), to: origin, partition: ""))
        #expect(try head == key("/p"))
    }

    // MARK: No-Vary-Search

    private static let rows: [(String, String, String, Bool)] = [
        ("key-order", "a=1&b=2", "b=2&a=1", true), ("key-order", "a=1&a=2", "a=2&a=1", false),
        ("key-order", "a=1", "a=2", false), ("params", "a=1", "", true),
        ("params, except=(\"id\")", "id=1&x=2", "y=3&id=1", true),
        ("params, except=(\"id\")", "id=1", "id=2", false),
        ("params=(\"utm\" \"ref\")", "a=1&utm=2", "ref=3&a=1", true),
        ("params=(\"utm\")", "a=1", "a=2", false),
        ("params=(\"a%20b\")", "a+b=1", "a%20b=2", true),
        ("params=(\"x\")", "a=%41", "a=A", true), ("params=(\"x\")", "a", "a=", true),
        ("key-order, params=(\"x\")", "b=1&x=3&a=2", "a=2&b=1", true),
    ]

    @Test(arguments: rows.indices)
    func `No-Vary-Search makes queries one`(row: Int) throws {
        let (value, first, second, isSame) = Self.rows[row]
        let search = try #require(NoVarySearch(of: fields([("No-Vary-Search", value)])))
        let keys = try [key("/p?" + first, search: search), key("/p?" + second, search: search)]
        #expect((keys[0] == keys[1]) == isSame)
        #expect(try key("/q?" + first, search: search) != keys[0])
    }

    @Test(arguments: [
        "", "key-order=1", "params=1", "except=(\"a\")", "params=(a)", "params=?0, except=(\"a\")",
        "params, except=\"a\"", "params=(\"a\"), except=(\"b\")", "key-order=?0", "Params", "x",
    ])
    func `a No-Vary-Search that is not valid says nothing`(value: String) {
        #expect(NoVarySearch(of: fields([("No-Vary-Search", value)])) == nil)
    }
}
