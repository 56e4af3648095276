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
            #expect(records[0]["outcome"] == "ok")
            #expect(records[0].count("attempts") == 0)
            #expect(records[2]["http.response.body.size"] == "0")
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

    @Test(arguments: [("200", 403), ("204", 403), ("302", 302), ("403", 403), ("503", 503)])
    func `a CONNECT gets the status unless that would open a tunnel`(
        written: String,
        status: Int
    ) async throws {
        try await ProxyFixture.run(rules("{status: \(written)}")) { proxy in
            let client = try proxy.client()
            let response = try client.connect("a.example:443")
            #expect(response.status == status)
            #expect(response["content-length"] != nil)
        }
    }
}
