// That messages are what the protocol's definitions say: read by protobuf's own JSON mapping.
import Foundation
import LupinTestKit
import Testing

struct ProtocolTests {
    /// Reads lines of `path TAB body`, and writes what protobuf makes of each.
    ///
    /// OTLP/JSON differs from the mapping in one point, which is undone first: identifiers are
    /// hexadecimal, where the mapping has base64.
    private static let script = """
        import base64, json, sys
        from google.protobuf import json_format
        from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
        from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
            ExportMetricsServiceRequest)
        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
            ExportTraceServiceRequest)

        def mapped(value):
            if isinstance(value, list):
                return [mapped(item) for item in value]
            if not isinstance(value, dict):
                return value
            result = {}
            for key, item in value.items():
                if key in ("traceId", "spanId", "parentSpanId"):
                    raw = bytes.fromhex(item)
                    assert len(raw) == (16 if key == "traceId" else 8), item
                    result[key] = base64.b64encode(raw).decode()
                else:
                    result[key] = mapped(item)
            return result

        kinds = {
            "/v1/traces": (ExportTraceServiceRequest, "resource_spans", "scope_spans", "spans"),
            "/v1/logs": (ExportLogsServiceRequest, "resource_logs", "scope_logs", "log_records"),
            "/v1/metrics": (
                ExportMetricsServiceRequest, "resource_metrics", "scope_metrics", "metrics"),
        }
        for line in sys.stdin:
            path, body = line.rstrip("\\n").split("\\t", 1)
            kind, resources, scopes, items = kinds[path]
            text = json.dumps(mapped(json.loads(body)))
            message = json_format.Parse(text, kind(), ignore_unknown_fields=False)
            again = kind.FromString(message.SerializeToString())
            assert again == message
            count = 0
            for resource in getattr(message, resources):
                for scope in getattr(resource, scopes):
                    count += len(getattr(scope, items))
            print(path, count)
        """

    private static func python(_ arguments: [String], _ input: String) throws -> (Int32, String) {
        let process = ChildProgram("/usr/bin/env", ["python3"] + arguments)
        let (stdin, stdout) = (Pipe(), Pipe())
        process.standardInput = stdin
        process.standardOutput = stdout
        process.standardError = stdout
        try process.run()
        try? stdin.fileHandleForWriting.write(contentsOf: Data(input.utf8))
        try stdin.fileHandleForWriting.close()
        let output = stdout.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return (process.terminationStatus, String(decoding: output, as: UTF8.self))
    }

    /// Whether Python has the definitions; says so where it has not.
    private static let hasDefinitions: Bool = {
        let names = "import opentelemetry.proto.trace.v1.trace_pb2, google.protobuf.json_format"
        let result = try? python(["-c", names], "")
        if result?.0 == 0 { return true }
        print("skipped: pip install opentelemetry-proto protobuf, to check messages of OTLP")
        return false
    }()

    @Test(.enabled(if: hasDefinitions))
    func `protobuf's JSON mapping reads every message`() async throws {
        try await Collector.run { collector in
            let rules = """
                telemetry: {otlp: {url: "\(collector.url)", traces: 100%, logs: on}}
                rules:
                  - name: "all \\"of\\" them \\u202E"
                    match: {path: /**}
                    retry: {use: standard, backoff: {scale: 1ms, jitter: none}}
                    cache: standard
                """
            try await ProxyFixture.run(rules) { proxy in
                let (_, origin) = try proxy.flaky(.status(503), .reset, .good)
                let client = try proxy.client()
                for path in ["/a?token=x&b=%ff", "/b", "/b"] {
                    #expect(
                        try client.get(
                            origin.url(path),
                            "traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
                            "tracestate: a=1",
                            "User-Agent: odd \u{E9} \"agent\""
                        ).status == 200
                    )
                }
                #expect(try client.get("http://127.0.0.1:1/").status == 502)
            }
            let messages = collector.messages
            #expect(Set(messages.map(\.target)) == ["/v1/traces", "/v1/logs", "/v1/metrics"])
            let lines = messages.map { "\($0.target)\t\($0.bodyText)\n" }.joined()
            let (code, output) = try Self.python(["-c", Self.script], lines)
            #expect(code == 0, "\(output)")
            let counts = output.split(separator: "\n").compactMap { line -> (String, Int)? in
                let words = line.split(separator: " ")
                return words.count == 2 ? (String(words[0]), Int(words[1]) ?? 0) : nil
            }
            #expect(counts.count == messages.count, "\(output)")
            let spans = counts.filter { $0.0 == "/v1/traces" }.map(\.1).reduce(0, +)
            #expect(spans == collector.spans.count && spans >= 12)
            #expect(counts.filter { $0.0 == "/v1/logs" }.map(\.1).reduce(0, +) == 4)
        }
    }

    @Test(.enabled(if: hasDefinitions))
    func `a message that is wrong is not read`() throws {
        for body in [
            #"{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"00"}]}]}]}"#,
            #"{"resourceSpans":[{"scopeSpans":[{"spans":[{"kind":"sideways"}]}]}]}"#,
            #"{"resourceSpans":[{"unknownField":1}]}"#,
        ] {
            let (code, _) = try Self.python(["-c", Self.script], "/v1/traces\t\(body)\n")
            #expect(code != 0, "\(body)")
        }
    }
}
