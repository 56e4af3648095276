// A rule's cookie jar: what servers set is sent again, to them only, and outlives the proxy.
import Foundation
import LupinTestKit
import Testing

struct CookieJarTests {
    private func rules(_ path: String) -> String {
        "rules: [{name: jar, match: {path: /**}, cookies: {jar: \(path)}}]"
    }

    private func run(
        _ path: String,
        _ body: @Sendable @escaping (ProxyFixture, ScriptedOrigin) throws -> Void
    ) async throws {
        try await ProxyFixture.run(rules(path), resolve: ProxyFixture.here) { proxy in
            let origin = try proxy.origin { connection in
                while let request = try connection.nextRequest() {
                    let cookies = request.values("cookie").joined(separator: " | ")
                    if request.target == "/set" {
                        try connection.reply(
                            200,
                            "Set-Cookie: id=5; Max-Age=1000",
                            "Set-Cookie: only=1; Max-Age=1000; Path=/deep",
                            "Set-Cookie: safe=1; Max-Age=1000; Secure",
                            body: cookies
                        )
                    } else {
                        try connection.reply(body: cookies)
                    }
                }
            }
            try body(proxy, origin)
        }
    }

    @Test func `cookies go back to their host and path, and a secure one not in clear`()
        async throws
    {
        let folder = try Folder()
        try await run(folder.path + "/jar") { proxy, origin in
            let client = try proxy.client()
            func get(_ host: String, _ path: String, _ fields: [String] = []) throws -> String {
                try client.send("GET", "http://\(origin.authority(host))\(path)", fields)
                return try client.response().bodyText
            }
            #expect(try get("a.test", "/set") == "")
            #expect(try get("a.test", "/") == "id=5")
            #expect(try get("a.test", "/deep/er") == "only=1; id=5")
            #expect(try get("b.test", "/") == "")
            #expect(try get("sub.a.test", "/") == "")
            let own = try get("a.test", "/", ["Cookie: id=mine; x=y"])
            #expect(own.contains("id=mine") && own.contains("x=y") && !own.contains("id=5"))
        }
    }

    @Test func `a redirect that sets a cookie and leads back is followed`() async throws {
        let folder = try Folder()
        func rules(_ jar: String) -> String {
            "rules: [{match: {path: /**}, \(jar)redirect: {follow: true, max: 5}}]"
        }
        for jar in ["cookies: {jar: \(folder.path)/jar}, ", ""] {
            try await ProxyFixture.run(rules(jar)) { proxy in
                let origin = try proxy.origin { connection in
                    while let request = try connection.nextRequest() {
                        let count = request["cookie"].flatMap { Int($0.dropFirst(2)) } ?? 0
                        let isEnough = request.target == "/twice" && count == 2
                        if isEnough {
                            try connection.reply(body: "in")
                        } else {
                            let cookie = "Set-Cookie: n=\(count + 1); Path=/"
                            try connection.reply(302, "Location: \(request.target)", cookie)
                        }
                    }
                }
                let client = try proxy.client()
                let twice = try client.get(origin.url("/twice"))
                #expect(twice.status == (jar.isEmpty ? 302 : 200))
                // One that never lets anybody in ends at the maximum.
                let ever = try client.get(origin.url("/ever"))
                #expect(ever.status == 302)
                let record = try proxy.records(2)[1]
                #expect(record.count("attempts") == (jar.isEmpty ? 1 : 6))
            }
        }
    }

    @Test func `the jar is its owner's file and outlives the proxy`() async throws {
        let folder = try Folder()
        let path = folder.path + "/jar"
        try await run(path) { proxy, origin in
            let url = "http://\(origin.authority("a.test"))/set"
            let response = try proxy.client().get(url)
            #expect(response.status == 200)
        }
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        #expect((attributes[.posixPermissions] as? NSNumber)?.int16Value == 0o600)
        try await run(path) { proxy, origin in
            let url = "http://\(origin.authority("a.test"))/"
            let response = try proxy.client().get(url)
            #expect(response.bodyText == "id=5")
        }
    }

    @Test func `cookies that come just before the stop are kept`() async throws {
        let folder = try Folder()
        let path = folder.path + "/jar"
        // The thread that writes the jar has something else to do at that moment.
        let busy = """
            tokens: {me: {command: [/bin/sleep, "1"], timeout: 300ms}}
            rules:
              - {name: jar, match: {path: /set}, cookies: {jar: \(path)}}
              - {name: busy, match: {path: /busy}, request: [{auth: me}]}
            """
        try await ProxyFixture.run(busy) { proxy in
            let origin = try proxy.origin { connection in
                try connection.request()
                try connection.reply(200, "Set-Cookie: late=1; Max-Age=1000")
            }
            let waiting = try proxy.client()
            try waiting.send("GET", origin.url("/busy"))
            try proxy.settle()
            #expect(try proxy.client().get(origin.url("/set")).status == 200)
            waiting.close()
        }
        let text = try String(contentsOfFile: path, encoding: .utf8)
        #expect(text.contains("late"))
    }
}
