// Answers the challenges of servers that want Digest or Basic.
import LupinCore
import LupinPolicy

/// Digest may need a second round when its nonce was stale.
private let digestReplaysMax = 2

extension AuthenticationInterceptor {
    func answer(
        _ challenges: [AuthenticationChallenge],
        _ use: Use,
        _ isReplayable: Bool
    ) -> (decision: AttemptRecord.Decision, reason: String) {
        guard isReplayable else { return (.deliver, "the body was not kept") }
        guard isContentKnown || DigestChallenge.best(challenges)?.quality != .authInt else {
            note(use.definition, .failed)
            return (.deliver, "qop=auth-int needs the body before it is sent, and it is not known")
        }
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

    /// Whether the last attempt had an answer of lupin's to a Digest challenge.
    var signsDigest: Bool { uses.contains { $0.mark != nil } }

    /// The request with an answer of its own to every Digest challenge, for an attempt beside the
    /// one that sent it: each is one use of the nonce (RFC 7616 §3.4, nc).
    /// - Returns: Also how it is authenticated; nil where there is no password any more.
    func signedAgain(_ adapted: AdaptedRequest) -> (request: AdaptedRequest, uses: [Use])? {
        var uses = uses
        guard signsDigest else { return (adapted, uses) }
        var request = adapted.request
        for i in uses.indices where uses[i].mark != nil {
            let definition = uses[i].definition
            guard case .password(let pair)? = store.held(definition, now: now)?.credential.content,
                let answer = store.digest(
                    definition,
                    for: uses[i].origin,
                    method: request.head.method.token,
                    uri: request.head.pathText,
                    content: content(of: request),
                    credentials: pair
                )
            else { return nil }
            uses[i].mark = answer.mark
            request.head.fields.set(name: definition.field.name, octets: answer.field)
        }
        return (AdaptedRequest(request, hop: adapted.hop, known: adapted.known), uses)
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

extension FieldSection {
    /// Whether a client's own credentials answer a Digest challenge.
    var answersDigest: Bool {
        lines.contains { line in
            guard line.known == .authorization || line.known == .proxyAuthorization else {
                return false
            }
            let value = String(copying: storage.span.extracting(line.value.range))
            return value.lowercased().hasPrefix("digest ")
        }
    }
}
