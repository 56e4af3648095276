// The route `/metrics`: the figures of the whole proxy, in the text format of Prometheus.
import LupinCore
import LupinUpstream

extension AdminRoutes {
    /// Answers a request of the listener for metrics, which has one path.
    func answerMetrics(_ request: AdminRequest) async -> AdminAnswer {
        guard request.path == "/metrics" else {
            return AdminAnswer(404, sentence: "only /metrics is here")
        }
        return request.isReading ? await metrics() : .notAllowed("GET, HEAD")
    }

    /// The metrics of the whole proxy.
    func metrics() async -> AdminAnswer {
        let (tally, live) = await figures()
        var text = MetricsText()
        add(tally, to: &text)
        text.add(tally.durations.all(shared.snapshot.labels), shared.redactor)
        text.add(shared.responses.counts)
        if let disk = shared.responses.disk { text.add(disk.stats) }
        if let tier = shared.responses.shared { text.add(tier.counts) }
        addStates(live: live, to: &text)
        if shared.snapshot.telemetry != nil { text.add(shared.telemetry) }
        var answer = AdminAnswer(200, JSONLine())
        answer.contentType = "text/plain; version=0.0.4; charset=utf-8"
        answer.body = Array(text.text.utf8)
        return answer
    }

    private func add(_ tally: Tally, to text: inout MetricsText) {
        text.family("lupin_exchanges_total", .counter, "Exchanges that have ended, by outcome.")
        for outcome in ExchangeRecord.Outcome.allCases {
            text.sample(
                "lupin_exchanges_total",
                ("outcome", outcome.rawValue),
                UInt64(tally.exchanges(outcome))
            )
        }
        text.single("lupin_attempts_total", .counter, "Attempts upstream.", tally.attempts)
        text.family(
            "lupin_repeats_total",
            .counter,
            "Attempts made because others failed or were slow, by why."
        )
        for (why, count) in tally.repeated {
            text.sample("lupin_repeats_total", ("why", why), UInt64(count))
        }
        text.family(
            "lupin_tasks_total",
            .counter,
            "Exchanges that had to wait for more than bytes and got a task, by the first reason."
        )
        for need in Need.allCases where need != .bytes {
            let count = tally.tasks[need] ?? 0
            text.sample("lupin_tasks_total", ("why", need.rawValue), UInt64(count))
        }
        text.family("lupin_bytes_total", .counter, "Bytes on the wire, by direction.")
        for (name, count) in tally.directions {
            text.sample("lupin_bytes_total", ("direction", name), count)
        }
    }

    private func addStates(live: LiveFigures, to text: inout MetricsText) {
        text.single(
            "lupin_connections",
            .gauge,
            "Client connections that are open.",
            shared.connections.count
        )
        text.single("lupin_exchanges_live", .gauge, "Exchanges under way.", live.count)
        text.single(
            "lupin_replay_disk_bytes",
            .gauge,
            "Bytes on disk of request bodies that are kept for another attempt.",
            shared.replayRoom.disk.used
        )
        text.single(
            "lupin_records_dropped_total",
            .counter,
            "Lines of the log that were lost.",
            shared.records.dropped
        )
        text.family("lupin_reloads_total", .counter, "Changes of the rules, by result.")
        text.sample("lupin_reloads_total", ("result", "ok"), UInt64(shared.reloads.loaded))
        text.sample("lupin_reloads_total", ("result", "failed"), UInt64(shared.reloads.rejected))
    }
}
