// Where an origin would like lupin to go, and what it would like it to take along or keep.
import LupinCoding
import LupinCore
import LupinIO
import LupinTestKit
import Testing

struct HostileRedirectTests {
    private static let follow = everywhere("redirect: {follow: true}")

    @Test(arguments: [
        "/a%0d%0aX-Evil:%201", "/a%0d%0a%0d%0aGET%20/smuggled%20HTTP/1.1", "/a\tb", "/a b",
        "/a\u{1}b", "/a\u{7F}b", "/ä", "/a\\b", "//[::1", "http://", "http:///x", "http://a b/",
    ])
    func `a Location writes no line of the next request`(location: String) async throws {
        try await ProxyFixture.run(Self.follow, resolve: { _ in .failure(.notFound) }) { proxy in
            let origin = try proxy.origin { connection in
                while let request = try connection.nextRequest() {
                    if request.target == "/" {
                        try connection.reply(302, "Location: \(location)")
                    } else {
                        try connection.reply(body: request.startLine)
                    }
                }
            }
            let client = try proxy.client()
            let response = try client.get(origin.url())
            #expect([200, 302, 502].contains(response.status))
            let followed = origin.receivedText.split(separator: "\r\n")
            #expect(followed.filter { $0.hasPrefix("GET ") }.count <= 2)
            #expect(!followed.contains { $0.hasPrefix("X-Evil") })
            for line in followed where line.hasPrefix("GET ") {
                #expect(line.split(separator: " ", omittingEmptySubsequences: false).count == 3)
                #expect(line.utf8.allSatisfy { $0 > 0x1F && $0 < 0x7F })
            }
            #expect(try proxy.client().get(origin.url("/next")).bodyText.hasPrefix("GET /next "))
        }
    }

    @Test(arguments: [
        "http://169.254.169.254/latest/meta-data", "http://[::ffff:169.254.169.254]/",
        "http://[64:ff9b::a9fe:a9fe]/", "http://2852039166/", "http://0xa9fea9fe/",
        "http://rebound.test/", "//169.254.169.254/", "http://100.100.100.200/",
    ])
    func `a redirect leads to no address that a client may not ask for`(
        location: String
    ) async throws {
        let resolve: @Sendable (String) -> Resolver.Answer = { _ in .success([.v4(0xA9FE_A9FE)]) }
        try await ProxyFixture.run(Self.follow, resolve: resolve) { proxy in
            let origin = try proxy.origin(
                answering: head("HTTP/1.1 302 Go", "Location: \(location)", "Content-Length: 0")
            )
            let response = try proxy.client().get(origin.url())
            #expect(response.status == 502)
            #expect(response["Proxy-Status"]?.contains("destination_ip_prohibited") == true)
            #expect(try proxy.record()["outcome"] == "denied")
        }
    }

    @Test(arguments: ["127.0.0.1", "localhost", "self.test"])
    func `a redirect to lupin's own listener is refused`(host: String) async throws {
        try await ProxyFixture.run(Self.follow, resolve: ProxyFixture.here) { proxy in
            let port = proxy.address.port
            let origin = try proxy.origin(
                answering: head(
                    "HTTP/1.1 302 Go",
                    "Location: http://\(host):\(port)/v1/status",
                    "Content-Length: 0"
                )
            )
            let response = try proxy.client().get(origin.url())
            #expect(response.status == 502)
            #expect(response["Proxy-Status"]?.contains("destination_ip_prohibited") == true)
            #expect(origin.connections.count == 1)
        }
    }

    @Test func `credentials stay behind when https becomes http, wherever that leads`()
        async throws
    {
        let rules = """
            tokens: {mine: {bearer: owner-token}}
            rules:
              - match: {host: origin.test}
                request: [{auth: mine}]
                redirect: {follow: true, cross_origin: keep-credentials}
            """
        try await Inside.run(rules) { inside in
            let plain = try PlayedOrigin()
            try inside.send("GET", "/", "Cookie: a=b", "X-Api-Key: k")
            let far = try inside.accept()
            #expect(try far.request()["Authorization"] == "Bearer owner-token")
            try far.reply(302, "Location: http://\(plain.authority("origin.test"))/")
            let response = try inside.client.response()
            #expect(response.status == 302)
            #expect(!plain.hasWaiting)
        }
    }

