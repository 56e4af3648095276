// How a download that broke off goes on: from where it broke, so that the client sees one response.
import LupinCore
import LupinIO
import LupinWire

/// What has to be known of a response to go on with it.
///
/// A class, because most responses have none, and pass from function to function all the same.
final class Resumable {
    let rule: Resumption
    let target: KnownTarget

    init(rule: Resumption, target: KnownTarget) {
        self.rule = rule
        self.target = target
    }
}

extension Exchange {
    /// A download that breaks off again and again without end is given up.
    private static let resumesMax = 100

    /// What is needed to go on with a response, should it break off; nil where that can't be.
    func resumable(
        _ obtained: ObtainedResponse,
        _ attempt: Attempt,
        to target: KnownTarget
    ) -> Resumable? {
        let response = obtained.response
        guard request.method == .get, response.status < 300, framing.isEmpty else { return nil }
        let made = Resumption.make(
            request: attempt.adapted.head,
            response: response.head,
            contentLength: response.framing.knownLength
        )
        guard case .success(let rule) = made else { return nil }
        return Resumable(rule: rule, target: target)
    }

    /// Goes on with a body that broke off.
    /// - Returns: Where the rest of it comes from.
    /// - Throws: `failure`, which broke it, where nobody can go on.
    func resume(
        _ resumable: Resumable,
        received: UInt64,
        after failure: LupinError
    ) async throws(LupinError) -> any BodySource {
        guard failure.retry != .never, failure.side == .upstream,
            slot.loop.now < totalDeadline
        else { throw failure }
        noteBroken(failure, received)
        // What came since the last time is progress: then the count begins anew.
        if received > resumed.at { resumed.idle = 0 }
        resumed.at = received
        while true {
            dropUpstream()
            guard let delay = nextResume() else {
                giveUpResuming("limit of \(max(retryPolicy.limit, 1)) reached")
                throw failure
            }
            if delay > .zero { try await pause(delay) }
            let attempt = try await resumingAttempt(resumable, received)
            do throws(LupinError) {
                let response = try await attempt.run()
                noteOutcome(of: attempt, status: response.status)
                let length = response.framing.knownLength
                switch resumable.rule.check(
                    response.head,
                    contentLength: length,
                    received: received
                ) {
                case .continues:
                    attempt.close(status: response.status, decision: .deliver, reason: "")
                    guard let upstream else { throw LupinError.stopping }
                    return upstream.responseBody
                case .refused(let reason):
                    attempt.close(status: response.status, decision: .giveUp, reason: reason)
                    throw failure
                case .failed(let reason):
                    attempt.close(status: response.status, decision: .resume, reason: reason)
                }
            } catch {
                if attempt.isClosed || error.retry == .never { throw ending(failure, after: error) }
                noteOutcome(of: attempt, failure: error)
                attempt.close(error: error, decision: .resume, reason: error.retry.rawValue)
            }
        }
    }

    /// The client's leaving and lupin's stopping end the exchange as such.
    private func ending(_ failure: LupinError, after error: LupinError) -> LupinError {
        error == .clientGone || error == .stopping ? error : failure
    }

    /// How long to wait before the next attempt to go on; nil where there have been enough.
    ///
    /// The first comes at once: the origin was well a moment ago.
    private func nextResume() -> Duration? {
        let policy = retryPolicy
        guard resumed.idle < max(policy.limit, 1), resumed.count < Self.resumesMax else {
            return nil
        }
        let wait =
            resumed.idle == 0
            ? .zero
            : policy.backoff?.delay(
                retry: resumed.idle - 1,
                previous: .zero,
                chance: resources.chance()
            )
        resumed.idle += 1
        resumed.count += 1
        return wait ?? .zero
    }

    private func resumingAttempt(
        _ resumable: Resumable,
        _ received: UInt64
    ) async throws(LupinError) -> Attempt {
        let plain = try unadapted(for: resumable.target)
        let usual: AdaptedRequest
        if let plain { usual = plain } else { usual = try await adapt(for: resumable.target) }
        var ranged = usual.request
        resumable.rule.apply(to: &ranged.head, received: received)
        let adapted = AdaptedRequest(ranged, hop: usual.hop, known: usual.known)
        try checkBehindParent(
            adapted.origin,
            adapted.hop,
            isHostFromFile: adapted.isHostFromFile
        )
        note(.adapted(adapted))
        return Attempt(adapted, of: self, because: .resume, replay: nil)
    }

    /// The attempt whose body broke off had been delivered, as far as anybody knew.
    private func noteBroken(_ failure: LupinError, _ received: UInt64) {
        changeLastAttempt { last in
            last.error = failure
            if let upstream {
                last.reset = upstream.reset
                last.goAway = upstream.goAway
            }
            last.decision = .resume
            last.reason = "broke off after \(received) bytes"
        }
    }

    private func giveUpResuming(_ reason: String) {
        changeLastAttempt { last in
            last.decision = .giveUp
            last.reason += "; \(reason)"
        }
    }
}

/// How often a download was gone on with.
struct ResumeProgress {
    /// Attempts in all.
    var count = 0
    /// Attempts since the body last grew.
    var idle = 0
    /// How long the body was then.
    var at: UInt64 = 0
}
