// Checks a response against the plan's `validate:`, before the client gets any of it.
import LupinCoding
import LupinCore
import LupinIO
import LupinPolicy
import LupinUpstream
import LupinWire

extension AttemptJudge {
    /// Checks a response; a failed one is refused, retried or only noted.
    ///
    /// If values of the body are checked, it is held back, up to the limit of inspection, unless a
    /// failure is only noted. Without `mayRetry` a response that would be retried is refused.
    ///
    /// `delivered` is why it would be delivered, if there is a reason.
    func validate(
        _ obtained: inout ObtainedResponse,
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
                (failure, note) = policy.check(whole, of: response.head, sent, client.cleaned)
            }
        }
        guard let failure else {
            client.note(ValidationRecord(note: note))
            return nil
        }
        client.note(
            ValidationRecord(condition: failure.sentence, action: policy.action, note: note)
        )
        let action: ValidationAction =
            policy.action == .retry && !mayRetry ? .fail : policy.action
        return try await decide(failure, action, obtained.response, delivered)
    }

    /// Leaves the check of the body to its end, when the client has it.
    private func watch(
        _ obtained: inout ObtainedResponse,
        to sent: RequestHead,
        by policy: ValidationPolicy
    ) {
        client.note(ValidationRecord(note: "the body was not checked: it broke off"))
        let head = obtained.response.head
        let body = WatchedBody(obtained.body, bytesMax: ValidationPolicy.inspectedBytesMax) {
            [weak client] whole, received in
            guard let client else { return }
            let size = policy.check(
                received: received,
                isComplete: true,
                head: head,
                request: sent
            )
            let failure = size ?? policy.check(whole, of: head, sent, client.cleaned).failure
            client.note(
                ValidationRecord(
                    condition: failure?.sentence,
                    action: failure == nil ? nil : policy.action
                )
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
        let (held, whole) = try await client.hold(
            obtained,
            bytesMax: ValidationPolicy.inspectedBytesMax,
            within: policy.needsBody ? nil : HeldResponse.timeMax
        )
        obtained = held
        return whole
    }

    private func decide(
        _ failure: ValidationFailure,
        _ action: ValidationAction,
        _ response: ParsedResponse,
        _ delivered: String
    ) async throws(LupinError) -> Verdict? {
        if action == .log { return nil }
        var reason = failure.sentence
        if action == .fail, !delivered.isEmpty { reason += "; \(delivered)" }
        if action == .retry {
            let verdict = try await askRetriers(response, validationFailure: reason)
            guard case .deliver(let refusal)? = verdict else { return verdict }
            reason += "; \(refusal)"
        }
        close(nil, .giveUp, reason, status: response.status)
        // The parent proxy has refused lupin's own credentials.
        let isParents = response.status == 407 && attempt.hop.parent != nil
        throw LupinError(
            .proxyInternalResponse,
            host: client.origin?.host.text,
            detail: "The response is not what validate of the "
                + "\(plan?.validatingRule ?? "rules") demands: \(failure.sentence).",
            side: .upstream,
            retry: .never,
            status: 502
        ).blaming(isParents ? attempt.hop.text : nil, status: 407)
    }
}

extension Exchange {
    /// Whether the head of a response passes `validate:`.
    func passesValidation(_ response: ParsedResponse, of attempt: Attempt) -> Bool {
        guard let plan, let policy = plan.validation else { return true }
        let sent = attempt.adapted.head
        guard policy.check(response, to: sent, takesNotModified: true) == nil else { return false }
        record.validation = ValidationRecord()
        return true
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

    /// The first failed check of a body, of which `whole` is all; nil where that was not to be had.
    fileprivate func check(
        _ whole: [UInt8]?,
        of head: ResponseHead,
        _ sent: RequestHead,
        _ cleaned: (String) -> String
    ) -> (failure: ValidationFailure?, note: String) {
        guard let whole else {
            if needsBody { return (.tooLong, "") }
            return (
                nil, "size was not checked: the body is long or slow, and has no Content-Length"
            )
        }
        let failure = check(
            received: UInt64(whole.count),
            isComplete: true,
            head: head,
            request: sent
        )
        if failure != nil || !needsBody { return (failure, "") }
        do throws(ValidationFailure) {
            let bytes = try Self.decoded(whole, from: head.fields.contentCodings, cleaned)
            return (check(body: bytes.span, head: head), "")
        } catch {
            return (error, "")
        }
    }

    /// A body without its content codings, which are removed in reverse order (RFC 9110 §8.4).
    static func decoded(
        _ body: [UInt8],
        from codings: [String],
        _ cleaned: (String) -> String
    ) throws(ValidationFailure) -> [UInt8] {
        do throws(WholeBody.Problem) {
            return try WholeBody.decoded(body, from: codings, bytesMax: inspectedBytesMax)
        } catch {
            switch error {
            case .unknown(let name):
                let shown = cleaned(String(name.prefix(40)))
                throw .unreadable("the body is coded with \(shown), which lupin can't undo")
            case .tooLong: throw .tooLong
            case .coding(let problem):
                throw .unreadable("the body can't be decoded: \(problem.sentence)")
            }
        }
    }
}
