// A token server that says when it may be asked again.
import LupinTestKit
import Synchronization
import Testing

struct TokenServerWaitTests {
    @Test(
        arguments: [429, 503],
        [("30", 30), ("1.5", 2), ("1800", 1800)]
    )
    func `before that nobody asks, and all are told when`(
        status: Int,
        row: (field: String, seconds: Int)
    ) async throws {
        let asked = Mutex(0)
        let server = try ScriptedOrigin { connection in
            while try connection.nextRequest() != nil {
                asked.withLock { $0 += 1 }
                try connection.reply(status, "Retry-After: \(row.field)")
            }
        }
        defer { server.stop() }
        let rules = """
            tokens:
              me:
                oauth2:
                  {grant: client_credentials, url: "\(server.url())", client: {id: cli}, retry: 0}
            rules: [{match: {path: /api/**}, request: [{auth: me}]}]
            """
        let clock = VirtualClock()
        try await ProxyFixture.run(rules, clock: clock) { proxy in
            let origin = try proxy.guardedOrigin(Accepted(["t1"]))
            for _ in 0..<3 {
                let response = try proxy.client().get(origin.url("/api/a"))
                #expect(response.status == 502)
                #expect(response.bodyText.contains("lupin asks for it again in \(row.seconds) s"))
            }
            try clock.advance(by: .seconds(row.seconds - 1))
            #expect(try proxy.client().get(origin.url("/api/a")).status == 502)
            #expect(asked.withLock { $0 } == 1)
            try clock.advance(by: .seconds(2))
            #expect(try proxy.client().get(origin.url("/api/a")).status == 502)
            #expect(asked.withLock { $0 } == 2)
        }
    }

    @Test func `nobody is kept waiting for the server's pause`() async throws {
        let asked = Mutex(0)
        let server = try ScriptedOrigin { connection in
            while try connection.nextRequest() != nil {
                asked.withLock { $0 += 1 }
                try connection.reply(429, "Retry-After: 5")
            }
        }
        defer { server.stop() }
        // The default repeats a request that a busy server has refused.
        let rules = """
            tokens:
              me:
                oauth2: {grant: client_credentials, url: "\(server.url())", client: {id: cli}}
            rules: [{match: {path: /api/**}, request: [{auth: me}]}]
            """
        try await ProxyFixture.run(rules, clock: VirtualClock()) { proxy in
            let origin = try proxy.guardedOrigin(Accepted(["t1"]))
            for _ in 0..<2 {
                let response = try proxy.client().get(origin.url("/api/a"))
                #expect(response.bodyText.contains("lupin asks for it again in 5 s"))
            }
            #expect(asked.withLock { $0 } == 1)
        }
    }
}