    @Test func `userinfo of a Location becomes no credentials`() async throws {
        try await ProxyFixture.run(Self.follow) { proxy in
            let origin = try proxy.origin { connection in
                while let request = try connection.nextRequest() {
                    #expect(request["Authorization"] == nil)
                    #expect(!request.target.contains("evil"))
                    #expect(request["Host"]?.contains("evil") == false)
                    if request.target == "/" {
                        let place = "http://evil:pw@\(connection.localAuthority)/in"
                        try connection.reply(302, "Location: \(place)")
                    } else {
                        try connection.reply(body: "in")
                    }
                }
            }
            let response = try proxy.client().get(origin.url())
            #expect([200, 302].contains(response.status))
        }
    }

    @Test(arguments: [
        "evil=1; Domain=b.test", "evil=1; Domain=.b.test", "evil=1; Domain=test",
        "evil=1; Domain=.", "evil=1; Domain=127.0.0.1", "__Host-evil=1; Path=/",
        "__Secure-evil=1", "evil=1; Secure", "evil=1; Domain=a.test\0b.test",
    ])
    func `a cookie reaches no host but the one that set it`(cookie: String) async throws {
        let jar = everywhere("cookies: {jar: DIR/jar}")
        try await ProxyFixture.run(jar, resolve: ProxyFixture.here) { proxy in
            let origin = try proxy.origin { connection in
                while let request = try connection.nextRequest() {
                    let cookies = request["Cookie"] ?? "none"
                    if request.target == "/set" {
                        try connection.reply(200, "Set-Cookie: \(cookie); Max-Age=900")
                    } else {
                        try connection.reply(body: cookies)
                    }
                }
            }
            let client = try proxy.client()
            try client.get("http://\(origin.authority("x.a.test"))/set")
            for host in ["b.test", "x.b.test", "a.test", "test", "127.0.0.1"] {
                let response = try client.get("http://\(origin.authority(host))/")
                #expect(response.bodyText == "none", "\(host)")
            }
            if cookie.hasPrefix("__") || cookie.hasSuffix("Secure") {
                let own = try client.get("http://\(origin.authority("x.a.test"))/")
                #expect(own.bodyText == "none")
            }
        }
    }

    /// 8 MiB of spaces in some 8 KiB: as much is decoded as is inspected, and that fails.
    @Test func `a gzip bomb is not unpacked further than it is inspected`() async throws {
        let rules = everywhere("validate: {json: {/ok: true}, then: fail}, retry: none")
        let bomb = try Self.bomb()
        #expect(bomb.count < 16 << 10)
        try await ProxyFixture.run(rules) { proxy in
            let origin = try proxy.origin { connection in
                try connection.request()
                let lines = [
                    "HTTP/1.1 200 OK", "Content-Type: application/json",
                    "Content-Encoding: gzip", "Content-Length: \(bomb.count)",
                ]
                try connection.send(lines.joined(separator: "\r\n") + "\r\n\r\n")
                try connection.send(bomb)
            }
            let response = try proxy.client().get(origin.url())
            #expect(response.status == 502)
            #expect(try proxy.record().text.contains("longer than the 256 KiB that lupin inspects"))
        }
    }

    @Test(arguments: ["[", "{\"a\":", "[[],"])
    func `JSON as deep as it is long breaks no validation`(part: String) async throws {
        let rules = everywhere("validate: {json: {/ok: true}, then: fail}, retry: none")
        let body = String(repeating: part, count: (256 << 10) / part.utf8.count)
        try await ProxyFixture.run(rules) { proxy in
            let origin = try proxy.origin { connection in
                while let request = try connection.nextRequest() {
                    let isGood = request.target == "/good"
                    try connection.reply(body: isGood ? #"{"ok":true}"# : body)
                }
            }
            let client = try proxy.client()
            #expect([200, 502].contains(try client.get(origin.url()).status))
            #expect(try client.get(origin.url("/good")).status == 200)
        }
    }

    private static func bomb() throws -> [UInt8] {
        var encoder = try ContentEncoder(.gzip)
        let spaces = [UInt8](repeating: 0x20, count: 1 << 20)
        var bytes: [UInt8] = []
        for i in 0..<8 {
            _ = encoder.encode(spaces.span, i < 7 ? .more : .end, into: &bytes, room: 1 << 20)
        }
        return bytes
    }
}
