// The steps of rules, seen by the origin and told by the record.
import LupinIO
import LupinTestKit
import Testing

struct RuleStepTests {
    @Test func `field steps change what the origin gets`() async throws {
        let rules = """
            rules:
              - name: fields
                match: "127.0.0.1:*/api/**"
                request:
                  - set: {X-Set: new, X-Id: "${id}"}
                  - add: {X-Add: two}
                  - default: {X-There: unused, X-Missing: used}
                  - remove: [Cookie, "X-Debug-*"]
                  - rewrite: {header: User-Agent, from: '/^(\\S+).*/', to: "$1 (via lupin)"}
            """
        try await ProxyFixture.run(rules) { proxy in
            let origin = try proxy.origin { connection in
                let request = try connection.request()
                #expect(request.values("x-set") == ["new"])
                #expect(request.values("x-add") == ["one", "two"])
                #expect(request.values("x-there") == ["kept"])
                #expect(request.values("x-missing") == ["used"])
                #expect(request["cookie"] == nil && request["x-debug-a"] == nil)
                #expect(request["user-agent"] == "curl/8 (via lupin)")
                try connection.reply(body: request["x-id"] ?? "")
            }
            let response = try proxy.client().get(
                origin.url("/api/a"),
                "X-Set: old",
                "x-set: older",
                "X-Add: one",
                "X-There: kept",
                "Cookie: a=b",
                "x-debug-A: 1",
                "User-Agent: curl/8 linux"
            )
            let record = try proxy.record()
            #expect(response.bodyText == record["id"])
            #expect(record.list("rules.matched") == ["fields"])
            let steps = record.list("rules.steps")
            #expect(steps.contains("set X-Set") || steps.contains("set x-set"))
            #expect(!steps.contains { $0.lowercased() == "default x-there" })
        }
    }

    @Test func `query and url steps change where it goes`() async throws {
        let target = try ScriptedOrigin { connection in
            let request = try connection.request()
            #expect(request.target == "/v2/users?a=1&tenant=dev%20x")
            #expect(request.values("host") == [connection.localAuthority])
            try connection.reply(body: "staging")
        }
        defer { target.stop() }
        let rules = """
            rules:
              - name: staging
                match: {host: www.example}
                request:
                  - query: {set: {tenant: "dev x"}, remove: [debug]}
                  - url:
                      host: 127.0.0.1
                      port: \(target.address.port)
                      path: {from: '/^\\/api/', to: /v2}
            """
        try await ProxyFixture.run(rules) { proxy in
            let response = try proxy.client().get("http://www.example/api/users?a=1&debug=2")
            #expect(response.bodyText == "staging")
            let record = try proxy.record()
            #expect(record["url.full"] == "http://www.example/api/users?a=1&debug=2")
            #expect(record["url.domain"] == "www.example")
            let sent = "http://\(target.authority)/v2/users?a=1&tenant=dev%20x"
            #expect(record["attempts.0.url"] == sent)
            #expect(record.list("rules.steps").count == 2)
        }
        #expect(target.failures.isEmpty)
    }

    @Test func `steps add up, later rules win, and stop ends the matching`() async throws {
        let rules = """
            rules:
              - {name: one, match: "**", request: [{set: {X-A: one}}, {set: {X-B: one}}]}
              - {name: get only, match: {method: POST}, request: [{set: {X-A: never}}]}
              - {name: two, match: {path: /a/**}, request: [{set: {X-A: two}}], stop: true}
              - {name: three, match: "**", request: [{set: {X-A: three}}]}
            """
        try await ProxyFixture.run(rules) { proxy in
            let origin = try proxy.origin { connection in
                while let request = try connection.nextRequest() {
                    try connection.reply(body: "\(request["x-a"] ?? "") \(request["x-b"] ?? "")")
                }
            }
            let client = try proxy.client()
            #expect(try client.get(origin.url("/a/b")).bodyText == "two one")
            #expect(try client.get(origin.url("/b")).bodyText == "three one")
            let records = try proxy.records(2)
            #expect(records[0].list("rules.matched") == ["one", "two"])
            #expect(records[1].list("rules.matched") == ["one", "three"])
        }
    }

    @Test func `a missing header drops its step and the record says so`() async throws {
        let rules = """
            rules:
              - {match: "**", request: [{set: {X-Copy: "${header:X-From}"}}]}
            """
        try await ProxyFixture.run(rules) { proxy in
            let origin = try proxy.origin { connection in
                while let request = try connection.nextRequest() {
                    try connection.reply(body: request["x-copy"] ?? "none")
                }
            }
            let client = try proxy.client()
            #expect(try client.get(origin.url()).bodyText == "none")
            #expect(try client.get(origin.url(), "X-From: here").bodyText == "here")
            let records = try proxy.records(2)
            #expect(records[0].list("rules.steps").first?.contains("dropped") == true)
            #expect(records[1].list("rules.steps").first?.contains("dropped") == false)
        }
    }
}
