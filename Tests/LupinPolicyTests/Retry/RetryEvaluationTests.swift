// What becomes of the failures that have a rule of their own, and how long a retry waits.

import LupinCore
import LupinPolicy
import Testing

struct RetryEvaluationTests {
    private func answered(
        _ status: UInt16,
        _ method: Method = .get,
        _ change: (inout FailedAttempt) -> Void = { _ in }
    ) -> FailedAttempt {
        var attempt = FailedAttempt(method: method, response: ResponseHead(status: status))
        change(&attempt)
        return attempt
    }

    private func failed(
        _ kind: ErrorKind,
        _ method: Method = .get,
        _ change: (inout FailedAttempt) -> Void = { _ in }
    ) -> FailedAttempt {
        var attempt = FailedAttempt(method: method, error: LupinError(kind))
        change(&attempt)
        return attempt
    }

    /// `standard` with waits that can be told in advance.
    private var standard: RetryPolicy {
        var policy = RetryPolicy.standard
        policy.backoff?.jitter = .none
        return policy
    }

    private let half = Duration.milliseconds(500)

    // MARK: Statuses with a meaning of their own

    @Test func `408 on an idle connection is no answer to this request`() {
        let idle = answered(408) { $0.isReused = true }
        let reason = "status 408 on an idle connection"
        #expect(RetryPolicy.safe.evaluate(idle) == .retry(reason: reason))
        #expect(standard.evaluate(idle) == .retryWithDelay(half, reason: reason))
        // It might have been the request that was too slow, so nothing else is repeated.
        let post = answered(408, .post) { $0.isReused = true }
        #expect(
            RetryPolicy.safe.evaluate(post) == .doNotRetry(reason: "POST may have been processed")
        )
        let again = answered(408) {
            $0.isReused = true
            $0.answeredStatuses = [408]
        }
        #expect(
            RetryPolicy.safe.evaluate(again) == .doNotRetry(reason: "status 408 is delivered")
        )
        var policy = RetryPolicy.safe
        policy.errors = [.connect]
        #expect(policy.evaluate(idle) == .doNotRetry(reason: "status 408 is delivered"))
    }

    @Test(arguments: [UInt16(421), 425])
    func `421 and 425 are worth one more attempt`(status: UInt16) {
        let what = status == 421 ? "on another connection" : "without early data"
        let post = answered(status, .post)
        #expect(
            RetryPolicy.safe.evaluate(post) == .retry(reason: "status \(status), \(what)")
        )
        let again = answered(status, .post) { $0.answeredStatuses = [500, status] }
        let delivered = RetryResult.doNotRetry(reason: "status \(status) is delivered")
        #expect(RetryPolicy.safe.evaluate(again) == delivered)
        #expect(standard.evaluate(again) == delivered)
    }

    @Test func `early data of the client is the client's to repeat`() {
        let early = answered(425) { $0.hasEarlyData = true }
        let reason = "the client sent the request as early data"
        #expect(standard.evaluate(early) == .doNotRetry(reason: reason))
        // Whatever `validate` says.
        let invalid = answered(425) {
            $0.hasEarlyData = true
            $0.validationFailure = "status 425 is not 200-399"
        }
        #expect(standard.evaluate(invalid) == .doNotRetry(reason: reason))
    }

    // MARK: Retry-After

    @Test func `429 is repeated where it says when`() {
        #expect(standard.evaluate(answered(429)) == .doNotRetry(reason: "status 429 is delivered"))
        let asked = answered(429) { $0.retryAfter = .seconds(7) }
        let reason = "status 429 with Retry-After"
        #expect(standard.evaluate(asked) == .retryWithDelay(.seconds(7), reason: reason))
        let soon = answered(429) { $0.retryAfter = .zero }
        #expect(standard.evaluate(soon) == .retryWithDelay(half, reason: reason))
        #expect(
            RetryPolicy.safe.evaluate(asked) == .doNotRetry(reason: "status 429 is delivered")
        )
        var deaf = standard
        deaf.retryAfter.isHonoured = false
        #expect(deaf.evaluate(asked) == .doNotRetry(reason: "status 429 is delivered"))
    }

    @Test(arguments: [UInt16(429), 503])
    func `who asks for more than the limit is not asked again`(status: UInt16) {
        let longest = answered(status) { $0.retryAfter = .seconds(30) }
        #expect(
            standard.evaluate(longest)
                == .retryWithDelay(.seconds(30), reason: "status \(status) with Retry-After")
        )
        let longer = answered(status) { $0.retryAfter = .seconds(31) }
        #expect(
            standard.evaluate(longer)
                == .doNotRetry(
                    reason: "status \(status), and Retry-After of 31s is more than 30s"
                )
        )
    }

    @Test func `the longer of both waits counts`() {
        let third = answered(503) {
            $0.retries = 1
            $0.retryAfter = .milliseconds(700)
        }
        let reason = "status 503 with Retry-After"
        #expect(standard.evaluate(third) == .retryWithDelay(.seconds(1), reason: reason))
        var deaf = standard
        deaf.retryAfter.isHonoured = false
        #expect(deaf.evaluate(third) == .retryWithDelay(.seconds(1), reason: "status 503"))
    }

    // MARK: Responses that validate refuses

    @Test func `what validate refuses is repeated whatever its status is`() {
        let reason = "Content-Type is text/html"
        let invalid = answered(200) { $0.validationFailure = reason }
        #expect(standard.evaluate(invalid) == .retryWithDelay(half, reason: reason))
        #expect(RetryPolicy.safe.evaluate(invalid) == .retry(reason: reason))
        let post = answered(200, .post) { $0.validationFailure = reason }
        #expect(
            standard.evaluate(post) == .doNotRetry(reason: "POST may have been processed")
        )
    }

    @Test func `what validate refuses is not asked again before it wants to be`() {
        let wanted = answered(503) {
            $0.validationFailure = "status 503 is not 200-399"
            $0.retryAfter = .seconds(5)
        }
        #expect(
            standard.evaluate(wanted)
                == .retryWithDelay(
                    .seconds(5),
                    reason: "status 503 is not 200-399, with Retry-After"
                )
        )
        let never = answered(404) {
            $0.validationFailure = "status 404 is not 200-399"
            $0.retryAfter = .seconds(3600)
        }
        #expect(
            standard.evaluate(never)
                == .doNotRetry(
                    reason: "status 404 is not 200-399, and Retry-After of 1h is more than 30s"
                )
        )
    }

    // MARK: Errors

    @Test func `where every address refused only a policy that waits tries again`() {
        let refused = failed(.connectionRefused) {
            $0.isEveryAddressRefused = true
            $0.hasSentBytes = false
        }
        #expect(
            RetryPolicy.safe.evaluate(refused)
                == .doNotRetry(reason: "every address refused the connection")
        )
        #expect(
            standard.evaluate(refused)
                == .retryWithDelay(half, reason: "connect, nothing was sent")
        )
    }

    @Test func `an origin that wants calm gets a second`() {
        let calm = failed(.connectionTerminated) { $0.isCalmAsked = true }
        #expect(standard.evaluate(calm) == .retryWithDelay(.seconds(1), reason: "reset"))
        var patient = standard
        patient.backoff?.scale = .seconds(3)
        #expect(patient.evaluate(calm) == .retryWithDelay(.seconds(3), reason: "reset"))
        var connection = RetryPolicy.safe
        connection.errors.insert(.reset)
        #expect(connection.evaluate(calm) == .retryWithDelay(.seconds(1), reason: "reset"))
    }

    @Test(arguments: ErrorKind.allCases)
    func `what would fail again or do harm is never repeated`(kind: ErrorKind) {
        let result = RetryPolicy.standard.evaluate(failed(kind) { $0.hasSentBytes = false })
        let isRefused = result == .doNotRetry(reason: "\(kind.rawValue) is not retried")
        #expect(isRefused == (kind.retryClass == .never))
    }

    // MARK: Limits

    @Test func `the limit ends retries, whatever else speaks for one`() {
        let last = RetryResult.doNotRetry(reason: "limit of 2 reached")
        #expect(standard.evaluate(answered(503) { $0.retries = 2 }) == last)
        #expect(standard.evaluate(answered(421) { $0.retries = 2 }) == last)
        #expect(standard.evaluate(failed(.dnsError) { $0.retries = 3 }) == last)
        let second = standard.evaluate(answered(503) { $0.retries = 1 })
        #expect(second == .retryWithDelay(.seconds(1), reason: "status 503"))
        // What is not to be repeated says so, not that there were too many.
        #expect(
            standard.evaluate(answered(404) { $0.retries = 2 })
                == .doNotRetry(reason: "status 404 is delivered")
        )
    }

    @Test func `chance spreads the waits of standard`() {
        let policy = RetryPolicy.standard
        #expect(policy.evaluate(answered(503)) == .retry(reason: "status 503"))
        let middle = answered(503) { $0.chance = 1 << 63 }
        #expect(
            policy.evaluate(middle)
                == .retryWithDelay(.milliseconds(250), reason: "status 503")
        )
    }

    // MARK: What the client is told

    @Test(arguments: [ErrorKind.connectionTerminated, .httpResponseIncomplete])
    func `who may send a request again is told so, and who should look first`(kind: ErrorKind) {
        let safe = RetryPolicy.safe
        #expect(safe.advice(after: failed(kind)) == "Try again.")
        #expect(safe.advice(after: failed(kind) { $0.method = .put }) == "Try again.")
        for method in [Method.post, .patch] {
            let sent = safe.advice(after: failed(kind) { $0.method = method })
            #expect(sent?.hasPrefix("The \(method.token) may have been processed") == true)
            #expect(sent?.contains("`non_idempotent`") == true)
            let unsent = failed(kind) {
                $0.method = method
                $0.hasSentBytes = false
            }
            #expect(safe.advice(after: unsent) == "Try again.")
        }
    }

    @Test func `a request that waited in vain may have been processed, too`() {
        let safe = RetryPolicy.safe
        #expect(safe.advice(after: failed(.httpResponseTimeout)) == nil)
        let post = safe.advice(after: failed(.httpResponseTimeout) { $0.method = .post })
        #expect(post?.hasPrefix("The POST may have been processed") == true)
        #expect(safe.advice(after: failed(.connectionRefused) { $0.method = .post }) == nil)
        #expect(safe.advice(after: answered(503, .post)) == nil)
    }
}
