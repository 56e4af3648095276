// What follows an attempt, by its response or its failure, without a connection.
import LupinCore
import LupinPolicy
import LupinProxy
import Testing

struct AttemptJudgeTests {
    private static func retrying(_ rule: inout Rule) { rule.retry = RetryPolicy(name: "r") }

    @Test func `a response that no rule minds is delivered`() async throws {
        for status: UInt16 in [200, 204, 304, 404] {
            let judged = try PlayedJudgement(Self.retrying)
            guard case .deliver(let reason) = try await judged.verdict(on: status) else {
                Issue.record("\(status) is not delivered")
                continue
            }
            #expect(reason.isEmpty && judged.retry.retries == 0)
        }
    }

    @Test func `a status of the policy is tried again, and counted`() async throws {
        let judged = try PlayedJudgement(Self.retrying)
        guard case .again(.retry, .retry, _, _) = try await judged.verdict(on: 503) else {
            Issue.record("it is not tried again")
            return
        }
        #expect(judged.retry.retries == 1 && judged.retry.statuses == [503])
    }

    @Test func `a spent budget, a body that is gone, and too many attempts end that`() async throws
    {
        let spent = try PlayedJudgement(Self.retrying)
        spent.refusal = "spent"
        let many = try PlayedJudgement(Self.retrying)
        many.attemptsCount = 49
        let gone = try PlayedJudgement(Self.retrying)
        gone.attempt.isReplayable = false
        for (judged, words) in [(spent, "spent"), (many, "50 attempts are enough"), (gone, "")] {
            guard case .deliver(let reason) = try await judged.verdict(on: 503) else {
                Issue.record("it is tried again")
                continue
            }
            #expect(words.isEmpty || reason == words)
        }
    }

    @Test func `no attempt begins when no time is left`() async throws {
        let judged = try PlayedJudgement(Self.retrying)
        judged.totalDeadline = 0
        guard case .deliver(let reason) = try await judged.verdict(on: 503) else {
            Issue.record("it is tried again")
            return
        }
        #expect(reason == "timeouts.total would be over before the next attempt")
    }

    @Test func `a failure is waited for, up to the limit`() async throws {
        let refused = LupinError(.connectionRefused, detail: "Nobody listens.")
        let judged = try PlayedJudgement(Self.retrying)
        _ = try await judged.delay(after: refused)
        #expect(judged.attempt.closing?.decision == .retry && judged.retry.retries == 1)
        judged.attempt.retries = RetryPolicy(name: "r").limit
        await #expect(throws: LupinError.self) { _ = try await judged.delay(after: refused) }
        #expect(judged.attempt.closing?.decision == .giveUp)
    }

    @Test func `a redirect is followed where a rule says so`() async throws {
        let location = [("Location", "/b")]
        let judged = try PlayedJudgement { $0.redirect = .some(RedirectPolicy()) }
        guard case .follow(let leg, _) = try await judged.verdict(on: 302, location) else {
            Issue.record("it is not followed")
            return
        }
        #expect(leg.head.pathText == "/b" && leg.origin == judged.origin)
        #expect(judged.visited.count == 1 && judged.redirects.count == 1)
        let left = try PlayedJudgement { _ in }
        guard case .deliver = try await left.verdict(on: 302, location) else {
            Issue.record("it is followed")
            return
        }
        #expect(left.visited.isEmpty)
    }

    @Test func `a response that fails validate is refused`() async throws {
        let judged = try PlayedJudgement { $0.validation = ValidationPolicy(status: 200) }
        await #expect(throws: LupinError.self) { _ = try await judged.verdict(on: 500) }
        #expect(judged.attempt.closing?.decision == .giveUp)
        #expect(judged.validation?.condition != nil)
        guard case .deliver = try await judged.verdict(on: 200) else {
            Issue.record("it is not delivered")
            return
        }
        #expect(judged.validation?.condition == nil)
    }

    @Test func `where validate retries, the request is sent again`() async throws {
        let judged = try PlayedJudgement { rule in
            rule.retry = RetryPolicy(name: "r")
            rule.validation = ValidationPolicy(status: 200)
            rule.validation?.action = .retry
        }
        guard case .again = try await judged.verdict(on: 418) else {
            Issue.record("it is not tried again")
            return
        }
        #expect(judged.retry.statuses == [418])
    }

    @Test func `a response by a login is held, and repeated only if it is whole`() async throws {
        for isWhole in [true, false] {
            let judged = try PlayedJudgement(Self.retrying)
            judged.isForOneClient = true
            judged.holdsAll = isWhole
            let verdict = try await judged.verdict(on: 503, [], "busy")
            #expect(judged.held.count == 1)
            switch verdict {
            case .again: #expect(isWhole)
            case .deliver(let reason):
                #expect(!isWhole && reason == "the client's login is for another connection")
            case .follow: Issue.record("nothing leads elsewhere")
            }
        }
    }

    @Test func `as much of a body is held back as the policy says, but no stream`() async throws {
        func judged() throws -> PlayedJudgement {
            try PlayedJudgement { rule in
                rule.retry = RetryPolicy(name: "r")
                rule.retry?.holdBytes = 1000
            }
        }
        let page = try judged()
        _ = try await page.verdict(on: 200, [], "page")
        #expect(page.held == [1000])
        let stream = try judged()
        _ = try await stream.verdict(on: 200, [("Content-Type", "text/event-stream")])
        #expect(stream.held.isEmpty)
    }
}
