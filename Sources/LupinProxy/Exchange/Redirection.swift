// Follows redirects: as a new request of the client, with all checks repeated.
package import LupinCore
import LupinIO
import LupinPolicy
import LupinUpstream
import LupinWire

extension AttemptJudge {
    /// Decides whether the response is a redirect that the plan follows.
    func redirect(_ response: ParsedResponse) async throws(LupinError) -> Verdict? {
        guard let policy = plan?.redirect, RedirectPolicy.isRedirect(response.status) else {
            return nil
        }
        // Changes that steps made to the URL are included, changes to fields are not.
        let request = client.request
        var sent = request
        sent.pathAndQuery = sent.fields.store(attempt.adapted.head.pathText)
        let origin = attempt.origin
        let sentCookies = jarredCookies(of: attempt.adapted.head)
        let decision = policy.decide(
            response: response.head,
            request: sent,
            origin: origin,
            visited: client.visited,
            isBodyReplayable: client.framing.isEmpty || attempt.isReplayable,
            sentCookies: sentCookies,
            cookies: { target in
                var next = UpstreamRequest(head: request, origin: target.origin)
                target.apply(to: &next.head)
                client.attachCookies(to: &next)
                return jarredCookies(of: next.head)
            },
            secretFields: client.authentication?.fieldNames ?? []
        )
        switch decision {
        case .deliver(let reason): return .deliver(reason: "redirect not followed: \(reason)")
        case .follow(let target):
            var next = UpstreamRequest(head: request, origin: target.origin)
            target.apply(to: &next.head)
            if let handler = client.redirectHandler {
                guard let changed = await handler.redirect(to: next, for: response.head) else {
                    return .deliver(reason: "redirect not followed: a handler said so")
                }
                if let problem = changed.problem {
                    throw LupinError(.proxyInternalError, detail: problem, status: 502)
                }
                next = changed
            }
            client.visited.append(RedirectPolicy.visit(sent, to: origin, cookies: sentCookies))
            client.note(RedirectRecord(status: response.status, location: target.url))
            let leg = Leg(
                head: next.head,
                origin: next.origin,
                dropsBody: target.dropsBody,
                parent: attempt.hop.connectedParent?.proxy
            )
            return .follow(leg, reason: "\(response.status) to \(target.url)")
        }
    }

    /// The cookies of a request; empty without a jar, since then no response changes them.
    private func jarredCookies(of head: RequestHead) -> String {
        plan?.cookieJar == nil ? "" : head.fields.values(of: "Cookie").joined(separator: "; ")
    }
}

extension Exchange {
    /// Makes a relative Location absolute: it refers to the URL that was requested last, which the
    /// client does not know (RFC 9110 §10.2.2); it need not know the URL that rules made of it.
    func completeLocation(of response: ParsedResponse, from origin: Origin) {
        let fields = response.head.fields
        guard fields.count(of: .location) == 1, let line = fields.first(.location),
            let reference = try? URIReference(
                fieldValue: fields.storage.span.extracting(line.value.range)
            ), reference.scheme == nil
        else { return }
        let base = URIReference(
            origin: origin,
            pathAndQuery: request.pathText
        )
        response.head.fields.set(name: "Location", value: reference.resolved(against: base).text)
    }

    /// Continues with the request that a redirect leads to: access and rules are checked as if the
    /// client had sent it, and the former plan is dropped.
    func begin(_ leg: Leg) async throws(LupinError) -> KnownTarget {
        if clientRequest == nil { clientRequest = request }
        request = leg.head
        redirectedTo = leg.origin
        if leg.dropsBody {
            framing = .none
            heldUpload = nil
        }
        if let denial = snapshot.access.denial(ofName: leg.origin.host) { throw denial }
        caching?.attachments.add(.followedRedirect)
        plan = nil
        retry = RetryProgress()
        authentication = nil
        throttledUpload = nil
        timeouts = snapshot.timeouts
        let target = KnownTarget(leg.origin)
        match(target)
        keepProxyAuthorization(for: leg.parent, to: leg.origin)
        try checkPath(at: leg.origin)
        try await checkCredentialUse(at: leg.origin)
        return target
    }
}

extension Exchange {
    /// Drops the client's own Proxy-Authorization, unless the next way leads through the parent
    /// proxy that it was for and the connection does not have the login already.
    private func keepProxyAuthorization(for parent: ParentProxy?, to origin: Origin) {
        guard let login = request.fields.value(of: .proxyAuthorization) else { return }
        if let parent, ConnectionLogin(credentials: login.utf8Span.span) == nil,
            (try? parentHop(to: origin))?.proxy == parent
        {
            return
        }
        changeFields { $0.remove(name: FieldName.proxyAuthorization.spelling) }
    }
}

/// The request that a redirect leads to.
package struct Leg {
    package let head: RequestHead
    package let origin: Origin
    /// The body is not sent again.
    let dropsBody: Bool
    /// The parent proxy through which the redirect came; nil for none.
    let parent: ParentProxy?
}
