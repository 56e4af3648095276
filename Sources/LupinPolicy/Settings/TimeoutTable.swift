// Every key below `timeouts:`, once: where its value lies, and whether a rule may have it too.

/// Waiting: long enough to be meant, short enough to end.
private let wait: ClosedRange<Int64> = 10...7 * 86_400_000

/// One row of the table of timeouts.
package struct TimeoutRow: SettingRow, Sendable {
    package static let defaults = Timeouts()

    package var setting: Setting
    package var keyPath: ValueKeyPath<Timeouts>

    package static func plain(_ setting: Setting, _ keyPath: ValueKeyPath<Timeouts>) -> TimeoutRow {
        var setting = setting
        setting.destination = .timeouts(keyPath)
        return TimeoutRow(setting: setting, keyPath: keyPath)
    }

    /// The same for rules too.
    fileprivate var perRule: TimeoutRow {
        TimeoutRow(setting: setting.perRule(.timeout(keyPath)), keyPath: keyPath)
    }
}

/// The timeouts, in the order of the file.
package enum TimeoutTable {
    package static let rows: [TimeoutRow] = [
        .duration(
            "timeouts.client_idle",
            \.clientIdle,
            wait,
            "between requests on a kept-alive connection"
        ),
        .duration(
            "timeouts.client_header",
            \.clientHeader,
            wait,
            "to the end of a request's head, from its first byte; of the first one from accept on"
        ),
        .rate(
            "timeouts.min_rate",
            \.minRateBytesPerSecond,
            "bytes a request body must bring over 30 s, such as 64/s"
        ).perRule,
        .duration(
            "timeouts.sniff",
            \.sniff,
            wait,
            "after CONNECT: time to see the first bytes"
        ).perRule,
        .duration(
            "timeouts.expect",
            \.expect,
            wait,
            "silent upstream after Expect: 100-continue"
        ).perRule,
        .duration("timeouts.dns", \.dns, wait, "finding an address").perRule,
        .duration(
            "timeouts.connect",
            \.connect,
            wait,
            "reaching the origin or the parent proxy"
        ).perRule,
        .duration("timeouts.tls", \.tls, wait, "the TLS handshake").perRule,
        .duration(
            "timeouts.response_header",
            \.responseHeader,
            wait,
            "from the request's end to the head of the response"
        ).perRule,
        .duration("timeouts.idle", \.idle, wait, "no byte either way inside a body")
            .perRule,
        .duration(
            "timeouts.tunnel_idle",
            \.tunnelIdle,
            wait,
            "no byte either way in a tunnel"
        ).perRule,
        .duration(
            "timeouts.drain",
            \.drain,
            0...3_600_000,
            "on stop: then connections are cut"
        ),
        .durationOrNone("timeouts.total", \.total, wait, "the whole exchange").perRule,
    ]

    package static let settings = rows.map(\.setting)
}
