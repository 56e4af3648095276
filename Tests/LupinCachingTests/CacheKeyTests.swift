// Which URLs are one URL to the store.

import LupinCaching
import LupinCore
import Testing

struct CacheKeyTests {
    private func key(
        _ path: String,
        host: String = "x.dev",
        scheme: Scheme = .https,
        port: UInt16 = 443,
        partition: String = ""
    ) throws -> CacheKey {
        let host = try #require(Host(host))
        return CacheKey(
            origin: Origin(scheme: scheme, host: host, port: port),
            pathAndQuery: Array(path.utf8).span,
            partition: partition
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

    // MARK: General keys

    private func variance(_ text: String) throws -> NoVarySearch {
        try #require(NoVarySearch(of: fields([("No-Vary-Search", text)])))
    }

    @Test func `a general key is that of all equivalent URLs, and of no request`() throws {
        let variance = try variance("params=(\"utm\")")
        let general = try key("/p?a=1&utm=2").generalized(by: variance)
        #expect(try key("/p?utm=3&a=1").generalized(by: variance) == general)
        #expect(general.url == "https://x.dev/p?a=1")
        #expect(try key("/p?a=1") != general)
        #expect(general.isGeneral)
        #expect(try !key("/p?a=1").isGeneral)
        #expect(general.variance == variance)
        #expect(try key("/p?a=1").variance == nil)
        #expect(general.generalized(by: variance) == general)
        #expect(CacheKey(stored: general.text) == general)
    }

    @Test func `what differs is another general key`() throws {
        let variance = try variance("params=(\"utm\")")
        let general = try key("/p?a=1").generalized(by: variance)
        #expect(try key("/p?a=2").generalized(by: variance) != general)
        #expect(try key("/q?a=1").generalized(by: variance) != general)
        #expect(try key("/p?a=1", host: "y.dev").generalized(by: variance) != general)
        #expect(try key("/p?a=1", partition: "u").generalized(by: variance) != general)
        // Its URL is the same, and which others have it is not.
        let other = try self.variance("except=(\"a\")")
        #expect(try key("/p?a=1").generalized(by: other) != general)
    }

    @Test func `a partition is found in a general key, too`() throws {
        let general = try key("/p?a", partition: "12.ab").generalized(by: variance("key-order"))
        #expect(general.partition == "12.ab")
        #expect(general.partitionTag == "12ab")
        #expect(try key("/p?a", partition: "12.ab").partition == "12.ab")
        #expect(try general.path == key("/p?b=c", partition: "12.ab").path)
        #expect(try general.path != key("/p?b=c").path)
        #expect(try general.path != key("/q", partition: "12.ab").path)
    }

    @Test(
        arguments: [
            ("except=(\"id\")", "/p?id=1&x", "/p?y&id=1", true),
            ("except=(\"id\")", "/p?id=1", "/p?id=2", false),
            ("except=(\"id\")", "/p?id=1", "/q?id=1", false),
            ("except=()", "/p?x", "/p", true), ("except=()", "/p", "/p?x=y", true),
            ("except=()", "/p", "/p/", false), ("key-order", "/p?a&b", "/p?b&a", true),
            ("key-order", "/%70?%C3%A9", "/p?\u{E9}=", true), (nil, "/p?a&b", "/p?a&b", true),
            (nil, "/p?a&b", "/p?b&a", false), (nil, "/p", "/p?", false),
        ] as [(String?, String, String, Bool)]
    )
    func `a key answers the URLs that find it, of whatever partition`(
        text: String?,
        stored: String,
        asked: String,
        isAnswered: Bool
    ) throws {
        var key = try key(stored, partition: "u")
        if let text { key = key.generalized(by: try variance(text)) }
        let url = try self.key(asked).url
        #expect(key.answers(url) == isAnswered)
        if isAnswered {
            #expect(key.listing == (text == nil ? String(url) : CacheKey.generalListing(of: url)))
        }
    }

    @Test func `keys that answer a URL are found among others`() throws {
        let texts = ["key-order", "except=(\"a\")", "params=(\"a\")"]
        let variances = try texts.map(variance)
        let paths = ["/p?a=1&b=1", "/p?a=2&b=1", "/p?b=1&a=1", "/q?a=1&b=1"]
        var keys = try paths.flatMap { path in
            let keys = try ["", "u"].map { try key(path, partition: $0) }
            return keys + keys.flatMap { key in variances.map(key.generalized) }
        }
        keys += [CacheKey(stored: "https://x.dev/p?a=1&b=1\n\nwhat nobody wrote")]
        for url in try paths.map({ try key($0).url }) {
            let found = CacheKey.answering(url, among: keys)
            #expect(found == keys.filter { $0.answers(url) })
            #expect(Set(found).count == 2 * (1 + texts.count))
        }
    }

    @Test func `general keys are listed by their path, which no URL is like`() throws {
        let general = try key("/p?a").generalized(by: variance("key-order"))
        #expect(general.listing == "https://x.dev/p\n")
        #expect(try key("/p").listing == "https://x.dev/p")
    }
}
