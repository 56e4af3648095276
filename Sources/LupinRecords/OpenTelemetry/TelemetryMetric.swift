// A metric as a value, before it is encoded.

/// One metric (metrics.proto, `Metric`): cumulative since the proxy's start.
package struct TelemetryMetric: Sendable, Equatable {
    /// A value with its attributes.
    package struct Point: Sendable, Equatable {
        package var attributes = TelemetryAttributes()
        package var value: UInt64

        package init(_ value: UInt64, _ attributes: [(TelemetryName, String)] = []) {
            self.value = value
            for (name, text) in attributes { self.attributes.add(name, .text(text)) }
        }
    }

    /// The durations of one set of attributes.
    package struct Durations: Sendable, Equatable {
        package var attributes = TelemetryAttributes()
        package var histogram: DurationHistogram

        package init(_ histogram: DurationHistogram, _ attributes: [(TelemetryName, String)]) {
            self.histogram = histogram
            for (name, text) in attributes where !text.isEmpty {
                self.attributes.add(name, .text(text))
            }
        }
    }

    package enum Data: Sendable, Equatable {
        case counter([Point])
        case gauge([Point])
        case durations([Durations])
    }

    package var name: String
    /// As UCUM writes it, such as `s`, `By` or `{exchange}`.
    package var unit: String
    package var description: String
    package var data: Data

    package init(_ name: String, unit: String, _ description: String, _ data: Data) {
        self.name = name
        self.unit = unit
        self.description = description
        self.data = data
    }
}
