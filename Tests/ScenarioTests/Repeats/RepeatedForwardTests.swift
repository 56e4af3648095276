// Requests that are equal byte for byte: each has its answer and its record.
import LupinTestKit
import Testing

struct RepeatedForwardTests {
    /// Bodies, the last ones too long to be repeated.
    private static let sizes = [0, 1, 1024, 8192, 8193, 20_000]

    @Test(arguments: sizes)
    func `equal requests get equal answers, and a record each`(size: Int) async throws {
        try await ProxyFixture.run { proxy in
            let body = String(decoding: LongBody.bytes(size).map { $0 & 0x7F }, as: UTF8.self)
            let date = "Date: \(EqualRequests.date)"
            let answer = EqualRequests.response(200, "X-Kind: one", date, body: body)
            let (flaky, origin) = try proxy.flaky(.say(answer))
            let clients = try (0..<3).map { _ in try proxy.client() }
            let request = EqualRequests.request(
                origin.url("/a?b"),
                ["Connection: X-Own", "X-Own: 1", "Proxy-Connection: keep-alive", "Accept: */*"]
            )
            var answers: Set<String> = []
            for i in 0..<30 {
                let client = clients[i % 7 % 3]
                try client.send(request)
                answers.insert(try client.response().whole)
            }
            #expect(answers.count == 1)
            #expect(answers.first?.hasSuffix("\n\n\(body)") == true)
            #expect(answers.first?.contains("\nVia: 1.1 ") == true)
            #expect(Set(flaky.requests.map(\.whole)).count == 1)
            let first = try #require(flaky.requests.first)
            #expect(flaky.asked == 30)
            #expect(first.startLine == "GET /a?b HTTP/1.1")
            #expect(first.names == ["Host", "Accept", "Via"])
            try check(try proxy.records(30), origin, size)
        }
    }

    private func check(_ records: [RecordLine], _ origin: ScriptedOrigin, _ size: Int) throws {
        #expect(Set(records.compactMap { $0["id"] }).count == 30)
        #expect(Set(records.compactMap { $0["client.port"] }).count == 3)
        #expect(records.map { $0["ts"] ?? "" } == records.compactMap { $0["ts"] }.sorted())
        // The first one has a connection of its own.
        #expect(Set(records.dropFirst().map(\.likeOthers)).count == 1)
        for record in records {
            #expect(record["outcome"] == "ok")
            #expect(record["http.response.status_code"] == "200")
            #expect(record["http.response.body.size"] == "\(size)")
            #expect(record["url.full"] == origin.url("/a?b"))
            #expect(record.count("attempts") == 1)
            #expect(record["attempts.0.peer"] == origin.authority)
            #expect(record["attempts.0.status"] == "200")
            let total = try #require(record.number("timing.total"))
            #expect(total >= record.number("attempts.0.timing.wait") ?? .infinity)
            for name in ["client_in", "client_out", "upstream_in", "upstream_out"] {
                #expect(record["bytes.\(name)"] == records[0]["bytes.\(name)"])
            }
        }
    }
}
