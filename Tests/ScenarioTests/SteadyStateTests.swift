// Under load everything stays on its own thread: no job travels from one to another.
import LupinProxy
import LupinTestKit
import Testing

struct SteadyStateTests {
    @Test func `no job comes from another thread while requests are served`() async throws {
        try await ProxyFixture.run("workers: 2") { proxy in
            let origin = try proxy.origin { connection in
                while try connection.nextRequest() != nil { try connection.reply(body: "ok") }
            }
            let clients = try (0..<4).map { _ in try proxy.client() }
            for client in clients { #expect(try client.get(origin.url()).bodyText == "ok") }
            let before = proxy.proxy.foreignEnqueues
            let threads = clients.map { client in
                TestThread {
                    for i in 0..<500 {
                        let isUpload = i % 10 == 9
                        try client.send(
                            isUpload ? "POST" : "GET",
                            origin.url(),
                            body: isUpload ? "x" : nil
                        )
                        guard try client.response().bodyText == "ok" else {
                            throw SocketFailure("another body than the origin's")
                        }
                    }
                }
            }
            for thread in threads { try thread.join() }
            #expect(proxy.proxy.foreignEnqueues == before)
            #expect(try proxy.records(2004).allSatisfy { $0["outcome"] == "ok" })
        }
    }
}
