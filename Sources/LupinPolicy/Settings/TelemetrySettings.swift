// What the file says of telemetry.

package import LupinCore

/// The keys of `telemetry` and their defaults.
package struct TelemetrySettings: Sendable, Equatable {
    /// `telemetry.otlp.url`.
    package enum Collector: Sendable, Equatable {
        /// As `OTEL_EXPORTER_OTLP_ENDPOINT` says; without it there is none.
        case automatic
        case off
        case url(HTTPURL)
    }

    /// `telemetry.otlp.traces`.
    package enum Traces: Sendable, Equatable {
        /// As `OTEL_TRACES_SAMPLER` says; without it ``TraceShare/usual``.
        case automatic
        case off
        case share(TraceShare)
    }

    /// `telemetry.otlp.metrics`.
    package enum Metrics: Sendable, Equatable {
        /// As `OTEL_METRIC_EXPORT_INTERVAL` says; without it ``usual``.
        case automatic
        case off
        case every(Duration)

        package static let usual = Duration.seconds(15)
        /// What may be said, in milliseconds: 1 s to 1 h.
        package static let range: ClosedRange<Int64> = 1000...3_600_000
    }

    /// `telemetry.otlp.logs`.
    package enum Logs: String, Sendable, SettingWord {
        /// On if `OTEL_LOGS_EXPORTER` is `otlp`; without it off.
        case automatic = "auto"
        case off, on
    }

    /// `telemetry.otlp.compression`.
    package enum Compression: String, Sendable, SettingWord {
        /// As `OTEL_EXPORTER_OTLP_COMPRESSION` says; without it none.
        case automatic = "auto"
        case none, gzip
    }

    package var collector = Collector.automatic
    /// Further fields of requests to the collector; their values are secrets.
    package var headers: [TelemetryField] = []
    package var traces = Traces.automatic
    package var metrics = Metrics.automatic
    package var logs = Logs.automatic
    package var compression = Compression.automatic
    /// `telemetry.prometheus.listen`; nil is `off`.
    package var prometheus: ListenEndpoint?
    /// The trace that requests without one join: that of the command which `lupin exec` runs.
    package var inherited: TraceContext?

    package init() {}
}

/// A field of a request to the collector.
package struct TelemetryField: Sendable, Hashable {
    package var name: String
    package var value: String

    package init(name: String, value: String) {
        self.name = name
        self.value = value
    }
}

/// An address and a port to listen on.
package struct ListenEndpoint: Sendable, Hashable {
    package var address: IPAddress
    package var port: UInt16

    package init(address: IPAddress, port: UInt16) {
        self.address = address
        self.port = port
    }
}

extension TelemetryField {
    /// Whether name and value may stand in a request (RFC 9110 §5.1, §5.5), and the field is no
    /// business of lupin's own.
    package var isSendable: Bool {
        let isName = !name.isEmpty && name.utf8.allSatisfy(\.isTokenByte)
        let isValue = value.utf8.allSatisfy { $0 == 0x09 || ($0 >= 0x20 && $0 != 0x7F) }
        return isName && isValue && !Self.own.contains(name.lowercased())
    }

    /// What frames the message, or says what it holds.
    private static let own: Set<String> = [
        "host", "content-length", "content-type", "content-encoding", "transfer-encoding",
        "connection", "te", "trailer", "upgrade", "expect",
    ]
}
