// The host that is lupin itself for its clients: `http://lupin/` shows the page for set-up.

extension RuleSet {
    /// Whether a request for `origin` through the proxy gets lupin's own page.
    ///
    /// A rule that names the host `lupin` comes first.
    package func leavesSetupPage(at origin: Origin) -> Bool {
        origin.host.text == "lupin" && origin.scheme == .http && origin.port == 80
            && !rules.contains { $0.names(origin.host) }
    }
}
