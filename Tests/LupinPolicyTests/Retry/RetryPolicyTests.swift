// Which failed attempts are made again where no rule says otherwise.

import LupinCore
import LupinPolicy
import Testing

struct RetryPolicyTests {
    private func failure(
        _ retry: RetryClass,
        _ method: Method = .get,
        _ change: (inout FailedAttempt) -> Void = { _ in }
    ) -> FailedAttempt {
        var failure = FailedAttempt(
            method: method,
            error: LupinError(.connectionTerminated, retry: retry)
        )
        change(&failure)
        return failure
    }

    @Test(
        arguments: [
            // What the origin says it did nothing with is sent again, whatever the method.
            (.refusedStream, .get, .retry(reason: "refused-stream")),
            (.refusedStream, .post, .retry(reason: "refused-stream")),
            (.goaway, .post, .retry(reason: "goaway")),
            (.goaway, .patch, .retry(reason: "goaway")),
            (.staleConnection, .get, .retry(reason: "stale-connection")),
            (.staleConnection, .post, .doNotRetry(reason: "POST may have been processed")),
            (.reset, .get, .doNotRetry(reason: "connection_terminated is not retried")),
        ] as [(RetryClass, Method, RetryResult)]
    )
    func `what was not processed is sent again`(
        retry: RetryClass,
        method: Method,
        result: RetryResult
    ) {
        #expect(RetryPolicy.safe.evaluate(failure(retry, method)) == result)
    }

    @Test(arguments: [RetryClass.refusedStream, .goaway, .staleConnection])
    func `nothing is sent again without its body, too often or after a response`(
        retry: RetryClass
    ) {
        let policy = RetryPolicy.safe
        #expect(
            policy.evaluate(failure(retry) { $0.isReplayable = false })
                == .doNotRetry(reason: "the body was not kept")
        )
        #expect(
            policy.evaluate(failure(retry) { $0.retries = 1 })
                == .doNotRetry(reason: "limit of 1 reached")
        )
        #expect(
            policy.evaluate(failure(retry) { $0.isCommitted = true })
                == .doNotRetry(reason: "the client has part of a response")
        )
    }

    @Test(arguments: [RetryClass.connect, .refusedStream, .goaway, .staleConnection])
    func `a request of which no byte was sent needs nothing else`(retry: RetryClass) {
        let unsent = failure(retry, .post) { $0.hasSentBytes = false }
        #expect(
            RetryPolicy.safe.evaluate(unsent)
                == .retry(reason: "\(retry.rawValue), nothing was sent")
        )
    }

    @Test(arguments: Method.defined + [.other("PURGE")])
    func `what safe repeats is known without its sets`(method: Method) {
        for hasKey in [false, true] {
            #expect(
                RetryPolicy.safeMayRepeat(method)
                    == RetryPolicy.safe.mayRepeat(method, hasIdempotencyKey: hasKey)
            )
        }
        #expect(!RetryPolicy.safe.repairsWhatWasSent)
    }

    @Test(arguments: RetryClass.allCases)
    func `only a word of the origin makes a sent request unprocessed`(retry: RetryClass) {
        #expect(retry.isUnprocessed == (retry == .refusedStream || retry == .goaway))
    }
}
