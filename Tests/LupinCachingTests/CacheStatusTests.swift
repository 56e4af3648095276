// What Cache-Status says.

import LupinCaching
import Testing

struct CacheStatusTests {
    @Test func `a hit tells how long it lives`() {
        #expect(CacheStatus.hit(ttl: 376).text() == "lupin; hit; ttl=376")
        #expect(CacheStatus.hit(ttl: -5).text() == "lupin; hit; ttl=-5")
        #expect(CacheStatus.hit(ttl: .max).text() == "lupin; hit; ttl=999999999999999")
        #expect(CacheStatus.hit(ttl: .min).text() == "lupin; hit; ttl=-999999999999999")
    }

    @Test func `a forward tells why and what became of it`() {
        var status = CacheStatus.forward(.uriMiss, status: 200)
        status.isStored = true
        status.ttl = 60
        #expect(status.text() == "lupin; fwd=uri-miss; fwd-status=200; ttl=60; stored")
        status.isCollapsed = true
        status.key = "https://x.dev/\"a\\"
        status.detail = NoStoreReason.isPrivate.token
        #expect(
            status.text() == "lupin; fwd=uri-miss; fwd-status=200; ttl=60; stored; collapsed; "
                + "key=\"https://x.dev/\\\"a\\\\\"; detail=private"
        )
    }

    @Test func `the words are those of RFC 9211`() {
        let words = CacheStatus.Forward.allCases.map(\.rawValue)
        #expect(
            words == [
                "bypass", "method", "uri-miss", "vary-miss", "miss", "request", "stale", "partial",
            ]
        )
        #expect(CacheStatus.forward(.stale).text() == "lupin; fwd=stale")
    }

    @Test func `a name that is no token is a string`() {
        #expect(CacheStatus.forward(.miss).text(name: "my cache") == "\"my cache\"; fwd=miss")
        #expect(CacheStatus.forward(.miss).text(name: "a.dev:80") == "a.dev:80; fwd=miss")
        #expect(CacheStatus.forward(.miss).text(name: "9") == "\"9\"; fwd=miss")
    }

    @Test func `what a string can't hold is replaced`() {
        var status = CacheStatus.forward(.miss)
        status.detail = "a\r\nb\u{E9}c"
        #expect(status.text() == "lupin; fwd=miss; detail=\"a??b?c\"")
        status.detail = String(repeating: "\"", count: 5000)
        #expect(status.text().utf8.count < 560)
    }
}
