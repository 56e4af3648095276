// The figures of the whole proxy as OpenTelemetry metrics.
import LupinCore
import LupinRecords
import LupinStore
import LupinUpstream

/// The figures of a moment.
struct ProxyMetrics {
    private let tally: Tally
    private let live: Int
    private let shared: Shared
    private let redactor: Redactor

    init(_ shared: Shared, _ workers: [Worker]) async {
        var tally = Tally()
        var live = 0
        for worker in workers {
            tally.add(await worker.tally())
            live += await worker.liveCount()
        }
        self.tally = tally
        self.live = live
        self.shared = shared
        redactor = shared.redactor
    }

    /// Every metric that is exported.
    var all: [TelemetryMetric] { counters + gauges + durations }

    private var counters: [TelemetryMetric] {
        let outcomes = ExchangeRecord.Outcome.allCases.map {
            TelemetryMetric.Point(UInt64(tally.exchanges($0)), [(.outcome, $0.rawValue)])
        }
        let repeats = tally.repeated.map {
            TelemetryMetric.Point(UInt64($0.count), [(.why, $0.name)])
        }
        let bytes = tally.directions.map {
            TelemetryMetric.Point($0.count, [(.direction, $0.name)])
        }
        return [
            TelemetryMetric(
                "lupin.exchanges",
                unit: "{exchange}",
                "Exchanges that have ended.",
                .counter(outcomes)
            ),
            TelemetryMetric(
                "lupin.attempts",
                unit: "{attempt}",
                "Attempts upstream.",
                .counter([TelemetryMetric.Point(UInt64(tally.attempts))])
            ),
            TelemetryMetric(
                "lupin.repeats",
                unit: "{attempt}",
                "Attempts made because others failed or were slow.",
                .counter(repeats)
            ),
            TelemetryMetric("lupin.io", unit: "By", "Bytes on the wire.", .counter(bytes)),
            TelemetryMetric(
                "lupin.cache.hits",
                unit: "{exchange}",
                "Requests answered by the cache.",
                .counter([TelemetryMetric.Point(shared.responses.counts.hits)])
            ),
            TelemetryMetric(
                "lupin.cache.misses",
                unit: "{exchange}",
                "Requests that the cache had no answer for.",
                .counter([TelemetryMetric.Point(shared.responses.counts.misses)])
            ),
        ]
    }

    private var gauges: [TelemetryMetric] {
        [
            TelemetryMetric(
                "lupin.exchanges.live",
                unit: "{exchange}",
                "Exchanges under way.",
                .gauge([TelemetryMetric.Point(UInt64(max(0, live)))])
            ),
            TelemetryMetric(
                "lupin.connections",
                unit: "{connection}",
                "Client connections that are open.",
                .gauge([TelemetryMetric.Point(UInt64(max(0, shared.connections.count)))])
            ),
            TelemetryMetric(
                "lupin.cache.size",
                unit: "By",
                "Bytes of stored responses in memory.",
                .gauge([TelemetryMetric.Point(UInt64(max(0, shared.responses.counts.bytes)))])
            ),
        ]
    }

    private var durations: [TelemetryMetric] {
        let all = tally.durations.all(shared.snapshot.labels)
        func points(
            _ histogram: (DurationTable.Series) -> DurationHistogram
        ) -> [TelemetryMetric.Durations] {
            all.map { rule, outcome, series in
                TelemetryMetric.Durations(
                    histogram(series),
                    [(.rule, redactor.cleaned(rule)), (.outcome, outcome.rawValue)]
                )
            }
        }
        return [
            TelemetryMetric(
                "lupin.exchange.duration",
                unit: "s",
                "From the request's first byte to the response's last.",
                .durations(points(\.total))
            ),
            TelemetryMetric(
                "lupin.exchange.first_byte",
                unit: "s",
                "From the request's first byte to the response's first.",
                .durations(points(\.firstByte))
            ),
        ]
    }
}
