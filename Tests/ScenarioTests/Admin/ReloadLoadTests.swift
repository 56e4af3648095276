// Ten thousand requests while the rules change as fast as they can.
import LupinProxy
import LupinTestKit
import Synchronization
import Testing

struct ReloadLoadTests {
    private static let clientCount = 8
    private static let requestsPerClient = 1250

    /// Two fields that one rule set sets: whoever mixes two sets sends two values.
    private static func rules(_ value: Int) -> String {
        """
        workers: 2
        log: {to: /dev/null}
        \(ProxyFixture.adminSocket)
        rules:
          - match: {}
            request: [set: {X-First: "\(value)"}]
          - match: {}
            request: [set: {X-Second: "\(value)"}]
        """
    }

    // Takes a few seconds on a slow machine, for the sake of its ten thousand requests.
    @Test func `no request fails and none mixes two sets of rules`() async throws {
        try await ProxyFixture.run(Self.rules(1)) { proxy in
            let origin = try proxy.origin { connection in
                while let request = try connection.nextRequest() {
                    let values = [request["X-First"], request["X-Second"]].map { $0 ?? "none" }
                    try connection.reply(body: values.joined(separator: " "))
                }
            }
            let seen = Mutex<[String: Int]>([:])
            let running = Atomic(Self.clientCount)
            let threads = (0..<Self.clientCount).map { _ in
                TestThread {
                    defer { running.subtract(1, ordering: .relaxed) }
                    let client = try proxy.client()
                    for _ in 0..<Self.requestsPerClient {
                        let response = try client.get(origin.url())
                        guard response.status == 200 else {
                            throw SocketFailure("\(response.startLine)")
                        }
                        seen.withLock { $0[response.bodyText, default: 0] += 1 }
                    }
                }
            }
            var reloads = 0
            while running.load(ordering: .relaxed) > 0 {
                let result = try await proxy.reload(Self.rules(reloads % 2 + 1))
                guard case .loaded = result else { throw SocketFailure("\(result)") }
                reloads += 1
            }
            for thread in threads { try thread.join() }
            let counts = seen.withLock { $0 }
            #expect(Set(counts.keys) == ["1 1", "2 2"])
            let total = Self.clientCount * Self.requestsPerClient
            #expect(counts.values.reduce(0, +) == total)
            #expect(reloads > 1)
            let status = try proxy.adminJSON("/v1/status")
            #expect(status["exchanges.ok"] == "\(total)")
            #expect(status["exchanges.error"] == "0")
            #expect(status["reloads.loaded"] == "\(reloads)")
        }
    }
}
