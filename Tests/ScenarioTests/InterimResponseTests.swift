// 1xx responses: passed on as they come, to those who can understand them (RFC 9110 §15.2).
import LupinTestKit
import Testing

struct InterimResponseTests {
    private let hints =
        head("HTTP/1.1 103 Early Hints", "Link: </a.css>; rel=preload", "Connection: X", "X: y")

    @Test func `several interim responses come before the final one`() async throws {
        try await ProxyFixture.run { [hints] proxy in
            let gate = Bell()
            let origin = try proxy.origin { connection in
                try connection.request()
                try connection.send(head("HTTP/1.1 102 Processing") + hints)
                #expect(gate.wait())
                try connection.send(hints)
                try connection.reply(body: "done")
                try connection.request()
                try connection.reply(body: "again")
            }
            let client = try proxy.client()
            try client.send("GET", origin.url())
            #expect(try client.interimResponse().status == 102)
            let early = try client.interimResponse()
            #expect(early.status == 103)
            #expect(early["link"] == "</a.css>; rel=preload")
            #expect(early["x"] == nil)
            #expect(early["connection"] == nil)
            gate.ring()
            let response = try client.response()
            #expect(response.interim.map(\.status) == [103])
            #expect(response.bodyText == "done")
            #expect(response["link"] == nil)
            #expect(try client.get(origin.url()).bodyText == "again")
            #expect(try proxy.record()["http.response.status_code"] == "200")
        }
    }

    @Test func `interim responses may come in one packet with the final one`() async throws {
        try await ProxyFixture.run { [hints] proxy in
            let origin = try proxy.origin(
                answering: hints + hints + head("HTTP/1.1 200 OK", "Content-Length: 2") + "ok"
            )
            let response = try proxy.client().get(origin.url())
            #expect(response.interim.map(\.status) == [103, 103])
            #expect(response.bodyText == "ok")
        }
    }

    @Test func `an HTTP 1.0 client gets no interim response`() async throws {
        try await ProxyFixture.run { [hints] proxy in
            let origin = try proxy.origin(
                answering: hints + head("HTTP/1.1 200 OK", "Content-Length: 2") + "ok"
            )
            let client = try proxy.client()
            try client.send(head("GET \(origin.url()) HTTP/1.0"))
            let response = try client.response()
            #expect(response.interim.isEmpty)
            #expect(response.bodyText == "ok")
        }
    }

    @Test func `an origin that dies behind an interim response is a 502`() async throws {
        try await ProxyFixture.run { [hints] proxy in
            let origin = try proxy.origin { connection in
                try connection.request()
                try connection.send(hints)
                connection.shutdownWrite()
            }
            let response = try proxy.client().get(origin.url())
            #expect(response.interim.map(\.status) == [103])
            #expect(response.status == 502)
            #expect(origin.connections.count == 1)
        }
    }
}
