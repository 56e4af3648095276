// The listener for metrics alone, and the histograms that it serves.
import LupinTestKit
import Testing

struct PrometheusTests {
    @Test func `it serves /metrics under its own name, and nothing else`() async throws {
        let reserved = try ReservedPort()
        let port = reserved.number
        let rules = "telemetry: {prometheus: {listen: 127.0.0.1:\(port)}}"
        try await ProxyFixture.run(rules) { _ in
            let rows: [(String, String, String, Int)] = [
                ("GET", "/metrics", "127.0.0.1:\(port)", 200),
                ("HEAD", "/metrics", "localhost:\(port)", 200),
                ("POST", "/metrics", "localhost:\(port)", 405),
                ("GET", "/", "localhost:\(port)", 404),
                ("GET", "/v1/status", "localhost:\(port)", 404),
                ("GET", "/v1/metrics", "localhost:\(port)", 404),
                ("DELETE", "/v1/exchanges/1", "localhost:\(port)", 404),
                ("GET", "/metrics", "evil.example:\(port)", 421),
                ("GET", "/metrics", "localhost", 421),
            ]
            for (method, path, host, status) in rows {
                let client = try ScriptedClient(to: .loopback(port: port))
                try client.send("\(method) \(path) HTTP/1.1\r\nHost: \(host)\r\n\r\n")
                let response = try client.response(to: method)
                #expect(response.status == status, "\(method) \(path) \(host)")
                client.close()
            }
        }
    }

    @Test func `durations are counted by rule and outcome, in cumulative buckets`() async throws {
        let reserved = try ReservedPort()
        let port = reserved.number
        let rules = """
            telemetry: {prometheus: {listen: 127.0.0.1:\(port)}}
            rules:
              - {name: "a \\"quoted\\" one", match: {path: /ruled}, response: [{set: {X-A: b}}]}
            """
        try await ProxyFixture.run(rules) { proxy in
            let (_, origin) = try proxy.flaky(.good)
            let client = try proxy.client()
            for path in ["/ruled", "/ruled", "/other"] {
                #expect(try client.get(origin.url(path)).status == 200)
            }
            #expect(try client.get("http://127.0.0.1:1/").status == 502)
            _ = try proxy.records(4)
            let scraper = try ScriptedClient(to: .loopback(port: port))
            try scraper.send("GET /metrics HTTP/1.1\r\nHost: localhost:\(port)\r\n\r\n")
            let answer = try scraper.response()
            scraper.close()
            #expect(answer["Content-Type"]?.hasPrefix("text/plain; version=0.0.4") == true)
            let text = answer.bodyText
            let ruled = #"rule="a \"quoted\" one",outcome="ok""#
            for (labels, count) in [
                (ruled, 2), (#"rule="",outcome="ok""#, 1), (#"rule="",outcome="error""#, 1),
            ] {
                let name = "lupin_exchange_duration_seconds"
                #expect(text.contains("\(name)_count{\(labels)} \(count)\n"), "\(text)")
                #expect(text.contains("\(name)_bucket{\(labels),le=\"+Inf\"} \(count)\n"))
                #expect(text.contains("\(name)_bucket{\(labels),le=\"30\"} \(count)\n"))
            }
            #expect(text.contains("# TYPE lupin_exchange_duration_seconds histogram\n"))
            #expect(text.contains("lupin_exchange_first_byte_seconds_count{\(ruled)} 2\n"))
            #expect(buckets(of: ruled, in: text).count == 17)
            #expect(buckets(of: ruled, in: text) == buckets(of: ruled, in: text).sorted())
        }
    }

    @Test func `rules beyond the 64th count as other`() async throws {
        let reserved = try ReservedPort()
        let port = reserved.number
        let all = (0..<70).map {
            "  - {name: r\($0), match: {path: /\($0)}, timeouts: {total: 9s}}"
        }
        let rules = """
            telemetry: {prometheus: {listen: 127.0.0.1:\(port)}}
            rules:
            \(all.joined(separator: "\n"))
            """
        try await ProxyFixture.run(rules) { proxy in
            let (_, origin) = try proxy.flaky(.good)
            let client = try proxy.client()
            for path in [0, 63, 64, 69] {
                #expect(try client.get(origin.url("/\(path)")).status == 200)
            }
            _ = try proxy.records(4)
            let scraper = try ScriptedClient(to: .loopback(port: port))
            try scraper.send("GET /metrics HTTP/1.1\r\nHost: localhost:\(port)\r\n\r\n")
            let text = try scraper.response().bodyText
            scraper.close()
            for (rule, count) in [("r0", 1), ("r63", 1), ("other", 2)] {
                let labels = "{rule=\"\(rule)\",outcome=\"ok\"}"
                let line = "lupin_exchange_duration_seconds_count\(labels) \(count)\n"
                #expect(text.contains(line), "\(line)")
            }
            #expect(!text.contains("rule=\"r64\""))
        }
    }

    /// The counts of the duration's buckets of one series, in order.
    private func buckets(of labels: String, in text: String) -> [Int] {
        let start = "lupin_exchange_duration_seconds_bucket{\(labels),"
        return text.split(separator: "\n").filter { $0.hasPrefix(start) }
            .compactMap { $0.split(separator: " ").last.flatMap { Int($0) } }
    }
}
