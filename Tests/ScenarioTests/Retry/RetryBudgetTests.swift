// How retries end where a host is dead: by its budget, and by its circuit.
import LupinTestKit
import Synchronization
import Testing

struct RetryBudgetTests {
    private static let rules = everywhere("retry: {use: standard, backoff: none}")
    /// The same with a budget that ten failures spend.
    private static let tight = everywhere(
        "retry: {use: standard, backoff: none, budget: {floor: 10}}"
    )

    @Test func `a hundred clients do not trouble a dead host three hundred times`() async throws {
        let count = 100
        try await ProxyFixture.run(Self.tight + "\nworkers: 2") { proxy in
            let (flaky, origin) = try proxy.flaky(.close)
            let clients = try (0..<count).map { _ in try proxy.client() }
            for client in clients { try client.send("GET", origin.url()) }
            for client in clients { #expect(try client.response().status == 502) }
            #expect(flaky.asked >= count)
            #expect(flaky.asked <= count + max(10, count / 5))
            let records = try proxy.records(count)
            let attempts = records.reduce(0) { $0 + $1.count("attempts") }
            #expect(attempts == flaky.asked)
            let refused = records.compactMap { record in
                record["attempts.\(record.count("attempts") - 1).reason"]
            }
            // Failures that come together are few in a row, so that the budget is what bounds them.
            let budget = "the retry budget of \(origin.authority) is spent"
            let circuit = "the last 10 attempts at \(origin.authority) failed"
            #expect(refused.contains { $0.hasPrefix(budget) || $0 == circuit })
        }
    }

    @Test func `a host that fails every second time spends its budget`() async throws {
        let clock = VirtualClock()
        try await ProxyFixture.run(Self.tight, clock: clock) { proxy in
            let deeds = (0..<10).flatMap { _ in [FlakyOrigin.Deed.status(503), .good] }
            let flaky = FlakyOrigin(deeds + [.status(503), .status(503), .good, .good])
            let origin = try proxy.origin { flaky.serve($0) }
            let client = try proxy.client()
            for _ in 0..<10 { #expect(try client.get(origin.url()).status == 200) }
            #expect(try client.get(origin.url()).status == 503)
            #expect(flaky.asked == 21)
            let record = try proxy.records(11)[10]
            #expect(
                record["attempts.0.reason"]
                    == "the retry budget of \(origin.authority) is spent: 10 of 10 in 10s"
            )
            #expect(record["attempts.0.decision"] == "deliver")
            // Its window passes.
            try clock.advance(by: .seconds(15))
            #expect(try client.get(origin.url()).status == 200)
            #expect(flaky.asked == 23)
        }
    }

    @Test func `rules that share a host share its budget`() async throws {
        let rules = """
            retry: {mine: {backoff: none, budget: {floor: 10}}}
            rules:
              - {name: a, match: {path: /a}, retry: mine}
              - {name: b, match: {path: /b}, retry: mine}
            """
        try await ProxyFixture.run(rules, clock: VirtualClock()) { proxy in
            let deeds = (0..<10).flatMap { _ in [FlakyOrigin.Deed.status(503), .good] }
            let flaky = FlakyOrigin(deeds + [.status(503)])
            let origin = try proxy.origin { flaky.serve($0) }
            let client = try proxy.client()
            for _ in 0..<10 { #expect(try client.get(origin.url("/a")).status == 200) }
            #expect(try client.get(origin.url("/b")).status == 503)
            #expect(flaky.asked == 21)
            // Another host has its own.
            let (other, second) = try proxy.flaky(.status(503), .good)
            #expect(try client.get(second.url("/b")).status == 200)
            #expect(other.asked == 2)
        }
    }

    @Test func `a spent budget delivers the failure at once`() async throws {
        let rules = everywhere("retry: {use: standard, budget: {floor: 0, ratio: 0%}}")
        // Time stands still: who waits gets no response.
        try await ProxyFixture.run(rules, clock: VirtualClock()) { proxy in
            for deed in [FlakyOrigin.Deed.reset, .close, .status(503)] {
                let (flaky, origin) = try proxy.flaky(deed)
                let client = try proxy.client()
                #expect([502, 503].contains(try client.get(origin.url()).status))
                #expect(flaky.asked == 1)
            }
            for record in try proxy.records(3) {
                #expect(record["attempts.0.reason"]?.contains("is spent: 0 of 0 in 10s") == true)
            }
        }
    }

    @Test func `a hundred clients of a host that resets are answered, ten times in a row`()
        async throws
    {
        let backoff = "{base: 2, scale: 1ms, max: 10ms, jitter: none}"
        let rules = everywhere("retry: {use: standard, backoff: \(backoff)}")
        try await ProxyFixture.run(rules + "\nworkers: 2") { proxy in
            let (_, origin) = try proxy.flaky(.reset)
            for _ in 0..<10 {
                let clients = try (0..<100).map { _ in try proxy.client() }
                for client in clients { try client.send("GET", origin.url()) }
                for client in clients { #expect(try client.response().status == 502) }
            }
        }
    }

    enum Pace: CaseIterable { case together, milliseconds, oneByOne }

    @Test(arguments: Pace.allCases)
    func `each of thirty URLs fails once, and all are delivered`(pace: Pace) async throws {
        let clock = pace == .milliseconds ? VirtualClock() : nil
        try await ProxyFixture.run(Self.rules, clock: clock) { proxy in
            let failed = Mutex<Set<String>>([])
            let origin = try proxy.origin { connection in
                while let request = try? connection.nextRequest() {
                    let isFirst = failed.withLock { $0.insert(request.target).inserted }
                    try? connection.send(
                        "HTTP/1.1 \(isFirst ? 503 : 200) X\r\nContent-Length: 0\r\n\r\n"
                    )
                }
            }
            let clients = try (0..<30).map { _ in try proxy.client() }
            for (i, client) in clients.enumerated() {
                try client.send("GET", origin.url("/\(i)"))
                try clock?.advance(by: .milliseconds(4))
                if pace == .oneByOne { #expect(try client.response().status == 200) }
            }
            if pace != .oneByOne {
                for client in clients { #expect(try client.response().status == 200) }
            }
        }
    }

    @Test func `ten failures in a row open the circuit, one success closes it`() async throws {
        try await ProxyFixture.run(Self.rules, clock: VirtualClock()) { proxy in
            let deeds = [FlakyOrigin.Deed](repeating: .reset, count: 11)
            let flaky = FlakyOrigin(deeds + [.good, .reset, .good])
            let origin = try proxy.origin { flaky.serve($0) }
            let client = try proxy.client()
            let url = origin.url()
            // 3 attempts each, and the tenth is the last that anybody makes again.
            for asked in [3, 6, 9, 10, 11] {
                #expect(try client.get(url).status == 502)
                #expect(flaky.asked == asked)
            }
            #expect(try client.get(url).status == 200)
            #expect(flaky.asked == 12)
            #expect(try client.get(url).status == 200)
            #expect(flaky.asked == 14)
            let record = try proxy.records(7)[4]
            #expect(
                record["attempts.0.reason"]
                    == "the last 10 attempts at \(origin.authority) failed"
            )
        }
    }

    @Test func `the circuit forgets after ten seconds`() async throws {
        let clock = VirtualClock()
        try await ProxyFixture.run(Self.rules, clock: clock) { proxy in
            let (flaky, origin) = try proxy.flaky(.reset)
            let client = try proxy.client()
            for _ in 0..<4 { #expect(try client.get(origin.url()).status == 502) }
            #expect(flaky.asked == 10)
            try clock.advance(by: .milliseconds(10_100))
            #expect(try client.get(origin.url()).status == 502)
            // One retry: when that has failed, the circuit is open again.
            #expect(flaky.asked == 12)
            #expect(try client.get(origin.url()).status == 502)
            #expect(flaky.asked == 13)
        }
    }

    /// After an outage each of thirty URLs fails once; first attempts that failed meanwhile, just
    /// before the time was over, don't keep the circuit open.
    @Test(arguments: Pace.allCases)
    func `what fails once after an outage is delivered`(pace: Pace) async throws {
        let clock = VirtualClock()
        let rules = everywhere(
            "retry: {use: standard, backoff: none, circuit: {failures: 10, open: 1s}}"
        )
        try await ProxyFixture.run(rules, clock: clock) { proxy in
            let isOut = Mutex(true)
            let failed = Mutex<Set<String>>([])
            let origin = try proxy.origin { connection in
                while let request = try? connection.nextRequest() {
                    let isFirst = failed.withLock { $0.insert(request.target).inserted }
                    let fails = isFirst || isOut.withLock { $0 }
                    try? connection.send(
                        "HTTP/1.1 \(fails ? 503 : 200) X\r\nContent-Length: 0\r\n\r\n"
                    )
                }
            }
            let clients = try (0..<30).map { _ in try proxy.client() }
            for _ in 0..<4 { #expect(try clients[0].get(origin.url()).status == 503) }
            try clock.advance(by: .milliseconds(900))
            #expect(try clients[0].get(origin.url()).status == 503)
            try clock.advance(by: .milliseconds(200))
            isOut.withLock { $0 = false }
            for (i, client) in clients.enumerated() {
                try client.send("GET", origin.url("/\(i)"))
                if pace == .milliseconds { try clock.advance(by: .milliseconds(4)) }
                if pace == .oneByOne { #expect(try client.response().status == 200) }
            }
            if pace != .oneByOne {
                for client in clients { #expect(try client.response().status == 200) }
            }
        }
    }

    @Test(arguments: ["", "- {match: {path: /other}, retry: none}"])
    func `a success of any request closes the circuit`(other: String) async throws {
        let rules = """
            rules:
              - {match: {path: /a}, retry: {use: standard, backoff: none}}
              \(other)
            """
        try await ProxyFixture.run(rules, clock: VirtualClock()) { proxy in
            let deeds = [FlakyOrigin.Deed](repeating: .status(503), count: 10)
            let flaky = FlakyOrigin(deeds + [.good, .status(503), .good])
            let origin = try proxy.origin { flaky.serve($0) }
            let client = try proxy.client()
            for _ in 0..<4 { #expect(try client.get(origin.url("/a")).status == 503) }
            #expect(flaky.asked == 10)
            #expect(try client.get(origin.url("/other")).status == 200)
            #expect(try client.get(origin.url("/a")).status == 200)
            #expect(flaky.asked == 13)
        }
    }

    @Test func `failures of requests without a rule are failures of the host`() async throws {
        let rules = """
            rules:
              - {match: {path: /a}, retry: {use: standard, backoff: none}}
            """
        try await ProxyFixture.run(rules, clock: VirtualClock()) { proxy in
            let (flaky, origin) = try proxy.flaky(.status(503))
            let client = try proxy.client()
            #expect(try client.get(origin.url("/a")).status == 503)
            for _ in 0..<7 { #expect(try client.get(origin.url("/other")).status == 503) }
            #expect(flaky.asked == 10)
            #expect(try client.get(origin.url("/a")).status == 503)
            #expect(flaky.asked == 11)
            let record = try proxy.records(9)[8]
            #expect(
                record["attempts.0.reason"]
                    == "the last 10 attempts at \(origin.authority) failed"
            )
        }
    }

    @Test func `a hiccup under load opens no circuit`() async throws {
        let rules = everywhere("retry: {use: standard, backoff: none, circuit: {failures: 2}}")
        try await ProxyFixture.run(rules) { proxy in
            let origin = try PlayedOrigin()
            let clients = try (0..<5).map { _ in try proxy.client() }
            // All are under way when the first of them fails, and fail together.
            let connections = try clients.map { client in
                try client.send("GET", origin.url())
                let connection = try origin.accept()
                try connection.request()
                return connection
            }
            for connection in connections { connection.reset() }
            for _ in clients {
                let connection = try origin.accept()
                try connection.request()
                try connection.reply(body: "good")
            }
            for client in clients { #expect(try client.response().bodyText == "good") }
        }
    }

    @Test func `without a budget the circuit counts, and without both only the limit`()
        async throws
    {
        let rules = everywhere("retry: {use: standard, backoff: none, budget: none}")
        try await ProxyFixture.run(rules) { proxy in
            let (flaky, origin) = try proxy.flaky(.reset)
            let client = try proxy.client()
            for _ in 0..<10 { #expect(try client.get(origin.url()).status == 502) }
            #expect(flaky.asked == 16)
        }
        let bare = "retry: {use: standard, backoff: none, budget: none, circuit: off}"
        try await ProxyFixture.run(everywhere(bare)) { proxy in
            let (flaky, origin) = try proxy.flaky(.reset)
            let client = try proxy.client()
            for _ in 0..<10 { #expect(try client.get(origin.url()).status == 502) }
            #expect(flaky.asked == 30)
        }
    }
}
