// What lupin does with a CONNECT: a rule's answer, a tunnel, or interception.

package import LupinCore

/// The decision about a CONNECT; the engine acts on it, and `explain` shows it.
package enum ConnectDecision: Sendable, Equatable {
    /// A rule's `respond` answers it.
    case answer(CannedResponse)
    case tunnel(TunnelReason)
    /// lupin terminates the TLS inside.
    ///
    /// `rule` is the first one that requires it, nil when only `intercept.mode: all` does.
    /// `mayTunnel` says that a client which refuses lupin's certificate is tunnelled next time.
    case intercept(rule: Int?, mayTunnel: Bool)
}

extension RuleSet {
    /// Decides about the CONNECT in `subject`, for which the rules' answer is `respond`.
    ///
    /// An answer that only refuses is given at once. Any other is for the requests inside, and
    /// given to the CONNECT only where that is tunnelled.
    package func decision(
        on subject: MatchSubject,
        respond: CannedResponse?,
        settings: Settings
    ) -> ConnectDecision {
        if let respond, respond.isRefusal { return .answer(respond) }
        switch interception(of: subject, settings: settings.intercept) {
        case .tunnel(let reason): return respond.map { .answer($0) } ?? .tunnel(reason)
        case .intercept(let rule, let isConvenienceOnly):
            // A tunnel at the client's wish would not be covered by any trust rule.
            let mayTunnel =
                isConvenienceOnly && settings.intercept.tunnelsRejecting != nil
                && !settings.upstream.tls.demandsTrustRule
            return .intercept(rule: rule, mayTunnel: mayTunnel)
        }
    }
}

extension CannedResponse {
    /// The status of the answer to a request with `method`.
    ///
    /// A 2xx to CONNECT would open a tunnel without a target, and a 1xx be read as interim: they
    /// become 403.
    package func status(answering method: Method) -> UInt16 {
        method == .connect && status < 300 ? 403 : status
    }
}
