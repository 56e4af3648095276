// Decides where a credential may be sent: only to its hosts, and unencrypted only on this machine.

package import LupinCore

extension RuleSet {
    /// Why a token may not be sent to `origin`, as a sentence for users; nil if it may.
    ///
    /// Its hosts are those of the rules that name it, and those that it lists itself. `isProtected`
    /// is what ``UpstreamSettings/protects(_:override:)`` says of the origin.
    package func refusal(
        of token: TokenDefinition,
        at origin: Origin,
        isProtected: Bool
    ) -> String? {
        let isItsHost =
            token.hosts.contains { $0.matches(origin.host) }
            || names(token: token.name, for: origin)
        if !isItsHost {
            return "The credential \"\(token.name)\" is not for \(origin.hostAndPort), where a "
                + "step sends the request; tokens.\(token.name).hosts may list the host."
        }
        if isProtected || token.plainHTTP { return nil }
        let isByParent = origin.host.isLoopback
        return "The credential \"\(token.name)\" would go to \(origin.hostAndPort) in clear"
            + (isByParent
                ? ", by a parent proxy on another machine; list the host in upstream.no_proxy, or "
                : "; ")
            + "tokens.\(token.name).plain_http: true allows it."
    }
}
