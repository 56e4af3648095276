// What the documentation says of retries, made of what the policies decide.

import LupinCore
import LupinPolicy

/// `Sources/LupinCore/LupinCore.docc/RetryDecisions.md`.
///
/// Every cell is asked of the policies themselves; only the reasons are written by hand.
enum RetryDecisionDocument {
    static var text: String {
        let parts = [introduction, policies, failures, statuses, methods, refusals]
        return parts.map { $0.joined(separator: "\n") }.joined(separator: "\n\n") + "\n"
    }

    private static let introduction = [
        "# Which attempts are repeated",
        "",
        "When lupin sends a request again, when it does not, and why.",
        "",
        "## Overview",
        "",
        "Where no rule says otherwise the policy is `safe`: it repeats what provably was not",
        "processed, so that a connection which closes at the wrong moment is nobody's",
        "trouble. `alamofire` is Alamofire's `RetryPolicy` to the number. `standard` is the same",
        "and `connection-lost` its `ConnectionLostRetryPolicy`, both with a cap, jitter and a",
        "budget; `none` repeats nothing. A policy of the rules file begins with the values of",
        "one of them.",
        "",
        "In the tables *yes* means: methods that may be repeated at any time, all others only",
        "while no byte of the request was sent. *Any method* means that the origin did",
        "nothing with the request, by its own word.",
    ]

    // MARK: Policies

    private static var names: [String] { RetryPolicy.builtIn.map { "`\($0.name)`" } }

    private static func table(_ head: [String], _ rows: [[String]]) -> [String] {
        let rule = head.map { _ in "---" }
        return ([head, rule] + rows).map { "| " + $0.joined(separator: " | ") + " |" }
    }

    private static func duration(_ duration: Duration) -> String {
        UnitText.duration(duration.milliseconds)
    }

    private static var policies: [String] {
        func row(_ name: String, _ value: (RetryPolicy) -> String) -> [String] {
            [name] + RetryPolicy.builtIn.map { $0.limit == 0 && name != "Retries" ? "" : value($0) }
        }
        let rows = [
            row("Retries") { "\($0.limit)" },
            row("Waits, without jitter") { policy in
                guard var backoff = policy.backoff else { return "none" }
                backoff.jitter = .none
                return (0..<policy.limit).map {
                    duration(backoff.delay(retry: $0, previous: .zero, chance: 0))
                }
                .joined(separator: ", ")
            },
            row("Jitter") { $0.backoff.map { "`\($0.jitter.rawValue)`" } ?? "" },
            row("`Retry-After`") {
                $0.retryAfter.isHonoured ? "up to \(duration($0.retryAfter.max))" : "not asked for"
            },
            row("Budget of a host") { policy in
                guard let budget = policy.budget else { return "none" }
                let share = "\(Int(budget.ratio * 100))% of the requests"
                return "\(share), at least \(budget.floor), in \(duration(budget.window))"
            },
            row("Body kept for it") { UnitText.size($0.replayBodyBytes) },
        ]
        return ["### The built-in policies", ""] + table([""] + names, rows)
    }

    // MARK: Failures

    /// Whether a policy repeats an attempt, by method and by whether bytes were sent.
    private static func cell(
        _ policy: RetryPolicy,
        _ attempt: (Method) -> FailedAttempt
    ) -> String {
        func isRepeated(_ method: Method, isSent: Bool) -> Bool {
            var attempt = attempt(method)
            attempt.hasSentBytes = isSent
            switch policy.evaluate(attempt) {
            case .retry, .retryWithDelay: return true
            case .doNotRetry, .doNotRetryWithError: return false
            }
        }
        if isRepeated(.post, isSent: true) { return "any method" }
        return isRepeated(.get, isSent: true) ? "yes" : "no"
    }

    private static var failures: [String] {
        let rows = RetryClass.allCases.map { retry in
            ["`\(retry.rawValue)`", tokens(retry)]
                + RetryPolicy.builtIn.map { policy in
                    cell(policy) { method in
                        let error = LupinError(.connectionTerminated, retry: retry)
                        return FailedAttempt(method: method, error: error)
                    }
                } + [reason(retry)]
        }
        return [
            "### Failures", "",
            "A failure is named by its class, which `errors` of a policy lists, and in the record",
            "by its token of RFC 9209. `never` stands in no list.", "",
        ] + table(["Class", "Failures"] + names + ["Why"], rows)
    }

    private static func tokens(_ retry: RetryClass) -> String {
        let kinds = ErrorKind.allCases.filter { $0.retryClass == retry }
        if retry == .dns {
            return "`dns_timeout`, `dns_error` unless it says that there is no such name"
        }
        if !kinds.isEmpty { return kinds.map { "`\($0.token)`" }.joined(separator: ", ") }
        return switch retry {
        case .staleConnection: "a `reset` on a connection from the pool"
        case .refusedStream: "`REFUSED_STREAM`"
        case .goaway: "`GOAWAY` with a lower stream"
        default: ""
        }
    }

