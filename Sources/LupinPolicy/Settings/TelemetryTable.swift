// The rows of `telemetry` in the settings table.

extension SettingsTable {
    /// The keys of `telemetry`, in the order of the file.
    static let telemetry: [Setting] = [
        .special(
            .telemetryURL,
            .text("auto, off or a URL"),
            "auto",
            "an OpenTelemetry collector; auto: $OTEL_EXPORTER_OTLP_ENDPOINT, if that is set"
        ),
        .special(
            .telemetryHeaders,
            .map("names and values"),
            "{}",
            "fields for the collector, such as {api-key: \"${env:KEY}\"}"
        ),
        .special(
            .telemetryTraces,
            .text("auto, off or a share"),
            "auto",
            "traces that begin here and are kept, such as 5%; auto: $OTEL_TRACES_SAMPLER, else 5%"
        ),
        .special(
            .telemetryMetrics,
            .text("auto, none or a time"),
            "auto",
            "how often figures are sent, or none; auto: $OTEL_METRIC_EXPORT_INTERVAL, else 15s"
        ),
        .choice(
            "telemetry.otlp.logs",
            \.telemetry.logs,
            "on: a log record for every exchange; auto: $OTEL_LOGS_EXPORTER, else off"
        ),
        .choice(
            "telemetry.otlp.compression",
            \.telemetry.compression,
            "gzip for long ways; auto: $OTEL_EXPORTER_OTLP_COMPRESSION, else none"
        ),
        .special(
            .telemetryPrometheus,
            .text("off or address:port"),
            "off",
            "serves /metrics alone, to whoever reaches it"
        ).needingRestart(\.telemetry.prometheus),
    ]
}
