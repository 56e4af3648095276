// Who decides, and in which order: an embedding program's retrier, `validate`, and the policy.
import LupinCore
import LupinProxy
import LupinTestKit
import Synchronization
import Testing

struct RetrierTests {
    private struct Refused: Error {}

    private static let rules = everywhere(
        "retry: {use: standard, backoff: none, replay_spill: 0}"
    )

    /// Hooks that ask `decide`.
    private static func hooks(_ decide: @escaping Retrier.Closure) -> Hooks {
        var hooks = Hooks()
        hooks.interceptor = Interceptor(retriers: [Retrier(decide)])
        return hooks
    }

    @Test func `what it wants is done, whatever the policy is`() async throws {
        let hooks = Self.hooks { _, attempt in
            attempt.retries == 0 ? .retry(reason: "mine") : .doNotRetry(reason: "")
        }
        try await ProxyFixture.run(everywhere("retry: none"), hooks: hooks) { proxy in
            let (flaky, origin) = try proxy.flaky(.status(418), .good)
            #expect(try proxy.client().get(origin.url()).bodyText == "good")
            #expect(flaky.asked == 2)
            let record = try proxy.record()
            #expect(record["attempts.0.decision"] == "retry")
            #expect(record["attempts.0.reason"] == "mine")
        }
    }

