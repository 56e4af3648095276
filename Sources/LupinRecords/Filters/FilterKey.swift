// The keys of the filter language: what each tests, and where a line of the log has it.

import LupinCore

/// A key of a filter, such as `host` in `host:*.acme.dev`.
///
/// The parser, the evaluation and the page filters use this table.
package enum FilterKey: String, CaseIterable, Sendable {
    case host, url, path, scheme, port, method, status, outcome
    case error, side, rule, step, cache, token, trust, bypassed, lenient
    case duration, wait, age, size, sent, attempts, redirects
    case client, program, redirected, user, mode, version, event, id, body

    /// The values that a key is compared with.
    package enum Kind: Sendable, Equatable {
        /// Text, or a list of texts of which one must match.
        case text
        /// One of these words.
        case word([String])
        /// `true` or `false`; what a line leaves out is false.
        case flag
        /// The parameters of lupin's member of Cache-Status.
        case cache
        /// The first digits of an ID.
        case id
        /// An address or a network.
        case address
        /// Text in a captured body.
        case body
        case number
        /// A number, or `5xx`.
        case status
        /// The number of elements of a list.
        case count
        /// Milliseconds.
        case duration
        /// The time since a date.
        case age
        case bytes

        /// Whether the key can be compared with `<` and `>`.
        package var isOrdered: Bool {
            switch self {
            case .text, .word, .flag, .cache, .id, .address, .body: false
            case .number, .status, .count, .duration, .age, .bytes: true
            }
        }
    }

    package struct Row: Sendable {
        package let kind: Kind
        /// The paths of its value in a line of the log or in a description of an exchange under
        /// way; the first that is there counts.
        let paths: [String]
        package let meaning: String
        package let example: String

        init(_ kind: Kind, _ paths: [String], _ meaning: String, _ example: String) {
            self.kind = kind
            self.paths = paths
            self.meaning = meaning
            self.example = example
        }
    }

    package var row: Row {
        switch self {
        case .host:
            Row(.text, [RecordField.domain.path, "host"], "the host", "host:*.acme.dev")
        case .url:
            Row(.text, [RecordField.url.path, "url", "attempt.url"], "the URL", "url~/v1/users")
        case .path: Row(.text, [RecordField.path.path], "the path without query", "path:/v1/*")
        case .scheme:
            Row(
                .word(["http", "https"]),
                [RecordField.scheme.path],
                "the scheme of the URL",
                "scheme:https"
            )
        case .port: Row(.number, [RecordField.port.path], "the port of the URL", "port:8443")
        case .method:
            Row(
                .text,
                [RecordField.originalMethod.path, RecordField.method.path, "method"],
                "the method",
                "method:POST"
            )
        case .status:
            Row(
                .status,
                [RecordField.status.path, "status", "attempt.status"],
                "the status that the client got",
                "status:5xx"
            )
        case .outcome:
            Row(
                .word(ExchangeRecord.Outcome.allCases.map(\.rawValue)),
                [RecordField.outcome.path],
                "how the exchange ended; `error` finds `aborted` and `truncated`, too",
                "outcome:aborted"
            )
        case .error:
            Row(
                .text,
                [RecordField.errorType.path, "attempt.error.type"],
                "the error, a token of RFC 9209",
                "error:dns_*"
            )
        case .side:
            Row(
                .word(["client", "upstream", "proxy", "config"]),
                [RecordField.errorSide.path, "attempt.error.side"],
                "on whose side the error is",
                "side:upstream"
            )
        case .rule:
            Row(.text, [RecordField.matched.path], "a rule that matched", "rule:\"dev tenant\"")
        case .step:
            Row(.text, [RecordField.steps.path], "a step that a rule took", "step:\"auth *\"")
        case .cache:
            Row(
                .cache,
                [RecordField.cacheStatus.path],
                "what the cache did: `hit`, `miss`, `stale`, `stored`, `collapsed`, or any other "
                    + "word of Cache-Status",
                "cache:hit"
            )
        case .token:
            Row(
                .text,
                [RecordField.token.path, "token"],
                "the token that was attached",
                "token:github"
            )
        case .trust:
            Row(
                .word(["pass", "fail", "disabled", "tunnel"]),
                [RecordField.trustVerdict.path],
                "the verdict on the origin's certificate",
                "trust:fail"
            )
        case .bypassed:
            Row(
                .text,
                [RecordField.bypassReason.path],
                "why rules were bypassed",
                "bypassed:*"
            )
        case .lenient:
            Row(
                .text,
                [RecordField.lenient.path],
                "a flaw of the response that was read over",
                "lenient:*"
            )
        case .duration:
            Row(
                .duration,
                [RecordField.total.path, "elapsed", "attempt.timing.total"],
                "the time from the first byte to the last",
                "duration>1s"
            )
        case .wait:
            Row(
                .duration,
                [RecordField.wait.path, "attempt.timing.wait"],
                "the time that the origin took to answer",
                "wait>=200ms"
            )
        case .age: Row(.age, [RecordField.timestamp.path], "the time since it began", "age<10m")
        case .size:
            Row(
                .bytes,
                [RecordField.responseSize.path, RecordField.tunnelReceived.path, "bytes.down"],
                "bytes of the response's body, or received through a tunnel",
                "size>1MiB"
            )
        case .sent:
            Row(
                .bytes,
                [RecordField.requestSize.path, RecordField.tunnelSent.path, "bytes.up"],
                "bytes of the request's body, or sent through a tunnel",
                "sent>0"
            )
        case .attempts:
            Row(
                .count,
                [RecordField.attempts.path, "n", "attempt.n"],
                "how often it was sent",
                "attempts>1"
            )
        case .redirects:
            Row(
                .count,
                [RecordField.redirects.path],
                "how many redirects were followed",
                "redirects>=1"
            )
        case .client:
            Row(
                .address,
                [RecordField.clientAddress.path],
                "the client's address or network",
                "client:10.0.0.0/8"
            )
        case .program:
            Row(.text, [RecordField.program.path], "the client's program", "program:curl")
        case .redirected:
            Row(
                .flag,
                [RecordField.redirected.path],
                "whether the client ignored the proxy variables under `--confine`, and was led to "
                    + "lupin",
                "redirected:true"
            )
        case .user: Row(.text, [RecordField.user.path], "the client's user", "user:ann")
        case .mode:
            Row(
                .word(["http", "intercept", "tunnel", "upgrade"]),
                [RecordField.mode.path],
                "how it passed through lupin",
                "mode:tunnel"
            )
        case .version:
            Row(
                .text,
                [RecordField.version.path, "protocol"],
                "the client's HTTP version",
                "version:2"
            )
        case .event:
            Row(
                .text,
                [RecordField.event.path],
                "the kind of line, where `log.level` writes more than one",
                "event:exchange"
            )
        case .id: Row(.id, [RecordField.id.path], "the first digits of the ID", "id:6f1c0e0b")
        case .body:
            Row(
                .body,
                [],
                "text in a captured body or message, as it is; lines of a log have none",
                "body~\"out of stock\""
            )
        }
    }
}

extension RecordField {
    fileprivate var path: String { row.path }
}
