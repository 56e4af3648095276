// What the file says of telemetry, and what holds after the environment was asked, too.

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

    /// `telemetry.otlp.logs`.
    package enum Logs: String, Sendable, SettingWord {
        case off, on
    }

    package var collector = Collector.automatic
    /// Further fields of requests to the collector; their values are secrets.
    package var headers: [TelemetryField] = []
    package var traces = Traces.automatic
    /// How often metrics are sent; nil is `none`.
    package var metrics: Duration? = .seconds(15)
    package var logs = Logs.off
    /// `telemetry.prometheus.listen`; nil is `off`.
    package var prometheus: ListenPlace?
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
package struct ListenPlace: Sendable, Hashable {
    package var address: IPAddress
    package var port: UInt16

    package init(address: IPAddress, port: UInt16) {
        self.address = address
        self.port = port
    }
}

/// What is exported to which collector.
package struct ExportSettings: Sendable, Equatable {
    /// Its path ends where those of the signals begin.
    package var collector: HTTPURL
    package var headers: [TelemetryField]
    /// nil exports no traces.
    package var traces: TraceSampling?
    /// nil exports no metrics.
    package var metrics: Duration?
    package var logs: Bool

    /// The path of a signal: that of the collector's URL, and `/v1/…`.
    package func path(of signal: String) -> String {
        var base = collector.path
        while base.hasSuffix("/") { base.removeLast() }
        return "\(base)/v1/\(signal)"
    }
}

extension TelemetrySettings {
    /// What holds: the file first, and the standard variables of OpenTelemetry where it is silent.
    ///
    /// - Parameter environment: `OTEL_SDK_DISABLED`, `OTEL_EXPORTER_OTLP_ENDPOINT`,
    ///   `OTEL_EXPORTER_OTLP_HEADERS`, `OTEL_TRACES_SAMPLER` and `OTEL_TRACES_SAMPLER_ARG` count.
    /// - Returns: nil without a collector, and the variables that are wrong, as sentences.
    package func resolved(
        _ environment: [String: String]
    ) -> (export: ExportSettings?, problems: [String]) {
        var problems: [String] = []
        let collector: HTTPURL
        switch self.collector {
        case .off: return (nil, [])
        case .url(let url): collector = url
        case .automatic:
            if environment["OTEL_SDK_DISABLED"]?.lowercased() == "true" { return (nil, []) }
            guard let text = environment["OTEL_EXPORTER_OTLP_ENDPOINT"], !text.isEmpty else {
                return (nil, [])
            }
            guard let url = HTTPURL(text), !url.path.contains("?") else {
                return (nil, ["OTEL_EXPORTER_OTLP_ENDPOINT is no http or https URL; it is ignored"])
            }
            collector = url
        }
        var headers = self.headers
        if headers.isEmpty {
            let pairs = TelemetryList.pairs(environment["OTEL_EXPORTER_OTLP_HEADERS"] ?? "")
            headers = pairs.map { TelemetryField(name: $0.name, value: $0.value) }
            if headers.contains(where: { !$0.isSendable }) {
                problems.append("OTEL_EXPORTER_OTLP_HEADERS has a field that can't be sent")
                headers.removeAll { !$0.isSendable }
            }
        }
        let export = ExportSettings(
            collector: collector,
            headers: headers,
            traces: sampling(environment, &problems),
            metrics: metrics,
            logs: logs == .on
        )
        return (export, problems)
    }

    private func sampling(
        _ environment: [String: String],
        _ problems: inout [String]
    ) -> TraceSampling? {
        switch traces {
        case .off: return nil
        case .share(let share): return TraceSampling(share: share)
        case .automatic: break
        }
        guard let name = environment["OTEL_TRACES_SAMPLER"], !name.isEmpty else {
            return TraceSampling()
        }
        let argument = environment["OTEL_TRACES_SAMPLER_ARG"] ?? ""
        let share = argument.isEmpty ? TraceShare.all : TraceShare(ratio: argument)
        switch name {
        case "always_on": return TraceSampling(share: .all, followsParent: false)
        case "always_off": return nil
        case "parentbased_always_on": return TraceSampling(share: .all)
        case "parentbased_always_off": return TraceSampling(share: .none)
        case "traceidratio", "parentbased_traceidratio":
            if let share {
                return TraceSampling(share: share, followsParent: name != "traceidratio")
            }
            problems.append("OTEL_TRACES_SAMPLER_ARG is no number from 0 to 1; 5% holds")
        default: problems.append("OTEL_TRACES_SAMPLER is no sampler that lupin knows; 5% holds")
        }
        return TraceSampling()
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
