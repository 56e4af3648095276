// What lupin attaches to a request for its owner: a closed set, and the effect of each kind on
// everything that could be shared.

package import LupinCore

/// Something that lupin attaches to a request, or keeps for one user.
///
/// The gate, the effect on a stored response, the cache partition and the name are exhaustive
/// switches, so every new kind must define all of them. Its effect on shared connections and TLS
/// sessions is defined by another one, in the engine's `NextHop`.
package enum Attached: Sendable, Hashable {
    /// The credential of a token: an `auth` step, `${token:…}` in a value, or in the place of its
    /// stand-in.
    case token(String)
    /// A `${file:…}` or `${secret:…}` in the value of a step.
    case secret
    /// The cookies of a jar, by its file.
    case cookies(jar: String)
    /// A client certificate, presented in TLS with the origin.
    case clientCertificate(CertificateFiles)
    /// User and password of the parent proxy for the request.
    case parentIdentity(ParentProxy)
    /// The client's own Proxy-Authorization for a parent proxy without credentials of ours.
    case clientIdentity(String)
    /// Responses of a private cache, which are kept apart for each user.
    case privateResponses
    /// A redirect was followed, with the attachments of the rules of its target.
    case followedRedirect
    /// The client has logged in to its connection with the origin (NTLM, Negotiate): requests on it
    /// are authenticated without a field that says so.
    case connectionLogin

    /// The clients for whose requests it is attached.
    package enum Gate: Sendable {
        /// Those in `access.credentials`; others get 403.
        case owner
        case anybody
    }

    package var gate: Gate {
        switch self {
        case .token, .secret, .cookies, .clientCertificate: .owner
        // All requests of all users use the parent proxy of the file, as the manual says.
        case .parentIdentity: .anybody
        // The rules are evaluated again for each hop, with their own attachments.
        case .followedRedirect: .anybody
        // The client's own; no other client gets the connection.
        case .clientIdentity, .connectionLogin: .anybody
        // Nothing is added to the request, and what is stored is apart for each user.
        case .privateResponses: .anybody
        }
    }

    /// What becomes of a request that a browser marks as another site's page's.
    package enum ForPages: Sendable {
        /// 403, unless `cross_site` admits the page: it would act, and read, as the owner.
        case refused
        /// It shares no stored response with the owner's own requests.
        case apart
        case asUsual
    }

    package var forPages: ForPages {
        switch self {
        case .token, .secret, .cookies, .clientCertificate: .refused
        // Nothing is added to the request, but what is stored may be the owner's.
        case .privateResponses: .apart
        // It tells the origin nothing about the owner.
        case .parentIdentity, .clientIdentity: .asUsual
        // The rules are evaluated again for each hop, for the same page.
        case .followedRedirect: .asUsual
        // The browser itself has logged in, and decides for which pages.
        case .connectionLogin: .asUsual
        }
    }

    /// Whether a rules file that attaches it must be writable by its owner only: by changing a
    /// rule, another user could send it to a host of their own.
    package var needsOwnFile: Bool {
        switch self {
        case .token, .secret, .cookies, .clientCertificate, .parentIdentity: true
        case .clientIdentity, .privateResponses, .followedRedirect, .connectionLogin: false
        }
    }

    /// The effect on a response that a shared cache may store.
    package enum Storing: Sendable, Comparable {
        case asUsual
        /// Stored only if the origin allows that for authenticated requests (RFC 9111 §3.5).
        case asAuthenticated
        /// Never stored: the response belongs to another URL, or to the user of one connection.
        case never
    }

    package var storing: Storing {
        switch self {
        case .token, .secret, .cookies, .clientCertificate: .asAuthenticated
        // RFC 9111 is about the origin's credentials; these never reach it.
        case .parentIdentity, .clientIdentity: .asUsual
        // The mode of the policy covers it already.
        case .privateResponses: .asUsual
        case .followedRedirect: .never
        // Whose it is, only the peer knows.
        case .connectionLogin: .never
        }
    }

    /// The cache partition; nil when it does not separate responses by itself.
    ///
    /// Everything that uses the cache key follows: collapsing, joined downloads, files on disk.
    var partition: String? {
        switch self {
        case .token(let name): "token \(name)"
        case .secret: "secret"
        case .cookies(let jar): "jar \(jar)"
        case .clientCertificate(let files): "certificate \(files.certificate) \(files.key)"
        case .parentIdentity(let proxy):
            "parent \(proxy.scheme.name) \(proxy.host.text) \(proxy.port) \(proxy.userinfo ?? "")"
        case .clientIdentity(let login): "login \(login)"
        // Added separately: the user is determined for each request.
        case .privateResponses: nil
        // No such response is stored.
        case .followedRedirect: nil
        // The same.
        case .connectionLogin: nil
        }
    }

    /// Whether its value is defined in the rules and may change with them.
    var isDefinedByRules: Bool {
        switch self {
        case .token, .secret: true
        // The file has the same content, whichever rule names it.
        case .cookies, .clientCertificate: false
        case .parentIdentity, .clientIdentity, .privateResponses, .followedRedirect,
            .connectionLogin:
            false
        }
    }

    /// For `explain`, such as `token github`; nil when `explain` shows it elsewhere.
    package var text: String? {
        switch self {
        case .token(let name): "token \(name)"
        case .secret: "a secret of the rules"
        case .cookies: "the cookies of its jar"
        case .clientCertificate: "a client certificate"
        case .parentIdentity(let proxy):
            "the user of the parent proxy \(proxy.host.uriText):\(proxy.port)"
        case .clientIdentity, .privateResponses, .followedRedirect, .connectionLogin: nil
        }
    }
}

extension RuleKey.Special {
    /// What the key attaches to requests that match all of `rules`, in the order of the file.
    ///
    /// Without the client certificate and the parent proxy, which also come from the settings and
    /// depend on the target. See ``Attachments``.
    fileprivate func attachments(of rules: [Rule]) -> [Attached] {
        switch self {
        case .request: StepTraits(rules.flatMap(\.steps)).attachments
        // A response with credentials is for the owner as well.
        case .response: StepTraits(rules.flatMap(\.responseSteps)).attachments
        case .cookies:
            (rules.last { $0.cookieJar != nil }?.cookieJar ?? nil)
                .map { [.cookies(jar: $0)] } ?? []
        case .cache: (rules.last { $0.cache != nil }?.cache ?? nil)?.attachments ?? []
        // Whether or not a stand-in comes: a response may tell of the credential.
        case .standIns: rules.flatMap(\.standIns).map { .token($0) }
        case .clientCert, .proxy: []
        // Each request that follows a redirect has a plan of its own.
        case .redirect: []
        case .name, .match, .retry, .trust, .validate, .respond, .throttle, .tls, .intercept,
            .timeouts, .log, .capture, .stop, .crossSite:
            []
        }
    }
}

extension RuleKey {
    /// What all keys of `rules` attach.
    package static func allAttachments(of rules: [Rule]) -> [Attached] {
        let flags = rules.flags
        let special = Special.allCases.flatMap { $0.attachments(of: rules) }
        let flagged = allCases.filter { flags[$0] == true }.flatMap { $0.flag?.attaches ?? [] }
        return (special + flagged).reduce(into: []) { all, attachment in
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
