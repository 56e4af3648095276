// What a parent proxy says to an exchange: a tunnel, a challenge, a refusal.
import LupinCore
import LupinPolicy
import LupinUpstream
import LupinWire

extension Exchange {
    /// Whether a parent proxy's 407 can be answered; at most once per exchange.
    func answersParent(_ response: ParsedResponse, by hop: NextHop, isReplayable: Bool) -> Bool {
        guard response.status == 407, !hasAnsweredParent, let parent = hop.parent,
            resources.shared.servers.parentCredentials.challenged(by: parent, response.head),
            isReplayable
        else { return false }
        hasAnsweredParent = true
        return true
    }

    /// The error for a parent proxy's 407 that is nothing for the client: its credentials would be
    /// for lupin, or lupin has some for the parent.
    func refusal(in response: ParsedResponse, by hop: NextHop, isReplayable: Bool) -> LupinError? {
        guard response.status == 407, case .parent(let parent) = hop else { return nil }
        if parent.proxy.userinfo != nil {
            let wasRepeated = hasAnsweredParent || isReplayable
            return .loginRefused(by: parent, response.head, wasRepeated: wasRepeated)
        }
        guard client.user != nil else { return nil }
        return LupinError(
            .httpRequestDenied,
            detail: "The user and password that the client sends are for lupin.",
            side: .upstream,
            retry: .never,
            status: 502
        ).blaming(parent.text, status: 407)
    }
}

extension Exchange {
    /// What the password of this CONNECT may open to the requests inside, where no parent is asked
    /// with it first.
    func passage(to origin: Origin) throws(LupinError) -> ParentTunnel? {
        guard let login = ownLogin else { return nil }
        guard var parent = try parentHop(to: origin), parent.proxy.userinfo == nil else {
            return ParentTunnel(login: login, to: origin)
        }
        parent.login = login
        return ParentTunnel(nil, to: origin, by: parent, since: now)
    }

    /// Asks the parent proxy for a tunnel before the client is told that it has one: afterwards no
    /// 407 can reach a client that knows the password.
    ///
    /// Only where lupin itself has no credentials for the parent, and where the client shows some
    /// or the parent is not known to want none. A failure is left to the requests inside, which a
    /// rule may answer without the parent; the others ask it with the client's password again.
    /// - Returns: Whether the client has got the parent's 407.
    func isChallengedByParent(
        before interception: Interception
    ) async throws(LupinError) -> Bool {
        let origin = interception.origin
        // With a user of ours, the client's credentials were for lupin.
        guard client.user == nil, plan?.respond == nil, resources.shared.tape == nil,
            var parent = try parentHop(to: origin), parent.proxy.userinfo == nil
        else {
            interception.parentTunnel = try passage(to: origin)
            return false
        }
        let hop = NextHop.parent(parent)
        let credentials = resources.shared.servers.parentCredentials
        parent.login = request.fields.value(of: .proxyAuthorization)
        if parent.login == nil, credentials.isOpen(parent.proxy) { return false }
        markHopByHop(for: hop)
        let adapted = AdaptedRequest(UpstreamRequest(head: request, origin: origin), hop: hop)
        var obtained: ObtainedResponse?
        do throws(LupinError) {
            obtained = try await obtainResponse(to: KnownTarget(origin), as: adapted)
        } catch {
            if error == .clientGone || error == .stopping { throw error }
        }
        if let obtained, obtained.response.status == 407 {
            try await deliver(obtained)
            return true
        }
        let isGranted = obtained.map { $0.response.status / 100 == 2 } ?? false
        let connection = isGranted ? giveUpstream() as? UpstreamHTTP1 : nil
        if connection?.isForOneClient == true { parent.user = "\(record.id)" }
        // A login to a connection that gave no tunnel is of no use to another one.
        if connection != nil || (parent.login != nil && !adapted.logsInToConnection) {
            interception.parentTunnel = ParentTunnel(connection, to: origin, by: parent, since: now)
        }
        if connection != nil, parent.identity == nil { credentials.noteOpen(parent.proxy) }
        forgetWay()
        return false
    }
}
