// What a collector that is slow, away or unwilling costs: nothing but what it would have got.
import LupinCoding
import LupinCore
import LupinProxy
import LupinTLS
import LupinTestKit
import Synchronization
import Testing

struct ExportTests {
    private static func settings(_ url: String, _ more: String = "") -> String {
        "telemetry: {otlp: {url: \"\(url)\", traces: 100%, metrics: none\(more)}}"
    }

    @Test func `a collector that hangs costs no exchange anything`() async throws {
        try await Collector.run(.hang) { collector in
            let rules = Self.settings(collector.url, ", logs: on")
            try await ProxyFixture.run(rules, clock: VirtualClock()) { proxy in
                let (_, origin) = try proxy.flaky(.good)
                let client = try proxy.client()
                for i in 0..<50 {
                    #expect(try client.get(origin.url("/\(i)")).bodyText == "good")
                    if i == 10 {
                        try proxy.export(to: collector, until: "both signals") {
                            collector.messages.count >= 2
                        }
                    }
                }
                #expect(try proxy.records(50).allSatisfy { $0["outcome"] == "ok" })
                // One connection for each signal, however much there is to tell.
                #expect(collector.messages.count == 2)
            }
        }
    }

    @Test func `a collector that never answers is given up, and tried again with the next message`()
        async throws
    {
        try await Collector.run(.hang) { collector in
            try await ProxyFixture.run(Self.settings(collector.url), clock: VirtualClock()) {
                proxy in
                let (_, origin) = try proxy.flaky(.good)
                #expect(try proxy.client().get(origin.url()).status == 200)
                try proxy.export(to: collector, by: .seconds(1), until: "five attempts") {
                    collector.messages.count == 5
                }
                try proxy.export(to: collector, by: .seconds(1), until: "a warning") {
                    !proxy.warnings.isEmpty
                }
                #expect(
                    proxy.warnings == ["telemetry: traces are lost: the collector is away"]
                )
                #expect(Set(collector.messages.map(\.bodyText)).count == 1)
                #expect(try proxy.client().get(origin.url()).status == 200)
                try proxy.export(to: collector, until: "another message") {
                    collector.messages.count == 6
                }
            }
        }
    }

    /// Time moves on while a message is on its way, on a connection that was there before.
    private static let timeout = ["OTEL_EXPORTER_OTLP_TIMEOUT": "600000"]

    /// Sends a message for each of `count` exchanges.
    private func export(_ count: Int, by proxy: ProxyFixture, to collector: Collector) throws {
        let (_, origin) = try proxy.flaky(.good)
        let client = try proxy.client()
        for i in 1...count {
            #expect(try client.get(origin.url("/number-\(i)")).status == 200)
            try proxy.export(to: collector, until: "message \(i)") {
                collector.messages.contains { $0.bodyText.contains("/number-\(i)") }
            }
        }
    }

    @Test func `the connection to a collector is kept for the next message`() async throws {
        try await Collector.run(.keep) { collector in
            try await ProxyFixture.run(
                Self.settings(collector.url),
                clock: VirtualClock(),
                environment: Self.timeout
            ) { proxy in
                try export(3, by: proxy, to: collector)
                #expect(collector.messages.count == 3 && collector.connectionCount == 1)
            }
        }
    }

    @Test func `a connection by TLS is kept, too`() async throws {
        let root = try MintedAuthority.root(now: TestAuthority.now)
        let leaf = try root.leaf("127.0.0.1")
        let files = try MintedFiles()
        let trusted = try files.write(root.certificate.pem, "root.pem")
        let server = SecureSocket.Server(try leaf.identity)
        try await Collector.run(.keep, security: server) { collector in
            try await ProxyFixture.run(
                "upstream: {tls: {roots: \"\(trusted)\"}}\n" + Self.settings(collector.url),
                clock: VirtualClock(),
                environment: Self.timeout
            ) { proxy in
                try export(3, by: proxy, to: collector)
                #expect(collector.messages.count == 3 && collector.connectionCount == 1)
            }
        }
    }

    @Test func `a message that a kept connection lost is sent once more`() async throws {
        try await Collector.run(.keep, .drop, .keep, .leave, .keep) { collector in
            try await ProxyFixture.run(
                Self.settings(collector.url),
                clock: VirtualClock(),
                environment: Self.timeout
            ) { proxy in
                try export(2, by: proxy, to: collector)
                try eventually("the second attempt") { collector.messages.count == 3 }
                let texts = collector.messages.map(\.bodyText)
                #expect(texts[1] == texts[2] && collector.connectionCount == 2)
                // Closed after its answer: the next one comes on another.
                try export(3, by: proxy, to: collector)
                #expect(proxy.warnings.isEmpty)
            }
        }
    }

    @Test func `messages are compressed where that is asked for`() async throws {
        try await Collector.run(.take) { collector in
            let rules = Self.settings(collector.url, ", compression: gzip")
            try await ProxyFixture.run(rules, clock: VirtualClock()) { proxy in
                let (_, origin) = try proxy.flaky(.good)
                #expect(try proxy.client().get(origin.url("/a")).status == 200)
                try proxy.export(to: collector, until: "a message") { !collector.messages.isEmpty }
                let message = try #require(collector.messages.first)
                #expect(message.fields.contains { $0 == ("Content-Encoding", "gzip") })
                let plain = try WholeBody.decoded(
                    message.body,
                    from: ["gzip"],
                    bytesMax: 1 << 20
                )
                #expect(String(decoding: plain, as: UTF8.self).contains("resourceSpans"))
            }
        }
    }

    @Test func `429 is followed by the wait that Retry-After asks for`() async throws {
        try await Collector.run(.status(429, ["Retry-After: 7"]), .take) { collector in
            let clock = VirtualClock()
            try await ProxyFixture.run(Self.settings(collector.url), clock: clock) { proxy in
                let (_, origin) = try proxy.flaky(.good)
                #expect(try proxy.client().get(origin.url()).status == 200)
                try proxy.export(to: collector, until: "the first attempt") {
                    collector.messages.count == 1
                }
                let asked = clock.now
                try proxy.export(to: collector, until: "the second attempt") {
                    collector.messages.count == 2
                }
                let waited = Duration.microseconds(Int64(clock.now - asked))
                #expect(waited >= .milliseconds(6500) && waited < .seconds(9), "\(waited)")
                #expect(Set(collector.messages.map(\.bodyText)).count == 1)
            }
        }
    }

    @Test(arguments: [400, 401, 404, 500])
    func `other refusals are final`(status: Int) async throws {
        try await Collector.run(.status(status, []), .take) { collector in
            try await ProxyFixture.run(Self.settings(collector.url), clock: VirtualClock()) {
                proxy in
                let (_, origin) = try proxy.flaky(.good)
                #expect(try proxy.client().get(origin.url()).status == 200)
                try proxy.export(to: collector, until: "a warning") { !proxy.warnings.isEmpty }
                #expect(
                    proxy.warnings == [
                        "telemetry: traces are lost: the collector answers \(status)"
                    ]
                )
                #expect(try proxy.client().get(origin.url()).status == 200)
                try proxy.export(to: collector, until: "the next message") {
                    collector.messages.count == 2
                }
            }
        }
    }

    @Test func `a collector that is not there is a warning, and figures`() async throws {
        let reserved = try ReservedPort()
        let port = reserved.number
        let metrics = try ReservedPort()
        let rules = """
            telemetry:
              otlp: {url: "http://127.0.0.1:\(port)", traces: 100%, metrics: none}
              prometheus: {listen: 127.0.0.1:\(metrics.number)}
            """
        let place = metrics.number
        try await ProxyFixture.run(rules, clock: VirtualClock()) { proxy in
            let (_, origin) = try proxy.flaky(.good)
            #expect(try proxy.client().get(origin.url()).status == 200)
            try proxy.advance(by: .milliseconds(250), until: "a warning") {
                !proxy.warnings.isEmpty
            }
            #expect(proxy.warnings == ["telemetry: traces are lost: the collector is away"])
            let client = try ScriptedClient(to: .loopback(port: place))
            try client.send("GET /metrics HTTP/1.1\r\nHost: localhost:\(place)\r\n\r\n")
            let text = try client.response().bodyText
            #expect(text.contains("lupin_telemetry_lost_total{signal=\"traces\"} 2\n"))
            #expect(text.contains("lupin_telemetry_dropped_total 0\n"))
            client.close()
        }
    }

    @Test func `what is left is sent when lupin stops`() async throws {
        try await Collector.run { collector in
            let rules = "telemetry: {otlp: {url: \"\(collector.url)\", traces: 100%, logs: on}}"
            try await ProxyFixture.run(rules) { proxy in
                let (_, origin) = try proxy.flaky(.good)
                #expect(try proxy.client().get(origin.url()).status == 200)
            }
            #expect(collector.spans.map(\.name) == ["GET", "GET"])
            #expect(collector.logs.count == 1)
            #expect(collector.metricNames.contains("lupin.exchange.duration"))
        }
    }

    @Test func `a collector that hangs delays the end by two seconds at most`() async throws {
        try await Collector.run(.hang) { collector in
            let clock = ContinuousClock()
            let asked = Mutex(clock.now)
            try await ProxyFixture.run(Self.settings(collector.url)) { proxy in
                let (_, origin) = try proxy.flaky(.good)
                #expect(try proxy.client().get(origin.url()).status == 200)
                asked.withLock { $0 = clock.now }
            }
            let time = asked.withLock { clock.now - $0 }
            #expect(time > .seconds(1) && time < .seconds(8), "\(time)")
        }
    }

    @Test func `metrics come every fifteen seconds, cumulative`() async throws {
        try await Collector.run { collector in
            let rules = everywhere(
                "trace: false",
                "telemetry: {otlp: {url: \"\(collector.url)\"}}"
            )
            try await ProxyFixture.run(rules, clock: VirtualClock()) { proxy in
                let (_, origin) = try proxy.flaky(.good)
                for count in 1...2 {
                    #expect(try proxy.client().get(origin.url()).status == 200)
                    try proxy.export(to: collector, by: .seconds(1), until: "metrics") {
                        collector.messages(to: "/v1/metrics").count == count
                    }
                }
                let durations = collector.messages(to: "/v1/metrics").map { message in
                    JSONValue.items("resourceMetrics", "scopeMetrics", "metrics", of: message)
                        .first { $0["name"]?.string == "lupin.exchange.duration" }?[
                            "histogram",
                            "dataPoints"
                        ]?.list ?? []
                }
                #expect(durations.map { $0.first?["count"]?.string } == ["1", "2"])
                let names = durations[0].first?["attributes"]?.list?.compactMap {
                    $0["key"]?.string
                }
                #expect(names == ["lupin.rule", "lupin.outcome"])
                #expect(collector.messages(to: "/v1/traces").isEmpty)
            }
        }
    }

    @Test func `a reload turns the export on and off`() async throws {
        try await Collector.run { collector in
            let rules = Self.settings(collector.url)
            try await ProxyFixture.run(clock: VirtualClock()) { proxy in
                let (_, origin) = try proxy.flaky(.good)
                #expect(try proxy.client().get(origin.url("/1")).status == 200)
                _ = try proxy.records(1)
                let result = try await proxy.reload(rules)
                if case .loaded = result {} else { Issue.record("not loaded: \(result)") }
                #expect(try proxy.client().get(origin.url("/2")).status == 200)
                try proxy.export(to: collector, until: "two spans") { collector.spans.count == 2 }
                #expect(collector.spans.first?["url.path"] == "/2")
                _ = try await proxy.reload("telemetry: {otlp: {url: off}}")
                #expect(try proxy.client().get(origin.url("/3")).status == 200)
                _ = try proxy.records(3)
                try proxy.clock?.advance(by: .seconds(20))
                #expect(collector.spans.count == 2)
            }
        }
    }

    @Test func `a log record follows log: off`() async throws {
        try await Collector.run { collector in
            let rules = """
                telemetry: {otlp: {url: "\(collector.url)", traces: off, metrics: none, logs: on}}
                rules: [{name: quiet, match: {path: /quiet}, log: off}]
                """
            try await ProxyFixture.run(rules, clock: VirtualClock()) { proxy in
                let (_, origin) = try proxy.flaky(.good)
                let client = try proxy.client()
                for path in ["/quiet", "/loud"] {
                    #expect(try client.get(origin.url(path)).status == 200)
                }
                try proxy.export(to: collector, until: "a log record") { collector.logs.count == 1 }
                let body = collector.logs.first?["body", "stringValue"]?.string
                #expect(body == "GET \(origin.url("/loud")) 200 ok")
                #expect(collector.logs.first?["traceId"] == nil)
            }
        }
    }

    @Test func `a burst is sent before its time`() async throws {
        try await Collector.run { collector in
            let rules = Self.settings(collector.url)
            try await ProxyFixture.run(rules, clock: VirtualClock()) { proxy in
                let (_, origin) = try proxy.flaky(.good)
                let client = try proxy.client()
                let request = "GET \(origin.url()) HTTP/1.1\r\nHost: \(origin.authority)\r\n\r\n"
                for _ in 0..<6 {
                    try client.send(String(repeating: request, count: 100))
                    for _ in 0..<100 { #expect(try client.response().status == 200) }
                }
                // Time stands still.
                try eventually("messages") { collector.spans.count >= 1024 }
            }
        }
    }
}
