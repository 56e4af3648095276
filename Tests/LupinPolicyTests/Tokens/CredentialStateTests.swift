// When a credential is used, waited for, refreshed or given up.

import LupinPolicy
import Testing

struct CredentialStateTests {
    private static let second: UInt64 = 1_000_000
    private static let unreachable = TokenFailure(.unreachable(host: "id.dev", reason: "refused"))
    private static let refused = TokenFailure(
        .refused(host: "id.dev", status: 400, error: "invalid_grant")
    )

    private static func time(_ seconds: UInt64) -> UInt64 { (1000 + seconds) * second }

    private func credential(
        _ token: String,
        at seconds: UInt64 = 0,
        life: Duration? = nil
    ) -> Credential {
        Credential(.token(token), obtainedAt: Self.time(seconds), life: life)
    }

    private func state(
        _ change: (inout RefreshSettings) -> Void = { _ in },
        isRefreshable: Bool = true
    ) -> CredentialState {
        var settings = RefreshSettings()
        change(&settings)
        return CredentialState(settings: settings, isRefreshable: isRefreshable)
    }

    /// A state that has `credential` as its first version.
    private func state(with credential: Credential) -> CredentialState {
        var state = state()
        _ = state.request(now: credential.obtainedAt)
        state.refreshed(credential)
        return state
    }

    private func issued(_ credential: Credential, _ version: Int) -> CredentialState.Issued {
        var state = state()
        for i in 1..<version { state.refreshed(self.credential("older \(i)")) }
        return state.refreshed(credential)
    }

    // MARK: Requests

    @Test func `of a hundred requests without a credential one starts a refresh`() {
        var state = state()
        let advice = (0..<100).map { _ in state.request(now: Self.time(0)) }
        #expect(advice.first == .wait(startsRefresh: true))
        #expect(advice.dropFirst().allSatisfy { $0 == .wait(startsRefresh: false) })
        let issued = state.refreshed(credential("a"))
        #expect(issued.version == 1)
        #expect(state.request(now: Self.time(0)) == .use(issued))
    }

    @Test func `earlier credentials stay secrets, of which the oldest are forgotten`() {
        var state = state(with: credential("0"))
        for i in 1...8 { state.refreshed(credential("\(i)")) }
        #expect(state.secrets == (0...8).map { "\($0)" })
        state.refreshed(credential("8"))
        #expect(state.secrets == (0...8).map { "\($0)" })
        state.refreshed(credential("9"))
        #expect(state.secrets == (1...9).map { "\($0)" })
    }

    @Test func `a credential without an end is used for ever`() {
        var state = state(with: credential("a"))
        #expect(state.request(now: Self.time(1_000_000_000)) == .use(issued(credential("a"), 1)))
    }

    @Test(
        arguments: [
            // 10 % of its life, at most 5 minutes, and never more than half of it.
            (3600, nil, 3299, 3300), (100, nil, 89, 90), (86400, nil, 86099, 86100),
            (3600, .seconds(600), 2999, 3000), (100, .seconds(600), 49, 50),
            (100, .zero, 99, 100),
        ] as [(Int64, Duration?, UInt64, UInt64)]
    )
    func `a credential is refreshed ahead of its end`(
        life: Int64,
        before: Duration?,
        fresh: UInt64,
        due: UInt64
    ) {
        let credential = credential("a", life: .seconds(life))
        #expect(!credential.isDue(at: Self.time(fresh), before: before))
        #expect(credential.isDue(at: Self.time(due), before: before))
    }

    @Test func `who comes when it is due starts a refresh and nobody waits`() {
        let first = credential("a", life: .seconds(100))
        var state = state(with: first)
        let issued = issued(first, 1)
        #expect(state.request(now: Self.time(89)) == .use(issued))
        #expect(state.request(now: Self.time(90)) == .useAndRefresh(issued))
        #expect(state.request(now: Self.time(90)) == .use(issued))
        let next = state.refreshed(credential("b", at: 91, life: .seconds(100)))
        #expect(next.version == 2)
        #expect(state.request(now: Self.time(92)) == .use(next))
    }

