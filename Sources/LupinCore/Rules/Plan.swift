// What all matching rules say together for one exchange.

/// The sum of the rules that match one request.
package struct Plan: Sendable {
    /// Indices into the rule set, in file order.
    package internal(set) var matched: [Int] = []
    /// The steps of all matching rules, in file order.
    package internal(set) var steps: [(rule: Int, step: RequestStep)] = []
    /// The answer of the last matching rule that has one.
    package internal(set) var respond: CannedResponse?
    package internal(set) var timeouts = TimeoutOverrides()
    package internal(set) var log = LogOverrides()
    /// nil inherits `upstream.proxy`.
    package internal(set) var proxy: UpstreamProxy?
    /// nil is `NamedTrustPolicy.system`.
    package internal(set) var trust: NamedTrustPolicy?
    /// nil inherits `upstream.tls.client_cert`, `.some(nil)` shows none.
    package internal(set) var clientCertificate: CertificateFiles??
    package internal(set) var tls = TLSOverrides()
    var rules: [Rule] = []

    init() {}

    /// The plan of a request that no rule matches.
    package static let none = Plan()

    /// The names of the matching rules, in file order.
    package var names: [String] { matched.map { rules[$0].name } }
}
