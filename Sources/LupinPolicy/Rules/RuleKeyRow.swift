// The rows of the keys of a rule: what the file, the plan and `explain` know of each.

/// What is known of one key of a rule.
///
/// A row says all of it: a new key does not compile before it does.
package struct RuleKeyRow: Sendable {
    /// What stands behind the key, in words or as an example.
    package var form: String
    /// The meaning, in a few words that start small and end without a full stop.
    package var sentence: String
    /// What it is, with what that requires and attaches.
    package var value: RuleKeyValue
    /// What it does to a CONNECT that is not intercepted.
    var onConnect: OnConnect
    /// Whether it is about what goes upstream, so that it is idle where lupin answers itself.
    var isUpstream: Bool
    /// What it and the same key of a later rule make together.
    package var together: Together
    /// Whether it does for http what it does inside https, so that `scheme: http` may be enough.
    package var isForHTTP: Bool

    package enum OnConnect: Sendable {
        /// The same as to any request.
        case acts
        /// It may answer it: see `Rule.answersConnect`.
        case answers
        /// Nothing: it is about the requests inside.
        case inside
    }

    package enum Together: Sendable {
        /// The later one holds.
        case replaces
        /// The later one holds, leaf by leaf.
        case merges
        /// Both hold, in the order of the file.
        case adds
        /// Each holds for its own rule, whatever happens to the request.
        case stands
    }
}

/// What a key of a rule is.
package enum RuleKeyValue: Sendable {
    /// `true` or `false`; a rule without it decides nothing here.
    case flag(RuleFlag)
    /// What has a decoder and effects of its own, by exhaustive switches.
    case special(RuleKey.Special)
}

/// What a key does that is `true` or `false`; what it does to bodies asks `Plan.flags`.
package struct RuleFlag: Sendable {
    /// What `true` requires of a CONNECT.
    package var need: ClearTextNeed
    /// What `true` requires of an exchange.
    package var demands: Demands
    /// What `true` attaches: that decides which clients may have it, and which share a cached
    /// response.
    package var attaches: [Attached]
    /// Whether it matters which requests it is said of, as with what attaches or refuses.
    package var judges: Bool
    /// What `explain` notes of a request; nil for nothing.
    package var notes: (on: String?, off: String?)
}

extension RuleKey {
    /// The keys with decoders and effects of their own.
    package enum Special: Sendable, CaseIterable {
        case name, match, request, response, retry, cache, trust, validate, respond, redirect
        case throttle, cookies, clientCert, tls, intercept, proxy, timeouts, log, capture, stop
        case standIns, crossSite
    }

    /// What the key does if it is `true` or `false`; nil for other keys.
    var flag: RuleFlag? {
        switch row.value {
        case .flag(let flag): flag
        case .special: nil
        }
    }