    @Test func `an expired credential is never handed out`() {
        var state = state(with: credential("a", life: .seconds(100)))
        _ = state.request(now: Self.time(95))
        // The refresh ahead of the end is still under way: now they wait for it.
        #expect(state.request(now: Self.time(100)) == .wait(startsRefresh: false))
        state.refreshFailed(Self.unreachable, now: Self.time(100))
        #expect(state.current == nil)
        let answer = state.request(now: Self.time(100), waitedFor: state.refreshNumber)
        #expect(answer == .fail(Self.unreachable))
        var late = self.state(with: credential("a", life: .seconds(100)))
        #expect(late.request(now: Self.time(100)) == .wait(startsRefresh: true))
    }

    @Test func `a refresh ahead of the end may fail while the credential is good`() {
        let first = credential("a", life: .seconds(100))
        var state = state(with: first)
        let issued = issued(first, 1)
        #expect(state.request(now: Self.time(90)) == .useAndRefresh(issued))
        state.refreshFailed(Self.unreachable, now: Self.time(90))
        #expect(state.request(now: Self.time(90)) == .use(issued))
        #expect(state.request(now: Self.time(91)) == .useAndRefresh(issued))
    }

    @Test func `a life of nothing is no life`() {
        #expect(credential("a", life: .zero).expiresAt == nil)
        #expect(credential("a", life: .seconds(-5)).expiresAt == nil)
        #expect(credential("a", life: .seconds(Int64.max)).isValid(at: Self.time(1 << 30)))
    }

    @Test func `times at the end of the clock do not trap`() {
        let late = Credential(.token("a"), obtainedAt: UInt64.max - 1, life: .seconds(10))
        var state = state()
        state.refreshed(late)
        _ = state.request(now: UInt64.max - 1)
        _ = state.rejected(version: 1, canReplay: true, now: UInt64.max)
        state.refreshFailed(Self.unreachable, now: UInt64.max)
        _ = state.request(now: 0)
    }

    // MARK: Failures

    @Test func `a failure is answered to those who waited, and the next request tries anew`() {
        var state = state { $0.max = 2 }
        for _ in 0..<10 {
            #expect(state.request(now: Self.time(1)) == .wait(startsRefresh: true))
            let first = state.refreshNumber
            #expect(state.request(now: Self.time(1)) == .wait(startsRefresh: false))
            state.refreshFailed(Self.unreachable, now: Self.time(1))
            let answer = state.request(now: Self.time(1), waitedFor: first)
            #expect(answer == .fail(Self.unreachable))
            #expect(state.request(now: Self.time(1)) == .wait(startsRefresh: true))
            let late = state.request(now: Self.time(1), waitedFor: first)
            #expect(late == .fail(Self.unreachable))
            state.refreshFailed(Self.unreachable, now: Self.time(1))
        }
    }

    @Test func `who waited for a refresh that failed takes what a later one brought`() {
        var state = state()
        _ = state.request(now: Self.time(0))
        let first = state.refreshNumber
        state.refreshFailed(Self.unreachable, now: Self.time(1))
        _ = state.request(now: Self.time(1))
        let issued = state.refreshed(credential("a"))
        #expect(state.request(now: Self.time(1), waitedFor: first) == .use(issued))
    }

    @Test func `a refusal that stays holds for ten seconds, and says for how long`() {
        var state = state()
        _ = state.request(now: Self.time(0))
        state.refreshFailed(Self.refused, now: Self.time(0))
        guard case .fail(let failure) = state.request(now: Self.time(3) + 1) else {
            Issue.record("there is a credential")
            return
        }
        #expect(failure.sentence(token: "me").hasSuffix(" lupin asks for it again in 7 s."))
        #expect(state.request(now: Self.time(10)) == .wait(startsRefresh: true))
    }