    private static func reason(_ retry: RetryClass) -> String {
        switch retry {
        case .dns: "Resolvers fail for moments, and nothing was sent yet."
        case .connect: "Nothing was sent, and another address may answer."
        case .reset: "The origin may have worked on it, so only what may be done twice is."
        case .staleConnection:
            "The origin closed an idle connection just when it was used (RFC 9112 §9.3.1)."
        case .timeout: "As `reset`; a policy has to ask for the extra load."
        case .tlsTransient:
            "A handshake that broke sent no request; a certificate that is wrong stays wrong."
        case .refusedStream: "The origin says that it processed nothing (RFC 9113 §8.7)."
        case .goaway: "The stream is above the last one that was processed (RFC 9113 §6.8)."
        case .never: "Asked again it would fail again, or harm would be done."
        }
    }

    // MARK: Statuses

    private static var statuses: [String] {
        let rows = RetryStatusReasons.all.map { status, reason in
            ["\(status)"]
                + RetryPolicy.builtIn.map { policy in statusCell(policy, status) } + [reason]
        }
        return [
            "### Statuses", "",
            "Whatever is not repeated is delivered, and so is every status that is not listed.",
            "With `validate: {then: retry}` a response that is not good is a failure of its own,",
            "whatever its status is.", "",
        ] + table(["Status"] + names + ["Why"], rows)
    }

    private static func statusCell(_ policy: RetryPolicy, _ status: UInt16) -> String {
        func answer(_ change: @escaping (inout FailedAttempt) -> Void) -> String {
            cell(policy) { method in
                var attempt = FailedAttempt(
                    method: method,
                    response: ResponseHead(status: status)
                )
                change(&attempt)
                return attempt
            }
        }
        let plain = answer { _ in }
        if plain == "any method" { return "once, any method" }
        if plain != "no" { return plain }
        if answer({ $0.retryAfter = .zero }) != "no" { return "with `Retry-After`" }
        if answer({ $0.isReused = true }) != "no" { return "on an idle connection" }
        return "no"
    }

    // MARK: Methods

    private static var methods: [String] {
        var keyed = RetryPolicy.standard
        keyed.nonIdempotent = .withIdempotencyKey
        var always = RetryPolicy.standard
        always.nonIdempotent = .always
        let rows = (Method.defined + [.other("any other")]).map { method in
            let others = RetryPolicy.builtIn.filter {
                !$0.mayRepeat(method, hasIdempotencyKey: false)
            }
            let isSplit = !others.isEmpty && others.count < RetryPolicy.builtIn.count
            let but = isSplit ? ", but " + others.map { "`\($0.name)`" }.joined() : ""
            let name = if case .other(let text) = method { text } else { "`\(method.token)`" }
            return [
                name, others.isEmpty || isSplit ? "yes" + but : "no",
                keyed.mayRepeat(method, hasIdempotencyKey: true) ? "yes" : "no",
                always.mayRepeat(method, hasIdempotencyKey: false) ? "yes" : "no",
                reason(method),
            ]
        }
        return [
            "### Methods", "",
            "Whether a request of which bytes were sent may be sent again. While nothing was sent,",
            "or where the origin says that it did nothing, the method does not matter.", "",
        ]
            + table(
                [
                    "Method", "Built-in policies", "`with-idempotency-key`, with the field",
                    "`always`", "Why",
                ],
                rows
            )
    }

    private static func reason(_ method: Method) -> String {
        switch method {
        case .get, .head, .options, .trace: "Safe, and so idempotent (RFC 9110 §9.2.2)."
        case .query: "Safe, and so idempotent (RFC 10008 §2)."
        case .put, .delete: "Idempotent: twice has the effect of once (RFC 9110 §9.2.2)."
        case .post, .patch: "Twice may do it twice, unless `Idempotency-Key` tells the origin."
        case .connect: "A tunnel has a state that lupin does not see."
        case .other: "Nobody knows what it does."
        }
    }

    // MARK: What speaks against it

    private static var refusals: [String] {
        func refusal(
            _ attempt: FailedAttempt,
            by policy: RetryPolicy = .standard,
            _ change: (inout FailedAttempt) -> Void
        ) -> String {
            var attempt = attempt
            change(&attempt)
            guard case .doNotRetry(let reason) = policy.evaluate(attempt) else { return "none" }
            return "`\(reason)`"
        }
        let answer = FailedAttempt(method: .get, response: ResponseHead(status: 503))
        let post = FailedAttempt(method: .post, response: ResponseHead(status: 503))
        let early = FailedAttempt(method: .get, response: ResponseHead(status: 425))
        let failure = FailedAttempt(method: .get, error: LupinError(.connectionRefused))
        let unknown = FailedAttempt(method: .get, error: LupinError(.destinationNotFound))
        let rows = [
            ["The client has seen part of a response", refusal(answer) { $0.isCommitted = true }],
            ["The failure is of another kind", refusal(unknown) { _ in }],
            ["The status is of another kind", refusal(answer, by: .safe) { _ in }],
            ["425, and the client sent early data", refusal(early) { $0.hasEarlyData = true }],
            [
                "The origin wants to be left alone for long",
                refusal(answer) { $0.retryAfter = .seconds(60) },
            ],
            [
                "No address took the connection, and the policy does not wait",
                refusal(failure, by: .safe) { $0.isEveryAddressRefused = true },
            ],
            ["Too many attempts were made", refusal(answer) { $0.retries = 2 }],
            ["Bytes of a method that may not be repeated were sent", refusal(post) { _ in }],
            ["The body can't be sent again", refusal(answer) { $0.isReplayable = false }],
        ]
        return [
            "### What speaks against a retry", "",
            "The first that applies is what the record of the attempt says.", "",
        ] + table(["When", "The record says"], rows)
    }
}
