// The host that is lupin itself for its clients: `http://lupin/` shows the page for set-up.

package import LupinCore

extension Origin {
    /// Whether a request for it through the proxy gets lupin's own page, unless a rule names the
    /// host.
    package var isSetupPage: Bool { scheme == .http && port == 80 && host == Self.setupHost }

    private static let setupHost = Host("lupin")
}

extension RuleSet {
    /// Whether no rule names the host `lupin`, which would come before lupin's own page.
    package var leavesSetupHost: Bool {
        guard let host = Host("lupin") else { return false }
        return !rules.contains { $0.names(host) }
    }
}
