// A rule of the file, checked and ready for matching.

package import LupinCore

/// A rule: the requests that it matches, and what it does to them.
package struct Rule: Sendable {
    package var name: String
    /// 1-based line of the rule in its file.
    package var line: Int
    /// Alternatives: the rule matches when one of them does.
    package var matches: [Match]
    /// `request:` steps in file order.
    package var steps: [RequestStep] = []
    /// `response:` steps in file order; all of them change fields.
    package var responseSteps: [RequestStep] = []
    package var respond: CannedResponse?
    package var stop = false
    package var timeouts = TimeoutOverrides()
    package var log = LogOverrides()
    /// nil inherits `upstream.proxy`.
    package var proxy: UpstreamProxy?
    /// `replaces` allows it to replace pins of an earlier rule.
    package var trust: (policy: NamedTrustPolicy, replaces: Bool)?
    /// nil inherits `upstream.tls.client_cert`, `.some(nil)` sends none.
    package var clientCertificate: CertificateFiles??
    package var tls = TLSOverrides()
    /// nil has no effect, `.some(nil)` is `pass`: the client gets the redirect.
    package var redirect: RedirectPolicy??
    /// An empty one cancels the conditions of an earlier rule.
    package var validation: ValidationPolicy?
    package var throttle = ThrottleOverrides()
    /// nil has no effect.
    package var retry: RetryPolicy?
    /// nil has no effect, `.some(nil)` is `off`.
    package var cache: CachePolicy??
    /// The file of the cookie jar; nil has no effect, `.some(nil)` is no jar.
    package var cookieJar: String??
    /// nil has no effect.
    package var capture: CaptureRule?
    /// The tokens whose stand-ins are exchanged, besides those of `auth` steps.
    package var standIns: [String] = []
    /// Where the stand-ins of both are exchanged; those of `auth` steps in fields in any case.
    package var standInLocations = StandInLocations.fields
    /// What the keys say that are `true` or `false`; without a value they have no effect.
    package var flags: [RuleKey: Bool] = [:]
    /// The pages of other sites that may use what is attached; nil has no effect.
    package var crossSite: CrossSite?
    /// `intercept: true`: https is decrypted for this rule.
    package var intercept = false
    /// 1-based line of each key in the file; `timeouts.total` for keys that merge leaf by leaf.
    package var keyLines: [String: Int] = [:]

    package init(name: String, line: Int, matches: [Match]) {
        self.name = name
        self.line = line
        self.matches = matches
    }

    /// The name for users: `rule "github" (line 12)`.
    package var reference: String { "rule \"\(name)\" (line \(line))" }

    /// Whether the rule has a key that acts inside https, but not on a tunnelled CONNECT.
    package var needsClearText: Bool { clearTextNeed != .none }

    /// Whether a `respond` of the rule may answer the CONNECT itself.
    ///
    /// With `intercept: true` it answers the requests inside. So does a response other than a
    /// refusal, if the host may be intercepted: tools don't show the body of a response to CONNECT,
    /// and no status except a failure.
    package var answersConnect: Bool { !testsClearText && !intercept }

    /// Whether one of its matches tests something that a CONNECT does not have.
    package var testsClearText: Bool { matches.contains(where: \.testsClearText) }
}

extension [Rule] {
    /// What their flags say together: the last rule that has one holds.
    var flags: [RuleKey: Bool] { reduce(into: [:]) { $0.merge($1.flags) { _, later in later } } }
}

/// One alternative of `match:`: all of its keys must hold; an absent key always does.
package struct Match: Sendable {
    package var hosts: [HostPattern]?
    package var schemes: [Scheme]?
    package var ports: PortSet?
    package var paths: [PathPattern]?
    package var methods: [Method]?
    /// Field names (lower case) with patterns; one value must match one of them.
    package var headers: [(name: String, values: [ValuePattern])] = []
    /// Query parameters (decoded) with patterns; one value must match one of them.
    package var query: [(name: String, values: [ValuePattern])] = []
    package var clients: [CIDR]?
    package var programs: [ValuePattern]?
    /// The authenticated user.
    package var users: [ValuePattern]?
    /// None of these may match.
    package var not: [Match] = []

    package init() {}

    /// Whether it tests something that a CONNECT does not have, such as a path or a field.
    ///
    /// A list of methods that includes CONNECT means the CONNECT itself.
    package var testsClearText: Bool {
        testsInsideTunnel || methods.map { !$0.contains(.connect) } ?? false
            || not.contains(where: \.testsClearText)
    }

    /// Whether scheme, host and port alone decide it.
    var asksOnlyForTarget: Bool {
        paths == nil && methods == nil && headers.isEmpty && query.isEmpty && clients == nil
            && programs == nil && users == nil && not.isEmpty
    }

    /// Whether it tests the client's program, which costs a look-up per connection.
    package var testsProgram: Bool {
        programs != nil || not.contains(where: \.testsProgram)
    }
}

