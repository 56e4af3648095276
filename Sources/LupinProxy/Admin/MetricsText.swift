// Writes metrics in the text format of Prometheus.
import LupinCore
import LupinPolicy
import LupinRecords
import LupinStore

/// Metrics, line by line.
struct MetricsText {
    enum Kind: String { case counter, gauge, histogram }

    private(set) var text = ""

    /// Writes the header of the samples that follow.
    mutating func family(_ name: String, _ kind: Kind, _ help: String) {
        text += "# HELP \(name) \(help)\n# TYPE \(name) \(kind.rawValue)\n"
    }

    /// Writes a sample with a label; names and labels are our own and need no escaping.
    mutating func sample(_ name: String, _ label: (name: String, value: String), _ value: UInt64) {
        text += "\(name){\(label.name)=\"\(label.value)\"} \(value)\n"
    }

    /// Writes a metric with one sample and no label.
    mutating func single(_ name: String, _ kind: Kind, _ help: String, _ value: Int) {
        family(name, kind, help)
        text += "\(name) \(value)\n"
    }
}

extension MetricsText {
    /// Writes the metrics of the cache.
    mutating func add(_ counts: StoreCounts) {
        single("lupin_cache_entries", .gauge, "Stored responses.", counts.entries)
        single("lupin_cache_bytes", .gauge, "Bytes of stored responses.", counts.bytes)
        family("lupin_cache_total", .counter, "What the cache did for requests.")
        let events = [
            ("hit", counts.hits), ("miss", counts.misses), ("validated", counts.validated),
            ("stored", counts.stored), ("evicted", counts.evicted), ("collapsed", counts.collapsed),
        ]
        for (event, count) in events { sample("lupin_cache_total", ("event", event), count) }
    }

    /// Writes the metrics of the cache that machines share.
    mutating func add(_ shared: SharedTierCounts) {
        family("lupin_cache_shared_total", .counter, "What the cache shared by machines did.")
        let events = [
            ("hit", shared.hits), ("miss", shared.misses), ("stored", shared.stored),
            ("rejected", shared.rejected), ("failure", shared.failures),
            ("collapsed", shared.collapsed),
        ]
        for (event, count) in events { sample("lupin_cache_shared_total", ("event", event), count) }
    }

    /// Writes the metrics of the cache on disk.
    mutating func add(_ disk: DiskStats) {
        single("lupin_cache_disk_entries", .gauge, "Responses stored on disk.", disk.entries)
        single("lupin_cache_disk_bytes", .gauge, "Bytes of them.", disk.bytes)
        family("lupin_cache_disk_total", .counter, "What became of responses on disk.")
        let events = [
            ("stored", disk.stored), ("evicted", disk.evicted), ("refused", disk.refused),
            ("damaged", disk.damaged),
        ]
        for (event, count) in events {
            sample("lupin_cache_disk_total", ("event", event), UInt64(clamping: count))
        }
    }
}

extension MetricsText {
    /// Writes the durations of exchanges by rule and outcome.
    mutating func add(
        _ all: [(rule: String, outcome: ExchangeRecord.Outcome, series: DurationTable.Series)],
        _ redactor: Redactor
    ) {
        family(
            "lupin_exchange_duration_seconds",
            .histogram,
            "From the request's first byte to the response's last, by the last rule that matched."
        )
        for (rule, outcome, series) in all {
            let labels = Self.labels(redactor.cleaned(rule), outcome)
            histogram("lupin_exchange_duration_seconds", labels, series.total)
        }
        family(
            "lupin_exchange_first_byte_seconds",
            .histogram,
            "From the request's first byte to the response's first."
        )
        for (rule, outcome, series) in all where series.firstByte.count > 0 {
            let labels = Self.labels(redactor.cleaned(rule), outcome)
            histogram("lupin_exchange_first_byte_seconds", labels, series.firstByte)
        }
    }

    private mutating func histogram(
        _ name: String,
        _ labels: String,
        _ histogram: DurationHistogram
    ) {
        var count: UInt64 = 0
        for (bound, more) in zip(DurationHistogram.bounds, histogram.bucketCounts) {
            count &+= more
            let end = DurationHistogram.secondsText(UInt64(bound))
            text += "\(name)_bucket{\(labels),le=\"\(end)\"} \(count)\n"
        }
        text += "\(name)_bucket{\(labels),le=\"+Inf\"} \(histogram.count)\n"
        let sum = DurationHistogram.secondsText(histogram.sumMicroseconds)
        text += "\(name)_sum{\(labels)} \(sum)\n"
        text += "\(name)_count{\(labels)} \(histogram.count)\n"
    }

    /// The labels of a series; a rule's name is the author's text.
    private static func labels(_ rule: String, _ outcome: ExchangeRecord.Outcome) -> String {
        let name = rule.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
            .replacing("\n", with: "\\n")
        return "rule=\"\(name)\",outcome=\"\(outcome.rawValue)\""
    }

    /// Writes what became of the items for a collector.
    mutating func add(_ telemetry: TelemetryQueue) {
        family("lupin_telemetry_sent_total", .counter, "Items that the collector took.")
        for signal in TelemetrySignal.allCases {
            let counts = telemetry.counts(of: signal)
            sample("lupin_telemetry_sent_total", ("signal", signal.rawValue), counts.sent)
        }
        family("lupin_telemetry_lost_total", .counter, "Items that the collector did not take.")
        for signal in TelemetrySignal.allCases {
            let counts = telemetry.counts(of: signal)
            sample("lupin_telemetry_lost_total", ("signal", signal.rawValue), counts.lost)
        }
        single(
            "lupin_telemetry_dropped_total",
            .counter,
            "Exchanges that are not exported, because the exporter was behind.",
            Int(clamping: telemetry.dropped)
        )
    }
}