    @Test(
        arguments: [
            (Self.unreachable, 0), (Self.refused, 10),
            (TokenFailure(.refused(host: "a", status: 429, error: nil), retryAfterSeconds: 7), 7),
            (TokenFailure(.refused(host: "a", status: 429, error: nil), retryAfterSeconds: 0), 0),
            (TokenFailure(.excessive, retryAfterSeconds: UInt64.max), 3600),
        ] as [(TokenFailure, UInt64)]
    )
    func `a failure has its back-off`(failure: TokenFailure, seconds: UInt64) {
        #expect(CredentialState.backOff(after: failure) == seconds * Self.second)
    }

    @Test func `where a server says when, all are told, and nobody asks before`() {
        let busy = TokenFailure(
            .refused(host: "a", status: 503, error: nil),
            retryAfterSeconds: 30
        )
        var state = state()
        _ = state.request(now: Self.time(0))
        let refresh = state.refreshNumber
        state.refreshFailed(busy, now: Self.time(0))
        let waited = state.request(now: Self.time(0), waitedFor: refresh)
        #expect(waited == .fail(busy.held(microseconds: 30 * Self.second)))
        let late = busy.held(microseconds: 1 * Self.second)
        #expect(state.request(now: Self.time(29)) == .fail(late))
        #expect(state.settled(version: nil, now: Self.time(29)) == .deliver(.failed(late)))
        state.sourceChanged()
        #expect(state.request(now: Self.time(29)) == .fail(late))
        #expect(state.request(now: Self.time(30)) == .wait(startsRefresh: true))
    }

    @Test func `a changed source ends the pause`() {
        var state = state()
        _ = state.request(now: Self.time(0))
        state.refreshFailed(Self.refused, now: Self.time(0))
        let held = Self.refused.held(microseconds: 9 * Self.second)
        #expect(state.request(now: Self.time(1)) == .fail(held))
        state.sourceChanged()
        #expect(state.request(now: Self.time(1)) == .wait(startsRefresh: true))
    }

    // MARK: 401

    @Test func `of a hundred 401s one starts a refresh, and all of them replay`() {
        var state = state(with: credential("a"))
        let rejections = (0..<100).map { _ in
            state.rejected(version: 1, canReplay: true, now: Self.time(5))
        }
        #expect(rejections.first == .wait(startsRefresh: true))
        #expect(rejections.dropFirst().allSatisfy { $0 == .wait(startsRefresh: false) })
        state.refreshed(credential("b", at: 6))
        #expect(state.settled(version: 1, now: Self.time(6)) == .replay)
    }

    @Test func `a refresh after a 401 blocks no new request`() {
        let first = credential("a")
        var state = state(with: first)
        _ = state.rejected(version: 1, canReplay: true, now: Self.time(5))
        #expect(state.request(now: Self.time(5)) == .use(issued(first, 1)))
    }

    @Test func `a 401 for an old version, or for none, replays at once`() {
        var state = state(with: credential("a"))
        state.refreshed(credential("b", at: 6))
        #expect(state.rejected(version: 1, canReplay: true, now: Self.time(7)) == .replay)
        #expect(state.rejected(version: nil, canReplay: true, now: Self.time(7)) == .replay)
    }

    @Test func `a 401 of a request without a credential waits for the first one`() {
        var state = state(isRefreshable: false)
        let answer = state.rejected(version: nil, canReplay: true, now: Self.time(0))
        #expect(answer == .wait(startsRefresh: true))
        state.refreshed(credential("a"))
        #expect(state.settled(version: nil, now: Self.time(0)) == .replay)
    }

