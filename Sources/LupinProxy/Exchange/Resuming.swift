// Resumes a download that broke off at the same position, so that the client sees one response.
import LupinCore
import LupinIO
package import LupinPolicy
import LupinUpstream
import LupinWire

/// The facts needed to resume a response.
///
/// A class, because most responses have none and it passes through many functions.
package final class Resumable {
    let rule: Resumption
    let target: KnownTarget

    init(rule: Resumption, target: KnownTarget) {
        self.rule = rule
        self.target = target
    }
}

extension Exchange {
    /// The facts needed to resume a response that breaks off; nil when it can't be resumed.
    func resumable(
        _ obtained: ObtainedResponse,
        _ attempt: Attempt,
        to target: KnownTarget
    ) -> Resumable? {
        // The rest of a masked body can't be found by its length, and that of a login's response is
        // on its connection alone.
        guard plan?.resumes == true, plan?.scrubs != true, !isByLogin(attempt) else { return nil }
        let response = obtained.response
        guard request.method == .get, response.status < 300, framing.isEmpty,
            response.flaws.isEmpty
        else { return nil }
        let made = Resumption.make(
            request: attempt.adapted.head,
            response: response.head,
            contentLength: response.framing.knownLength
        )
        guard case .success(let rule) = made else { return nil }
        return Resumable(rule: rule, target: target)
    }

    /// Resumes a body that broke off.
    /// - Returns: The source of the rest.
    /// - Throws: `failure`, which broke it off, when it can't be resumed.
    func resume(
        _ resumable: Resumable,
        received: UInt64,
        after failure: LupinError
    ) async throws(LupinError) -> any BodySource {
        guard failure.retry != .never, failure.side == .upstream,
            slot.loop.now < totalDeadline
        else { throw failure }
        noteBroken(failure, received)
        resumed.note(received: received)
        while true {
            dropUpstream()
            guard let delay = resumed.next(retryPolicy, chance: resources.chance()) else {
                giveUpResuming("limit of \(max(retryPolicy.limit, 1)) reached")
                throw failure
            }
            if let refusal = refusal(ofRetryAt: resumable.target.origin) {
                giveUpResuming(refusal)
                throw failure
            }
            if delay > .zero { try await pause(delay, .nextAttempt) }
            let attempt = try await resumingAttempt(resumable, received)
            do throws(LupinError) {
                let response = try await attempt.run()
                attempt.noteOutcome(status: response.status)
                switch verdict(on: response, resumable, received) {
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
                attempt.noteOutcome(failure: error)
                attempt.close(error: error, decision: .resume, reason: error.retry.rawValue)
            }
        }
    }

    /// Whether a response has the rest; one with flaws might be read in another way.
    private func verdict(
        on response: ParsedResponse,
        _ resumable: Resumable,
        _ received: UInt64
    ) -> ResumeVerdict {
        guard response.flaws.isEmpty else {
            let words = response.flaws.all.map(\.word).joined(separator: ", ")
            return .refused("it has flaws: \(words)")
        }
        return resumable.rule.check(
            response.head,
            contentLength: response.framing.knownLength,
            received: received
        )
    }

    /// The client's leaving and lupin's stopping end the exchange with their own error.
    private func ending(_ failure: LupinError, after error: LupinError) -> LupinError {
        error == .clientGone || error == .stopping ? error : failure
    }

    private func resumingAttempt(
        _ resumable: Resumable,
        _ received: UInt64
    ) async throws(LupinError) -> Attempt {
        let usual = try await adapt(for: resumable.target, signs: true)
        var ranged = usual.request
        resumable.rule.apply(to: &ranged.head, received: received)
        let adapted = AdaptedRequest(ranged, hop: usual.hop, known: usual.known)
        let attempt = try attempt(.adapted(adapted), because: .resume)
        note(.adapted(adapted))
        appendLosers()
        return attempt
    }

    /// Corrects the record of the attempt whose body broke off after it counted as delivered.
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

/// The number of resumptions of a download.
package struct ResumeProgress: Sendable {
    /// The maximum for one download.
    package static let countMax = 100

    /// Attempts in total.
    private var count = 0
    /// Attempts since the body last grew.
    private var idle = 0
    /// The length of the body at that time.
    private var length: UInt64 = 0

    package init() {}

    /// Bytes since the last resumption are progress: they reset the count.
    package mutating func note(received: UInt64) {
        if received > length { idle = 0 }
        length = received
    }

    /// The delay before the next resumption; nil when there were enough.
    ///
    /// The first one is immediate: the origin worked a moment ago.
    package mutating func next(
        _ policy: RetryPolicy,
        chance: @autoclosure () -> UInt64
    ) -> Duration? {
        guard idle < max(policy.limit, 1), count < Self.countMax else { return nil }
        defer { (idle, count) = (idle + 1, count + 1) }
        guard idle > 0, let backoff = policy.backoff else { return .zero }
        return backoff.delay(retry: idle - 1, previous: .zero, chance: chance())
    }
}
