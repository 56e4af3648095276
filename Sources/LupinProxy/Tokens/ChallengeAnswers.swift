// Answers the challenges of servers that want Digest or Basic.
import LupinCore

/// Digest may need a second round when its nonce was stale.
private let digestReplaysMax = 2

extension AuthenticationInterceptor {
    func answer(
        _ challenges: [AuthenticationChallenge],
        _ use: Use,
        _ isReplayable: Bool
    ) -> (decision: AttemptRecord.Decision, reason: String) {
        guard isReplayable else { return (.deliver, "the body was not kept") }
        guard replays < digestReplaysMax,
            store.challenged(use.definition, by: use.origin, challenges, answered: use.mark)
                == .replay
        else {
            note(use.definition, .failed)
            return (.deliver, "the digest was refused")
        }
        replays += 1
        return (.refresh, "digest challenge")
    }

    func answerBasic(
        _ challenges: [AuthenticationChallenge],
        _ use: Use,
        _ isReplayable: Bool
    ) -> (decision: AttemptRecord.Decision, reason: String) {
        guard challenges.offers("Basic") else { return (.deliver, "Basic is not offered") }
        store.noteBasic(use.definition, use.origin)
        guard isReplayable, replays == 0 else { return (.deliver, "the body was not kept") }
        replays += 1
        return (.refresh, "basic challenge")
    }

    /// Takes the next nonce for Digest, which any response may carry (RFC 7616 §3.5).
    func noteAuthenticationInfo(of response: ResponseHead) {
        guard uses.contains(where: { $0.mark != nil }) else { return }
        guard let value = response.fields.value(of: "Authentication-Info") else { return }
        for use in uses where use.mark != nil {
            store.note(use.definition, from: use.origin, authenticationInfo: value)
        }
    }
}
