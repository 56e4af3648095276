// Where the disk part of the store lies, and what the tables say of the store and of policies.

import LupinPolicy
import Testing

struct CacheStoreSettingsTests {
    @Test(arguments: [
        ([:], "/users/ann", "/users/ann/.cache/lupin"),
        (["XDG_CACHE_HOME": "/caches"], "/users/ann", "/caches/lupin"),
        (["XDG_CACHE_HOME": "/caches"], nil, "/caches/lupin"),
        (["XDG_CACHE_HOME": "caches"], "/users/ann", "/users/ann/.cache/lupin"),
        (["XDG_CACHE_HOME": ""], "/users/ann", "/users/ann/.cache/lupin"),
        (["XDG_CACHE_HOME": "caches"], nil, nil),
    ])
    func `the folder is that of the user's caches`(
        environment: [String: String],
        home: String?,
        folder: String?
    ) {
        var store = CacheStoreSettings()
        #expect(store.folder(environment: environment, home: home) == folder)
        store.path = "/var/cache/x"
        #expect(store.folder(environment: environment, home: home) == "/var/cache/x")
    }

    @Test func `a policy says what it overrides, as the file does`() {
        var policy = CachePolicy.standard
        #expect(policy.overrides.isEmpty)
        policy.ignored = [.vary, .noStore]
        policy.ttl = .seconds(5400)
        #expect(policy.overrides == ["ttl 90m", "ignore no-store", "ignore vary"])
        policy.ttl = .zero
        #expect(policy.overrides.first == "ttl 0s")
    }

    private static let steps: [(step: RequestStep, name: String?)] = [
        (.set(name: "ETag", value: Template("x")), "etag"),
        (.add(name: "VARY", value: Template("x")), "vary"),
        (.default(name: "Expires", value: Template("0")), "expires"),
        (.remove(pattern: "content-*"), "content-encoding"), (.remove(pattern: "*"), "age"),
        (.remove(pattern: "x-*"), nil), (.set(name: "Server", value: Template("")), nil),
        (.remove(pattern: "last-modified"), "last-modified"), (.auth(token: "etag"), nil),
        (.set(name: "No-Vary-Search", value: Template("key-order")), "no-vary-search"),
    ]

    @Test(arguments: steps)
    func `steps that a cache can't live with are known`(step: RequestStep, name: String?) {
        #expect(CacheKeyTable.vitalField(changedBy: step) == name)
    }
}
