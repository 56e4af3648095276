// The shortest way through the proxy: a request there, a response back, a record in the log.
import LupinTestKit
import Testing

struct RelayingTests {
    @Test func `a request reaches the origin and its response the client`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try proxy.origin { connection in
                let request = try connection.request()
                #expect(request.startLine == "GET /a?b=c HTTP/1.1")
                try connection.reply(body: "hello")
            }
            let response = try proxy.client().get(origin.url("/a?b=c"), "Accept: */*")
            #expect(response.startLine == "HTTP/1.1 200 Scripted")
            #expect(response.bodyText == "hello")
            let record = try proxy.record()
            #expect(record["outcome"] == "ok")
            #expect(record["http.response.status_code"] == "200")
        }
    }
}
