// What all matching rules say together for one exchange.

/// The sum of the rules that match one request.
package struct Plan: Sendable {
    /// Indices into the rule set, in file order.
    package internal(set) var matched: [Int] = []
    /// The steps of all matching rules, in file order.
    package internal(set) var steps: [(rule: Int, step: RequestStep)] = []
    /// The tokens of `auth` steps, in file order.
    package internal(set) var auth: [String] = []
    /// The tokens that values of steps name.
    package internal(set) var namedTokens: [String] = []
    /// Some step holds a secret: what it does is for its owner's requests.
    package internal(set) var holdsSecret = false
    /// The wait that the steps ask for before every attempt; nil for none.
    package internal(set) var delay: Duration?
    package internal(set) var compress: CompressStep?
    /// nil leaves redirects to the client.
    package internal(set) var redirect: RedirectPolicy?
    /// What a response must be; nil demands nothing.
    package internal(set) var validation: ValidationPolicy?
    package internal(set) var throttle = ThrottleSettings()
    /// The rule whose `throttle` holds: all its exchanges share the rate.
    package internal(set) var throttleRule: Int?
    /// The steps for the response, in file order.
    package internal(set) var responseSteps: [RequestStep] = []
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
    /// The file of the cookie jar, by the last matching rule that has one or says `off`.
    package internal(set) var cookieJar: String?
    var rules: [Rule] = []

    init() {}

    /// The plan of a request that no rule matches.
    package static let none = Plan()

    /// The names of the matching rules, in file order.
    package var names: [String] { matched.map { rules[$0].name } }

    /// The name of one of the matching rules.
    package func ruleName(at index: Int) -> String { rules[index].name }

    /// Whether what is thought of a response may lead to the request being sent again.
    package var mayRepeatBody: Bool {
        !auth.isEmpty || redirect != nil || compress != nil || validation?.action == .retry
    }
}
