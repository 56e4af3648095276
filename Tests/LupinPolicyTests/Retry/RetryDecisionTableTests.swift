// What becomes of every failure of every request under every policy, by rules written anew here.

import LupinCore
import LupinPolicy
import Testing

/// What went wrong with an attempt.
private enum Failure {
    case status(UInt16)
    case error(RetryClass)

    static let all =
        (UInt16(400)...599).map { Failure.status($0) } + RetryClass.allCases.map { .error($0) }
}

/// A policy, and what the rules say of it in words of their own.
struct PolicySample: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let policy: RetryPolicy
    var hasKey = false
    let limit: Int
    var statuses: Set<UInt16> = [408, 500, 502, 503, 504]
    var classes = everyClass
    /// Before the first retry, without jitter.
    var wait: Duration? = .milliseconds(500)
    /// The methods that are sent again once bytes of them were sent.
    var methods = idempotent

    private static let everyClass: Set<String> = [
        "dns", "connect", "reset", "stale-connection", "timeout", "tls-transient",
        "refused-stream", "goaway",
    ]
    private static let idempotent: Set<String> = [
        "DELETE", "GET", "HEAD", "OPTIONS", "PUT", "QUERY", "TRACE",
    ]

    private static func variant(_ nonIdempotent: RetryPolicy.NonIdempotent) -> RetryPolicy {
        var policy = RetryPolicy.standard
        policy.nonIdempotent = nonIdempotent
        return policy
    }

    static let all = [
        PolicySample(testDescription: "none", policy: .none, limit: 0),
        PolicySample(
            testDescription: "safe",
            policy: .safe,
            limit: 1,
            statuses: [],
            classes: ["connect", "refused-stream", "goaway", "stale-connection"],
            wait: nil
        ),
        PolicySample(testDescription: "standard", policy: .standard, limit: 2),
        PolicySample(
            testDescription: "connection-lost",
            policy: .connectionLost,
            limit: 2,
            statuses: [],
            classes: ["stale-connection", "reset"]
        ),
        PolicySample(
            testDescription: "with-idempotency-key, with the field",
            policy: variant(.withIdempotencyKey),
            hasKey: true,
            limit: 2,
            methods: idempotent.union(["POST", "PATCH"])
        ),
        PolicySample(
            testDescription: "with-idempotency-key, without the field",
            policy: variant(.withIdempotencyKey),
            limit: 2
        ),
        PolicySample(
            testDescription: "standard, with the field",
            policy: .standard,
            hasKey: true,
            limit: 2
        ),
        PolicySample(
            testDescription: "always",
            policy: variant(.always),
            limit: 2,
            methods: idempotent.union(["POST", "PATCH", "CONNECT", "PROPFIND"])
        ),
    ]
}

/// What may speak against a retry, in all eight combinations.
private struct Circumstances {
    let isReplayable: Bool
    let isSent: Bool
    let isCommitted: Bool

    static let all = (0..<8).map { bits in
        Circumstances(
            isReplayable: bits & 1 == 0,
            isSent: bits & 2 == 0,
            isCommitted: bits & 4 != 0
        )
    }
}

struct RetryDecisionTableTests {
    private static let methods = Method.defined + [.other("PROPFIND")]

    @Test(arguments: PolicySample.all, methods)
    func `every failure is decided as the rules say`(sample: PolicySample, method: Method) {
        var policy = sample.policy
        policy.backoff?.jitter = .none
        for failure in Failure.all {
            for circumstances in Circumstances.all {
                let attempt = attempt(method, failure, circumstances, hasKey: sample.hasKey)
                let expected = expected(sample, method.token, failure, circumstances)
                let found = policy.evaluate(attempt)
                // One `#expect` a row would take longer than all else.
                if found != expected {
                    let row = "\(failure), \(circumstances): \(found), not \(expected)"
                    Issue.record(Comment(rawValue: row))
                }
            }
        }
    }

    private func attempt(
        _ method: Method,
        _ failure: Failure,
        _ circumstances: Circumstances,
        hasKey: Bool
    ) -> FailedAttempt {
        var attempt = FailedAttempt(method: method)
        switch failure {
        case .status(let status): attempt.response = ResponseHead(status: status)
        case .error(let retry): attempt.error = LupinError(.connectionTerminated, retry: retry)
        }
        attempt.isReplayable = circumstances.isReplayable
        attempt.hasSentBytes = circumstances.isSent
        attempt.isCommitted = circumstances.isCommitted
        attempt.hasIdempotencyKey = hasKey
        return attempt
    }

    private func expected(
        _ sample: PolicySample,
        _ method: String,
        _ failure: Failure,
        _ circumstances: Circumstances
    ) -> RetryResult {
        func refused(_ reason: String) -> RetryResult { .doNotRetry(reason: reason) }
        // Nobody can take back what the client has seen.
        if circumstances.isCommitted { return refused("the client has part of a response") }
        // The origin's own word that it did nothing frees every method.
        var isUnprocessed = false
        var reason: String
        switch failure {
        case .status(421):
            reason = "status 421, on another connection"
            isUnprocessed = true
        case .status(425):
            reason = "status 425, without early data"
            isUnprocessed = true
        case .status(let status):
            guard sample.statuses.contains(status) else {
                return refused("status \(status) is delivered")
            }
            reason = "status \(status)"
        case .error(let retry):
            guard sample.classes.contains(retry.rawValue) else {
                return refused("connection_terminated is not retried")
            }
            reason = retry.rawValue
            isUnprocessed = ["refused-stream", "goaway"].contains(reason)
        }
        if sample.limit == 0 { return refused("limit of 0 reached") }
        if circumstances.isSent {
            if !isUnprocessed, !sample.methods.contains(method) {
                return refused("\(method) may have been processed")
            }
            if !circumstances.isReplayable { return refused("the body was not kept") }
        } else {
            reason += ", nothing was sent"
        }
        return sample.wait.map { .retryWithDelay($0, reason: reason) } ?? .retry(reason: reason)
    }
}