    /// What is known of the key.
    package var row: RuleKeyRow {
        switch self {
        case .name:
            RuleKeyRow(
                form: "text",
                sentence: "unique; without it the rule is rule@LINE",
                value: .special(.name),
                onConnect: .acts,
                isUpstream: false,
                together: .replaces,
                isForHTTP: false
            )
        case .match:
            RuleKeyRow(
                form: "{host: api.example, path: /v1/**}",
                sentence: "whom the rule concerns; {} is everything",
                value: .special(.match),
                onConnect: .acts,
                isUpstream: false,
                together: .replaces,
                isForHTTP: false
            )
        case .request:
            RuleKeyRow(
                form: "list of steps",
                sentence: "what changes in the request",
                value: .special(.request),
                onConnect: .inside,
                isUpstream: true,
                together: .adds,
                isForHTTP: true
            )
        case .response:
            RuleKeyRow(
                form: "list of steps",
                sentence:
                    "what changes in the response: set, add, default, remove, rewrite, body, json",
                value: .special(.response),
                onConnect: .inside,
                isUpstream: false,
                together: .adds,
                isForHTTP: true
            )
        case .retry:
            RuleKeyRow(
                form: "standard",
                sentence: "which failures are repaired: a policy's name, {use: NAME, …}, or one "
                    + "in place; absent: safe",
                value: .special(.retry),
                onConnect: .inside,
                isUpstream: true,
                together: .replaces,
                isForHTTP: true
            )
        case .cache:
            RuleKeyRow(
                form: "standard",
                sentence: "which responses are stored: off, a policy's name, {use: NAME, …}, or "
                    + "one in place; absent: off",
                value: .special(.cache),
                onConnect: .inside,
                isUpstream: true,
                together: .replaces,
                isForHTTP: true
            )
        case .trust:
            RuleKeyRow(
                form: "system",
                sentence:
                    "who upstream may be: a policy's name, {use, replace: true}, or one in place",
                value: .special(.trust),
                onConnect: .inside,
                isUpstream: true,
                together: .replaces,
                isForHTTP: false
            )
        case .validate:
            RuleKeyRow(
                form: "{status: 200-399, content_type: accept, then: fail}",
                sentence:
                    "what a good response is: standard, off, or status, content_type, "
                    + "header, size, json; then fail, retry or log",
                value: .special(.validate),
                onConnect: .inside,
                isUpstream: true,
                together: .replaces,
                isForHTTP: false
            )
        case .respond:
            RuleKeyRow(
                form: "{status: 403}",
                sentence:
                    "lupin answers itself, with a body, a file or a folder: {folder: mock}; on a "
                    + "CONNECT too if it only refuses and the match tests nothing in clear",
                value: .special(.respond),
                onConnect: .answers,
                isUpstream: false,
                together: .replaces,
                isForHTTP: true
            )
        case .redirect:
            RuleKeyRow(
                form: "pass",
                sentence: "who follows redirects: pass, or {follow: true, max, deny, cross_origin}",
                value: .special(.redirect),
                onConnect: .inside,
                isUpstream: true,
                together: .replaces,
                isForHTTP: false
            )
        case .resume:
            RuleKeyRow(
                form: "false",
                sentence: "true: a GET that breaks off is finished by Range",
                value: .flag(
                    RuleFlag(
                        need: .convenience,
                        demands: .resuming,
                        attaches: [],
                        judges: false,
                        notes: (on: nil, off: nil)
                    )
                ),
                onConnect: .inside,
                isUpstream: true,
                together: .replaces,
                isForHTTP: true
            )
        case .throttle:
            RuleKeyRow(
                form: "none",
                sentence: "bytes per second: none, or {up, down}; leaf by leaf",
                value: .special(.throttle),
                onConnect: .acts,
                isUpstream: false,
                together: .merges,
                isForHTTP: false
            )
        case .cookies:
            RuleKeyRow(
                form: "{jar: cookies.txt}",
                sentence: "a file in which lupin keeps cookies for the client, or off",
                value: .special(.cookies),
                onConnect: .inside,
                isUpstream: true,
                together: .replaces,
                isForHTTP: true
            )
        case .clientCert:
            RuleKeyRow(
                form: "none",
                sentence:
                    "shown to the origin: none or {cert, key}; absent: upstream.tls.client_cert",
                value: .special(.clientCert),
                onConnect: .inside,
                isUpstream: true,
                together: .replaces,
                isForHTTP: false
            )
        case .tls:
            RuleKeyRow(
                form: "{min: \"1.2\"}",
                sentence:
                    "of the upstream side: min, alpn, close_notify: optional, and ciphers "
                    + "as OpenSSL writes them",
                value: .special(.tls),
                onConnect: .inside,
                isUpstream: true,
                together: .replaces,
                isForHTTP: false
            )
        case .intercept:
            RuleKeyRow(
                form: "auto",
                sentence: "true: decrypt for this rule, and answer inside",
                value: .special(.intercept),
                onConnect: .acts,
                isUpstream: false,
                together: .stands,
                isForHTTP: false
            )
        case .proxy:
            RuleKeyRow(
                form: "direct",
                sentence: "the parent proxy; absent: upstream.proxy",
                value: .special(.proxy),
                onConnect: .acts,
                isUpstream: true,
                together: .replaces,
                isForHTTP: false
            )
        case .timeouts:
            RuleKeyRow(
                form: "{total: 90s}",
                sentence: "as above, leaf by leaf",
                value: .special(.timeouts),
                onConnect: .acts,
                isUpstream: false,
                together: .merges,
                isForHTTP: false
            )
        case .log:
            RuleKeyRow(
                form: "off",
                sentence: "off, or {headers: all}",
                value: .special(.log),
                onConnect: .acts,
                isUpstream: false,
                together: .merges,
                isForHTTP: false
            )
        case .capture:
            RuleKeyRow(
                form: "{bodies: 64KiB}",
                sentence:
                    "true, false, or {bodies}: keeps exchanges with their bodies for lupin inspect",
                value: .special(.capture),
                onConnect: .inside,
                isUpstream: false,
                together: .replaces,
                isForHTTP: false
            )
        case .trace:
            // Without clear text the request has no field to continue the trace in.
            RuleKeyRow(
                form: "true",
                sentence:
                    "true: a request without a trace begins one, which the origin sees; "
                    + "false: never traced; see telemetry.otlp",
                value: .flag(
                    RuleFlag(
                        need: .convenience,
                        demands: [],
                        attaches: [],
                        judges: false,
                        notes: (
                            on: "traceparent names lupin's span, where telemetry exports traces",
                            off: "it is not traced, and traceparent passes untouched"
                        )
                    )
                ),
                onConnect: .inside,
                isUpstream: false,
                together: .replaces,
                isForHTTP: false
            )
        case .stop:
            RuleKeyRow(
                form: "false",
                sentence: "no later rule is looked at",
                value: .special(.stop),
                onConnect: .acts,
                isUpstream: false,
                together: .stands,
                isForHTTP: false
            )
        case .standIns:
            RuleKeyRow(
                form: "[github]",
                sentence:
                    "the tokens whose stand-ins are exchanged for the credential in fields "
                    + "that carry credentials, or {tokens, in: [fields, query, path]}; auth "
                    + "exchanges its own",
                value: .special(.standIns),
                onConnect: .inside,
                isUpstream: true,
                together: .adds,
                isForHTTP: false
            )
        case .scrub:
            // `explain` says besides whether it is for a stand-in: see `RequestPreview`.
            RuleKeyRow(
                form: "true",
                sentence:
                    "true: the credentials of the request's tokens are masked in "
                    + "responses; absent: where a stand-in may be exchanged",
                value: .flag(
                    RuleFlag(
                        need: .demand,
                        demands: [.adapting, .scrubbing],
                        attaches: [],
                        judges: true,
                        notes: (on: nil, off: nil)
                    )
                ),
                onConnect: .inside,
                isUpstream: true,
                together: .replaces,
                isForHTTP: false
            )
        case .crossSite:
            RuleKeyRow(
                form: "[\"https://app.example\"]",
                sentence:
                    "the web pages of other sites whose requests get the credentials of the rule: "
                    + "origins, or any; absent: none, they get 403",
                value: .special(.crossSite),
                onConnect: .inside,
                isUpstream: false,
                together: .replaces,
                isForHTTP: false
            )
        }
    }
}
