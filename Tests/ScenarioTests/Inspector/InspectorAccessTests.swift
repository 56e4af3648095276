// Who may use the inspector's page: one browser, by a code that works once, and no other page.
import Foundation
import LupinIO
import LupinTestKit
import Testing

struct InspectorAccessTests {
    private let rules = ProxyFixture.adminSocket

    @Test func `the code becomes a token once, and the token opens the API`() async throws {
        try await ProxyFixture.run(rules) { proxy in
            let inspector = try InspectorFixture(proxy)
            #expect(try inspector.ask("GET", "/v1/status").status == 401)
            let wrong = try inspector.ask("POST", "/v1/session", json: "{\"code\":\"nonsense\"}")
            #expect(wrong.status == 403)
            let token = try inspector.token()
            let bearer = ["Authorization: Bearer \(token)"]
            #expect(try inspector.ask("GET", "/v1/status", bearer).status == 200)
            let again = try inspector.ask(
                "POST",
                "/v1/session",
                json: "{\"code\":\"\(inspector.code)\"}"
            )
            #expect(again.status == 403)
            #expect(again.bodyText.contains("lupin inspect"))
            #expect(
                try inspector.ask("GET", "/v1/status", ["Authorization: Bearer x"]).status == 401
            )
            // Another browser gets a code of its own, on the same listener.
            let second = try InspectorFixture(proxy)
            #expect(second.address == inspector.address)
            #expect(second.code != inspector.code)
            #expect(try inspector.ask("GET", "/v1/status", bearer).status == 200)
        }
    }

    @Test func `the page is served to be shown, and to load nothing from elsewhere`() async throws {
        try await ProxyFixture.run(rules) { proxy in
            let inspector = try InspectorFixture(proxy)
            let page = try inspector.ask("GET", "/")
            #expect(page.status == 200)
            #expect(page["Content-Type"] == "text/html; charset=utf-8")
            let policy = try #require(page["Content-Security-Policy"])
            #expect(policy.hasPrefix("default-src 'none'; script-src 'self'"))
            #expect(!policy.contains("unsafe") && !policy.contains("frame-src"))
            #expect(page["X-Content-Type-Options"] == "nosniff")
            #expect(page["X-Frame-Options"] == "DENY")
            #expect(page["Cache-Control"] == "no-store")
            #expect(page["Set-Cookie"] == nil)
            #expect(try inspector.ask("GET", "/page/index.html").status == 200)
            for path in ["/page/../index.html", "/page/", "/page/nothing.js", "/index.html"] {
                #expect(try inspector.ask("GET", path).status == 401, "\(path)")
            }
        }
    }

    @Test func `another page's requests are refused, whatever they show`() async throws {
        try await ProxyFixture.run(rules) { proxy in
            let inspector = try InspectorFixture(proxy)
            let bearer = "Authorization: Bearer \(try inspector.token())"
            let own = ["Origin: \(inspector.origin)", "Sec-Fetch-Site: same-origin", bearer]
            #expect(try inspector.ask("GET", "/v1/status", own).status == 200)
            let rows: [(fields: [String], status: Int)] = [
                (["Host: evil.example"], 421),
                (["Host: evil.example:\(inspector.address.port)"], 421),
                (["Host: 127.0.0.1"], 421), (["Origin: http://evil.example"], 403),
                (["Origin: null"], 403), (["Origin: https://\(inspector.address)"], 403),
                (["Sec-Fetch-Site: cross-site"], 403), (["Sec-Fetch-Site: same-site"], 403),
            ]
            for (fields, status) in rows {
                #expect(try inspector.ask("GET", "/v1/status", fields + [bearer]).status == status)
                #expect(try inspector.ask("GET", "/", fields).status == status, "\(fields)")
            }
        }
    }

    /// `lupin inspect` opens a file of the user's, which leads there.
    @Test func `the page itself may be navigated to, and nothing else of it`() async throws {
        try await ProxyFixture.run(rules) { proxy in
            let inspector = try InspectorFixture(proxy)
            let bearer = "Authorization: Bearer \(try inspector.token())"
            func from(_ site: String, _ mode: String, _ place: String) -> [String] {
                [
                    "Sec-Fetch-Site: \(site)", "Sec-Fetch-Mode: \(mode)",
                    "Sec-Fetch-Dest: \(place)",
                ]
            }
            let top = from("cross-site", "navigate", "document")
            #expect(try inspector.ask("GET", "/", top).status == 200)
            #expect(try inspector.ask("GET", "/v1/status", top + [bearer]).status == 403)
            #expect(try inspector.ask("GET", "/page/main.js", top).status == 403)
            #expect(try inspector.ask("POST", "/", top).status == 403)
            for fields in [
                from("cross-site", "navigate", "iframe"), from("cross-site", "no-cors", "script"),
            ] {
                #expect(try inspector.ask("GET", "/", fields).status == 403)
            }
        }
    }

    @Test func `a change wants JSON, which no form can send`() async throws {
        try await ProxyFixture.run(rules) { proxy in
            let inspector = try InspectorFixture(proxy)
            let bearer = ["Authorization: Bearer \(try inspector.token())"]
            for (method, path) in [
                ("PUT", "/v1/capture"), ("POST", "/v1/send"), ("POST", "/v1/rules/preview"),
                ("POST", "/v1/rules/append"), ("POST", "/v1/session"),
            ] {
                for type in ["text/plain", "application/x-www-form-urlencoded", ""] {
                    let fields = bearer + (type.isEmpty ? [] : ["Content-Type: \(type)"])
                    #expect(
                        try inspector.ask(method, path, fields).status == 415,
                        "\(path) \(type)"
                    )
                }
            }
        }
    }

    /// The page's listener is the owner's alone: whatever a rule or an origin says, no proxied
    /// request comes there.
    @Test func `the proxy leads nobody there`() async throws {
        try await ProxyFixture.run(
            """
            \(rules)rules:
              - {match: {path: /moved}, redirect: {follow: true}}

            """,
            watchesRules: true
        ) { proxy in
            let inspector = try InspectorFixture(proxy)
            let port = inspector.address.port
            let step =
                "- match: {path: /step}\\n  request: [{url: {host: 127.0.0.1, port: \(port)}}]"
            let digest = RecordLine(
                try proxy.admin("POST", "/v1/rules/preview", json: "{\"snippet\":\"\(step)\"}")
                    .bodyText
            )?["digest"]
            let appended = try proxy.admin(
                "POST",
                "/v1/rules/append",
                json: "{\"snippet\":\"\(step)\",\"digest\":\"\(digest ?? "")\"}"
            )
            #expect(appended.status == 200, "\(appended.bodyText)")
            for host in ["127.0.0.1", "localhost", "127.0.0.2", "[::ffff:127.0.0.1]", "0.0.0.0"] {
                let answer = try proxy.client().get("http://\(host):\(port)/")
                #expect(answer.status == 502, "\(host)")
                #expect(answer["Proxy-Status"]?.contains("destination_ip_prohibited") == true)
            }
            let origin = try proxy.origin(
                answering: "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:\(port)/\r\n"
                    + "Content-Length: 0\r\n\r\n"
            )
            #expect(try proxy.client().get(origin.url("/moved")).status == 502)
            #expect(try proxy.client().get(origin.url("/step")).status == 502)
        }
    }

    @Test func `no tunnel leads there`() async throws {
        try await ProxyFixture.run(rules) { proxy in
            let port = try InspectorFixture(proxy).address.port
            for host in ["localhost", "127.0.0.1"] {
                #expect(try proxy.client().connect("\(host):\(port)").status == 502)
            }
        }
    }
}
