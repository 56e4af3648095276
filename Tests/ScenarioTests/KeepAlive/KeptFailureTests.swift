// An origin that fails on a connection that was kept: repaired where that is safe, and told.
import LupinTestKit
import Testing

struct KeptFailureTests {
    @Test(arguments: [false, true])
    func `a connection that ends instead of a response is repaired once`(
        isReset: Bool
    ) async throws {
        try await ProxyFixture.run { proxy in
            let kept = try KeptConnection(proxy)
            try kept.ask()
            if isReset { kept.connection.reset() } else { kept.connection.close() }
            let fresh = try kept.origin.accept()
            #expect(try fresh.request().target == "/same")
            try fresh.send(KeptConnection.good)
            #expect(try kept.client.response().bodyText == "good")
            let record = try proxy.records(KeptConnection.served + 1)[KeptConnection.served]
            #expect(record["outcome"] == "ok")
            #expect(record.count("attempts") == 2)
            #expect(record["attempts.0.reason"] == "stale-connection")
            #expect(record["attempts.0.error.type"] == "connection_terminated")
            #expect(record["attempts.1.why"] == "retry")
            // And no third attempt.
            for _ in 0..<2 {
                try kept.client.send(kept.request)
                try fresh.request()
                try fresh.send(KeptConnection.good)
                try kept.client.response()
            }
            try kept.client.send(kept.request)
            try fresh.request()
            fresh.close()
            let last = try kept.origin.accept()
            try last.request()
            last.close()
            #expect(try kept.client.response().status == 502)
            #expect(!kept.origin.hasWaiting)
        }
    }

    /// Beginnings of a response.
    static let halves = [
        "HTTP/1.1 ", "HTTP/1.1 200 X\r\nContent-Length: 4\r\nDate: Sun, ",
    ]

    @Test(arguments: halves, [false, true])
    func `half a head is an error, and not asked for again`(
        half: String,
        isReset: Bool
    ) async throws {
        try await ProxyFixture.run { proxy in
            let kept = try KeptConnection(proxy)
            try kept.ask()
            try kept.connection.send(half)
            try proxy.settleWell()
            if isReset { kept.connection.reset() } else { kept.connection.close() }
            #expect(try kept.client.response().status == 502)
            #expect(!kept.origin.hasWaiting)
            #expect(try kept.askAnew("new").bodyText == "new")
        }
    }

    @Test(arguments: [1, 4], [false, true])
    func `a body that breaks off is seen to`(missing: Int, isReset: Bool) async throws {
        try await ProxyFixture.run { proxy in
            let kept = try KeptConnection(proxy)
            try kept.ask()
            try kept.connection.send(String(KeptConnection.good.dropLast(missing)))
            try proxy.settle()
            if isReset { kept.connection.reset() } else { kept.connection.close() }
            let (bytes, end) = try kept.client.stream.untilEnd()
            // What came is delivered; the missing rest tells that it was not all.
            #expect(end == .finished)
            let text = String(decoding: bytes, as: UTF8.self)
            #expect(text.hasSuffix(missing == 1 ? "goo" : "\r\n\r\n"))
            let record = try proxy.records(KeptConnection.served + 1)[KeptConnection.served]
            #expect(record["outcome"] == "truncated")
            #expect(record["error.side"] == "upstream")
        }
    }

    @Test func `an origin that takes its time is waited for, and timed`() async throws {
        let clock = VirtualClock()
        try await ProxyFixture.run(clock: clock) { proxy in
            let kept = try KeptConnection(proxy)
            for pause in [8, 5000] {
                try kept.ask()
                try clock.advance(by: .milliseconds(pause))
                try kept.connection.send(KeptConnection.good)
                #expect(try kept.client.response().bodyText == "good")
                #expect(try kept.repeatOnce().bodyText == "good")
            }
            let waits = try proxy.records(KeptConnection.served + 4)
                .dropFirst(KeptConnection.served)
                .map { ($0.number("timing.total"), $0.number("attempts.0.timing.wait")) }
            for (i, pause) in [8.0, 5000].enumerated() {
                let (total, wait) = waits[2 * i]
                #expect((pause...pause + 60).contains(total ?? 0))
                #expect(wait == total)
                #expect(waits[2 * i + 1].0 ?? 100 < 60)
            }
        }
    }
}
