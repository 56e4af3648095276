// Encodes spans, log records and metrics as OTLP/JSON: the bodies of requests to a collector.

import LupinCore

/// The JSON of OTLP: the protobuf mapping with two exceptions, that identifiers are hexadecimal and
/// that keys are lowerCamelCase (OTLP 1.x, "JSON Protobuf Encoding").
///
/// 64-bit integers are decimal strings and enums numbers.
package struct OTLPText {
    /// The conventions that the attributes follow.
    private static let schema = "https://opentelemetry.io/schemas/1.27.0"

    private let resource: TelemetryResource
    private var line = JSONLine()

    private init(_ resource: TelemetryResource) { self.resource = resource }

    /// The body for `/v1/traces`.
    package static func traces(_ spans: [TelemetrySpan], _ resource: TelemetryResource) -> [UInt8] {
        var text = OTLPText(resource)
        text.wrap("resourceSpans", "scopeSpans", "spans") { text in
            for span in spans { text.add(span) }
        }
        return text.line.bytes
    }

    /// The body for `/v1/logs`; `observed` is when they were seen, in microseconds since 1970.
    package static func logs(
        _ logs: [TelemetryLog],
        observed: Int64,
        _ resource: TelemetryResource
    ) -> [UInt8] {
        var text = OTLPText(resource)
        text.wrap("resourceLogs", "scopeLogs", "logRecords") { text in
            for log in logs { text.add(log, observed) }
        }
        return text.line.bytes
    }

    /// The body for `/v1/metrics`; the times are those of the proxy's start and of the reading, in
    /// microseconds since 1970.
    package static func metrics(
        _ metrics: [TelemetryMetric],
        since start: Int64,
        at now: Int64,
        _ resource: TelemetryResource
    ) -> [UInt8] {
        var text = OTLPText(resource)
        text.wrap("resourceMetrics", "scopeMetrics", "metrics") { text in
            for metric in metrics { text.add(metric, since: start, at: now) }
        }
        return text.line.bytes
    }

    private mutating func wrap(
        _ resources: String,
        _ scopes: String,
        _ items: String,
        _ add: (inout OTLPText) -> Void
    ) {
        line.openObject()
        line.openList(resources)
        line.openObject()
        line.openObject("resource")
        line.openList("attributes")
        for (name, value) in resource.attributes { element(key: name, .text(value)) }
        line.closeList()
        line.closeObject()
        line.openList(scopes)
        line.openObject()
        line.openObject("scope")
        line.add("name", literal: "lupin")
        line.add("version", text: resource.version)
        line.closeObject()
        line.openList(items)
        add(&self)
        line.closeList()
        line.add("schemaUrl", literal: Self.schema)
        line.closeObject()
        line.closeList()
        line.closeObject()
        line.closeList()
        line.closeObject()
    }

    // MARK: Spans and log records

    private mutating func add(_ span: TelemetrySpan) {
        line.openObject()
        line.add("traceId", literal: span.trace.text)
        line.add("spanId", literal: span.id.text)
        if let parent = span.parent { line.add("parentSpanId", literal: parent.text) }
        if !span.state.members.isEmpty { line.add("traceState", text: span.state.text) }
        line.add("flags", span.flags)
        line.add("name", text: span.name)
        line.add("kind", span.kind.rawValue)
        add("startTimeUnixNano", time: span.begun)
        add("endTimeUnixNano", time: span.ended)
        add(span.attributes)
        if span.isError {
            line.openObject("status")
            if !span.message.isEmpty { line.add("message", text: span.message) }
            line.add("code", 2)
            line.closeObject()
        }
        line.closeObject()
    }

    private mutating func add(_ log: TelemetryLog, _ observed: Int64) {
        line.openObject()
        add("timeUnixNano", time: log.time)
        add("observedTimeUnixNano", time: observed)
        line.add("severityNumber", log.severity.rawValue)
        line.add("severityText", literal: log.severity.text)
        line.openObject("body")
        line.add("stringValue", text: log.body)
        line.closeObject()
        add(log.attributes)
        if let trace = log.trace, let span = log.span {
            line.add("flags", 1)
            line.add("traceId", literal: trace.text)
            line.add("spanId", literal: span.text)
        }
        line.closeObject()
    }

    // MARK: Metrics

    private mutating func add(_ metric: TelemetryMetric, since start: Int64, at now: Int64) {
        line.openObject()
        line.add("name", literal: metric.name)
        line.add("description", text: metric.description)
        line.add("unit", literal: metric.unit)
        switch metric.data {
        case .gauge(let points):
            line.openObject("gauge")
            add(points, since: nil, at: now)
            line.closeObject()
        case .counter(let points):
            line.openObject("sum")
            add(points, since: start, at: now)
            line.add("aggregationTemporality", Self.cumulative)
            line.add("isMonotonic", true)
            line.closeObject()
        case .durations(let all):
            line.openObject("histogram")
            line.openList("dataPoints")
            for durations in all { add(durations, since: start, at: now) }
            line.closeList()
            line.add("aggregationTemporality", Self.cumulative)
            line.closeObject()
        }
        line.closeObject()
    }

    private static let cumulative: UInt64 = 2

    private mutating func add(
        _ points: [TelemetryMetric.Point],
        since start: Int64?,
        at now: Int64
    ) {
        line.openList("dataPoints")
        for point in points {
            line.openObject()
            add(point.attributes)
            if let start { add("startTimeUnixNano", time: start) }
            add("timeUnixNano", time: now)
            line.add("asInt", literal: "\(Int64(clamping: point.value))")
            line.closeObject()
        }
        line.closeList()
    }

    private mutating func add(
        _ durations: TelemetryMetric.Durations,
        since start: Int64,
        at now: Int64
    ) {
        let histogram = durations.histogram
        line.openObject()
        add(durations.attributes)
        add("startTimeUnixNano", time: start)
        add("timeUnixNano", time: now)
        line.add("count", literal: "\(histogram.count)")
        add("sum", number: DurationHistogram.secondsText(histogram.sumMicroseconds))
        line.openList("bucketCounts")
        for count in histogram.bucketCounts { line.element(literal: "\(count)") }
        line.closeList()
        line.openList("explicitBounds")
        for bound in DurationHistogram.bounds {
            line.comma()
            line.bytes.append(contentsOf: DurationHistogram.secondsText(UInt64(bound)).utf8)
        }
        line.closeList()
        line.closeObject()
    }

    // MARK: Values

    private mutating func add(_ attributes: TelemetryAttributes) {
        if attributes.all.isEmpty { return }
        line.openList("attributes")
        for (name, value) in attributes.all { element(key: name.rawValue, value) }
        line.closeList()
    }

    private mutating func element(key: String, _ value: TelemetryValue) {
        line.openObject()
        line.add("key", text: key)
        line.openObject("value")
        switch value {
        case .text(let text): line.add("stringValue", text: text)
        case .number(let number): line.add("intValue", literal: "\(number)")
        case .flag(let flag): line.add("boolValue", flag)
        case .milliseconds(let microseconds):
            line.add("doubleValue", milliseconds: microseconds)
        case .texts(let texts):
            line.openObject("arrayValue")
            line.openList("values")
            for text in texts {
                line.openObject()
                line.add("stringValue", text: text)
                line.closeObject()
            }
            line.closeList()
            line.closeObject()
        }
        line.closeObject()
        line.closeObject()
    }

    /// Adds microseconds since 1970 as nanoseconds.
    private mutating func add(_ key: String, time: Int64) {
        line.add(key, literal: "\(max(0, time).multipliedSaturated(by: 1000))")
    }

    /// Adds a number that is formatted already.
    private mutating func add(_ key: String, number: String) {
        line.add(key)
        line.bytes.append(contentsOf: number.utf8)
    }
}
