// How often a download that breaks off is resumed, and after which pauses.
import LupinPolicy
import LupinProxy
import Testing

struct ResumingTests {
    private static func policy(limit: Int, pause: Duration? = nil) -> RetryPolicy {
        var policy = RetryPolicy.standard
        policy.limit = limit
        policy.backoff = nil
        if let pause {
            var backoff = Backoff()
            (backoff.scale, backoff.jitter) = (pause, .none)
            policy.backoff = backoff
        }
        return policy
    }

    @Test(arguments: 0...10)
    func `without progress the limit of the policy counts, and one is always made`(limit: Int) {
        var progress = ResumeProgress()
        let made = (0..<20).filter { _ in
            progress.note(received: 100)
            return progress.next(Self.policy(limit: limit), chance: 0) != nil
        }
        #expect(made.count == max(limit, 1))
    }

    @Test func `the first one is made at once, and others after a pause`() {
        var progress = ResumeProgress()
        let policy = Self.policy(limit: 3, pause: .seconds(2))
        progress.note(received: 100)
        #expect(progress.next(policy, chance: 0) == .zero)
        #expect(progress.next(policy, chance: 0) == .seconds(2))
        // Bytes came: the origin works again.
        progress.note(received: 101)
        #expect(progress.next(policy, chance: 0) == .zero)
    }

    @Test func `with progress the limit of a download counts`() {
        var progress = ResumeProgress()
        var made = 0
        for received in UInt64(1)...200 {
            progress.note(received: received)
            if progress.next(Self.policy(limit: 1), chance: 0) != nil { made += 1 }
        }
        #expect(made == ResumeProgress.countMax)
    }
}
