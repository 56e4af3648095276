// What the file says of telemetry, and what the environment adds.

import LupinCore
import LupinPolicy
import LupinRules
import Testing

struct TelemetryValuesTests {
    private func settings(_ body: String) throws -> TelemetrySettings {
        try configuration("telemetry: \(body)").settings.telemetry
    }

    @Test func `everything is read`() throws {
        let telemetry = try settings(
            """
            {otlp: {url: "https://c.example:4318/x/", headers: {Api-Key: k3y-value}, traces: 12.5%,
              metrics: 30s, logs: on, compression: gzip}, prometheus: {listen: "[::1]:9464"}}
            """
        )
        guard case .url(let url) = telemetry.collector else {
            Issue.record("\(telemetry.collector)")
            return
        }
        #expect(url.description == "https://c.example:4318/x/")
        #expect(telemetry.headers == [TelemetryField(name: "Api-Key", value: "k3y-value")])
        #expect(telemetry.traces == TraceShare(percent: "12.5%").map { .share($0) })
        #expect(telemetry.metrics == .every(.seconds(30)))
        #expect(telemetry.logs == .on && telemetry.compression == .gzip)
        #expect(telemetry.prometheus == ListenEndpoint(address: .v6(high: 0, low: 1), port: 9464))
        let export = try #require(telemetry.resolved([:]).export)
        #expect(export.routes[.traces]?.url.description == "https://c.example:4318/x/v1/traces")
    }

    @Test func `the collector's fields are secrets`() throws {
        let body = "telemetry: {otlp: {url: off, headers: {Api-Key: k3y-value}}}"
        #expect(try configuration(body).secrets.contains("k3y-value"))
    }

    @Test(arguments: [
        ("{otlp: {url: localhost}}", Diagnostic.Code.type, "it is no http or https URL"),
        ("{otlp: {url: \"http://u:p@c/\"}}", .type, "a collector's URL has no user"),
        (
            "{otlp: {url: \"http://c/?a\"}}", .type,
            "a collector's URL has no query: /v1/traces comes behind it"
        ),
        (
            "{otlp: {url: \"http://c/v1/traces\"}}", .type,
            "lupin adds /v1/traces, /v1/metrics and /v1/logs itself"
        ),
        (
            "{otlp: {traces: 5}}", .type,
            "\"5\" is no share of traces: 0% to 100%, with four decimals at most"
        ),
        ("{otlp: {metrics: 10ms}}", .range, "metrics 10ms is out of range"),
        ("{otlp: {logs: yes}}", .name, "unknown value \"yes\""),
        ("{otlp: {headers: x}}", .type, "expected a map, found \"x\""),
        (
            "{otlp: {headers: {Host: abc}}}", .header,
            "it can't be a field of a request to the collector"
        ),
        ("{prometheus: {listen: 9464}}", .type, "\"9464\" is not an address with a port"),
        ("{prometheus: {port: 1}}", .key, "unknown key \"port\" in \"telemetry.prometheus\""),
        ("{otel: {}}", .key, "unknown key \"otel\" in \"telemetry\""),
    ])
    func `what will not do is told`(value: String, code: Diagnostic.Code, message: String) {
        let problems = decode("telemetry: \(value)").errors
        #expect(problems.map(\.code) == [code])
        #expect(problems.map(\.message) == [message])
    }

    @Test func `fields that go out in clear are a warning`() {
        func warnings(_ url: String) -> [String] {
            decode("telemetry: {otlp: {url: \"\(url)\", headers: {Api-Key: k3y-value}}}")
                .warnings.map(\.message)
        }
        #expect(warnings("http://c.example:4318") == ["these fields go to c.example:4318 in clear"])
        #expect(warnings("http://127.0.0.1:4318") == [])
        #expect(warnings("https://c.example") == [])
    }

    @Test func `trace is true or false`() throws {
        let rules = try configuration("rules: [{match: a.test, trace: true}]").rules.rules
        #expect(rules.first?.flags[.trace] == true)
        #expect(rules.first?.clearTextNeed(of: .trace) == .convenience)
        let off = try configuration("rules: [{match: a.test, trace: false}]").rules.rules
        #expect(off.first?.clearTextNeed(of: .trace) == ClearTextNeed.none)
        #expect(decode("rules: [{match: a.test, trace: 5%}]").errors.map(\.code) == [.type])
    }

    // MARK: The environment

    private let endpoint = ["OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318"]

    @Test func `without a collector nothing is exported`() {
        #expect(TelemetrySettings().resolved([:]).export == nil)
        #expect(TelemetrySettings().resolved(["OTEL_EXPORTER_OTLP_ENDPOINT": ""]).export == nil)
        var settings = TelemetrySettings()
        settings.collector = .off
        #expect(settings.resolved(endpoint).export == nil)
        let wrong = TelemetrySettings().resolved(["OTEL_EXPORTER_OTLP_ENDPOINT": "c:4318"])
        #expect(wrong.export == nil && wrong.problems.count == 1)
    }

