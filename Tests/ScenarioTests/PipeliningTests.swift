// Many requests in advance from a client that takes its time to read.
import LupinTestKit
import Testing

struct PipeliningTests {
    /// Bodies that end with, before and after the packet that brought the head.
    static let bodies = [
        "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
        "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX-Sum: 1\r\n\r\n",
        "Content-Length: 3\r\n\r\nabc",
        "Content-Length: 0\r\n\r\n",
    ]

    @Test(arguments: bodies)
    func `each response is whole although the client's buffers are full`(
        body: String
    ) async throws {
        try await ProxyFixture.run { proxy in
            let padding = String(repeating: "p", count: 8000)
            let origin = try proxy.origin(
                answering: "HTTP/1.1 200 OK\r\nX-Padding: \(padding)\r\n\(body)"
            )
            let client = try proxy.client(receiveBuffer: 4096)
            let count = 400
            let sending = TestThread {
                for _ in 0..<count {
                    try client.send("GET", origin.url(), ["TE: trailers", "Connection: TE"])
                }
            }
            try proxy.rest { origin.connections.map(\.stream.receivedCount).reduce(0, +) }
            #expect(proxy.recordsSoFar().count < count)
            for _ in 0..<count {
                let response = try client.response()
                #expect(response.bodyText == (body.contains("abc") ? "abc" : ""))
            }
            try sending.join()
            client.close()
            #expect(try proxy.records(count).allSatisfy { $0["outcome"] == "ok" })
        }
    }
}
