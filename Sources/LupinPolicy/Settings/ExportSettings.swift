// What is exported to which collector: the file first, and the environment where it is silent.

package import LupinCore

/// A kind of telemetry; the raw value is its word in paths.
package enum TelemetrySignal: String, CaseIterable, Sendable {
    case traces, metrics, logs
}

/// Where the messages of one signal go, and how.
package struct ExportRoute: Sendable, Equatable {
    package var url: HTTPURL
    package var headers: [TelemetryField]
    /// How long an answer may take.
    package var timeout: Duration
    /// Whether bodies go out in gzip.
    package var compresses: Bool
}

/// What is exported, and where to.
package struct ExportSettings: Sendable, Equatable {
    /// A signal without a route is not exported.
    package private(set) var routes: [TelemetrySignal: ExportRoute]
    /// nil exports no traces.
    package var traces: TraceSampling?
    /// nil exports no metrics.
    package var metrics: Duration?
    package var logs: Bool

    /// All fields that a collector gets; their values are secrets.
    package var headers: [TelemetryField] { routes.values.flatMap(\.headers) }

    fileprivate init?(
        _ routes: [TelemetrySignal: ExportRoute],
        _ traces: TraceSampling?,
        _ metrics: Duration?,
        _ logs: Bool
    ) {
        guard !routes.isEmpty else { return nil }
        self.routes = routes
        self.traces = routes[.traces] == nil ? nil : traces
        self.metrics = routes[.metrics] == nil ? nil : metrics
        self.logs = logs && routes[.logs] != nil
    }
}

extension TelemetrySettings {
    /// What holds: the file first, and the standard variables of OpenTelemetry where it is silent.
    ///
    /// - Parameter environment: `OTEL_SDK_DISABLED`, the variables of samplers and exporters, and
    ///   those that begin with `OTEL_EXPORTER_OTLP_`, for all signals or for one, count
    ///   (OpenTelemetry Protocol Exporter, "Configuration Options").
    /// - Returns: nil without a collector, and the variables that are wrong, as sentences.
    package func resolved(
        _ environment: [String: String]
    ) -> (export: ExportSettings?, problems: [String]) {
        var variables = ExporterVariables(environment)
        var routes: [TelemetrySignal: ExportRoute] = [:]
        for signal in TelemetrySignal.allCases {
            let url: HTTPURL?
            switch collector {
            case .off: return (nil, [])
            case .url(let base): url = base.appending(signal)
            case .automatic:
                if environment["OTEL_SDK_DISABLED"]?.lowercased() == "true" { return (nil, []) }
                url = variables.endpoint(of: signal)
            }
            guard let url else { continue }
            routes[signal] = ExportRoute(
                url: url,
                headers: headers.isEmpty ? variables.headers(of: signal) : headers,
                timeout: variables.timeout(of: signal),
                compresses: compresses(signal, &variables)
            )
        }
        guard !routes.isEmpty else { return (nil, variables.problems) }
        variables.checkProtocol()
        let export = ExportSettings(
            routes,
            sampling(environment, &variables),
            metricInterval(&variables),
            logs == .automatic ? variables.exporter(of: .logs) ?? false : logs == .on
        )
        return (export, variables.problems)
    }

    private func compresses(
        _ signal: TelemetrySignal,
        _ variables: inout ExporterVariables
    ) -> Bool {
        switch compression {
        case .gzip: true
        case .none: false
        case .automatic: variables.compresses(signal)
        }
    }

    private func metricInterval(_ variables: inout ExporterVariables) -> Duration? {
        let isSent = variables.exporter(of: .metrics) ?? true
        switch metrics {
        case .off: return nil
        case .every(let interval): return isSent ? interval : nil
        case .automatic: return isSent ? variables.metricInterval : nil
        }
    }

    private func sampling(
        _ environment: [String: String],
        _ variables: inout ExporterVariables
    ) -> TraceSampling? {
        switch traces {
        case .off: return nil
        case .share(let share): return TraceSampling(share: share)
        case .automatic: break
        }
        if variables.exporter(of: .traces) == false { return nil }
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
            variables.tell("OTEL_TRACES_SAMPLER_ARG is no number from 0 to 1; 5% holds")
        default: variables.tell("OTEL_TRACES_SAMPLER is no sampler that lupin knows; 5% holds")
        }
        return TraceSampling()
    }
}

