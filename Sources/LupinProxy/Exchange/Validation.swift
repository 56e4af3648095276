// Checks a response against the plan's `validate:`, before the client gets any of it.
import LupinCoding
import LupinCore
import LupinIO
import LupinPolicy
import LupinUpstream
import LupinWire

extension Exchange {
    /// Checks a response; a failed one is refused, retried or only noted.
    ///
    /// If values of the body are checked, it is held back, up to the limit of inspection, unless a
    /// failure is only noted. Without `mayRetry` a response that would be retried is refused.
    ///
    /// `delivered` is why it would be delivered, if there is a reason.
    func validate(
        _ obtained: inout ObtainedResponse,
        _ attempt: Attempt,
        mayRetry: Bool,
        delivered: String
    ) async throws(LupinError) -> Verdict? {
        guard let policy = plan?.validation else { return nil }
        let response = obtained.response
        let sent = attempt.adapted.head
        var failure = policy.check(response, to: sent, takesNotModified: true)
        var note = policy.reasonNotToAsk(response.head, request: sent) ?? ""
        let isOpen = policy.needsBody || (policy.size != nil && response.framing.knownLength == nil)
        if failure == nil, note.isEmpty, isOpen {
            if policy.action == .log {
                watch(&obtained, to: sent, by: policy)
                return nil
            }
            if let stream = policy.reasonNotToHold(response.head) {
                note = stream
            } else {
                let whole = try await body(of: &obtained, for: policy)
                (failure, note) = check(whole, of: response.head, sent, by: policy)
            }
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
        let action: ValidationAction =
            policy.action == .retry && !mayRetry ? .fail : policy.action
        return try await decide(failure, action, obtained, attempt, delivered)
    }

    /// Whether the head of a response passes `validate:`.
    func passesValidation(_ response: ParsedResponse, of attempt: Attempt) -> Bool {
        guard let plan, let policy = plan.validation else { return true }
        let sent = attempt.adapted.head
        guard policy.check(response, to: sent, takesNotModified: true) == nil else { return false }
        record.validation = ValidationRecord()
        return true
    }

    /// Leaves the check of the body to its end, when the client has it.
    private func watch(
        _ obtained: inout ObtainedResponse,
        to sent: RequestHead,
        by policy: ValidationPolicy
    ) {
        record.validation = ValidationRecord(note: "the body was not checked: it broke off")
        let head = obtained.response.head
        let body = WatchedBody(obtained.body, bytesMax: ValidationPolicy.inspectedBytesMax) {
            [weak self] whole, received in
            guard let self else { return }
            let size = policy.check(
                received: received,
                isComplete: true,
                head: head,
                request: sent
            )
            let failure = size ?? check(whole, of: head, sent, by: policy).failure
            record.validation = ValidationRecord(
                condition: failure?.sentence,
                action: failure == nil ? nil : policy.action
            )
        }
        obtained = ObtainedResponse(response: obtained.response, body: body)
    }

    /// The body, held back; nil when it is too long, or takes too long.
    private func body(
        of obtained: inout ObtainedResponse,
        for policy: ValidationPolicy
    ) async throws(LupinError) -> [UInt8]? {
        if obtained.response.framing.isEmpty { return [] }
        // Values are checked on the whole body, however long it takes.
        let (held, whole) = try await hold(
            obtained,
            bytesMax: ValidationPolicy.inspectedBytesMax,
            within: policy.needsBody ? nil : Self.heldTimeMax
        )
        obtained = held
        return whole
    }

    private func check(
        _ whole: [UInt8]?,
        of head: ResponseHead,
        _ sent: RequestHead,
        by policy: ValidationPolicy
    ) -> (failure: ValidationFailure?, note: String) {
        guard let whole else {
            if policy.needsBody { return (.tooLong, "") }
            return (
                nil, "size was not checked: the body is long or slow, and has no Content-Length"
            )
        }
        let failure = policy.check(
            received: UInt64(whole.count),
            isComplete: true,
            head: head,
            request: sent
        )
        if failure != nil || !policy.needsBody { return (failure, "") }
        do throws(ValidationFailure) {
            let bytes = try decoded(whole, from: head.fields.contentCodings)
            return (policy.check(body: bytes.span, head: head), "")
        } catch {
            return (error, "")
        }
    }

    /// A body without its content codings, which are removed in reverse order (RFC 9110 §8.4).
    func decoded(
        _ body: [UInt8],
        from codings: [String]
    ) throws(ValidationFailure) -> [UInt8] {
        do throws(WholeBody.Problem) {
            return try WholeBody.decoded(
                body,
                from: codings,
                bytesMax: ValidationPolicy.inspectedBytesMax
            )
        } catch {
            switch error {
            case .unknown(let name):
                let shown = resources.redactor.cleaned(String(name.prefix(40)))
                throw .unreadable("the body is coded with \(shown), which lupin can't undo")
            case .tooLong: throw .tooLong
            case .coding(let problem):
                throw .unreadable("the body can't be decoded: \(problem.sentence)")
            }
        }
    }

    private func decide(
        _ failure: ValidationFailure,
        _ action: ValidationAction,
        _ obtained: ObtainedResponse,
        _ attempt: Attempt,
        _ delivered: String
    ) async throws(LupinError) -> Verdict? {
        if action == .log { return nil }
        var reason = failure.sentence
        if action == .fail, !delivered.isEmpty { reason += "; \(delivered)" }
        if action == .retry {
            let verdict = try await askRetriers(obtained, attempt, validationFailure: reason)
            guard case .deliver(let refusal)? = verdict else { return verdict }
            reason += "; \(refusal)"
        }
        attempt.close(status: obtained.response.status, decision: .giveUp, reason: reason)
        throw LupinError(
            .proxyInternalResponse,
            host: record.origin?.host.text,
            detail: "The response is not what validate of the "
                + "\(plan?.validatingRule ?? "rules") demands: \(failure.sentence).",
            side: .upstream,
            retry: .never,
            status: 502
        ).blaming(refusedBy(obtained.response, attempt.hop), status: 407)
    }

    /// The parent proxy that has refused lupin's own credentials; nil for any other response.
    private func refusedBy(_ response: ParsedResponse, _ hop: NextHop) -> String? {
        response.status == 407 && hop.parent != nil ? hop.text : nil
    }
}

extension ValidationPolicy {
    /// The first failed check of a response's head.
    ///
    /// `takesNotModified` is for responses that the client is to get.
    func check(
        _ response: ParsedResponse,
        to request: RequestHead,
        takesNotModified: Bool = false
    ) -> ValidationFailure? {
        check(
            head: response.head,
            request: request,
            contentLength: response.framing.knownLength ?? response.contentLength,
            isBodyEmpty: response.framing.isEmpty ? true : nil,
            takesNotModified: takesNotModified
        )
    }
}
