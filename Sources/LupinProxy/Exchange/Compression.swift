// Compresses request bodies, and handles a server's refusal of that.
import LupinCore
import LupinIO
import LupinPolicy
import LupinWire

extension Exchange {
    /// Sets the coding of the body in the head, if the plan demands it and it is possible.
    /// - Throws: When the body is encoded already, and the step treats that as an error.
    func compress(_ request: inout UpstreamRequest) throws(LupinError) {
        guard let step = plan?.compress else { return }
        let decision = step.decide(
            head: request.head,
            contentLength: framing.knownLength,
            hasBody: !framing.isEmpty,
            refusesCompression: retry.goesPlain
                || resources.shared.compressionRefusals.holds(request.origin, now: slot.loop.now)
        )
        let summary = RequestStep.compress(step).summary
        switch decision {
        case .compress:
            step.apply(to: &request.head.fields)
            request.coding = step.coding
            request.steps.note(applied: summary)
        case .leave(let reason):
            request.steps.note(dropped: summary, because: reason.rawValue)
        case .fail(let sentence):
            throw LupinError(
                .proxyInternalError,
                host: request.origin.host.text,
                detail: sentence,
                side: .config,
                status: 502
            )
        }
    }

    func noteCompressionRefusal(by origin: Origin) {
        resources.shared.compressionRefusals.note(origin, now: slot.loop.now)
    }
}
