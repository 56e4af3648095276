// Responses to QUERY are stored by what was asked for (RFC 10008).
import LupinCoding
import LupinTestKit
import Testing

struct QueryCacheTests {
    private static let rules = everywhere("cache: standard")
    private static let json = "Content-Type: application/json"

    private func query(
        _ client: ScriptedClient,
        _ url: String,
        _ body: String,
        _ fields: [String] = [json]
    ) throws -> ScriptedMessage {
        try client.send("QUERY", url, fields, body: body)
        return try client.response(to: "QUERY")
    }

    @Test func `a query is answered by what is stored of the same query alone`() async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let (flaky, origin) = try proxy.flaky(
                .fresh("one"),
                .fresh("two"),
                .fresh("three"),
                .fresh("get")
            )
            let client = try proxy.client()
            #expect(try query(client, origin.url("/q"), #"{"a": 1}"#).bodyText == "one")
            let hit = try query(client, origin.url("/q"), #"{"a":1}"#)
            #expect(hit.isHit && hit.bodyText == "one")
            #expect(try query(client, origin.url("/q"), #"{"a":2}"#).bodyText == "two")
            let text = ["Content-Type: text/plain"]
            #expect(try query(client, origin.url("/q"), #"{"a":1}"#, text).bodyText == "three")
            #expect(try client.get(origin.url("/q")).bodyText == "get")
            #expect(try query(client, origin.url("/q"), #"{"a":2}"#).isHit)
            #expect(flaky.requests.map(\.bodyText).prefix(2) == [#"{"a": 1}"#, #"{"a":2}"#])
            #expect(flaky.requests[0].startLine.hasPrefix("QUERY /q"))
            #expect(try proxy.records(6).last?["http.request.body.size"] == "7")
        }
    }

    @Test func `chunks and content codings make no difference`() async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let (flaky, origin) = try proxy.flaky(.fresh("one"), .fresh("two"))
            let client = try proxy.client()
            #expect(try query(client, origin.url(), "[1]").bodyText == "one")
            let start = ["QUERY \(origin.url()) HTTP/1.1", "Host: \(origin.authority)", Self.json]
            let chunked = head(start[0], start[1], start[2], "Transfer-Encoding: chunked")
            try client.send(chunked + "2\r\n[1\r\n1\r\n]\r\n0\r\n\r\n")
            #expect(try client.response(to: "QUERY").isHit)
            let packed = try WholeBody.encoded(Array("[1]".utf8), with: ["gzip"])
            let length = "Content-Length: \(packed.count)"
            try client.send(head(start[0], start[1], start[2], "Content-Encoding: gzip", length))
            try client.send(packed)
            #expect(try client.response(to: "QUERY").isHit)
            #expect(flaky.asked == 1)
        }
    }

    @Test(arguments: ["Incremental: ?1", "Cache-Control: no-store", "Accept: */*"])
    func `content that is too long, or must not wait, is not stored`(field: String) async throws {
        let rules = everywhere("cache: standard, retry: {use: standard, replay_body: 1KiB}")
        try await ProxyFixture.run(rules) { proxy in
            let (flaky, origin) = try proxy.flaky(.fresh("one"), .fresh("two"))
            let client = try proxy.client()
            let isLong = field.hasPrefix("Accept")
            let body = String(repeating: "x", count: isLong ? 1025 : 9)
            for answer in ["one", "two"] {
                let response = try query(client, origin.url(), body, [Self.json, field])
                #expect(response.bodyText == answer)
                #expect(!response.isHit)
            }
            #expect(flaky.requests.map(\.bodyText) == [body, body])
        }
    }

    @Test func `a stale response is validated, also by a server that answers 412`() async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let (flaky, origin) = try proxy.flaky(
                .stale("one"),
                .answer(304, ["ETag: \"v1\"", "Cache-Control: max-age=0"]),
                .answer(412, [], "no"),
                .fresh("two")
            )
            let client = try proxy.client()
            for answer in ["one", "one", "two"] {
                #expect(try query(client, origin.url(), "[1]").bodyText == answer)
            }
            #expect(try query(client, origin.url(), "[1]").isHit)
            #expect(flaky.requests.map(\.bodyText) == ["[1]", "[1]", "[1]", "[1]"])
            let conditions = flaky.requests.map { $0["if-none-match"] }
            #expect(conditions == [nil, "\"v1\"", "\"v1\"", nil])
        }
    }

    @Test func `what changes a URL drops its queries, too`() async throws {
        try await ProxyFixture.run(Self.rules) { proxy in
            let (flaky, origin) = try proxy.flaky(
                .fresh("one"),
                .answer(200, [], "changed"),
                .fresh("two")
            )
            let client = try proxy.client()
            #expect(try query(client, origin.url(), "[1]").bodyText == "one")
            try client.send("PUT", origin.url(), [], body: "new")
            #expect(try client.response(to: "PUT").bodyText == "changed")
            #expect(try query(client, origin.url(), "[1]").bodyText == "two")
            #expect(flaky.asked == 3)
        }
    }
}