    @Test func `the file wins over the environment`() throws {
        let telemetry = try settings(
            "{otlp: {url: \"http://file\", headers: {A: file-value}, traces: 1%}}"
        )
        let export = try #require(
            telemetry.resolved([
                "OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318", "OTEL_SDK_DISABLED": "true",
                "OTEL_EXPORTER_OTLP_HEADERS": "A=environment", "OTEL_TRACES_SAMPLER": "always_on",
                "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://c:4318/t",
            ]).export
        )
        #expect(export.routes[.traces]?.url.description == "http://file/v1/traces")
        #expect(Set(export.headers.map(\.value)) == ["file-value"])
        #expect(export.traces?.share.percentText == "1%")
    }

    @Test(
        arguments: [
            (nil, nil, "5%", true, 0),
            ("always_on", nil, "100%", false, 0),
            ("parentbased_always_on", nil, "100%", true, 0),
            ("parentbased_always_off", nil, "0%", true, 0),
            ("traceidratio", "0.25", "25%", false, 0),
            ("parentbased_traceidratio", "0.25", "25%", true, 0),
            ("parentbased_traceidratio", nil, "100%", true, 0),
            ("traceidratio", "2", "5%", true, 1),
            ("jaeger_remote", nil, "5%", true, 1),
        ] as [(String?, String?, String, Bool, Int)]
    )
    func `samplers have their standard names`(
        name: String?,
        argument: String?,
        share: String,
        followsParent: Bool,
        problems: Int
    ) throws {
        var environment = endpoint
        environment["OTEL_TRACES_SAMPLER"] = name
        environment["OTEL_TRACES_SAMPLER_ARG"] = argument
        let resolved = TelemetrySettings().resolved(environment)
        let sampling = try #require(resolved.export?.traces)
        #expect(sampling.share.percentText == share)
        #expect(sampling.followsParent == followsParent)
        #expect(resolved.problems.count == problems)
    }

    @Test func `always_off exports no traces, and a field that can't be sent is told`() {
        var environment = endpoint
        environment["OTEL_TRACES_SAMPLER"] = "always_off"
        environment["OTEL_EXPORTER_OTLP_HEADERS"] = "a=1,b c=2,host=x,d=%0a"
        let resolved = TelemetrySettings().resolved(environment)
        #expect(resolved.export != nil && resolved.export?.traces == nil)
        #expect(resolved.export?.routes[.metrics]?.headers.map(\.name) == ["a"])
        #expect(resolved.problems.count == 1)
    }

    @Test func `a signal may have variables of its own`() throws {
        let resolved = TelemetrySettings().resolved([
            "OTEL_EXPORTER_OTLP_ENDPOINT": "http://all:4318/base/",
            "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "https://t:1/own?x=1",
            "OTEL_EXPORTER_OTLP_HEADERS": "a=1", "OTEL_EXPORTER_OTLP_TRACES_HEADERS": "b=2",
            "OTEL_EXPORTER_OTLP_TIMEOUT": "2500", "OTEL_EXPORTER_OTLP_METRICS_TIMEOUT": "50",
            "OTEL_EXPORTER_OTLP_METRICS_COMPRESSION": "gzip", "OTEL_LOGS_EXPORTER": "otlp",
        ])
        let export = try #require(resolved.export)
        let traces = try #require(export.routes[.traces])
        let metrics = try #require(export.routes[.metrics])
        #expect(traces.url == HTTPURL("https://t:1/own?x=1"))
        #expect(metrics.url == HTTPURL("http://all:4318/base/v1/metrics"))
        #expect(traces.headers.map(\.name) == ["b"] && metrics.headers.map(\.name) == ["a"])
        #expect(traces.timeout == .milliseconds(2500) && metrics.timeout == .milliseconds(50))
        #expect(!traces.compresses && metrics.compresses)
        #expect(export.logs && resolved.problems == [])
    }

    @Test func `the environment says how often metrics go, where the file does not`() throws {
        var environment = endpoint
        environment["OTEL_METRIC_EXPORT_INTERVAL"] = "60000"
        let silent = try settings("{otlp: {url: \"http://c:4318\"}}")
        #expect(silent.resolved([:]).export?.metrics == .seconds(15))
        #expect(silent.resolved(environment).export?.metrics == .seconds(60))
        let automatic = try settings("{otlp: {metrics: auto}}")
        #expect(automatic.resolved(environment).export?.metrics == .seconds(60))
        // Also where it is the usual time.
        let written = try settings("{otlp: {metrics: 15s}}")
        #expect(written.resolved(environment).export?.metrics == .seconds(15))
        let off = try settings("{otlp: {metrics: none}}").resolved(environment)
        #expect(off.export != nil && off.export?.metrics == nil)
        for wrong in ["999", "3600001", "1m", "-1"] {
            environment["OTEL_METRIC_EXPORT_INTERVAL"] = wrong
            let resolved = silent.resolved(environment)
            #expect(resolved.export?.metrics == .seconds(15) && resolved.problems.count == 1)
        }
    }

    @Test func `a signal without a place, or without an exporter, is not exported`() throws {
        let one = TelemetrySettings().resolved([
            "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "http://m:1/"
        ])
        let only = try #require(one.export)
        #expect(Set(only.routes.keys) == [.metrics] && only.traces == nil && only.metrics != nil)
        var environment = endpoint
        environment["OTEL_TRACES_EXPORTER"] = "none"
        environment["OTEL_METRICS_EXPORTER"] = "console"
        let resolved = TelemetrySettings().resolved(environment)
        #expect(resolved.export?.traces == nil && resolved.export?.metrics == nil)
        #expect(resolved.export?.logs == false && resolved.problems.count == 1)
    }

    @Test(arguments: [
        ("OTEL_EXPORTER_OTLP_TIMEOUT", "soon"), ("OTEL_EXPORTER_OTLP_TIMEOUT", "0"),
        ("OTEL_EXPORTER_OTLP_COMPRESSION", "zstd"), ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
        ("OTEL_EXPORTER_OTLP_LOGS_ENDPOINT", "c"),
    ])
    func `what lupin can't do is told once`(name: String, value: String) {
        var environment = endpoint
        environment[name] = value
        let resolved = TelemetrySettings().resolved(environment)
        #expect(resolved.problems.count == 1 && resolved.problems[0].hasPrefix(name))
        #expect(resolved.export?.routes[.traces]?.timeout == .seconds(10))
    }
}
