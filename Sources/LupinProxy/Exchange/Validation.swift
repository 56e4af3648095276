// Whether a response is what the plan's `validate:` demands, before the client sees any of it.
import LupinCore
import LupinIO
import LupinWire

extension Exchange {
    /// Checks a response; a failed one is refused, tried again or only noted.
    ///
    /// Where values of the body are demanded it is held back, up to the bound of inspection.
    /// Without `mayRetry` one that would be tried again is refused.
    func validate(
        _ obtained: inout ObtainedResponse,
        _ attempt: Attempt,
        mayRetry: Bool
    ) async throws(LupinError) -> Verdict? {
        guard let policy = plan?.validation else { return nil }
        let response = obtained.response
        let sent = attempt.adapted.head
        var failure = policy.check(response, to: sent)
        var note = ""
        if failure == nil, policy.needsBody || policy.size != nil, !response.framing.isEmpty {
            let (held, whole) = try await hold(
                obtained,
                bytesMax: ValidationPolicy.inspectedBytesMax
            )
            obtained = held
            (failure, note) = check(whole, of: response.head, sent, by: policy)
        }
        guard let failure else {
            record.validation = ValidationRecord(note: note)
            return nil
        }
        record.validation = ValidationRecord(
            condition: failure.sentence,
            action: policy.action,
            note: note
        )
        let action: ValidationPolicy.Action =
            policy.action == .retry && !mayRetry ? .fail : policy.action
        return try await decide(failure, action, obtained, attempt)
    }

    /// Whether the head of a response is what `validate:` demands of heads.
    func passesValidation(_ response: ParsedResponse, of attempt: Attempt) -> Bool {
        guard let policy = plan?.validation else { return true }
        guard policy.check(response, to: attempt.adapted.head) == nil else { return false }
        record.validation = ValidationRecord()
        return true
    }

    private func check(
        _ whole: [UInt8]?,
        of head: ResponseHead,
        _ sent: RequestHead,
        by policy: ValidationPolicy
    ) -> (failure: ValidationFailure?, note: String) {
        if let whole {
            let failure = policy.check(
                received: UInt64(whole.count),
                isComplete: true,
                head: head,
                request: sent
            )
            if let failure { return (failure, "") }
        }
        let bytes = whole ?? []
        switch policy.check(body: bytes.span, isComplete: whole != nil, head: head) {
        case .passed: return (nil, "")
        case .failed(let failure): return (failure, "")
        case .skipped(let reason): return (nil, "json was not checked: \(reason)")
        }
    }

    private func decide(
        _ failure: ValidationFailure,
        _ action: ValidationPolicy.Action,
        _ obtained: ObtainedResponse,
        _ attempt: Attempt
    ) async throws(LupinError) -> Verdict? {
        if action == .log { return nil }
        var reason = failure.sentence
        if action == .retry {
            let verdict = try await askRetriers(obtained, attempt, validationFailure: reason)
            guard case .deliver(let refusal)? = verdict else { return verdict }
            reason += "; \(refusal)"
        }
        attempt.close(status: obtained.response.status, decision: .giveUp, reason: reason)
        throw LupinError(
            .proxyInternalResponse,
            host: record.origin?.host.text,
            detail: "The response is not what validate demands: \(failure.sentence).",
            side: .upstream,
            retry: .never,
            status: 502
        )
    }
}

extension ValidationPolicy {
    /// What does not hold of a response's head.
    fileprivate func check(
        _ response: ParsedResponse,
        to request: RequestHead
    ) -> ValidationFailure? {
        check(
            head: response.head,
            request: request,
            contentLength: response.framing.knownLength ?? response.contentLength,
            isBodyEmpty: response.framing.isEmpty ? true : nil
        )
    }
}
