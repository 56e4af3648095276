// Bytes that nobody asked for on an idle connection to an origin (RFC 9112 §9.2).
import LupinTestKit
import Testing

struct PoisonedConnectionTests {
    private static let unasked = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"

    @Test func `a second response in the same packet is nobody's answer`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            try client.send("GET", origin.url())
            let poisoned = try origin.accept()
            try poisoned.request()
            try poisoned.send("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\none" + Self.unasked)
            #expect(try client.response().bodyText == "one")
            try client.send("GET", origin.url("/two"))
            let fresh = try origin.accept()
            #expect(try fresh.request().target == "/two")
            try fresh.reply(body: "two")
            #expect(try client.response().bodyText == "two")
            _ = try poisoned.waitForEnd()
        }
    }

    @Test func `bytes that come later close the connection`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            let (client, pooled) = try proxy.pooledConnection(to: origin)
            try pooled.send(Self.unasked)
            _ = try pooled.waitForEnd()
            try client.send("GET", origin.url("/two"))
            let fresh = try origin.accept()
            try fresh.request()
            try fresh.reply(body: "two")
            #expect(try client.response().bodyText == "two")
        }
    }

    @Test(arguments: ["POST", "GET", "DELETE"])
    func `a request on its heels does not get them`(method: String) async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            let (client, pooled) = try proxy.pooledConnection(to: origin)
            // Both come while lupin is busy, the request first.
            let release = proxy.holdWorker()
            try client.send(method, origin.url("/two"), body: method == "POST" ? "x" : "")
            try pooled.send(Self.unasked)
            release.ring()
            let fresh = try origin.accept()
            try fresh.request()
            try fresh.reply(body: "two")
            #expect(try client.response().bodyText == "two")
        }
    }

    @Test func `a body of a bodiless response poisons`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            try client.send("HEAD", origin.url())
            let poisoned = try origin.accept()
            try poisoned.request()
            try poisoned.reply(body: "not for HEAD")
            #expect(try client.response(to: "HEAD")["Content-Length"] == "12")
            try client.send("GET", origin.url("/two"))
            let fresh = try origin.accept()
            try fresh.request()
            try fresh.reply(body: "two")
            #expect(try client.response().bodyText == "two")
        }
    }
}
