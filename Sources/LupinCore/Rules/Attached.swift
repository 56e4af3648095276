// What lupin attaches to a request for its owner: a closed set, and what each kind means to
// everything that could be shared.

/// One thing that lupin attaches to a request, or keeps for one user.
///
/// Whom it is for, what it makes of a stored response, which responses it parts and what it is
/// called are exhaustive switches, so a new kind does not compile before it says all of that. What
/// it does to shared connections and TLS sessions is another one: the engine's `NextHop`, which
/// these are kept by.
package enum Attached: Sendable, Hashable {
    /// The credential of a token: an `auth` step, or `${token:…}` in a value.
    case token(String)
    /// A `${file:…}` or `${secret:…}` in the value of a step.
    case secret
    /// The cookies of a jar, by its file.
    case cookies(jar: String)
    /// A client certificate, shown in the TLS with the origin.
    case clientCertificate(CertificateFiles)
    /// User and password of the parent proxy on the way.
    case parentIdentity(ParentProxy)
    /// Responses of a private cache, which are kept for one user.
    case privateResponses
    /// A redirect was followed, with what the rules of its target attached.
    case followedRedirect

    /// For whose requests it is attached.
    package enum Gate: Sendable {
        /// `access.credentials`; others get 403.
        case owner
        case anybody
    }

    package var gate: Gate {
        switch self {
        case .token, .secret, .cookies, .clientCertificate, .privateResponses: .owner
        // All requests of all users go by the parent proxy of the file, as the manual says.
        case .parentIdentity: .anybody
        // The rules of each hop are asked anew, with their own attachments.
        case .followedRedirect: .anybody
        }
    }

    /// What it makes of a response that a shared cache may keep.
    package enum Storing: Sendable, Comparable {
        case asUsual
        /// Kept only where the origin allows that for authenticated requests (RFC 9111 §3.5).
        case asAuthenticated
        /// Kept under no URL: it belongs to another one.
        case never
    }

    package var storing: Storing {
        switch self {
        case .token, .secret, .cookies, .clientCertificate: .asAuthenticated
        // RFC 9111 speaks of the origin's credentials; these never reach it.
        case .parentIdentity: .asUsual
        // The mode of the policy says it already.
        case .privateResponses: .asUsual
        case .followedRedirect: .never
        }
    }

    /// What parts responses; nil where it parts nothing by itself.
    ///
    /// All that goes by the key of the cache follows: collapsing, joined downloads, files on disk.
    var partition: String? {
        switch self {
        case .token(let name): "token \(name)"
        case .secret: "secret"
        case .cookies(let jar): "jar \(jar)"
        case .clientCertificate(let files): "certificate \(files.certificate) \(files.key)"
        case .parentIdentity(let proxy):
            "parent \(proxy.scheme.name) \(proxy.host.text) \(proxy.port) \(proxy.userinfo ?? "")"
        // The user is asked for each request.
        case .privateResponses: nil
        // Nothing of it is kept.
        case .followedRedirect: nil
        }
    }

    /// Whether what it comes to is written in the rules and may change with them.
    var isDefinedByRules: Bool {
        switch self {
        case .token, .secret: true
        // The file is what it is, whoever names it.
        case .cookies, .clientCertificate: false
        case .parentIdentity, .privateResponses, .followedRedirect: false
        }
    }

    /// For `explain`, such as `token github`; nil for what `explain` tells elsewhere.
    package var text: String? {
        switch self {
        case .token(let name): "token \(name)"
        case .secret: "a secret of the rules"
        case .cookies: "the cookies of its jar"
        case .clientCertificate: "a client certificate"
        case .parentIdentity(let proxy):
            "the user of the parent proxy \(proxy.host.uriText):\(proxy.port)"
        case .privateResponses, .followedRedirect: nil
        }
    }
}

extension RuleKey {
    /// What a key has lupin attach to requests that match all of `rules`, in the order of the file.
    ///
    /// The client certificate and the parent proxy are not here: the settings have them too, and
    /// the target decides. See ``Attachments``.
    private func attachments(of rules: [Rule]) -> [Attached] {
        switch self {
        case .request: StepTraits(rules.flatMap(\.steps)).attachments
        // What the client gets is for its owner as well.
        case .response: StepTraits(rules.flatMap(\.responseSteps)).attachments
        case .cookies:
            (rules.last { $0.cookieJar != nil }?.cookieJar ?? nil)
                .map { [.cookies(jar: $0)] } ?? []
        case .cache: (rules.last { $0.cache != nil }?.cache ?? nil)?.attachments ?? []
        case .clientCert, .proxy: []
        // Each leg that a redirect leads to has a plan of its own.
        case .redirect: []
        case .name, .match, .retry, .trust, .validate, .respond, .resume, .throttle, .tls,
            .intercept, .timeouts, .log, .stop:
            []
        }
    }

    /// What all keys of `rules` have lupin attach.
    static func allAttachments(of rules: [Rule]) -> [Attached] {
        allCases.flatMap { $0.attachments(of: rules) }.reduce(into: []) { all, attachment in
            if !all.contains(attachment) { all.append(attachment) }
        }
    }
}

extension StepTraits {
    fileprivate var attachments: [Attached] {
        (auth + namedTokens).map { .token($0) } + (holdsPlainSecret ? [.secret] : [])
    }
}

extension CachePolicy {
    fileprivate var attachments: [Attached] {
        StepTraits(modify).attachments + (isShared ? [] : [.privateResponses])
    }
}
