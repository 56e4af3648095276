// Whatever an origin does at random, no POST is processed twice.
import LupinTestKit
import Synchronization
import Testing

struct ProcessedOnceTests {
    private static let clientCount = 20
    private static let exchangesPerClient = 100
    private static let methods = ["POST", "POST", "GET", "PUT", "DELETE", "PATCH"]

    @Test func `a POST has its effect once, and the idempotent ones are repeated`() async throws {
        let rules = everywhere("retry: {use: standard, backoff: none, budget: none}", "workers: 2")
        try await ProxyFixture.run(rules) { proxy in
            let ledger = Ledger()
            let origin = try proxy.origin { Self.serve($0, ledger) }
            let threads = (0..<Self.clientCount).map { number in
                TestThread { try Self.play(number, proxy, origin) }
            }
            for thread in threads { try thread.join() }
            let counts = ledger.counts
            let once = counts.filter { $0.key.hasPrefix("POST") || $0.key.hasPrefix("PATCH") }
            #expect(once.count > 500)
            #expect(once.filter { $0.value > 1 }.isEmpty)
            // The failures were such that repeating would have shown.
            #expect(counts.filter { $0.value > 1 }.count > 50)
        }
    }

    /// Answers, or fails in one of many ways; a request counts once it has been read whole.
    private static func serve(_ connection: OriginConnection, _ ledger: Ledger) {
        while let message = try? connection.requestHead() {
            var request = message
            let deed = ledger.chance(16)
            if deed == 0 { return connection.reset() }
            guard (try? connection.stream.body(of: &request)) != nil else { break }
            ledger.note("\(request.method) \(request.target)")
            let reply: String
            switch deed {
            case 1: return connection.reset()
            case 2: return connection.close()
            case 3: reply = "HTTP/1.1 200 OK\r\nContent-L"
            case 4: reply = head("HTTP/1.1 408 Late", "Connection: close", "Content-Length: 0")
            case 5: reply = head("HTTP/1.1 503 Ill", "Content-Length: 3") + "ill"
            case 6: reply = head("HTTP/1.1 503 Ill", "Retry-After: 0", "Content-Length: 0")
            case 7: reply = head("HTTP/1.1 200 OK", "Content-Length: 9") + "half"
            default: reply = head("HTTP/1.1 200 OK", "Content-Length: 4") + "good"
            }
            guard (try? connection.send(reply)) != nil else { break }
            // 8: what the pool keeps is gone a moment later.
            if [3, 4, 7, 8].contains(deed) { break }
        }
        connection.close()
    }

    private static func play(
        _ number: Int,
        _ proxy: ProxyFixture,
        _ origin: ScriptedOrigin
    ) throws {
        var client = try proxy.client()
        for i in 0..<exchangesPerClient {
            let method = methods[(i &* 7 &+ number) % methods.count]
            let hasBody = method != "GET" && method != "DELETE"
            try client.send(method, origin.url("/\(number)/\(i)"), body: hasBody ? "lamp" : nil)
            if let response = try? client.response(to: method), response["Connection"] != "close" {
                continue
            }
            client.close()
            client = try proxy.client()
        }
        client.close()
    }
}

/// How often each request was processed, and what the origin does next.
private final class Ledger: Sendable {
    private let state = Mutex((counts: [String: Int](), random: UInt64(0x5EED_1234_ABCD)))

    var counts: [String: Int] { state.withLock { $0.counts } }

    func note(_ request: String) { state.withLock { $0.counts[request, default: 0] += 1 } }

    /// A number below `bound`, by a fixed seed.
    func chance(_ bound: UInt64) -> UInt64 {
        state.withLock { state in
            state.random = state.random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return (state.random >> 33) % bound
        }
    }
}