    @Test func `waiting 401s get their own 401 when the refresh fails`() {
        var state = state(with: credential("a"))
        _ = state.rejected(version: 1, canReplay: true, now: Self.time(5))
        state.refreshFailed(Self.refused, now: Self.time(6))
        #expect(state.settled(version: 1, now: Self.time(6)) == .deliver(.failed(Self.refused)))
        // Fails fast for this version, as long as the back-off lasts.
        #expect(
            state.rejected(version: 1, canReplay: true, now: Self.time(7))
                == .deliver(.failed(Self.refused.held(microseconds: 9 * Self.second)))
        )
        #expect(state.request(now: Self.time(16)) == .use(issued(credential("a"), 1)))
        #expect(
            state.rejected(version: 1, canReplay: true, now: Self.time(16))
                == .wait(startsRefresh: true)
        )
    }

    @Test func `the same credential again is not replayed`() {
        var state = state(with: credential("a"))
        _ = state.rejected(version: 1, canReplay: true, now: Self.time(5))
        #expect(state.refreshed(credential("a", at: 6)).version == 1)
        #expect(state.settled(version: 1, now: Self.time(6)) == .deliver(.unchanged))
        #expect(state.settled(version: nil, now: Self.time(6)) == .replay)
    }

    @Test func `what cannot give another credential delivers the 401`() {
        var state = state(isRefreshable: false)
        state.refreshed(credential("a"))
        #expect(
            state.rejected(version: 1, canReplay: true, now: Self.time(1))
                == .deliver(.notRefreshable)
        )
    }

    @Test func `a file that changed replays`() {
        var state = state(with: credential("a"))
        state.refreshed(credential("b", at: 3))
        #expect(state.rejected(version: 1, canReplay: true, now: Self.time(3)) == .replay)
    }

    @Test func `a request that cannot be sent again starts the refresh for the next one`() {
        var state = state(with: credential("a"))
        #expect(
            state.rejected(version: 1, canReplay: false, now: Self.time(1))
                == .deliver(.notReplayable, startsRefresh: true)
        )
        #expect(
            state.rejected(version: 1, canReplay: false, now: Self.time(1))
                == .deliver(.notReplayable)
        )
        state.refreshed(credential("b", at: 2))
        #expect(
            state.rejected(version: 1, canReplay: false, now: Self.time(2))
                == .deliver(.notReplayable)
        )
    }

    @Test func `replay off delivers every 401`() {
        var state = state { $0.replay = false }
        state.refreshed(credential("a"))
        #expect(
            state.rejected(version: 1, canReplay: true, now: Self.time(1))
                == .deliver(.notReplayable, startsRefresh: true)
        )
    }

    // MARK: Too many

    @Test func `a sixth refresh within 30 seconds does not begin`() {
        var state = state(with: credential("0"))
        // The first refresh was the one that gave the first credential, at second 0.
        for i in 1...4 {
            let now = Self.time(UInt64(i))
            let answer = state.rejected(version: i, canReplay: true, now: now)
            #expect(answer == .wait(startsRefresh: true))
            state.refreshed(credential("\(i)"))
        }
        #expect(
            state.rejected(version: 5, canReplay: true, now: Self.time(29)) == .deliver(.excessive)
        )
        #expect(
            state.rejected(version: 5, canReplay: true, now: Self.time(30))
                == .wait(startsRefresh: true)
        )
    }

    @Test func `a token that ends at once does not keep its server busy`() {
        var state = state()
        var starts = 0
        for i in 0..<1000 {
            let now = Self.time(0) + UInt64(i) * 1000
            let advice = state.request(now: now)
            if advice == .wait(startsRefresh: true) {
                starts += 1
                let life = Duration.microseconds(1)
                state.refreshed(Credential(.token("\(i)"), obtainedAt: now, life: life))
            } else {
                #expect(advice == .fail(TokenFailure(.excessive)))
            }
        }
        #expect(starts == 5)
    }

    @Test func `too many refreshes leave a good credential in use`() {
        let life = Duration.seconds(100)
        var state = state { $0.max = 1 }
        _ = state.request(now: Self.time(80))
        let issued = state.refreshed(credential("a", life: life))
        #expect(state.request(now: Self.time(95)) == .use(issued))
    }

    @Test func `without a window refreshes are not counted`() {
        var state = state { $0.window = nil }
        state.refreshed(credential("0"))
        for i in 1...50 {
            let answer = state.rejected(version: i, canReplay: true, now: Self.time(0))
            #expect(answer == .wait(startsRefresh: true))
            state.refreshed(credential("\(i)"))
        }
    }
}
