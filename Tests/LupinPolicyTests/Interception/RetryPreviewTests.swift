// What is told of a retry policy for one request: what is sent again, how often, how soon.

import LupinCore
import LupinPolicy
import Testing

struct RetryPreviewTests {
    private func preview(
        _ policy: RetryPolicy,
        _ method: Method = .get,
        fields: [(String, String)] = [],
        hasKey: Bool = false,
        validates: Bool = false
    ) -> RetryPreview {
        var head = RequestHead()
        head.method = method
        for (name, value) in fields { head.fields.add(name: name, value: value) }
        return RetryPreview(
            policy,
            of: head,
            hasIdempotencyKey: hasKey,
            authority: "a.dev",
            validates: validates
        )
    }

    @Test func `standard is told in full`() {
        #expect(
            preview(.standard).lines == [
                "up to 2 more, after dns connect reset stale-connection timeout tls-transient "
                    + "refused-stream goaway",
                "or status 408 500 502 503 504, 429 with Retry-After, 421 and 425 once each",
                "GET may be repeated",
                "waits 0–500ms, 0–1s, but at least what Retry-After says, up to 30s",
                "budget: 20% of the requests to a.dev in 10s, at least 100",
                "circuit: after 10 failures in a row nothing is sent again for 10s",
            ]
        )
    }

    @Test func `safe and none are told in full`() {
        #expect(
            preview(.safe).lines == [
                "up to 1 more, after connect stale-connection refused-stream goaway",
                "or 421 and 425 once each", "GET may be repeated", "no wait",
                "no budget: only the limit counts",
            ]
        )
        #expect(preview(.none).lines == ["nothing is sent again"])
        #expect(preview(.none).permission == .never && preview(.none).waits.isEmpty)
    }

    @Test(arguments: [
        (RetryPolicy.NonIdempotent.never, false, RetryPreview.Permission.unprocessed),
        (.never, true, .unprocessed), (.withIdempotencyKey, false, .unprocessed),
        (.withIdempotencyKey, true, .always), (.always, false, .always),
    ])
    func `POST is repeated by those who say so`(
        word: RetryPolicy.NonIdempotent,
        hasKey: Bool,
        permission: RetryPreview.Permission
    ) throws {
        var policy = RetryPolicy.standard
        policy.nonIdempotent = word
        let preview = preview(policy, .post, hasKey: hasKey)
        #expect(preview.permission == permission)
        let line = try #require(preview.lines.first { $0.hasPrefix("POST ") })
        let only =
            "POST only where nothing was processed: no byte was sent, or the origin says so "
            + "(refused-stream goaway 421 425)"
        switch (word, hasKey) {
        case (.never, _): #expect(line == only)
        case (.withIdempotencyKey, false):
            #expect(line == "\(only); with Idempotency-Key it may be repeated")
        case (.withIdempotencyKey, true):
            #expect(line == "POST may be repeated: it carries Idempotency-Key")
        case (.always, _): #expect(line == "POST may be repeated, though it may then be done twice")
        }
    }

    @Test(arguments: [
        (Method.get, "", nil as String?), (.put, "0", nil),
        (
            .put, "",
            "of a body 256KiB are kept in memory, and 64MiB beyond in a file; a larger one is "
                + "sent again only if nothing of it was sent"
        ),
        (.put, "262144", "its body of 262144 bytes is kept"),
        (
            .delete, "67371009",
            "its body of 67371009 bytes is more than the 65792KiB that are kept: sent again only "
                + "if nothing of it was sent"
        ),
    ])
    func `what becomes of a body is told`(method: Method, length: String, line: String?) {
        let fields = length.isEmpty ? [] : [("Content-Length", length)]
        let lines = preview(.standard, method, fields: fields).lines
        #expect(lines.first { $0.contains("body") } == line)
    }

    @Test func `a body in a file and none at all are told`() {
        var policy = RetryPolicy.standard
        policy.replaySpillBytes = 1 << 30
        #expect(
            preview(policy, .post).lines.contains {
                $0.hasPrefix("of a body 256KiB are kept in memory, and 1GiB beyond in a file; ")
            }
        )
        policy.replaySpillBytes = 0
        policy.replayBodyBytes = 0
        #expect(
            preview(policy, .patch, fields: [("Transfer-Encoding", "chunked")]).lines.contains(
                "no body is kept: one is sent again only if nothing of it was sent"
            )
        )
    }

    @Test func `waits follow base, cap and jitter`() {
        var policy = RetryPolicy.standard
        policy.limit = 6
        policy.retryAfter.isHonoured = false
        #expect(preview(policy).lines.contains("waits 0–500ms, 0–1s, 0–2s, 0–4s, …"))
        #expect(preview(policy).waits.map(\.most) == [500, 1000, 2000, 4000, 8000, 10000])
        policy.limit = 2
        policy.backoff?.jitter = .none
        #expect(preview(policy).lines.contains("waits 500ms, 1s"))
        policy.backoff?.jitter = .decorrelated
        #expect(preview(policy).lines.contains("waits 500ms, 500ms–1500ms"))
        policy.backoff = nil
        #expect(preview(policy).lines.contains("no wait"))
        #expect(preview(policy).waits.map(\.most) == [0, 0])
    }

    @Test func `whatever else a policy says is told`() {
        var policy = RetryPolicy.standard
        policy.errors = []
        policy.status = [429, 503]
        policy.perTry = .seconds(20)
        policy.holdBytes = 1 << 20
        policy.hedge = .init(after: .fixed(.milliseconds(200)), max: 2)
        policy.offlineWait = .seconds(5)
        policy.budget = nil
        let lines = preview(policy, validates: true).lines
        for line in [
            "up to 2 more", "after status 429 503, what validate refuses, 421 and 425 once each",
            "each attempt has 20s until the head of its response",
            "1MiB of the response are held back: an earlier break is not seen",
            "up to 2 beside an attempt, after 200ms; the first answer wins",
            "where there is no network, it is waited for up to 5s",
            "no budget",
        ] {
            #expect(lines.contains(line), "\(line) is missing in \(lines)")
        }
        policy.hedge = .init(after: .percentile95)
        let slow = "up to 1 beside an attempt, when it is slower than 95 of 100 of the host lately"
        #expect(preview(policy).lines.contains("\(slow); the first answer wins"))
        for other in [preview(policy, .post), preview(policy, fields: [("Content-Length", "1")])] {
            #expect(
                other.lines.contains(
                    "no attempt beside a slow one: only for idempotent methods without a body"
                )
            )
        }
    }
}
