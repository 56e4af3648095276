// Which parent proxy failed, and what it answered.

/// The parent proxy that failed, or refused.
package struct FailedParent: Sendable, Equatable {
    /// Its `host:port`.
    package var place: String
    /// The rule that names it; nil where the settings do.
    package var rule: String?
    /// The status with which it refused the request or the tunnel; nil where it gave no response.
    package var status: UInt16?

    package init(place: String, rule: String? = nil, status: UInt16? = nil) {
        self.place = place
        self.rule = rule
        self.status = status
    }

    /// `the parent proxy 127.0.0.1:3128 (rule "corp")`.
    var text: String { "the parent proxy \(place)" + (rule.map { " (rule \"\($0)\")" } ?? "") }

    /// Where its user and password belong.
    var key: String { rule.map { "`proxy` of the rule \"\($0)\"" } ?? "`upstream.proxy`" }
}
