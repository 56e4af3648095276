// Writes metrics in the text format of Prometheus.
import LupinStore

/// Metrics, line by line.
struct MetricsText {
    enum Kind: String { case counter, gauge }

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
