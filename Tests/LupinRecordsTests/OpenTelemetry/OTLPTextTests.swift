// The JSON of OTLP: identifiers in hex, 64-bit integers as strings, enums as numbers.

import LupinCore
import LupinRecords
import LupinTestKit
import Testing

struct OTLPTextTests {
    private let resource = TelemetryResource(environment: [:], version: "1.2", instance: "i-1")

    private func parsed(_ bytes: [UInt8]) throws -> JSONValue {
        let value = JSONValue(parsing: bytes.span)
        return try #require(value)
    }

    @Test func `a span is written whole`() throws {
        let exchange = makeTracedExchange()
        let spans = ExchangeSpans(makeRedactor()).spans(of: exchange)
        let json = try parsed(OTLPText.traces(spans, resource))
        let group = try #require(json["resourceSpans"]?.list?.first)
        #expect(group["resource", "attributes"]?.list?.count == 3)
        let scope = try #require(group["scopeSpans"]?.list?.first)
        #expect(scope["scope", "name"]?.string == "lupin")
        #expect(scope["scope", "version"]?.string == "1.2")
        let written = try #require(scope["spans"]?.list)
        #expect(written.count == 6)
        let own = written[0]
        #expect(own["traceId"]?.string == sampleTrace)
        #expect(own["spanId"]?.string == "0000000000000010")
        #expect(own["parentSpanId"]?.string == "00000000000000f0")
        #expect(own["traceState"]?.string == "a=1")
        #expect(own["flags"]?.number == 0x301)
        #expect(own["kind"]?.number == 2)
        #expect(own["startTimeUnixNano"]?.string == "\(sampleStart)000")
        #expect(own["endTimeUnixNano"]?.string == "\(sampleStart + 900_000)000")
        #expect(own["status"] == nil)
        let port = own["attributes"]?.list?.first { $0["key"]?.string == "server.port" }
        #expect(port?["value", "intValue"]?.string == "80")
        let rules = own["attributes"]?.list?.first { $0["key"]?.string == "lupin.rules" }
        #expect(
            rules?["value", "arrayValue", "values"]?.list?.compactMap { $0["stringValue"]?.string }
                == ["everyone", "github"]
        )
        #expect(written[3]["status", "code"]?.number == 2)
        #expect(written[5]["kind"]?.number == 3)
        let wait = written[5]["attributes"]?.list?.first {
            $0["key"]?.string == "lupin.timing.wait"
        }
        #expect(wait?["value", "doubleValue"]?.number == 60.2)
    }

    @Test func `texts of others are escaped`() throws {
        var exchange = makeTracedExchange()
        exchange.record.rules.matched = ["a\"b\\c\u{1B}\n\u{202E}é"]
        let spans = ExchangeSpans(makeRedactor()).spans(of: exchange)
        let environment = ["OTEL_RESOURCE_ATTRIBUTES": "a\"k=v\\w"]
        let odd = TelemetryResource(environment: environment, version: "", instance: "")
        let json = try parsed(OTLPText.traces(spans, odd))
        let attributes = json["resourceSpans"]?.list?.first?["resource", "attributes"]?.list
        #expect(attributes?.last?["key"]?.string == "a\"k")
        #expect(attributes?.last?["value", "stringValue"]?.string == "v\\w")
    }

    @Test func `a time before 1970 or beyond 64 bits does not trap`() throws {
        for time in [Int64.min, -1, .max] {
            var exchange = makeTracedExchange()
            exchange.record.startMicroseconds = time
            let spans = ExchangeSpans(makeRedactor()).spans(of: exchange)
            _ = try parsed(OTLPText.traces(spans, resource))
        }
    }

    @Test func `a log record is written whole`() throws {
        let log = ExchangeSpans(makeRedactor()).log(of: makeTracedExchange())
        let json = try parsed(OTLPText.logs([log], observed: 5, resource))
        let scope = json["resourceLogs"]?.list?.first?["scopeLogs"]?.list?.first
        let record = try #require(scope?["logRecords"]?.list?.first)
        #expect(record["observedTimeUnixNano"]?.string == "5000")
        #expect(record["severityNumber"]?.number == 9)
        #expect(record["severityText"]?.string == "INFO")
        #expect(record["traceId"]?.string == sampleTrace)
        #expect(record["spanId"]?.string == "0000000000000010")
        #expect(record["body", "stringValue"]?.string?.hasPrefix("GET http://") == true)
    }

    @Test func `metrics are cumulative sums, gauges and histograms`() throws {
        var histogram = DurationHistogram()
        histogram.note(1_500_000)
        histogram.note(900)
        let metrics = [
            TelemetryMetric("a", unit: "By", "bytes", .counter([.init(7, [(.direction, "x")])])),
            TelemetryMetric("b", unit: "1", "now", .gauge([.init(.max)])),
            TelemetryMetric(
                "c",
                unit: "s",
                "times",
                .durations([.init(histogram, [(.rule, ""), (.outcome, "ok")])])
            ),
        ]
        let json = try parsed(OTLPText.metrics(metrics, since: 1, at: 2, resource))
        let scope = json["resourceMetrics"]?.list?.first?["scopeMetrics"]?.list?.first
        let written = try #require(scope?["metrics"]?.list)
        #expect(written[0]["sum", "aggregationTemporality"]?.number == 2)
        #expect(written[0]["sum", "isMonotonic"]?.bool == true)
        let point = try #require(written[0]["sum", "dataPoints"]?.list?.first)
        #expect(point["asInt"]?.string == "7")
        #expect(point["startTimeUnixNano"]?.string == "1000")
        #expect(point["timeUnixNano"]?.string == "2000")
        let gauge = try #require(written[1]["gauge", "dataPoints"]?.list?.first)
        #expect(gauge["asInt"]?.string == "9223372036854775807")
        #expect(gauge["startTimeUnixNano"] == nil)
        let times = try #require(written[2]["histogram", "dataPoints"]?.list?.first)
        #expect(times["attributes"]?.list?.count == 1)
        #expect(times["count"]?.string == "2")
        #expect(times["sum"]?.number == 1.5009)
        #expect(times["bucketCounts"]?.list?.count == DurationHistogram.bounds.count + 1)
        #expect(times["explicitBounds"]?.list?.first?.number == 0.001)
        #expect(times["explicitBounds"]?.list?.count == DurationHistogram.bounds.count)
    }
}