extension TLSOverrides {
    /// Whether everything is inherited.
    package var isEmpty: Bool {
        minimum == nil && protocols == nil && ciphers == nil && closeNotify == nil
    }
}

/// `log:` of a rule; merged leaf by leaf, nil keeps the earlier value.
package struct LogOverrides: Sendable, Equatable {
    /// `log: off`: no line for outcome `ok`.
    package var off: Bool?
    package var level: LogSettings.Level?
    package var headers: LogSettings.Headers?

    package init() {}
}

/// One `request:` step, in the order of the file.
package enum RequestStep: Sendable, Equatable {
    case set(name: String, value: Template)
    case add(name: String, value: Template)
    case `default`(name: String, value: Template)
    /// A glob over field names, lower case.
    case remove(pattern: String)
    case rewrite(name: String, from: ValuePattern, to: String)
    case query(set: [(name: String, value: Template)], remove: [String])
    case url(URLStep)
    case compress(CompressStep)
    /// A credential for the final origin after all steps, by the name of its token.
    case auth(token: String)
    /// A wait before every attempt.
    case delay(Duration)
    /// A change of the body.
    case edit(BodyEdit)

    /// The step as the record names it, such as `set x-request-id`.
    package var summary: String {
        switch self {
        case .set(let name, _): "set \(name.lowercased())"
        case .add(let name, _): "add \(name.lowercased())"
        case .default(let name, _): "default \(name.lowercased())"
        case .remove(let pattern): "remove \(pattern)"
        case .rewrite(let name, _, _): "rewrite \(name.lowercased())"
        case .query(let set, let remove):
            "query \((set.map(\.name) + remove).joined(separator: " "))"
        case .url(let step): "url \(step.summary)"
        case .compress(let step): step.summary
        case .auth(let token): "auth \(token)"
        case .delay(let time): "delay \(UnitText.duration(time.milliseconds))"
        case .edit(let edit): edit.summary
        }
    }

    package static func == (a: Self, b: Self) -> Bool {
        switch (a, b) {
        case (.set(let a, let x), .set(let b, let y)): a == b && x == y
        case (.add(let a, let x), .add(let b, let y)): a == b && x == y
        case (.default(let a, let x), .default(let b, let y)): a == b && x == y
        case (.remove(let a), .remove(let b)): a == b
        case (.rewrite(let a, let p, let x), .rewrite(let b, let q, let y)):
            a == b && p == q && x == y
        case (.query(let a, let x), .query(let b, let y)): a.elementsEqual(b, by: ==) && x == y
        case (.url(let a), .url(let b)): a == b
        case (.compress(let a), .compress(let b)): a == b
        case (.auth(let a), .auth(let b)): a == b
        case (.delay(let a), .delay(let b)): a == b
        case (.edit(let a), .edit(let b)): a == b
        default: false
        }
    }
}

/// `url:`: the new target of the request.
package struct URLStep: Sendable, Equatable {
    package var scheme: Scheme?
    package var host: Host?
    package var port: UInt16?
    /// A literal path, or a rewrite of the path in its normal form.
    package enum Path: Sendable, Equatable {
        case literal(Template)
        case rewrite(from: ValuePattern, to: String)
    }
    package var path: Path?

    package init() {}

    package var summary: String {
        var parts: [String] = []
        if let scheme { parts.append("scheme=\(scheme.name)") }
        if let host { parts.append("host=\(host.text)") }
        if let port { parts.append("port=\(port)") }
        if path != nil { parts.append("path") }
        return parts.joined(separator: " ")
    }
}

/// A value with `${…}` parts.
package struct Template: Sendable, Equatable {
    package enum Part: Sendable, Equatable {
        /// Text of the file, `${env:…}` included: resolved when the file is loaded.
        case text(String)
        /// `${header:N}`: the first value of a field of the client's request.
        case header(String)
        /// `${query:N}`: the first value of a parameter of the client's URL, decoded; in bodies.
        case query(String)
        /// `${id}`: the exchange's id.
        case id
        /// `${file:…}` or `${secret:…}`, resolved when the file is loaded; never shown.
        case secret(String)
        /// `${token:T}`: the credential of the token called T.
        case token(String)
    }
    package var parts: [Part]

    package init(_ parts: [Part]) { self.parts = parts }
    package init(_ text: String) { parts = [.text(text)] }

    /// Whether a part is a secret or the credential of a token.
    var holdsSecret: Bool {
        parts.contains { part in
            switch part {
            case .secret, .token: true
            case .text, .header, .query, .id: false
            }
        }
    }
}
