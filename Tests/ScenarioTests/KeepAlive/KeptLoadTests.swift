// Many clients that keep their connections, and an origin that is never the same.
import LupinTestKit
import Synchronization
import Testing

struct KeptLoadTests {
    private static let clientCount = 8
    private static let exchangesPerClient = 30

    @Test func `whatever changes or breaks, each gets what it asked for`() async throws {
        try await ProxyFixture.run("workers: 2") { proxy in
            let ledger = Ledger()
            let origin = try proxy.origin { Self.serve($0, ledger) }
            let threads = (0..<Self.clientCount).map { number in
                TestThread { try Self.play(number, proxy, origin, ledger) }
            }
            for thread in threads { try thread.join() }
            let counts = ledger.counts
            #expect(counts.whole > 150)
            #expect(counts.broken > 1)
            // A GET is sent twice at most, and only where a connection that was used before ended.
            #expect(counts.processed >= counts.whole)
            #expect(counts.processed <= counts.asked + counts.ended)
        }
    }

    /// Answers with a body that names the request, most often in the same words.
    private static func serve(_ connection: OriginConnection, _ ledger: Ledger) {
        while let request = try? connection.nextRequest() {
            ledger.noteProcessed()
            let deed = ledger.chance(32)
            let name = "\(request.target) of \(request["X-Client"] ?? "all")"
            let date = "Date: Sun, 22 Nov 2026 09:30:0\(ledger.chance(4)) GMT"
            var answer = KeptConnection.response(200, date, body: name)
            var isLast = false
            switch deed {
            case 0: (answer, isLast) = ("", true)
            case 1: (answer, isLast) = (String(answer.dropLast(3)), true)
            case 2: (answer, isLast) = (String(answer.prefix(30)), true)
            case 3: answer = KeptConnection.response(404, body: name)
            case 4: answer = KeptConnection.response(200, date, "Connection: close", body: name)
            case 5:
                answer = "HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n"
                answer += String(name.utf8.count, radix: 16) + "\r\n\(name)\r\n0\r\n\r\n"
            case 6: answer = "HTTP/1.1 103 Hint\r\n\r\n" + answer
            case 7: (answer, isLast) = ("HTTP/1.1 200 X\r\n\r\n" + name, true)
            case 8: isLast = true
            case 9: answer += KeptConnection.response(200, body: "for nobody")
            case 10: answer = KeptConnection.response(200, "X-New: \(ledger.chance(9))", body: name)
            default: break
            }
            if deed == 4 { isLast = true }
            if isLast { ledger.noteEnded() }
            if deed % 2 == 0, answer.count > 4 {
                let half = answer.prefix(answer.count / 2)
                guard (try? connection.send(String(half))) != nil else { break }
                answer.removeFirst(half.count)
            }
            guard answer.isEmpty || (try? connection.send(answer)) != nil else { break }
            if isLast { break }
        }
        connection.close()
    }

    private static func play(
        _ number: Int,
        _ proxy: ProxyFixture,
        _ origin: ScriptedOrigin,
        _ ledger: Ledger
    ) throws {
        var client = try proxy.client()
        for i in 0..<exchangesPerClient {
            let isOwn = (i &+ number) % 5 == 0
            let path = "/\((i &* 7 &+ number) % 3)"
            let fields = isOwn ? ["X-Client: \(number)"] : []
            try client.send(KeptConnection.request(origin.url(path), fields))
            ledger.noteAsked()
            guard let response = try? client.response(), response.status != 502 else {
                ledger.noteBroken()
                client.close()
                client = try proxy.client()
                continue
            }
            let due = "\(path) of \(isOwn ? "\(number)" : "all")"
            guard response.bodyText == due else {
                throw SocketFailure("\(due) came as \(response.startLine)")
            }
            ledger.noteWhole()
            if response["Connection"] == "close" {
                client.close()
                client = try proxy.client()
            }
        }
        client.close()
    }
}

/// What was asked, what came of it, and what the origin does next.
private final class Ledger: Sendable {
    struct Counts {
        /// At the clients.
        var asked = 0
        var whole = 0
        var broken = 0
        /// At the origin.
        var processed = 0
        /// Connections that the origin ended.
        var ended = 0
    }

    private let state = Mutex((counts: Counts(), random: UInt64(0x0DDB_A115_EED5)))

    var counts: Counts { state.withLock { $0.counts } }

    func noteAsked() { state.withLock { $0.counts.asked += 1 } }
    func noteWhole() { state.withLock { $0.counts.whole += 1 } }
    func noteBroken() { state.withLock { $0.counts.broken += 1 } }
    func noteProcessed() { state.withLock { $0.counts.processed += 1 } }
    func noteEnded() { state.withLock { $0.counts.ended += 1 } }

    /// A number below `bound`, by a fixed seed.
    func chance(_ bound: UInt64) -> UInt64 {
        state.withLock { state in
            state.random = state.random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return (state.random >> 33) % bound
        }
    }
}
