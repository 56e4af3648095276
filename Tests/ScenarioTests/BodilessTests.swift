// Responses without a body: nobody waits for one, and the connection stays in step.
import LupinTestKit
import Testing

struct BodilessTests {
    /// What an origin says to a method, and which framing fields the client must see.
    struct Case: Sendable, CustomTestStringConvertible {
        var method: String
        var response: [String]
        var length: String?
        var coding: String?
        var testDescription: String { "\(method): \(response.joined(separator: " | "))" }
    }

    @Test(arguments: [
        Case(method: "HEAD", response: ["HTTP/1.1 200 OK", "Content-Length: 5"], length: "5"),
        Case(method: "HEAD", response: ["HTTP/1.1 200 OK"]),
        Case(method: "HEAD", response: ["HTTP/1.1 404 No", "Content-Length: 9"], length: "9"),
        Case(method: "GET", response: ["HTTP/1.1 204 None"]),
        Case(method: "GET", response: ["HTTP/1.1 204 None", "Content-Length: 5"]),
        Case(method: "GET", response: ["HTTP/1.1 304 Same", "Content-Length: 5"], length: "5"),
        Case(method: "GET", response: ["HTTP/1.1 304 Same"]),
        Case(method: "GET", response: ["HTTP/1.1 200 OK", "Content-Length: 0"], length: "0"),
        Case(method: "POST", response: ["HTTP/1.1 201 OK", "Content-Length: 0"], length: "0"),
    ])
    func `a response without a body keeps both connections`(example: Case) async throws {
        try await ProxyFixture.run { proxy in
            let origin = try proxy.origin(
                answering: example.response.joined(separator: "\r\n") + "\r\n\r\n"
            )
            let client = try proxy.client()
            for _ in 0..<3 {
                try client.send(example.method, origin.url())
                let response = try client.response(to: example.method)
                #expect(response["content-length"] == example.length)
                #expect(response["transfer-encoding"] == example.coding)
                #expect(response["connection"] == nil)
                #expect(response.body.isEmpty)
            }
            #expect(origin.connections.count == 1)
            let record = try #require(proxy.records(3).last)
            #expect(record["outcome"] == "ok")
            #expect(record["http.response.body.size"] == "0")
        }
    }

    @Test func `HEAD with a chunked answer has no body either`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try proxy.origin(
                answering: head("HTTP/1.1 200 OK", "Transfer-Encoding: chunked")
            )
            let client = try proxy.client()
            for _ in 0..<2 {
                try client.send("HEAD", origin.url())
                #expect(try client.response(to: "HEAD").status == 200)
            }
            #expect(origin.connections.count == 1)
        }
    }

    @Test func `a POST without a body says that it has none`() async throws {
        try await ProxyFixture.run { proxy in
            let origin = try proxy.origin { connection in
                let request = try connection.request()
                #expect(request["content-length"] == "0")
                try connection.reply()
            }
            let client = try proxy.client()
            try client.send("POST", origin.url(), body: "")
            #expect(try client.response().status == 200)
        }
    }
}
