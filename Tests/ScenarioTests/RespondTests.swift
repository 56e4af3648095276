// Rules that answer themselves: nothing goes upstream, and a CONNECT never gets a 2xx.
import LupinTestKit
import Testing

struct RespondTests {
    private func rules(_ respond: String) -> String {
        "rules: [{name: canned, match: {host: \"*.example\"}, respond: \(respond)}]"
    }

    @Test func `a rule answers and the connection lives on`() async throws {
        try await ProxyFixture.run(rules("{status: 418, body: short}")) { proxy in
            let client = try proxy.client()
            for _ in 0..<2 {
                let response = try client.get("http://a.example/x")
                #expect(response.status == 418)
                #expect(response.bodyText == "short")
                #expect(response["content-length"] == "5")
                #expect(response["date"] != nil)
            }
            try client.send("HEAD", "http://a.example/x")
            #expect(try client.response(to: "HEAD")["content-length"] == "5")
            let records = try proxy.records(3)
            #expect(records[0].list("rules.matched") == ["canned"])
            let step = records[0].list("rules.steps").first
            #expect(step?.hasPrefix("respond 418 by the rule \"canned\" (line ") == true)
            #expect(records[0]["outcome"] == "ok")
            #expect(records[0].count("attempts") == 0)
            #expect(records[2]["http.response.body.size"] == "0")
        }
    }

    @Test func `a body quotes the request`() async throws {
        let rule = rules("{status: 200, body: \"${query:q} ${header:X-A} ${query:none}.\"}")
        try await ProxyFixture.run(rule) { proxy in
            let client = try proxy.client()
            let response = try client.get("http://a.example/x?q=1%202", "X-A: b")
            #expect(response.bodyText == "1 2 b .")
        }
    }

    private func changed(_ respond: String) -> String {
        """
        rules:
          - {name: canned, match: {host: "*.example"}, respond: \(respond)}
          - name: changed
            match: {host: "*.example"}
            response:
              - set: {Access-Control-Allow-Origin: "*"}
              - body: {replace: {from: dev, to: production}}
        """
    }

    @Test(arguments: ["{status: 200, body: for dev}", "{file: DIR/dev.txt}"])
    func `steps of the response act on the answer`(respond: String) async throws {
        let files = ["dev.txt": Array("for dev".utf8)]
        try await ProxyFixture.run(changed(respond), files: files) { proxy in
            let client = try proxy.client()
            for _ in 0..<2 {
                let response = try client.get("http://a.example/x")
                #expect(response["Access-Control-Allow-Origin"] == "*")
                #expect(response.bodyText == "for production")
                #expect(response["content-length"] == "14")
            }
            let secure = try proxy.client().connectSecurely("a.example:443")
            let inside = try secure.get("https://a.example/")
            #expect(inside.bodyText == "for production")
            let steps = try proxy.records(1)[0].list("rules.steps")
            #expect(steps.contains { $0.contains("access-control-allow-origin") }, "\(steps)")
        }
    }

    @Test func `a refusal with steps still refuses a CONNECT`() async throws {
        try await ProxyFixture.run(changed("{status: 403}")) { proxy in
            let response = try proxy.client().connect("a.example:443")
            #expect(response.status == 403 && response["Access-Control-Allow-Origin"] == nil)
        }
    }

    @Test func `a delay comes before the answer`() async throws {
        let text = """
            rules:
              - match: {host: "*.example"}
                request: [{delay: 300ms}]
                respond: {status: 200, body: late}
            """
        try await ProxyFixture.run(text) { proxy in
            let client = try proxy.client()
            let clock = ContinuousClock()
            for _ in 0..<2 {
                let begun = clock.now
                #expect(try client.get("http://a.example/x").bodyText == "late")
                #expect(clock.now - begun >= .milliseconds(300))
            }
        }
    }

    @Test func `the body of a request that a rule answers is not taken for a request`()
        async throws
    {
        try await ProxyFixture.run(rules("{status: 403}")) { proxy in
            let client = try proxy.client()
            let inner = head("GET http://b.example/ HTTP/1.1", "Host: b.example")
            try client.send("POST", "http://a.example/", body: inner)
            #expect(try client.response().status == 403)
            let (bytes, _) = try client.stream.untilEnd()
            #expect(bytes.isEmpty)
            #expect(try proxy.records(1).count == 1)
        }
    }

    @Test(arguments: [("403", 403), ("407", 407), ("503", 503)])
    func `a CONNECT gets a refusal itself, and who wrote it`(
        written: String,
        status: Int
    ) async throws {
        try await ProxyFixture.run(rules("{status: \(written)}")) { proxy in
            let client = try proxy.client()
            let response = try client.connect("a.example:443")
            #expect(response.status == status)
            #expect(response.bodyText.hasPrefix("answered by the rule \"canned\" (line "))
            #expect(response["Lupin-Id"]?.count == 8)
            #expect(response.startLine.hasSuffix(" (lupin explain \(response["Lupin-Id"] ?? ""))"))
        }
    }

    @Test(arguments: [("{status: 200}", 200, ""), ("{status: 403, body: no}", 403, "no")])
    func `any other answer comes inside, to who asks by https`(
        respond: String,
        status: Int,
        body: String
    ) async throws {
        try await ProxyFixture.run(rules(respond)) { proxy in
            let client = try proxy.client().connectSecurely("a.example:443")
            let response = try client.get("https://a.example/")
            #expect(response.status == status)
            if !body.isEmpty { #expect(response.bodyText == body) }
        }
    }

    @Test(arguments: ["mode: none", "except: [\"*.example\"]"])
    func `where nothing may be decrypted the CONNECT is refused`(setting: String) async throws {
        let text = "intercept: {\(setting)}\n" + rules("{status: 200, body: yes}")
        try await ProxyFixture.run(text) { proxy in
            let client = try proxy.client()
            #expect(try client.connect("a.example:443").status == 403)
        }
    }
}
