// Which traces the collector gets, and what of them the origin sees.
import LupinCore
import LupinTestKit
import Testing

struct TraceTests {
    private static let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    private static let caller = "00f067aa0ba902b7"
    private static let joined = "traceparent: 00-\(trace)-\(caller)-01"

    private static func settings(_ collector: Collector, _ more: String = "") -> String {
        "telemetry: {otlp: {url: \"\(collector.url)\", metrics: none\(more)}}"
    }

    @Test func `an exchange with three attempts is a trace with the right parents`() async throws {
        try await Collector.run { collector in
            let rules = everywhere(
                "retry: {use: standard, backoff: {scale: 1ms, jitter: none}}",
                Self.settings(collector)
            )
            try await ProxyFixture.run(rules, clock: VirtualClock()) { proxy in
                let (flaky, origin) = try proxy.flaky(.status(503), .status(502), .good)
                let client = try proxy.client()
                let secret = "s3cr3t-of-the-user"
                try client.send(
                    "GET \(origin.url("/a?access_token=\(secret)&x=1")) HTTP/1.1\r\n"
                        + "Host: \(origin.authority)\r\n\(Self.joined)\r\ntracestate: a=1,b=2\r\n"
                        + "Authorization: Bearer \(secret)\r\nCookie: k=\(secret)\r\n\r\n"
                )
                try proxy.advance(by: .milliseconds(50), until: "three attempts") {
                    flaky.asked == 3
                }
                #expect(try client.response().status == 200)
                try proxy.export(to: collector, until: "four spans") { collector.spans.count == 4 }
                let spans = collector.spans
                let own = try #require(spans.first { $0.isServer })
                let attempts = spans.filter(\.isClient)
                #expect(spans.allSatisfy { $0.trace == Self.trace })
                #expect(own.parent == Self.caller)
                #expect(attempts.count == 3)
                #expect(attempts.allSatisfy { $0.parent == own.id })
                #expect(
                    attempts.map { $0["http.response.status_code"] } == ["503", "502", "200"]
                )
                #expect(attempts.map { $0["http.request.resend_count"] } == [nil, "1", "2"])
                #expect(own["http.response.status_code"] == "200")
                #expect(own["lupin.exchange.id"] == (try proxy.record()["id"]))
                // Each attempt tells the origin its own span.
                #expect(
                    flaky.requests.map { $0["traceparent"] }
                        == attempts.map { "00-\(Self.trace)-\($0.id)-01" }
                )
                #expect(flaky.requests.allSatisfy { $0["tracestate"] == "a=1,b=2" })
                #expect(!collector.text.contains(secret))
                #expect(collector.text.contains("REDACTED"))
                // lupin's own requests leave no record.
                #expect(proxy.recordsSoFar().count == 1)
            }
        }
    }

    @Test
    func `a rule begins a trace, which has the exchange's ID, and only then the origin sees it`()
        async throws
    {
        try await Collector.run { collector in
            let rules = """
                \(Self.settings(collector, ", traces: 100%"))
                rules: [{name: own, match: {path: /own/**}, trace: true}]
                """
            try await ProxyFixture.run(rules, clock: VirtualClock()) { proxy in
                let (flaky, origin) = try proxy.flaky(.good)
                let client = try proxy.client()
                for path in ["/own/a", "/foreign"] {
                    #expect(try client.get(origin.url(path)).status == 200)
                }
                try proxy.export(to: collector, until: "four spans") { collector.spans.count == 4 }
                let spans = collector.spans
                let roots = spans.filter { $0.isServer && $0.parent.isEmpty }
                #expect(roots.count == 2)
                #expect(Set(roots.map(\.trace)) == Set(try proxy.records(2).map { $0["id"] ?? "" }))
                let first = try #require(spans.first { $0.isClient })
                #expect(
                    flaky.requests.map { $0["traceparent"] }
                        == ["00-\(first.trace)-\(first.id)-01", nil]
                )
            }
        }
    }

    @Test func `what nobody records, and what a rule forbids to trace, passes untouched`()
        async throws
    {
        try await Collector.run { collector in
            let rules = """
                \(Self.settings(collector, ", traces: 0%"))
                rules: [{name: never, match: {path: /never}, trace: false}]
                """
            try await ProxyFixture.run(rules, clock: VirtualClock()) { proxy in
                let (flaky, origin) = try proxy.flaky(.good)
                let client = try proxy.client()
                let unsampled = "traceparent: 00-\(Self.trace)-\(Self.caller)-00"
                let malformed = "traceparent: 00-\(Self.trace)-\(Self.caller)-zz"
                let last = Self.joined
                for (path, field) in [
                    ("/", unsampled), ("/", malformed), ("/never", last), ("/", last),
                ] {
                    #expect(try client.get(origin.url(path), field).status == 200)
                }
                try proxy.export(to: collector, until: "two spans") { collector.spans.count == 2 }
                let sent = flaky.requests.map { "traceparent: \($0["traceparent"] ?? "")" }
                #expect(Array(sent.prefix(3)) == [unsampled, malformed, Self.joined])
                #expect(sent[3] != Self.joined && sent[3].contains(Self.trace))
            }
        }
    }

    @Test func `a rule's trace that is not kept goes upstream as such`() async throws {
        try await Collector.run { collector in
            let rules = everywhere("trace: true", Self.settings(collector, ", traces: 0%"))
            try await ProxyFixture.run(rules, clock: VirtualClock()) { proxy in
                let (flaky, origin) = try proxy.flaky(.good)
                let bad = "traceparent: 00-nonsense"
                #expect(
                    try proxy.client().get(origin.url(), bad, "tracestate: a=1").status == 200
                )
                let sent = try #require(flaky.requests.first)
                #expect(sent.values("traceparent").count == 1)
                #expect(
                    sent["traceparent"]?.hasPrefix("00-\(try proxy.record()["id"] ?? "")") == true
                )
                #expect(sent["traceparent"]?.hasSuffix("-00") == true)
                #expect(sent["tracestate"] == nil)
                #expect(collector.messages.isEmpty)
            }
        }
    }

    @Test func `the environment names the collector, its fields and the service`() async throws {
        try await Collector.run { collector in
            let environment = [
                "OTEL_EXPORTER_OTLP_ENDPOINT": "\(collector.url)/base/",
                "OTEL_EXPORTER_OTLP_HEADERS": "x-tenant=acme%20inc,X-Key=collector-key",
                "OTEL_SERVICE_NAME": "pipeline", "OTEL_TRACES_SAMPLER": "always_on",
            ]
            try await ProxyFixture.run(
                "telemetry: {otlp: {metrics: none}}",
                clock: VirtualClock(),
                environment: environment
            ) { proxy in
                let (_, origin) = try proxy.flaky(.good)
                let url = origin.url("/collector-key")
                #expect(try proxy.client().get(url).status == 200)
                try proxy.export(to: collector, until: "a message") { !collector.messages.isEmpty }
                let message = try #require(collector.messages.first)
                #expect(message.target == "/base/v1/traces")
                #expect(message.method == "POST")
                #expect(message["x-tenant"] == "acme inc")
                #expect(message["X-Key"] == "collector-key")
                #expect(message["Content-Type"] == "application/json")
                #expect(message.bodyText.contains(#""stringValue":"pipeline""#))
                // The collector's key is a secret like any other.
                #expect(!message.bodyText.contains("collector-key"))
            }
        }
    }

    @Test func `OTEL_SDK_DISABLED turns off what only the environment turns on`() async throws {
        try await Collector.run { collector in
            let environment = [
                "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url, "OTEL_SDK_DISABLED": "true",
            ]
            try await ProxyFixture.run(environment: environment) { proxy in
                let (flaky, origin) = try proxy.flaky(.good)
                #expect(try proxy.client().get(origin.url(), Self.joined).status == 200)
                #expect(
                    flaky.requests.map { $0["traceparent"].map { "traceparent: \($0)" } } == [
                        Self.joined
                    ]
                )
            }
            #expect(collector.messages.isEmpty)
        }
    }

    @Test func `a tunnel is traced without a word in it`() async throws {
        try await Collector.run { collector in
            let rules = Self.settings(collector, ", traces: 100%")
            try await ProxyFixture.run(rules, clock: VirtualClock()) { proxy in
                let origin = try proxy.origin { connection in
                    try connection.request()
                    try connection.reply(body: "inside")
                }
                let client = try proxy.client()
                #expect(try client.connect(origin.authority).status == 200)
                try client.send("GET / HTTP/1.1\r\nHost: x\r\n\(Self.joined)\r\n\r\n")
                #expect(try client.response().bodyText == "inside")
                client.close()
                origin.endConnections()
                try proxy.export(to: collector, until: "two spans") { collector.spans.count == 2 }
                #expect(origin.receivedText.contains(Self.joined))
                let spans = collector.spans
                #expect(spans.map(\.name) == ["CONNECT", "CONNECT"])
                #expect(spans.allSatisfy { $0["url.full"] == nil })
                #expect(spans.first?["lupin.mode"] == "tunnel")
            }
        }
    }

    @Test func `a look-up in the cache is a span of its own`() async throws {
        try await Collector.run { collector in
            let rules = everywhere("cache: standard", Self.settings(collector, ", traces: 100%"))
            try await ProxyFixture.run(rules, clock: VirtualClock()) { proxy in
                let (flaky, origin) = try proxy.flaky(
                    .status(200, "Cache-Control: max-age=60", body: "x")
                )
                let client = try proxy.client()
                for _ in 0..<2 { #expect(try client.get(origin.url()).bodyText == "x") }
                #expect(flaky.asked == 1)
                try proxy.export(to: collector, until: "five spans") { collector.spans.count == 5 }
                let lookUps = collector.spans.filter { $0.name == "cache look-up" }
                #expect(lookUps.count == 2)
                #expect(lookUps.first?["lupin.cache.status"]?.contains("uri-miss") == true)
                #expect(lookUps.last?["lupin.cache.status"]?.contains("hit") == true)
                let servers = Set(collector.spans.filter(\.isServer).map(\.id))
                #expect(lookUps.allSatisfy { servers.contains($0.parent) })
            }
        }
    }

    @Test func `the wait for a token is a span of its own`() async throws {
        let server = try TokenServer(life: 3600)
        defer { server.stop() }
        try await Collector.run { collector in
            let settings = Self.settings(collector, ", traces: 100%")
            try await ProxyFixture.run(TokenRefreshTests.rules(server, settings)) { proxy in
                let origin = try proxy.guardedOrigin(Accepted(["t1"]))
                #expect(try proxy.client().get(origin.url("/api/a")).status == 200)
            }
            // The request to the token server is lupin's own: it is no attempt of the exchange.
            let spans = collector.spans.filter { $0.name != "POST" }
            #expect(spans.map(\.name) == ["GET", "token", "GET"])
            #expect(spans[1]["lupin.token.name"] == "me")
            #expect(spans[1].parent == spans[0].id)
            #expect(spans[0]["lupin.token.action"] == "refreshed")
            let request = try #require(collector.spans.first { $0.name == "POST" })
            #expect(request.isClient && request.parent == spans[0].id)
            #expect(request.trace == spans[0].trace && collector.spans.count == 4)
            #expect(request["http.request.method"] == "POST")
            #expect(server.url.hasPrefix("http://\(request["server.address"] ?? "?"):"))
            #expect(request["http.response.status_code"] == "200" && request["error.type"] == nil)
            #expect(request["lupin.token.name"] == "me" && request["url.full"] == nil)
        }
    }

    @Test func `the request for a token is a trace of its own where its exchange has none`()
        async throws
    {
        let server = try TokenServer(TokenServer.Manners(refusal: (400, "{}")))
        defer { server.stop() }
        try await Collector.run { collector in
            let settings = Self.settings(collector, ", traces: 100%")
            let rules =
                TokenRefreshTests.rules(server, settings)
                + "\n  - {name: never, match: {path: /**}, trace: false}\n"
            try await ProxyFixture.run(rules) { proxy in
                let origin = try proxy.guardedOrigin(Accepted(["t1"]))
                #expect(try proxy.client().get(origin.url("/api/a")).status == 502)
            }
            let spans = collector.spans
            #expect(spans.map(\.name) == ["POST"])
            #expect(spans.first?.parent == "" && spans.first?.isClient == true)
            #expect(spans.first?["error.type"] == "400")
            #expect(spans.first?["http.response.status_code"] == "400")
        }
    }
}
