// An origin that fails in a series of equal requests: as bad as ever, and no worse.
import LupinTestKit
import Testing

struct RepeatedFailureTests {
    @Test(arguments: [false, true])
    func `a connection that ends instead of a response is repaired once`(
        isReset: Bool
    ) async throws {
        try await ProxyFixture.run { proxy in
            let equal = try EqualRequests(proxy)
            try equal.ask()
            if isReset { equal.connection.reset() } else { equal.connection.close() }
            let fresh = try equal.origin.accept()
            #expect(try fresh.request().target == "/same")
            try fresh.send(EqualRequests.good)
            #expect(try equal.client.response().bodyText == "good")
            let record = try proxy.records(EqualRequests.warmUps + 1)[EqualRequests.warmUps]
            #expect(record["outcome"] == "ok")
            #expect(record.count("attempts") == 2)
            #expect(record["attempts.0.reason"] == "stale-connection")
            #expect(record["attempts.0.error.type"] == "connection_terminated")
            #expect(record["attempts.1.why"] == "retry")
            // And no third attempt.
            for _ in 0..<4 {
                try equal.client.send(equal.request)
                try fresh.request()
                try fresh.send(EqualRequests.good)
                try equal.client.response()
            }
            try equal.client.send(equal.request)
            try fresh.request()
            fresh.close()
            let last = try equal.origin.accept()
            try last.request()
            last.close()
            #expect(try equal.client.response().status == 502)
            #expect(!equal.origin.hasWaiting)
        }
    }

    @Test func `a connection that was closed already is not used`() async throws {
        try await ProxyFixture.run { proxy in
            let equal = try EqualRequests(proxy)
            equal.connection.close()
            #expect(try equal.askAnew("new").bodyText == "new")
        }
    }

    /// Beginnings of the response that is expected, and of another one.
    static let halves = [
        "HTTP/1.1 ", "HTTP/1.1 200 X\r\nContent-Length: 4\r\nDate: Sun, ", "HTTP/1.1 200 Y\r\n",
    ]

    @Test(arguments: halves, [false, true])
    func `half a head is what it is without equal ones`(half: String, isReset: Bool) async throws {
        try await ProxyFixture.run { proxy in
            let ordinary = try Self.breakOff(proxy, half, isReset: isReset, warmUps: 1)
            let repeated = try Self.breakOff(proxy, half, isReset: isReset, warmUps: 5)
            #expect(repeated == ordinary)
            #expect(ordinary.hasPrefix("502 "))
        }
    }

    /// What the client and the record say of half a head, behind so many equal requests.
    private static func breakOff(
        _ proxy: ProxyFixture,
        _ half: String,
        isReset: Bool,
        warmUps: Int
    ) throws -> String {
        let origin = try PlayedOrigin()
        let client = try proxy.client()
        let request = EqualRequests.request(origin.url())
        let count = proxy.recordsSoFar().count
        try client.send(request)
        let connection = try origin.accept()
        for _ in 0..<warmUps {
            try connection.request()
            try connection.send(EqualRequests.good)
            try client.response()
            try client.send(request)
        }
        try connection.request()
        try connection.send(half)
        try proxy.settleWell()
        if isReset { connection.reset() } else { connection.close() }
        let response = try client.response()
        #expect(!origin.hasWaiting)
        let records = try proxy.records(count + warmUps + 1)
        let record = try #require(records.last { $0["http.response.status_code"] == "502" })
        return "\(response.status) \(record["error.type"] ?? "") \(record["error.detail"] ?? "") "
            + "\(record.count("attempts")) \(record["attempts.0.reason"] ?? "")"
    }

    @Test(arguments: [1, 4], [false, true])
    func `a body that breaks off is seen to`(missing: Int, isReset: Bool) async throws {
        try await ProxyFixture.run { proxy in
            let equal = try EqualRequests(proxy)
            try equal.ask()
            try equal.connection.send(String(EqualRequests.good.dropLast(missing)))
            try proxy.settle()
            if isReset { equal.connection.reset() } else { equal.connection.close() }
            let (bytes, end) = try equal.client.stream.untilEnd()
            // What came is delivered; the missing rest tells that it was not all.
            #expect(end == .finished)
            let text = String(decoding: bytes, as: UTF8.self)
            #expect(text.hasSuffix(missing == 1 ? "goo" : "\r\n\r\n"))
            let record = try proxy.records(EqualRequests.warmUps + 1)[EqualRequests.warmUps]
            #expect(record["outcome"] == "truncated")
            #expect(record["error.side"] == "upstream")
        }
    }

    @Test(arguments: ["response_header", "total"], ["", "HTTP/1.1 200 X\r\n"])
    func `silence is a 504 in time`(timeout: String, half: String) async throws {
        let clock = VirtualClock()
        try await ProxyFixture.run("timeouts: {\(timeout): 30s}", clock: clock) { proxy in
            let equal = try EqualRequests(proxy)
            try clock.advance(by: .seconds(2))
            try equal.ask()
            if !half.isEmpty { try equal.connection.send(half) }
            try clock.advance(by: .milliseconds(29_900))
            #expect(!equal.client.stream.socket.hasUnread)
            try clock.advance(by: .milliseconds(200))
            let response = try equal.client.response()
            #expect(response.status == 504)
            let detail = "within `timeouts.\(timeout)`. If it may take long, raise that."
            #expect(response.bodyText.contains(detail))
            _ = try equal.connection.waitForEnd()
            let record = try proxy.records(EqualRequests.warmUps + 1)[EqualRequests.warmUps]
            #expect(record["outcome"] == "error")
            #expect(record["error.type"] == "http_response_timeout")
            #expect(record.count("attempts") == 1)
            let total = try #require(record.number("timing.total"))
            #expect((30_000...30_200).contains(total))
            #expect(try equal.askAnew("new").bodyText == "new")
        }
    }

    @Test func `an origin that takes its time is waited for, and timed`() async throws {
        let clock = VirtualClock()
        try await ProxyFixture.run(clock: clock) { proxy in
            let equal = try EqualRequests(proxy)
            for pause in [8, 30, 50, 5000] {
                try equal.ask()
                try clock.advance(by: .milliseconds(pause))
                try equal.connection.send(EqualRequests.good)
                #expect(try equal.client.response().bodyText == "good")
                #expect(try equal.repeatOnce().bodyText == "good")
            }
            let waits = try proxy.records(EqualRequests.warmUps + 8)
                .dropFirst(EqualRequests.warmUps)
                .map { ($0.number("timing.total"), $0.number("attempts.0.timing.wait")) }
            for (i, pause) in [8.0, 30, 50, 5000].enumerated() {
                let (total, wait) = waits[2 * i]
                #expect((pause...pause + 60).contains(total ?? 0))
                #expect(wait == total)
                #expect(waits[2 * i + 1].0 ?? 100 < 60)
            }
        }
    }
}
