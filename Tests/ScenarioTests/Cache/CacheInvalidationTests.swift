// Requests that change something make what is stored of it out of date (RFC 9111 section 4.4).
import LupinTestKit
import Synchronization
import Testing

struct CacheInvalidationTests {
    private static let rules = everywhere("cache: standard")

    /// Stores `/a` and `/b`, sends `method` to `target` and says which of the two are hits still.
    private func left(
        under rules: String = rules,
        after method: String,
        at target: String = "/a",
        _ answer: FlakyOrigin.Deed
    ) async throws -> [String] {
        let left = Handed<[String]>()
        try await ProxyFixture.run(rules) { proxy in
            let (_, origin) = try proxy.flaky(
                .fresh("a"),
                .fresh("b"),
                answer,
                .answer(200, ["Cache-Control: no-store"], "new")
            )
            let client = try proxy.client()
            for path in ["/a", "/b"] { try client.get(origin.url(path)) }
            try client.send(method, origin.url(target), body: "x")
            try client.response(to: method)
            left.value = try ["/a", "/b"].filter { try client.get(origin.url($0)).isHit }
        }
        return left.value ?? []
    }

    @Test(arguments: ["POST", "PUT", "DELETE", "PATCH", "UNKNOWN"])
    func `a method that changes something drops what it was for`(method: String) async throws {
        #expect(try await left(after: method, .status(200)) == ["/b"])
        #expect(try await left(after: method, .status(303)) == ["/b"])
    }

    @Test(arguments: [400, 404, 500])
    func `an error drops nothing`(status: Int) async throws {
        #expect(try await left(after: "POST", .status(status)) == ["/a", "/b"])
    }

    @Test(arguments: ["OPTIONS", "PROPFIND"])
    func `a safe method drops nothing`(method: String) async throws {
        #expect(try await left(after: method, .status(200)) == ["/a", "/b"])
    }

    @Test func `what the answer names is dropped too, at the same origin`() async throws {
        let named = FlakyOrigin.Deed.status(201, "Location: /b")
        #expect(try await left(after: "POST", named) == [])
        let content = FlakyOrigin.Deed.status(200, "Content-Location: b")
        #expect(try await left(after: "PUT", content) == [])
        let elsewhere = FlakyOrigin.Deed.status(201, "Location: http://elsewhere.test/b")
        #expect(try await left(after: "POST", elsewhere) == ["/b"])
    }

    @Test(arguments: ["PUT", "PURGE"])
    func `what was asked before a change is neither stored nor given to others`(method: String)
        async throws
    {
        try await ProxyFixture.run(Self.rules) { proxy in
            let crowd = try Crowd(proxy, 0)
            let url = crowd.origin.url()
            let other = try proxy.client()
            try other.send(method, url, body: method == "PUT" ? "x" : "")
            let change = method == "PUT" ? try crowd.origin.accept() : nil
            try change?.request()
            try change?.reply(204)
            #expect(try other.response(to: method).status == (method == "PUT" ? 204 : 404))
            // Nobody joins the request that is under way.
            try other.send("GET", url)
            let second = if let change { change } else { try crowd.origin.accept() }
            try second.request()
            try second.reply(200, "Cache-Control: no-store", body: "new")
            #expect(try other.response().bodyText == "new")
            try crowd.connection.reply(200, "Cache-Control: max-age=600", body: "old")
            #expect(try crowd.leader.response().bodyText == "old")
            try other.send("GET", url)
            try crowd.connection.request()
            try crowd.connection.reply(200, "Cache-Control: max-age=600", body: "newer")
            #expect(try other.response().bodyText == "newer")
            #expect(try other.get(url).isHit)
        }
    }

    @Test func `both the client's URL and the one that was sent are dropped`() async throws {
        let rules = """
            rules:
              - {name: all, match: {path: /**}, cache: standard}
              - {name: moved, match: {path: /a, method: [POST]}, request: [{url: {path: /b}}]}
            """
        #expect(try await left(under: rules, after: "POST", .status(200)) == [])
    }
}

/// A value that a story hands out.
private final class Handed<Value: Sendable>: Sendable {
    private let state = Mutex<Value?>(nil)
    var value: Value? {
        get { state.withLock { $0 } }
        set { state.withLock { $0 = newValue } }
    }
}
