// One client that never pauses does not keep the others of its worker waiting.
import LupinIO
import LupinProxy
import LupinTestKit
import Testing

struct FairTurnTests {
    @Test func `a client with many requests at once leaves room for others`() async throws {
        let rules = """
            rules:
              - name: canned
                match: {host: a.test}
                respond: {status: 204}
            """
        let count = 400
        // Time stands still, so that no connection comes to rest.
        try await ProxyFixture.run(rules, clock: VirtualClock()) { proxy in
            let greedy = try proxy.client()
            let modest = try proxy.client()
            for client in [greedy, modest] {
                #expect(try client.get("http://a.test/first").status == 204)
            }
            let isSent = Bell()
            let isHeld = Bell()
            proxy.proxy.executors[0].mailbox.post {
                isHeld.ring()
                _ = isSent.wait()
            }
            #expect(isHeld.wait())
            let request = head("GET http://a.test/many HTTP/1.1", "Host: a.test")
            try greedy.send(String(repeating: request, count: count))
            try modest.send("GET", "http://a.test/one")
            isSent.ring()
            let records = try proxy.records(count + 3).map { $0["url.full"] ?? "" }
            let index = try #require(records.firstIndex { $0.hasSuffix("/one") })
            #expect(index < count / 2)
        }
    }
}