    @Test func `it may have lupin wait`() async throws {
        let clock = VirtualClock()
        let hooks = Self.hooks { _, attempt in
            attempt.retries == 0
                ? .retryWithDelay(.seconds(3), reason: "mine") : .doNotRetry(reason: "")
        }
        try await ProxyFixture.run("", clock: clock, hooks: hooks) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            try client.send("GET", origin.url())
            let first = try origin.accept()
            try first.request()
            first.reset()
            try clock.advance(by: .milliseconds(2960))
            #expect(!origin.hasWaiting)
            try clock.advance(by: .milliseconds(60))
            let second = try origin.accept()
            try second.request()
            try second.reply(body: "good")
            #expect(try client.response().bodyText == "good")
            #expect(try proxy.record().number("attempts.0.delay") == 3000)
        }
    }

    @Test func `where it does not mind, the policy decides`() async throws {
        let hooks = Self.hooks { _, _ in .doNotRetry(reason: "not mine") }
        try await ProxyFixture.run(Self.rules, hooks: hooks) { proxy in
            let (flaky, origin) = try proxy.flaky(.status(503), .reset, .good)
            #expect(try proxy.client().get(origin.url()).bodyText == "good")
            #expect(flaky.asked == 3)
            #expect(try proxy.record()["attempts.0.reason"] == "status 503")
        }
    }

    @Test(arguments: [FlakyOrigin.Deed.status(503), .reset])
    func `its error ends the exchange before the policy is asked`(
        deed: FlakyOrigin.Deed
    ) async throws {
        let hooks = Self.hooks { _, _ in .doNotRetryWithError(Refused()) }
        try await ProxyFixture.run(Self.rules, hooks: hooks) { proxy in
            let (flaky, origin) = try proxy.flaky(deed, .good)
            let response = try proxy.client().get(origin.url())
            #expect(response.status == 502)
            #expect(flaky.asked == 1)
            let record = try proxy.record()
            #expect(record["attempts.0.decision"] == "give-up")
            #expect(record["attempts.0.reason"] == "a retrier said so")
        }
    }

    @Test func `it is told what came of the attempt`() async throws {
        let told = Mutex<[FailedAttempt]>([])
        let hooks = Self.hooks { request, attempt in
            if request.head.pathText == "/told" { told.withLock { $0.append(attempt) } }
            return .doNotRetry(reason: "")
        }
        try await ProxyFixture.run(Self.rules, hooks: hooks) { proxy in
            let (_, origin) = try proxy.flaky(.status(503, "Retry-After: 0"), .reset, .good)
            #expect(try proxy.client().get(origin.url("/told")).bodyText == "good")
        }
        let attempts = told.withLock { $0 }
        #expect(attempts.map { $0.response?.status } == [503, nil, 200])
        #expect(attempts.map(\.retries) == [0, 1, 2])
        #expect(attempts[0].retryAfter == .zero)
        #expect(attempts[1].error != nil)
        #expect(attempts.map(\.isReused) == [false, true, false])
    }

    @Test(arguments: [FlakyOrigin.Deed.reset, .status(503)])
    func `it is not asked about a body that nobody can send again`(
        deed: FlakyOrigin.Deed
    ) async throws {
        let calls = Atomic(0)
        let hooks = Self.hooks { _, _ in
            calls.add(1, ordering: .relaxed)
            return .retry(reason: "always")
        }
        try await ProxyFixture.run(Self.rules, hooks: hooks) { proxy in
            let (flaky, origin) = try proxy.flaky(deed)
            let client = try proxy.client()
            let body = String(repeating: "x", count: 300 << 10)
            try client.send("PUT", origin.url(), body: body)
            #expect(try client.response(to: "PUT").status >= 502)
            #expect(flaky.asked == 1)
            #expect(try proxy.record()["attempts.0.reason"] == "the body was not kept")
        }
        #expect(calls.load(ordering: .relaxed) == 0)
    }

    @Test func `a body that is outgrown while it thinks is not sent in part`() async throws {
        let (asked, answer) = (Bell(), Bell())
        let hooks = Self.hooks { _, _ in
            asked.ring()
            await Task.detached { _ = answer.wait() }.value
            return .retry(reason: "slow")
        }
        let clock = VirtualClock()
        let retry = "{use: standard, per_try: 1s, replay_body: 64KiB, replay_spill: 0}"
        let rules = everywhere("retry: \(retry)")
        try await ProxyFixture.run(rules, clock: clock, hooks: hooks) { proxy in
            let origin = try PlayedOrigin()
            let client = try proxy.client()
            try client.send("PUT", origin.url(), ["Content-Length: 100000"])
            try client.send(LongBody.bytes(50_000))
            let first = try origin.accept()
            _ = try first.requestHead()
            #expect(try first.stream.bytes(50_000).count == 50_000)
            try clock.advance(by: .milliseconds(1020))
            #expect(asked.wait())
            try client.send(Array(LongBody.bytes(100_000).dropFirst(50_000)))
            for _ in 0..<20 { try proxy.settle() }
            answer.ring()
            if try client.stream.head()?.status == nil { Issue.record("no answer") }
            let record = try proxy.record()
            #expect(record["attempts.0.reason"] == "the body was not kept")
            #expect(!origin.hasWaiting)
        }
    }

    @Test func `one that always wants another attempt gets fifty`() async throws {
        let hooks = Self.hooks { _, _ in .retry(reason: "always") }
        try await ProxyFixture.run("", hooks: hooks) { proxy in
            let (flaky, origin) = try proxy.flaky(.status(503, body: "ill"))
            #expect(try proxy.client().get(origin.url()).bodyText == "ill")
            #expect(flaky.asked == 50)
            let record = try proxy.record()
            #expect(record.count("attempts") == 50)
        }
    }

    @Test func `what validate demands is asked for as often as the policy says`() async throws {
        let rules = everywhere(
            "validate: {status: 200-299, then: retry}, retry: {use: standard, backoff: none}"
        )
        try await ProxyFixture.run(rules) { proxy in
            let (flaky, origin) = try proxy.flaky(.status(404), .status(404), .good)
            #expect(try proxy.client().get(origin.url()).bodyText == "good")
            #expect(flaky.asked == 3)
            let (other, second) = try proxy.flaky(.status(404))
            let response = try proxy.client().get(second.url())
            #expect(response.status == 502)
            #expect(other.asked == 3)
            let record = try proxy.records(2)[1]
            #expect(record["attempts.0.reason"] == "status 404 is not in 200-299")
            #expect(
                record["attempts.2.reason"]
                    == "status 404 is not in 200-299; limit of 2 reached"
            )
            #expect(record["attempts.2.decision"] == "give-up")
        }
    }

    @Test func `credentials come first, then the policy`() async throws {
        let rules = """
            tokens: {jar: {digest: {user: joe, password: "${env:WORD}"}}}
            rules:
              - name: all
                match: {path: /**}
                request: [{auth: jar}]
                retry: {use: standard, backoff: none, status: [401, 503]}
            """
        try await ProxyFixture.run(rules, environment: ["WORD": "s3cr3t"]) { proxy in
            let (flaky, origin) = try proxy.flaky(
                .status(401, "WWW-Authenticate: Digest realm=\"r\", nonce=\"n\", qop=\"auth\""),
                .status(503),
                .good
            )
            #expect(try proxy.client().get(origin.url()).bodyText == "good")
            #expect(flaky.requests.map { $0["Authorization"] != nil } == [false, true, true])
            let record = try proxy.record()
            #expect(record["attempts.0.decision"] == "refresh")
            #expect(record["attempts.1.why"] == "auth")
            #expect(record["attempts.1.decision"] == "retry")
            #expect(record["attempts.2.why"] == "retry")
        }
    }
}
