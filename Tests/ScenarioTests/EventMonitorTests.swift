// An embedding program's monitors see what the log at level event has, whatever the log's level is.
import LupinCore
import LupinProxy
import LupinTestKit
import Synchronization
import Testing

struct EventMonitorTests {
    /// Remembers what it was told, in the words of the log.
    private final class Listener: EventMonitor {
        let told = Mutex<[(stage: String, id: String, attempt: Int, detail: String)]>([])
        let ends = Mutex<[ExchangeSummary]>([])
        let attempts = Mutex<[AttemptSummary]>([])

        private func note(_ stage: String, _ exchange: ExchangeMoment, _ detail: String = "") {
            told.withLock { $0.append((stage, exchange.id, exchange.attempt, detail)) }
        }

        func exchangeDidBegin(_ exchange: ExchangeMoment, from client: ClientSummary) {
            note("accepted", exchange, "\(exchange.method) \(exchange.url) \(client.address)")
        }

        func exchange(_ exchange: ExchangeMoment, didMatch rules: [String]) {
            note("matched", exchange, rules.joined(separator: " "))
        }

        func exchange(
            _ exchange: ExchangeMoment,
            didAdaptRequestTo url: String,
            by steps: [String]
        ) { note("adapted", exchange, url) }

        func exchange(
            _ exchange: ExchangeMoment,
            didFailToAdaptRequestWith failure: FailureSummary
        ) { note("failed", exchange, "\(failure.token) \(failure.side)") }

        func exchange(_ exchange: ExchangeMoment, isWaitingForToken token: String) {
            note("token_wait", exchange, token)
        }

        func exchange(_ exchange: ExchangeMoment, isConnectingTo target: String) {
            note("connecting", exchange, target)
        }

        func exchange(_ exchange: ExchangeMoment, didSendRequestOn connection: ConnectionSummary) {
            note("sent", exchange, connection.peer)
        }

        func exchange(_ exchange: ExchangeMoment, didMakeProgress progress: ProgressSummary) {
            note("progress", exchange)
        }

        func exchange(_ exchange: ExchangeMoment, didReceiveResponseWith status: UInt16) {
            note("response", exchange, "\(status)")
        }

        func exchange(_ exchange: ExchangeMoment, didFinishAttempt attempt: AttemptSummary) {
            note("attempt", exchange, attempt.decision)
            attempts.withLock { $0.append(attempt) }
        }

        func exchangeIsRetrying(_ exchange: ExchangeMoment, after attempt: AttemptSummary) {
            note("retrying", exchange, attempt.reason)
        }

        func exchange(_ exchange: ExchangeMoment, didFinish summary: ExchangeSummary) {
            note("finished", exchange, summary.outcome)
            ends.withLock { $0.append(summary) }
        }
    }

    /// Monitors nothing: every hook has a default.
    private struct Deaf: EventMonitor {}

    private func hooks(_ monitors: any EventMonitor...) -> Hooks {
        var hooks = Hooks()
        hooks.eventMonitors = monitors
        return hooks
    }

    @Test(arguments: ["exchange", "event"])
    func `a monitor sees the stages that the log has`(level: String) async throws {
        let listener = Listener()
        let rules = """
            log: {level: \(level)}
            rules:
              - name: flaky
                match: {path: "/flaky"}
                request: [{url: {path: "/moved"}}]
                validate: {status: 200, then: retry}
            """
        try await ProxyFixture.run(rules, hooks: hooks(Deaf(), listener)) { proxy in
            let requests = Counter()
            let origin = try proxy.origin { connection in
                while try connection.nextRequest() != nil {
                    try connection.reply(requests.next() == 1 ? 503 : 200, body: "hello")
                }
            }
            let url = origin.url("/flaky?token=s3cr3tToken")
            #expect(try proxy.client().get(url).status == 200)
            let lines = try proxy.linesUntilExchange()
            let told = listener.told.withLock { $0 }
            #expect(Set(told.map(\.id)) == [lines.last?["id"] ?? ""])
            try #require(
                told.map(\.stage).filter { $0 != "connecting" } == [
                    "accepted", "matched", "adapted", "sent", "response", "attempt", "retrying",
                    "adapted", "sent", "response", "attempt", "finished",
                ]
            )
            if level == "event" {
                #expect(lines.map(\.stage) == told.map(\.stage) + ["exchange"])
                #expect(lines.dropLast().map { Int($0["n"] ?? "0") ?? 0 }.max() == 2)
            } else {
                #expect(lines.map(\.stage) == ["exchange"])
            }
            let start = "GET \(origin.url("/flaky"))?token=REDACTED."
            #expect(told[0].detail.hasPrefix(start) && told[0].detail.hasSuffix(" 127.0.0.1"))
            #expect(told[1].detail == "flaky")
            #expect(told[2].detail.contains("token=REDACTED."))
            #expect(!told.contains { $0.detail.contains("s3cr3tToken") })
            let end = try #require(listener.ends.withLock { $0.first })
            #expect(end.status == 200 && end.outcome == "ok" && end.attempts == 2)
            #expect(end.rules == ["flaky"] && end.responseBodyBytes == 5 && end.failure == nil)
            #expect(end.duration > .zero && end.wait != nil)
            let attempt = try #require(listener.attempts.withLock { $0.first })
            #expect(attempt.number == 1 && attempt.cause == "first" && attempt.status == 503)
            #expect(attempt.peer == origin.authority && attempt.wait != nil)
            #expect(attempt.url?.contains("/moved?token=REDACTED.") == true)
        }
    }

    @Test func `an adapter that fails is told of, and log off keeps nothing back`() async throws {
        struct Refusal: Error {}
        let listener = Listener()
        var hooks = hooks(listener)
        hooks.interceptor = Interceptor(adapters: [Adapter { _, _ in throw Refusal() }])
        let rules = "rules: [{name: quiet, match: {}, log: off}]"
        try await ProxyFixture.run(rules, hooks: hooks) { proxy in
            let origin = try proxy.origin(answering: "HTTP/1.1 204 No Content\r\n\r\n")
            #expect(try proxy.client().get(origin.url()).status == 502)
            let lines = try proxy.linesUntilExchange()
            #expect(lines.map(\.stage) == ["exchange"])
            let told = listener.told.withLock { $0 }
            try #require(told.map(\.stage) == ["accepted", "matched", "failed", "finished"])
            #expect(told[2].detail == "proxy_internal_error proxy")
            #expect(told[3].detail == "error")
        }
    }

    @Test func `an attempt that fails is told of before the next one`() async throws {
        let listener = Listener()
        try await ProxyFixture.run("", hooks: hooks(listener)) { proxy in
            let origin = try proxy.origin { connection in
                try connection.request()
                connection.reset()
            }
            #expect(try proxy.client().get(origin.url()).status == 502)
            let end = try proxy.linesUntilExchange()
            #expect(end.first?["outcome"] == "error")
            let attempts = listener.attempts.withLock { $0 }
            #expect(attempts.count == end.first?.count("attempts"))
            #expect(attempts.last?.decision == "give-up")
            #expect(attempts.last?.failure?.token == "connection_terminated")
        }
    }
}
