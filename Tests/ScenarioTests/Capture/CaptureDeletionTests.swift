// Captures are deleted on request: all, those that a filter keeps, or one.
import LupinTestKit
import Testing

struct CaptureDeletionTests {
    private let answer = head("HTTP/1.1 200 X", "Content-Length: 4") + "body"

    private func delete(_ proxy: ProxyFixture, _ path: String) throws -> (Int, RecordLine?) {
        let answer = try proxy.admin("DELETE", path)
        return (answer.status, RecordLine(answer.bodyText))
    }

    @Test func `what a filter keeps is deleted, however much it is, and the rest stays`()
        async throws
    {
        try await ProxyFixture.run(ProxyFixture.capturing) { proxy in
            let origin = try proxy.origin(answering: answer)
            let client = try proxy.client()
            for number in 0..<300 {
                try client.get(origin.url(number % 50 == 7 ? "/kept" : "/gone"))
            }
            _ = try proxy.captured(299)
            let filter = "/v1/capture?filter=path:/gone%20status:200"
            let (status, told) = try delete(proxy, filter)
            #expect(status == 200 && told?["deleted"] == "294" && told?["exchanges"] == "6")
            #expect(try proxy.captured(7).side("response")["kept"] == "4")
            // lupin remembers its heads, but nothing captured.
            let gone = try proxy.captured(8)
            #expect(gone["record.url.path"] == "/gone" && gone.side("response") == [:])
            #expect(try delete(proxy, filter).1?["deleted"] == "0")
        }
    }

    @Test func `one exchange is deleted when it has ended`() async throws {
        try await ProxyFixture.run(ProxyFixture.capturing) { proxy in
            let isAsked = Bell()
            let origin = try proxy.origin { connection in
                while let request = try connection.nextRequest() {
                    guard request.target == "/slow" else {
                        try connection.reply(200, body: "body")
                        continue
                    }
                    try connection.send(head("HTTP/1.1 200 X", "Content-Length: 4") + "bo")
                    _ = isAsked.wait()
                    try connection.send("dy")
                }
            }
            let client = try proxy.client()
            try client.get(origin.url("/one"))
            try client.get(origin.url("/two"))
            let id = try #require(try proxy.captured(0)["record.id"])
            #expect(try delete(proxy, "/v1/exchanges/\(id)/capture").0 == 200)
            #expect(try proxy.captured(0).side("response") == [:])
            #expect(try proxy.captured(1).side("response")["kept"] == "4")
            #expect(try delete(proxy, "/v1/exchanges/\(id.prefix(8))/capture").0 == 404)
            #expect(try proxy.admin("GET", "/v1/exchanges/\(id)/capture").status == 405)

            try client.send("GET", origin.url("/slow"))
            var live: String?
            try eventually("the exchange is captured while it is under way") {
                live = try? proxy.adminJSON("/v1/exchanges/live")["exchanges.0.id"]
                let detail = live.flatMap { try? proxy.adminJSON("/v1/exchanges/\($0)") }
                return detail.map { $0.side("response") != [:] } ?? false
            }
            let path = "/v1/exchanges/\(try #require(live))/capture"
            #expect(try delete(proxy, path).0 == 409)
            isAsked.ring()
            #expect(try client.response().bodyText == "body")
            #expect(try proxy.captured(2).side("response")["kept"] == "4")
        }
    }

    @Test func `a filter that is wrong or empty deletes nothing`() async throws {
        try await ProxyFixture.run(ProxyFixture.capturing) { proxy in
            let origin = try proxy.origin(answering: answer)
            try proxy.client().get(origin.url())
            _ = try proxy.captured()
            for wrong in ["", "%20", "hots:a.example", "status:"] {
                let (status, told) = try delete(proxy, "/v1/capture?filter=\(wrong)")
                #expect(status == 400 && told?["error"] != nil, "\(wrong)")
            }
            #expect(try proxy.captured().side("response")["kept"] == "4")
            #expect(try delete(proxy, "/v1/capture").1?["exchanges"] == "0")
        }
    }
}
