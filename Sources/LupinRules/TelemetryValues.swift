// The values of `telemetry`: the collector, what it needs to see, and how much it gets.

import LupinCore
import LupinPolicy

extension DecodingContext {
    /// `telemetry.otlp.url`; nil when a problem was told.
    func collector(_ node: YAMLNode) -> TelemetrySettings.Collector? {
        let example = "http://127.0.0.1:4318"
        guard let raw = text(node, expected: "auto, off or a URL", example: example),
            let text = resolved(raw, role: .setting, at: node)
        else { return nil }
        if text == "auto" { return .automatic }
        if text == "off" { return .off }
        guard let url = HTTPURL(text) else {
            let hasUser = text.contains("@")
            return refuse(
                .type,
                hasUser ? "a collector's URL has no user" : "it is no http or https URL",
                at: node,
                hint: hasUser ? "write headers: {Authorization: …}" : "write \(example)"
            )
        }
        guard !url.path.contains("?") else {
            let message = "a collector's URL has no query: /v1/traces comes behind it"
            return refuse(.type, message, at: node, hint: "write \(example)")
        }
        guard !url.path.hasSuffix("/v1/traces") else {
            let message = "lupin adds /v1/traces, /v1/metrics and /v1/logs itself"
            return refuse(.type, message, at: node, hint: "leave /v1/traces out")
        }
        return .url(url)
    }

    /// `telemetry.otlp.headers`, whose values are secrets; nil when a problem was told.
    func collectorFields(_ node: YAMLNode) -> [TelemetryField]? {
        let example = "{api-key: \"${env:KEY}\"}"
        guard let entries = entries(node, of: "a map", example: example) else { return nil }
        var fields: [TelemetryField] = []
        for entry in entries {
            guard case .scalar(let raw, let isPlain) = entry.value.content,
                !(raw.isEmpty && isPlain)
            else { return wrongType(entry.value, "a value", write: "\"${env:KEY}\"") }
            guard let value = resolved(raw, role: .userinfo, at: entry.value) else { return nil }
            add(secret: value)
            let field = TelemetryField(name: entry.key, value: value)
            guard field.isSendable else {
                let message = "it can't be a field of a request to the collector"
                return refuse(.header, message, at: entry.value, hint: "write headers: \(example)")
            }
            fields.append(field)
        }
        return fields
    }

    /// `telemetry.otlp.traces`; nil when a problem was told.
    func keptTraces(_ node: YAMLNode) -> TelemetrySettings.Traces? {
        guard let text = text(node, expected: "auto, off or a share", example: "5%") else {
            return nil
        }
        switch text {
        case "auto": return .automatic
        case "off": return .off
        default: break
        }
        if let share = TraceShare(percent: text) { return .share(share) }
        let message = "\"\(text)\" is no share of traces: 0% to 100%, with four decimals at most"
        return refuse(.type, message, at: node, hint: "write 5%")
    }

    /// `telemetry.otlp.metrics`; nil when a problem was told.
    func metricInterval(_ node: YAMLNode) -> TelemetrySettings.Metrics? {
        guard let text = text(node, expected: "auto, none or a time", example: "15s") else {
            return nil
        }
        switch text {
        case "auto": return .automatic
        case "none": return .off
        default: break
        }
        let value = units(node) { () throws(Units.Problem) in try Units.duration(text) }
        guard let value else { return nil }
        if TelemetrySettings.Metrics.range.contains(value) { return .every(.milliseconds(value)) }
        let message = "metrics \(text) is out of range"
        return refuse(.range, message, at: node, hint: "it may be 1s to 1h, auto or none")
    }

    /// `telemetry.prometheus.listen`: `off`, as `.some(nil)`, or a place; nil when a problem was
    /// told.
    func listenEndpoint(_ node: YAMLNode) -> ListenEndpoint?? {
        if case .scalar("off", _) = node.content { return .some(nil) }
        return listenerAddress(node).map { ListenEndpoint(address: $0.address, port: $0.port) }
    }

    /// Warns of secrets that would go to the collector in clear.
    func checkClearText(_ settings: TelemetrySettings, _ entries: [YAMLNode.Entry]) {
        guard case .url(let url) = settings.collector, !settings.headers.isEmpty,
            let headers = entries.first(where: { $0.key == "headers" })
        else { return }
        checksOfWays.append { [unowned self] upstream in
            if upstream.protects(url.origin) { return }
            let message = "these fields go to \(url.origin.hostAndPort) in clear"
            warning(.auth, message, at: headers, hint: "write https://\(url.origin.authority)")
        }
    }
}