extension HTTPURL {
    /// The URL of a signal behind that of a collector: `/v1/…` is added to the path.
    fileprivate func appending(_ signal: TelemetrySignal) -> HTTPURL {
        var url = self
        while url.path.hasSuffix("/") { url.path.removeLast() }
        url.path += "/v1/\(signal.rawValue)"
        return url
    }
}

/// The variables of OpenTelemetry's exporters, each of which may be for all signals or for one.
private struct ExporterVariables {
    private let environment: [String: String]
    private(set) var problems: [String] = []

    /// The specification's default.
    private static let usualTimeout = Duration.seconds(10)

    init(_ environment: [String: String]) { self.environment = environment }

    mutating func tell(_ problem: String) {
        if !problems.contains(problem) { problems.append(problem) }
    }

    /// The variable for one signal, or for all: its name and its value, which is not empty.
    private func find(_ option: String, _ signal: TelemetrySignal) -> (name: String, value: String)?
    {
        let own = "OTEL_EXPORTER_OTLP_\(signal.rawValue.uppercased())_\(option)"
        for name in [own, "OTEL_EXPORTER_OTLP_\(option)"] {
            if let value = environment[name], !value.isEmpty { return (name, value) }
        }
        return nil
    }

    /// A signal's own URL is used as it is; to the common one its path is added.
    mutating func endpoint(of signal: TelemetrySignal) -> HTTPURL? {
        guard let (name, text) = find("ENDPOINT", signal) else { return nil }
        let isOwn = name != "OTEL_EXPORTER_OTLP_ENDPOINT"
        guard let url = HTTPURL(text), isOwn || !url.path.contains("?") else {
            tell("\(name) is no http or https URL; it is ignored")
            return nil
        }
        return isOwn ? url : url.appending(signal)
    }

    mutating func headers(of signal: TelemetrySignal) -> [TelemetryField] {
        guard let (name, text) = find("HEADERS", signal) else { return [] }
        let fields = TelemetryList.pairs(text).map {
            TelemetryField(name: $0.name, value: $0.value)
        }
        let sendable = fields.filter(\.isSendable)
        if sendable.count < fields.count { tell("\(name) has a field that can't be sent") }
        return sendable
    }

    mutating func timeout(of signal: TelemetrySignal) -> Duration {
        guard let (name, text) = find("TIMEOUT", signal) else { return Self.usualTimeout }
        guard let number = NumberReader.unsigned(text[...], max: 600_000), number > 0 else {
            tell("\(name) is no number of milliseconds from 1 to 600000; 10 s holds")
            return Self.usualTimeout
        }
        return .milliseconds(Int64(clamping: number))
    }

    /// How often metrics are sent; the specification's unit is a millisecond.
    var metricInterval: Duration {
        mutating get {
            let name = "OTEL_METRIC_EXPORT_INTERVAL"
            let (usual, range) = (TelemetrySettings.Metrics.usual, TelemetrySettings.Metrics.range)
            guard let text = environment[name], !text.isEmpty else { return usual }
            guard let number = NumberReader.signed(text), range.contains(number) else {
                tell("\(name) is no number of milliseconds from 1000 to 3600000; 15 s holds")
                return usual
            }
            return .milliseconds(number)
        }
    }

    mutating func compresses(_ signal: TelemetrySignal) -> Bool {
        guard let (name, text) = find("COMPRESSION", signal) else { return false }
        if text != "gzip", text != "none" {
            tell("\(name) is neither gzip nor none; nothing is compressed")
        }
        return text == "gzip"
    }

    /// Whether a signal's exporter sends by OTLP; nil where nothing is said.
    mutating func exporter(of signal: TelemetrySignal) -> Bool? {
        let name = "OTEL_\(signal.rawValue.uppercased())_EXPORTER"
        guard let text = environment[name], !text.isEmpty else { return nil }
        let exporters = text.split(separator: ",").map { $0.filter { $0 != " " } }
        if exporters.contains("otlp") { return true }
        if exporters != ["none"] { tell("\(name) has no exporter that lupin knows; it is off") }
        return false
    }

    mutating func checkProtocol() {
        for signal in TelemetrySignal.allCases {
            guard let (name, text) = find("PROTOCOL", signal), text != "http/json" else { continue }
            tell("\(name) is \(LogText.plain(text)), but lupin sends http/json")
        }
    }
}
