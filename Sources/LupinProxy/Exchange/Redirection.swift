// How a redirect is followed: as a new request of the client's, with everything asked anew.
import LupinCore
import LupinIO
import LupinWire

extension Exchange {
    /// Whether the response is a redirect that the plan follows.
    func redirect(
        _ obtained: inout ObtainedResponse,
        _ attempt: Attempt
    ) async throws(LupinError) -> Verdict? {
        let response = obtained.response
        guard let policy = plan?.redirect, RedirectPolicy.isRedirect(response.status) else {
            return nil
        }
        // What steps did to the URL is part of it, what they did to fields is not.
        var sent = request
        sent.pathAndQuery = sent.fields.store(attempt.adapted.head.pathText)
        let origin = attempt.adapted.origin
        let decision = policy.decide(
            response: response.head,
            request: sent,
            origin: origin,
            visited: visited,
            isBodyReplayable: framing.isEmpty || attempt.isReplayable,
            secretFields: authentication?.fieldNames ?? []
        )
        switch decision {
        case .deliver(let reason): return .deliver(reason: "redirect not followed: \(reason)")
        case .follow(let target):
            if let handler = resources.shared.redirectHandler {
                var next = UpstreamRequest(head: request, origin: target.origin)
                target.apply(to: &next.head)
                guard await handler.redirect(to: next, for: response.head) != nil else {
                    return .deliver(reason: "redirect not followed: a handler said so")
                }
            }
            visited.append(RedirectPolicy.visit(sent, to: origin))
            record.redirects.append(
                RedirectRecord(status: response.status, location: target.url)
            )
            return .follow(target, reason: "\(response.status) to \(target.url)")
        }
    }

    /// Goes on with the request that a redirect asks for: access and rules are asked as if the
    /// client had sent it, and nothing of the old plan holds.
    func beginLeg(_ redirect: RedirectTarget) async throws(LupinError) -> KnownTarget {
        if clientRequest == nil { clientRequest = request }
        redirect.apply(to: &request)
        if redirect.dropsBody { framing = .none }
        let origin = redirect.origin
        if let denial = snapshot.access.denial(ofName: origin.host) { throw denial }
        plan = nil
        authentication = nil
        waits = snapshot.waits
        match(origin)
        try await checkCredentialUse()
        return KnownTarget(origin)
    }
}
