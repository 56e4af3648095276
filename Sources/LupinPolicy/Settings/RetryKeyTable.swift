// Every key of a retry policy, once: what the checks, the sample file and the editor schema are
// made of.

import LupinCore

/// The keys of a retry policy, with the values of the policy called `standard`.
package enum RetryKeyTable {
    /// The keys of a policy, in the order of the documentation.
    package static let keys: [PolicyKey<RetryPolicy>] = [
        .number("limit", \.limit, 0...10, "attempts after the first"),
        .special(
            .methods,
            .list("methods"),
            "[DELETE, GET, HEAD, OPTIONS, PUT, QUERY, TRACE]",
            "that are sent again once bytes of them were sent; before that any method is"
        ),
        .special(
            .status,
            .list("statuses and ranges from 400 to 599"),
            "[408, 500, 502, 503, 504]",
            "responses that are failures"
        ),
        .special(
            .errors,
            .list(words.joined(separator: ", ")),
            "[\(words.joined(separator: ", "))]",
            "failures without a response"
        ),
        .special(
            .backoff,
            .map("none or {base, scale, max, jitter}"),
            "{base: 2, scale: 500ms, max: 10s, jitter: full}",
            "waits: scale, then base times the one before, at most max; or none"
        ),
        .special(
            .retryAfter,
            .map("{honour, max}"),
            "{honour: true, max: 30s}",
            "what Retry-After asks for; adds 429 where it stands; a longer one is delivered"
        ),
        .choice(
            "non_idempotent",
            \.nonIdempotent,
            "never | with-idempotency-key | always: POST and its like (RFC 9110 §9.2.2)"
        ),
        .size(
            "replay_body",
            \.replayBodyBytes,
            0...64 << 20,
            "of a body kept in memory; what is more goes to a file (replay_spill)"
        ),
        .size(
            "replay_spill",
            \.replaySpillBytes,
            0...16 << 30,
            "in that file; a larger body is sent again only if nothing of it was sent"
        ),
        .durationOrNone(
            "per_try",
            \.perTry,
            10...7 * 86_400_000,
            "from an attempt's start to the head of its response"
        ),
        .size(
            "hold",
            \.holdBytes,
            0...16 << 20,
            "of a response held back, so that an early break is repaired unseen"
        ),
        .special(
            .hedge,
            .map("none or {after, max}"),
            "none",
            "none | {after: 200ms | p95, max: 1}: attempts beside a slow one; first answer wins"
        ),
        .duration(
            "offline_wait",
            \.offlineWait,
            0...5 * minute,
            "for a network, where there is none"
        ),
        .special(
            .budget,
            .map("none or {ratio, floor, window, per}"),
            "{ratio: 20%, floor: 100, window: 10s, per: host}",
            "retries in a window: ratio of its requests, but floor at least; or none"
        ),
        .special(
            .circuit,
            .map("off or {failures, open}"),
            "{failures: 10, open: 10s}",
            "no retries for so long after so many failures in a row, of all requests; or off"
        ),
    ]

    /// What is known of them, without their places.
    package static let policy = keys.map(\.setting)

    /// The keys of the maps in a policy, such as `backoff.base`.
    private static let inside: [Setting] = [
        row("backoff.base", .text("number from 1 to 10"), "2", "1: the same wait each time"),
        row("backoff.scale", .duration(1...minute), "500ms", "the first wait"),
        row("backoff.max", .duration(1...10 * minute), "10s", "no wait is longer"),
        row(
            "backoff.jitter",
            .choice(Backoff.Jitter.allCases.map(\.rawValue)),
            "full",
            "full: anything up to the wait; none: the wait itself, as in Alamofire"
        ),
        row("retry_after.honour", .boolean, "true", "false: the field is not looked at"),
        row("retry_after.max", .duration(0...60 * minute), "30s", "beyond: delivered"),
        row("hedge.after", .duration(1...5 * minute), "p95", "or p95: of the host's last times"),
        row("hedge.max", .number(1...3), "1", "attempts beside the first"),
        row("budget.ratio", .text("0% to 100%"), "20%", "retries per request"),
        row("budget.floor", .number(0...10000), "100", "retries that are always allowed"),
        row("budget.window", .duration(1000...5 * minute), "10s", "in which both are counted"),
        row("budget.per", .choice(["host"]), "host", "what is counted together"),
        row("circuit.failures", .number(1...10000), "10", "one that began before the last is none"),
        row(
            "circuit.open",
            .duration(100...5 * minute),
            "10s",
            "from the last retry that failed on"
        ),
    ]

    /// The keys of the map behind `key`; none where it is no map.
    package static func leaves(of key: String) -> [Setting] {
        inside.filter { $0.section == key }
    }

    /// The words of `errors`.
    package static let words = RetryClass.allCases.filter { $0 != .never }.map(\.rawValue)

    private static let minute: Int64 = 60000

    private static func row(
        _ name: String,
        _ kind: Setting.Kind,
        _ defaultText: String,
        _ sentence: String
    ) -> Setting {
        Setting(name: name, kind: kind, defaultText: defaultText, sentence: sentence)
    }
}

extension RetryPolicy: TabledPolicy {
    package enum SpecialKey: String, CaseIterable, Sendable {
        case methods, status, errors, backoff
        case retryAfter = "retry_after"
        case hedge, budget, circuit
    }
}
